//! `wearwell reproduce`.

mod list;
mod point_worker;

use super::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::page::Page;
use crate::progress::{PointProgress, ProgressArgs};
use crate::report::{csv_rows, grid, rows_as_json, wrap};
use crate::scenario_args::key_and_value;
use crate::study_args::ExecutorArgs;
use list::as_row;
use serde_json::json;
use std::path::PathBuf;
use wearwell_experiments::assumptions::Assumptions;
use wearwell_experiments::manifest::{self, Manifest, ManifestEntry};
use wearwell_experiments::nvmfs::job::play;
use wearwell_experiments::runner::pages;
use wearwell_experiments::runner::reproduce::{
    Effort, Plan, Record, check, decide_claims_again, folder_of, reproduce,
};
use wearwell_experiments::runner::sensitivity::{Effect, vary};
use wearwell_experiments::session::{ExecutorLost, Interrupted, PointExecutor};
use wearwell_study::Row;

/// Reproduces figures, tables and claims of the five papers, each with data, plots and a verdict
///
/// Without items, lists all items with their costs. An item leaves a folder with tables (CSV), plots (SVG) and a
/// verdict (item.json); a page for each paper shows them. Finished points of an interrupted run are not run again.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Items as PAPER/ITEM, whole papers, or `all`
    #[arg(value_name = "ITEM")]
    items: Vec<String>,
    /// Use smaller drives and fewer runs: an answer within minutes
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Use the sizes of the paper, or better
    #[arg(long)]
    full: bool,
    /// Folder for results and pages
    #[arg(long, short, value_name = "DIR", default_value = "reproduced")]
    output: PathBuf,
    /// Change a setting of the item's program, as in its manifest
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Change the value of an assumption that no paper gives, by its name in the register of assumptions
    #[arg(long, value_name = "NAME=VALUE")]
    assume: Vec<String>,
    /// Halve and double each assumption that the items use, and show which verdicts change
    #[arg(long, conflicts_with_all = ["assume", "judge"])]
    vary_assumptions: bool,
    /// Execute no runs: decide the claims from existing data, and write the pages
    #[arg(long)]
    judge: bool,
    /// Also run finished items again
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    executor: ExecutorArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Also write claims, plots and tables as a self-contained page: .html
    #[arg(long, value_name = "FILE", conflicts_with = "vary_assumptions", requires = "items")]
    report: Option<PathBuf>,
    /// Internal: runs a timed measurement inside its virtual machine, by playing a job in a directory
    #[arg(long, hide = true, num_args = 2, value_names = ["JOB", "DIR"])]
    play: Option<Vec<PathBuf>>,
    /// Internal: run by a worker of a cluster; computes the point on standard input
    #[arg(long, hide = true, exclusive = true)]
    answer: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
Examples:
  wearwell reproduce
  wearwell reproduce geckoftl/figure-1 --quick
  wearwell reproduce hot_cold --quick --output reproduced
  wearwell reproduce hot_cold --quick --report hot_cold.html
  wearwell reproduce all --full
  wearwell reproduce all --full --dask tcp://scheduler:8786
  wearwell reproduce cagc --quick --vary-assumptions";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Some([job, directory]) = args.play.as_deref() {
        return play(job, directory).map_err(Failure::run);
    }
    if args.answer {
        return point_worker::answer();
    }
    let manifests = manifest::read_all().map_err(Failure::run)?;
    let named = args.items.iter().map(|name| manifest::select(&manifests, name));
    let items: Vec<Vec<ManifestEntry>> = named.collect::<Result<_, _>>().map_err(Failure::usage)?;
    let items: Vec<ManifestEntry> = items.concat();
    if items.is_empty() {
        if args.vary_assumptions || args.judge {
            return Err(Failure::Usage("name items, papers or `all`".into()));
        }
        return list::list(&manifests, args.format);
    }
    if let Some(threads) = args.executor.threads() {
        // Fails if a thread pool exists already, as in a test that runs several commands; that pool has all cores.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let dask = args.executor.dask()?;
    let page = args.report.as_deref().map(|path| Page::new(path, &[])).transpose()?;
    let assumptions = assumptions(&args.assume)?;
    let effort = if args.full { Effort::Full } else { Effort::Quick };
    let settings = settings(&args.set)?;
    let points = args.output.join("finished");
    let plan = Plan {
        output: &args.output,
        points_folder: &points,
        effort,
        settings,
        assumptions: &assumptions,
        rerun: args.again,
        traces: traces()?,
        executor: dask.as_ref().map(|dask| dask as &dyn PointExecutor),
    };
    check_settings(&manifests, &items, &plan)?;
    std::fs::create_dir_all(&args.output)
        .map_err(|error| Failure::run(format!("{}: {error}", args.output.display())))?;
    if args.vary_assumptions {
        return vary_assumptions(args, &manifests, &items, &plan);
    }
    let (records, failed) = if args.judge {
        let rejudged = items.iter().map(|found| {
            let record = decide_claims_again(&manifests, *found, &args.output);
            record.map_err(|error| format!("{}: {error}", found.name()))
        });
        let records: Vec<Option<Record>> = rejudged.collect::<Result<_, _>>().map_err(Failure::run)?;
        pages::write(&manifests, &args.output).map_err(Failure::run)?;
        (records.into_iter().flatten().collect(), Vec::new())
    } else {
        reproduce_all(args, &manifests, &items, &plan)?
    };
    if let Some(page) = &page {
        draw(page, &items, &records, &failed, args)?;
    }
    if failed.is_empty() || !records.is_empty() {
        print(&match args.format {
            Format::Table => wrap(
                &[verdict_table(&records), without_verdict(&items, &records, args), output_note(args)]
                    .concat(),
            ),
            Format::Json => rows_as_json(&rows(&records)),
            Format::Csv => csv_rows(&rows(&records))?,
        })?;
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Run(failed.join("\n"))) }
}

