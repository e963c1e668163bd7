//! `wearwell power`: power cuts of an FTL.

use super::sweep::sweep_failure;
use crate::exit::Failure;
use crate::output::print;
use crate::page::Page;
use crate::progress::{ProgressArgs, with_progress};
use crate::report::{self, ftl, table, wrap};
use crate::scenario_args::ScenarioArgs;
use crate::study_args::{StudyArgs, StudyResources};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::PathBuf;
use wearwell_report::Document;
use wearwell_stack::{Draft, PowerResult, Progress, RunResult};
use wearwell_study::{Axis, Outcome, RoundObserver, Sweep, SweepObserver};

/// Cuts the power of a drive, and checks for lost data
///
/// After each cut the FTL is recovered from its flash, and acknowledged writes are read back. A loss ends with exit
/// code 1 and the name of the case, which --at repeats. Without an option, `[power]` of the scenario applies, or power
/// is cut at the end.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    #[command(flatten)]
    cuts: Cuts,
    #[command(flatten)]
    study: StudyArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the result as a self-contained page: .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// Times of power cuts.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Cuts {
    /// Cut after every N programs and erases while measuring: `power.every`
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Cuts")]
    every: Option<u64>,
    /// Cut at this many random operations while measuring: `power.random`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Cuts")]
    random: Option<u64>,
    /// Cut before an operation (4711), or in the middle of it (4711t); several with commas: `power.at_operation`
    #[arg(long, value_name = "CUTS", help_heading = "Cuts")]
    at: Option<String>,
    /// Make two runs for each operation: one cut before it, one cut in the middle of it; for small drives
    #[arg(long, help_heading = "Cuts")]
    exhaustive: bool,
}

/// Output format: a table for people or JSON for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Table for people
    Table,
    /// Everything, for programs
    Json,
}

const HELP: &str = "\
Examples:
  wearwell power scenarios/power.toml
  wearwell power scenarios/gecko.toml --every 10000
  wearwell power scenarios/power.toml --set ftl.structure=dftl --random 100
  wearwell power scenarios/power.toml --at 4711t
  wearwell power scenarios/power.toml --random 100 --report power.html
  wearwell power scenarios/power.toml --exhaustive
  wearwell power scenarios/power.toml --exhaustive --store cuts/ --dask tcp://scheduler:8786";

/// Title for the cuts of a scenario without a name.
const UNNAMED_TITLE: &str = "Power cuts";

/// Largest number of cuts of a campaign in memory at once.
const CUTS_PER_BATCH: usize = 4096;

/// Mutually exclusive keys.
const EXCLUSIVE_KEYS: [&str; 3] = ["power.every", "power.random", "power.at_operation"];

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut draft = args.scenario.draft()?;
    let inputs = args.scenario.inputs(&draft);
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    if args.cuts.exhaustive {
        return exhaustive(args, &draft, page.as_ref());
    }
    let options = [
        ("power.every", args.cuts.every.map(Value::from)),
        ("power.random", args.cuts.random.map(Value::from)),
        ("power.at_operation", args.cuts.at.clone().map(Value::from)),
    ];
    for (key, value) in options {
        if let Some(value) = value {
            set_exclusively(&mut draft, key, value)?;
        }
    }
    if draft.get("power").is_none() {
        draft.set("power.at_end", true.into())?;
    }
    let result = result_of(&draft)?;
    if let Some(page) = page {
        let name = result.scenario.name.as_deref().unwrap_or(UNNAMED_TITLE);
        page.write(name, &[Document::run(name, &result)])?;
    }
    print(&match args.format {
        Format::Table => wrap(&ftl::power(&table::title(&result.scenario), &result)),
        Format::Json => report::json(&result),
    })
}

/// Sets a key and removes the keys that exclude it.
fn set_exclusively(draft: &mut Draft, key: &str, value: Value) -> Result<(), Failure> {
    for exclusive in EXCLUSIVE_KEYS {
        if draft.get(exclusive).is_some() {
            draft.unset(exclusive)?;
        }
    }
    Ok(draft.set(key, value)?)
}

fn result_of(draft: &Draft) -> Result<RunResult, Failure> {
    let outcome =
        wearwell_stack::run(&draft.scenario()?, &mut |_: &Progress| crate::interrupt::interrupt_flow());
    outcome.map_err(|error| Failure::of_run(error, draft))
}

/// Makes two runs for each operation of the scenario: one cut before it, one cut in the middle of it.
fn exhaustive(args: &Args, draft: &Draft, page: Option<&Page>) -> Result<(), Failure> {
    let study = args.study.open_resources(None)?;
    let mut without_cuts = draft.clone();
    if without_cuts.get("power").is_some() {
        without_cuts.unset("power")?;
    }
    let uncut = result_of(&without_cuts)?;
    let operations: u64 = uncut.windows.iter().map(|window| window.programs + window.erases).sum();
    let planned = 2 * operations as usize;
    let cuts: Vec<String> = (0..operations).flat_map(|at| [format!("{at}"), format!("{at}t")]).collect();
    let mut sum = PowerResult::default();
    with_progress(args.progress, planned, |display| -> Result<(), Failure> {
        for (part, cuts) in cuts.chunks(CUTS_PER_BATCH).enumerate() {
            let observer = RoundObserver { inner: display, finished: part * CUTS_PER_BATCH, planned };
            let cut = cut_at(cuts, &without_cuts, &study, &observer)?;
            cut.iter().for_each(|power| sum.add(power));
        }
        Ok(())
    })?;
    if let Some(page) = page {
        page.write_value(uncut.scenario.name.as_deref().unwrap_or(UNNAMED_TITLE), json!(sum))?;
    }
    print(&match args.format {
        Format::Table => format!("{operations} operations\n{}", ftl::outages(&sum)),
        Format::Json => report::pretty(&sum),
    })
}

/// Returns the results of `cuts`, in the same order.
fn cut_at(
    cuts: &[String],
    without_cuts: &Draft,
    study: &StudyResources,
    observer: &dyn SweepObserver,
) -> Result<Vec<PowerResult>, Failure> {
    let values = cuts.iter().map(|cut| Value::from(cut.as_str())).collect();
    let sweep = Sweep::plan(without_cuts, &[Axis { key: "power.at_operation".into(), values }], 1);
    let outcomes = sweep.and_then(|sweep| sweep.run(&study.options(false, false), observer));
    let power = |outcome: Outcome| outcome.map(|point| point.result.power.unwrap_or_default());
    let found: Result<_, String> = outcomes.map_err(sweep_failure)?.into_iter().map(power).collect();
    found.map_err(Failure::Run)
}
