//! `wearwell limit`.

use super::run::Format;
use super::sweep::write_table;
use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::page::Page;
use crate::progress::{ProgressArgs, SweepProgress};
use crate::report::limit::as_table;
use crate::report::{csv_rows, pretty, wrap};
use crate::scenario_args::{self, ScenarioArgs};
use crate::study_args::{StudyArgs, runs_folder};
use serde_json::Value;
use std::path::PathBuf;
use wearwell_study::Axis;
use wearwell_study::advise::short_run_settings;
use wearwell_study::limit::{LowerBoundOptions, compare_policies};

/// Compares a drive, and every placement and victim policy, with a lower bound on write amplification
///
/// Shows what the drive writes, a proven lower bound, and what placement and cleaning with knowledge of the future
/// achieve. Then runs each placement and victim policy with the same writes, and splits the excess into losses by
/// placement, by victim choice and by block size. docs/limit.md explains the terms.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Placements to compare with the limit, names or tables; all unless given, `none` for none
    #[arg(long, value_name = "NAME,...")]
    placements: Option<String>,
    /// Victim policies to compare with the limit, names or tables; all unless given, `none` for none
    #[arg(long, value_name = "NAME,...")]
    victims: Option<String>,
    /// Run each placement with each victim policy, not only with that of the scenario
    #[arg(long)]
    all_pairs: bool,
    /// Runs of each with different seeds, common to all; the table then shows means with their 95 % interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replicas: u32,
    /// Shorter runs, for a rough answer: 2 drive writes, after at most 12 until steady to 3 %
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    study: StudyArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the result to a file: .json (everything), .csv or .parquet (a row for each placement and victim policy)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also write the result as a self-contained page: .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
Examples:
  wearwell limit --capacity '72 MiB' --spare-factor 0.1 --quick
  wearwell limit my.toml --placements double,sepbit,death_windows --victims none
  wearwell limit my.toml --trace my-trace.csv.gz --trace-format msr --fit --format json
  wearwell limit my.toml --replicas 5 --report limit.html
  wearwell limit my.toml --all-pairs --output limit.csv --store runs/

With --output FILE, finished runs stand in the store FILE.runs until all are made, and the same command goes on from there after an
interruption; those in --store DIR stay.";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut draft = args.scenario.draft()?;
    let placements = match &args.placements {
        Some(text) => parts(text, "--placements")?,
        None => LowerBoundOptions::all_placements(),
    };
    let victims = match &args.victims {
        Some(text) => parts(text, "--victims")?,
        None => LowerBoundOptions::all_victims(),
    };
    if args.quick {
        short_run_settings(&draft)?.iter().try_for_each(|setting| setting.apply(&mut draft))?;
    }
    let inputs = args.scenario.inputs(&draft);
    let output = args.output.as_deref().map(|path| OutputFile::new(path, &inputs)).transpose()?;
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    scenario_args::fit(&mut draft, args.progress)?;
    let study = args.study.open_resources(args.output.as_deref().map(runs_folder).as_deref())?;
    // Runs are compared with each other, not with theory.
    let sweep = study.options(false, false);
    let options =
        LowerBoundOptions { placements, victims, all_pairs: args.all_pairs, replicas: args.replicas, sweep };
    let display = SweepProgress::new(args.progress, 0);
    let outcome = compare_policies(&draft, &options, &display);
    display.clear();
    let found = outcome.map_err(|error| Failure::of_limit(error, &draft))?;
    if let Some(file) = &output {
        match file.kind {
            FileKind::Json => file.write(|out| out.write_all(pretty(&found.to_value()).as_bytes()))?,
            FileKind::Csv | FileKind::Parquet => write_table(file, &found.rows())?,
        }
    }
    if let Some(page) = &page {
        let name = draft.scenario()?.name;
        page.write_value(name.as_deref().unwrap_or("A drive beside its limit"), found.to_value())?;
    }
    print(&match args.format {
        Format::Table => wrap(&as_table(&found)),
        Format::Json => pretty(&found.to_value()),
        Format::Csv => csv_rows(&found.rows())?,
    })?;
    study.remove();
    Ok(())
}

/// Parses the parts that an option names, each a bare word or a TOML table.
fn parts(text: &str, option: &str) -> Result<Vec<Value>, Failure> {
    if text == "none" {
        return Ok(Vec::new());
    }
    // Same syntax as the values of a sweep axis.
    let axis = Axis::parse(&format!("{option}={text}"));
    axis.map(|axis| axis.values).map_err(|problem| Failure::Usage(format!("{option}: {problem}")))
}
