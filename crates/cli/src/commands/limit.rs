//! `wearwell limit`.

use super::run::Format;
use super::sweep::write_table;
use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::progress::{ProgressArgs, SweepProgress};
use crate::report::limit::{as_rows, as_table, as_value};
use crate::report::{csv_rows, pretty, wrapped};
use crate::scenario_args::{self, ScenarioArgs};
use crate::study_args::{StudyArgs, beside};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::PathBuf;
use wearwell_engine::placement::PlacementConfig;
use wearwell_engine::victim::VictimConfig;
use wearwell_study::Axis;
use wearwell_study::advise::shortened;
use wearwell_study::limit::{LimitOptions, policies};

/// Says how far a drive is from the best possible, and every placement and victim policy with it
///
/// Beside what the drive writes: the least that anything could have written, which is proven; what placement and cleaning
/// achieve that know the future; and each placement and victim policy there is over the same writes, with what of its rewriting is lost by
/// placement, by victim choice and by the size of blocks. docs/limit.md says what that means.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Placements to hold against the limit, names or tables; all unless given, `none` for none
    #[arg(long, value_name = "NAME,...")]
    placements: Option<String>,
    /// Victim policies to hold against the limit, names or tables; all unless given, `none` for none
    #[arg(long, value_name = "NAME,...")]
    victims: Option<String>,
    /// Run each placement with each victim policy, and not only with that of the scenario
    #[arg(long)]
    all_pairs: bool,
    /// Shorter runs, for a rough answer: 2 drive writes, after at most 12 until steady to 3 %
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    study: StudyArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write it to a file: .json (everything), .csv or .parquet (a row for each placement and victim policy)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
Examples:
  wearwell limit --capacity '72 MiB' --spare-factor 0.1 --quick
  wearwell limit my.toml --placements double,sepbit,death_windows --victims none
  wearwell limit my.toml --trace my-trace.csv.gz --trace-format msr --fit --format json
  wearwell limit my.toml --all-pairs --output limit.csv --store runs/

With --output FILE, finished runs stand in the store FILE.runs until all are made, and the same command goes on from there after an
interruption; those in --store DIR stay.";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut draft = args.scenario.draft()?;
    let placements = match &args.placements {
        Some(text) => parts::<PlacementConfig>(text, "--placements")?,
        None => LimitOptions::every_placement(),
    };
    let victims = match &args.victims {
        Some(text) => parts::<VictimConfig>(text, "--victims")?,
        None => LimitOptions::every_victim(),
    };
    if args.quick {
        shortened(&draft)?.iter().try_for_each(|setting| setting.apply(&mut draft))?;
    }
    let inputs = args.scenario.inputs(&draft);
    let output = args.output.as_deref().map(|path| OutputFile::new(path, &inputs)).transpose()?;
    scenario_args::fit(&mut draft, args.progress)?;
    let study = args.study.place(args.output.as_deref().map(beside).as_deref())?;
    // Its runs are held against each other, not against theory.
    let sweep = study.options(false, false);
    let options = LimitOptions { placements, victims, all_pairs: args.all_pairs, sweep };
    let display = SweepProgress::new(args.progress, 0);
    let outcome = policies(&draft, &options, &display);
    display.clear();
    let found = outcome.map_err(|error| Failure::of_limit(error, &draft))?;
    if let Some(file) = &output {
        match file.kind {
            FileKind::Json => file.write(|out| out.write_all(pretty(&as_value(&found)).as_bytes()))?,
            FileKind::Csv | FileKind::Parquet => write_table(file, &as_rows(&found))?,
        }
    }
    print(&match args.format {
        Format::Table => wrapped(&as_table(&found)),
        Format::Json => pretty(&as_value(&found)),
        Format::Csv => csv_rows(&as_rows(&found))?,
    })?;
    study.remove();
    Ok(())
}

/// The parts that an option names: each a bare word or a table of TOML that says what a `C` is.
fn parts<C: DeserializeOwned>(text: &str, option: &str) -> Result<Vec<Value>, Failure> {
    let wrong = |problem: &dyn std::fmt::Display| Failure::Usage(format!("{option}: {problem}"));
    if text == "none" {
        return Ok(Vec::new());
    }
    // As the values of an axis are written.
    let values = Axis::parse(&format!("{option}={text}")).map_err(|problem| wrong(&problem))?.values;
    values.iter().try_for_each(|value| match serde_json::from_value::<C>(value.clone()) {
        Ok(_) => Ok(()),
        Err(error) => Err(wrong(&error)),
    })?;
    Ok(values)
}
