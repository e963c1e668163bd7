//! `wearwell fleet`.

mod rows;
mod table;
mod workers;

use super::run::Format;
use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::progress::{ProgressArgs, with_progress};
use crate::report::{csv_rows, pretty, wrap, write_table};
use crate::study_args::StudyArgs;
use std::path::PathBuf;
use wearwell_stack::RunError;
use wearwell_study::fleet::{
    CheckOptions, Fleet, FleetError, FleetOptions, FleetResult, evaluate, from_file,
};
use workers::print_durations;

/// Predicts a fleet of drives: when they wear out, what each tenant costs, and the effect of changes
///
/// Groups of drives and tenants have distributions of ages and loads; predictions come from theory, so a hundred
/// thousand drives take seconds. All drives are drawn several times, which gives the intervals; what-ifs use the same
/// draws. --check simulates some of the drives and reports whether theory can be trusted.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Description of the fleet (TOML or JSON)
    #[arg(value_name = "FLEET", required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Print the JSON Schema of fleets, for completion and checks in editors
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Simulate this many drives, drawn at random, and compare them with theory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Check")]
    check: Option<u32>,
    /// Number of blocks of the small simulated drives that represent those of the fleet; `all` simulates whole drives
    #[arg(
        long, value_name = "N", default_value = "1000", value_parser = check_blocks, requires = "check", help_heading = "Check"
    )]
    check_blocks: CheckBlocks,
    /// Largest relative error at which theory is trusted
    #[arg(
        long, value_name = "SHARE", default_value_t = wearwell_study::fleet::TOLERANCE, value_parser = tolerance,
        requires = "check", help_heading = "Check"
    )]
    tolerance: f64,
    /// Also estimate, on standard error, the duration of the check with this many workers, from the times of its own runs
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), requires = "check",
        conflicts_with_all = ["dask", "store"], help_heading = "Check"
    )]
    workers: Option<u32>,
    #[command(flatten)]
    study: StudyArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Table that is written as CSV or Parquet
    #[arg(long, value_enum, default_value_t = rows::FleetTable::Years, help_heading = "Output")]
    table: rows::FleetTable,
    /// Also write the result to a file: .json (everything), .csv or .parquet (one table)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
Examples:
  wearwell fleet docs/samples/fleet.toml
  wearwell fleet docs/samples/fleet.toml --check 40
  wearwell fleet docs/samples/fleet.toml --format csv --table what-if
  wearwell fleet my-fleet.toml --check 1000 --workers 100 --output fleet.json
  wearwell fleet my-fleet.toml --check 10 --check-blocks all
  wearwell fleet my-fleet.toml --check 1000 --store checked/ --dask tcp://scheduler:8786
  wearwell fleet --schema > fleet.schema.json";

/// Number of blocks of the simulated drives; `None` simulates drives as large as those of the fleet.
#[derive(Clone, Copy)]
struct CheckBlocks(Option<u32>);

fn check_blocks(text: &str) -> Result<CheckBlocks, String> {
    if text == "all" {
        return Ok(CheckBlocks(None));
    }
    let blocks = text.parse().ok().filter(|blocks| (64..=1_000_000).contains(blocks));
    blocks
        .map(|blocks| CheckBlocks(Some(blocks)))
        .ok_or_else(|| "must be between 64 and 1000000, or \"all\"".into())
}

/// Parses a share above 0.
fn tolerance(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| format!("\"{text}\" is no share between 0 and 1, such as 0.03"))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Some(file) = args.file.as_ref().filter(|_| !args.schema) else {
        return print(&schema());
    };
    let plan = from_file(file).map_err(failure)?;
    let mut inputs = vec![file.clone()];
    let folder = file.parent().unwrap_or(std::path::Path::new(""));
    inputs.extend(plan.fleet.group.iter().filter_map(|group| Some(folder.join(group.smart.as_ref()?))));
    let output = args.output.as_ref().map(|path| OutputFile::new(path, &inputs)).transpose()?;
    let check = args.check.map(|drives| CheckOptions {
        drives,
        blocks: args.check_blocks.0,
        tolerance: args.tolerance,
    });
    let study = args.study.open_resources(None)?;
    let options = FleetOptions { check, sweep: study.options(false, false) };
    let drives = args.check.unwrap_or(0) as usize;
    let result =
        with_progress(args.progress, drives, |display| evaluate(&plan, &options, display).map_err(failure))?;
    if let (Some(check), Some(workers)) = (&result.check, args.workers) {
        print_durations(check, options.sweep.threads, workers as usize);
    }
    if let Some(file) = &output {
        write(file, &result, args.table)?;
    }
    print(&match args.format {
        Format::Table => wrap(&table::table(&result)),
        Format::Json => json(&result),
        Format::Csv => csv_rows(&rows::rows(&result, args.table))?,
    })
}

fn schema() -> String {
    pretty(&Fleet::schema())
}

fn json(result: &FleetResult) -> String {
    pretty(result)
}

fn write(file: &OutputFile, result: &FleetResult, table: rows::FleetTable) -> Result<(), Failure> {
    match file.kind {
        FileKind::Json => file.write(|out| out.write_all(json(result).as_bytes())),
        FileKind::Csv | FileKind::Parquet => write_table(file, &rows::rows(result, table)),
    }
}

fn failure(error: FleetError) -> Failure {
    match error {
        FleetError::Draft(error) => error.into(),
        FleetError::Config(error) => Failure::usage(error),
        FleetError::Run(RunError::Interrupted) => Failure::Interrupted,
        FleetError::Measure(error) => error.into(),
        other => Failure::run(other),
    }
}