/// Writes the page: records, descriptions from the manifests, and the plots and tables in the folders.
fn draw(
    page: &Page,
    items: &[ManifestEntry],
    records: &[Record],
    failed: &[String],
    args: &Args,
) -> Result<(), Failure> {
    let shown = items.iter().filter_map(|found| {
        let record = records.iter().find(|record| record.item == found.name())?;
        let mut value = serde_json::to_value(record).expect("records are plain data");
        (value["title"], value["says"]) = (json!(found.item.title), json!(found.item.summary));
        Some((value, folder_of(&args.output, *found)))
    });
    let mut page_value = wearwell_report::reproduction(shown.collect()).map_err(Failure::run)?;
    page_value["failed"] = json!(failed);
    page.write_value(&args.items.join(", "), page_value)
}

/// Rejects settings that no item supports, before any run. Settings that only some items lack are reported with those
/// items.
fn check_settings(manifests: &[Manifest], items: &[ManifestEntry], plan: &Plan) -> Result<(), Failure> {
    let mut problems = Vec::new();
    for found in items {
        let problem = match &found.item.impossible {
            Some(reason) => format!("impossible here: {reason}"),
            None => match check(manifests, *found, plan) {
                Ok(()) => return Ok(()),
                Err(error) => error.to_string(),
            },
        };
        problems.push(format!("{}: {problem}", found.name()));
    }
    Err(Failure::Usage(problems.join("\n")))
}

/// Reproduces all items. Returns the records, and the errors of failed items; a failed item does not stop the other
/// items.
fn reproduce_all(
    args: &Args,
    manifests: &[Manifest],
    items: &[ManifestEntry],
    plan: &Plan,
) -> Result<(Vec<Record>, Vec<String>), Failure> {
    let (mut records, mut failed) = (Vec::new(), Vec::new());
    for &found in items.iter().filter(|found| found.item.impossible.is_none()) {
        let display = PointProgress::new(args.progress, &found.name());
        let record = reproduce(manifests, found, plan, &display);
        display.clear();
        match record {
            Ok(record) => {
                records.push(record);
                // The pages are written after each item, so that they are complete after an interruption.
                pages::write(manifests, &args.output).map_err(Failure::run)?;
            }
            Err(error) if error.is::<Interrupted>() => return Err(Failure::Interrupted),
            // The other items would fail in the same way.
            Err(error) if error.is::<ExecutorLost>() => {
                failed.push(format!("{}: {error}", found.name()));
                return Err(Failure::Run(failed.join("\n")));
            }
            Err(error) => failed.push(format!("{}: {error}", found.name())),
        }
    }
    Ok((records, failed))
}

fn failure(error: wearwell_experiments::Failure) -> Failure {
    if error.is::<Interrupted>() { Failure::Interrupted } else { Failure::Run(error.to_string()) }
}

/// Returns the folder in `WEARWELL_TRACES` as an absolute path.
fn traces() -> Result<Option<PathBuf>, Failure> {
    let named = std::env::var_os("WEARWELL_TRACES").filter(|named| !named.is_empty());
    let absolute = named.map(std::path::absolute).transpose();
    absolute.map_err(|error| Failure::run(format!("WEARWELL_TRACES: {error}")))
}

fn settings(arguments: &[String]) -> Result<toml::Table, Failure> {
    let mut settings = toml::Table::new();
    for text in arguments {
        let (key, value) = key_and_value(text)?;
        let value = toml::Value::try_from(value)
            .map_err(|problem| Failure::Usage(format!("--set {text}: {problem}")))?;
        settings.insert(key.to_owned(), value);
    }
    Ok(settings)
}

fn assumptions(arguments: &[String]) -> Result<Assumptions, Failure> {
    let mut assumptions = Assumptions::register();
    for text in arguments {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("--assume {text}: write NAME=VALUE")))?;
        let value: f64 = value
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| Failure::Usage(format!("--assume {text}: `{value}` is no number")))?;
        assumptions = assumptions.with(name, value).map_err(Failure::usage)?;
    }
    Ok(assumptions)
}

fn verdict_table(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        text += &format!("{}: {}\n", record.item, record.verdict.label());
        let lines = record.claims.iter().map(|claim| {
            let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let prefix = if claim.ours { "ours: " } else { "" };
            vec![
                format!("{prefix}{}", claim.says),
                number(claim.printed),
                number(claim.measured),
                format!("{} of {}", claim.holds_in, claim.cases),
                claim.verdict.label().to_owned(),
            ]
        });
        let head = ["claim", "printed", "ours", "holds in", "verdict"];
        text += &grid(&head, lines.collect(), &[1, 2, 3]);
        text += "\n\n";
    }
    text
}

/// Describes the requested items without a verdict, except failed items.
fn without_verdict(items: &[ManifestEntry], records: &[Record], args: &Args) -> String {
    let mut text = String::new();
    for found in items.iter().filter(|found| !records.iter().any(|record| record.item == found.name())) {
        match &found.item.impossible {
            Some(reason) => text += &format!("{}: impossible here: {reason}\n", found.name()),
            None if args.judge => text += &format!("{}: no data\n", found.name()),
            None => {}
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn output_note(args: &Args) -> String {
    format!("Data, plots and pages are in {}.\n", args.output.join("README.md").display())
}

fn rows(records: &[Record]) -> Vec<Row> {
    let each = records.iter().flat_map(|record| {
        record.claims.iter().map(move |claim| {
            as_row(json!({
                "item": record.item, "effort": record.effort, "claim": claim.says, "ours_only": claim.ours,
                "printed": claim.printed, "measured": claim.measured, "cases": claim.cases,
                "holds_in": claim.holds_in, "verdict": claim.verdict, "verdict_of_item": record.verdict,
            }))
        })
    });
    each.collect()
}

/// Reproduces the items with each of their assumptions halved and doubled.
fn vary_assumptions(
    args: &Args,
    manifests: &[Manifest],
    items: &[ManifestEntry],
    plan: &Plan,
) -> Result<(), Failure> {
    let names: Vec<String> = items.iter().map(ManifestEntry::name).collect();
    let register = Assumptions::register();
    let mut chosen = register.all().to_vec();
    chosen.iter_mut().for_each(|assumption| assumption.used_by.retain(|item| names.contains(item)));
    chosen.retain(|assumption| !assumption.used_by.is_empty());
    let display = PointProgress::new(args.progress, "assumptions");
    let effects = vary(manifests, &chosen, plan, &display);
    display.clear();
    let effects = effects.map_err(failure)?;
    pages::write(manifests, &args.output).map_err(Failure::run)?;
    let row = |effect: &Effect| as_row(serde_json::to_value(effect).expect("effects are plain data"));
    let rows: Vec<Row> = effects.iter().map(row).collect();
    let lines = effects.iter().map(|effect| {
        let [before, after] = [0, 1].map(|at| format!("{} of {}", effect.holds_in[at], effect.cases[at]));
        let change = match effect.same_data {
            true => "no digit changes",
            false if effect.changes_verdict() => effect.verdicts[1].label(),
            false => "",
        };
        let cells = vec![effect.assumption.clone(), effect.changed_to.to_string(), effect.item.clone()];
        [cells, vec![effect.claim.clone(), before, after, change.to_owned()]].concat()
    });
    let head = ["assumption", "value", "item", "claim", "held in", "holds in", "turns to"];
    print(&match args.format {
        Format::Table => wrap(&grid(&head, lines.collect(), &[1, 4, 5])),
        Format::Json => rows_as_json(&rows),
        Format::Csv => csv_rows(&rows)?,
    })
}
