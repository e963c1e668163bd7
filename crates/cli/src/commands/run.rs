//! `wearwell run`.

use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::page::Page;
use crate::progress::{ProgressArgs, RunProgress, with_progress};
use crate::report::{csv_rows, json, parquet, table, windows, wrap};
use crate::scenario_args::ScenarioArgs;
use crate::top;
use clap::ValueEnum;
use std::path::PathBuf;
use wearwell_report::Document;
use wearwell_stack::{Draft, Progress, RunResult};
use wearwell_study::limit::{add_lower_bound, check};
use wearwell_study::{SweepOptions, add_prediction, summary_row};

/// Runs a scenario and reports what it does to the flash
///
/// Fills the drive, warms up until write amplification is steady, measures, and prints the result. Equal scenarios and
/// seeds give equal results, bit for bit; only the `performance` of a result differs from run to run.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the result to a file, by its ending: .json (everything), .csv (one row) or .parquet (the time
    /// series, with everything else as metadata)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also write the time series to a file: .csv, .json or .parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    timeseries: Option<PathBuf>,
    /// Also write the result as a self-contained page: .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Also calculate a lower bound on write amplification, and the result of placement and cleaning that know the future
    #[arg(long, help_heading = "Output")]
    limit: bool,
    /// End with exit code 3 if the result is not steady or would mean nothing
    #[arg(long, help_heading = "Output")]
    strict: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Table for people
    Table,
    /// Everything, for programs
    Json,
    /// One row of figures
    Csv,
}

const HELP: &str = "\
Examples:
  wearwell run
  wearwell run scenarios/demo.toml --output demo.json
  wearwell run demo.json                                repeat that result, bit for bit
  wearwell run --victim cost_benefit --placement double --seed 7
  wearwell run my.toml --set ftl.victim.choices=4 --set measure.drive_writes=10.0
  wearwell run my.toml --trace my-trace.csv.gz --trace-format msr --set trace.address=wrap
  wearwell run my.toml --format json | jq .write_amplification
  wearwell run scenarios/nvmfs.toml --set top.placement=conquest
  wearwell run my.toml --report my.html                 figures, for a browser
  wearwell run my.toml --limit                          how far it is from the best possible
  wearwell run my.toml --timeseries windows.csv --strict";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let draft = args.scenario.draft()?;
    let scenario = draft.scenario()?;
    if args.limit {
        check(&scenario).map_err(|error| draft.explain(&error))?;
    }
    let inputs = args.scenario.inputs(&draft);
    let file =
        |path: &Option<PathBuf>| path.as_deref().map(|path| OutputFile::new(path, &inputs)).transpose();
    let (output, timeseries) = (file(&args.output)?, file(&args.timeseries)?);
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    let display = RunProgress::new(args.progress);
    let outcome = top::run(&scenario, &mut |progress: &Progress| display.show(progress));
    display.clear();
    let mut result = outcome.map_err(|error| Failure::of_run(error, &draft))?;
    add_prediction(&mut result);
    if args.limit {
        result = with_limit(&draft, result, args.progress)?;
    }
    if let Some(file) = &output {
        write_result(file, &result)?;
    }
    if let Some(file) = &timeseries {
        windows::write(file, &result)?;
    }
    if let Some(page) = &page {
        let name = result.scenario.name.as_deref().unwrap_or("A run");
        page.write(name, &[Document::run(name, &result)])?;
    }
    print(&format_result(args.format, &result)?)?;
    if args.strict { check_strict(&result) } else { Ok(()) }
}

/// Returns the result with its lower bound, which takes a few more runs.
fn with_limit(draft: &Draft, result: RunResult, progress: ProgressArgs) -> Result<RunResult, Failure> {
    let outcome = with_progress(progress, 0, |display| {
        add_lower_bound(draft, result, &SweepOptions::default(), display)
    });
    outcome.map_err(|error| Failure::of_limit(error, draft))
}

fn format_result(format: Format, result: &RunResult) -> Result<String, Failure> {
    Ok(match format {
        Format::Table => wrap(&table::result(result)),
        Format::Json => json(result),
        Format::Csv => csv_rows(&[summary_row(result)])?,
    })
}

/// Writes a result to a file of the kind given by its ending.
pub fn write_result(file: &OutputFile, result: &RunResult) -> Result<(), Failure> {
    match file.kind {
        FileKind::Json => file.write(|out| out.write_all(json(result).as_bytes())),
        FileKind::Csv => {
            let text = csv_rows(&[summary_row(result)])?;
            file.write(|out| out.write_all(text.as_bytes()))
        }
        FileKind::Parquet => {
            file.write(|out| parquet::write(out, &windows::columns(result), &windows::metadata(result)))
        }
    }
}

fn check_strict(result: &RunResult) -> Result<(), Failure> {
    let meaningful = result.write_amplification.is_some() || result.measured_life.is_some();
    if meaningful && (result.phases.steady || result.measured_life.is_some()) {
        return Ok(());
    }
    Err(Failure::NotMeaningful(format!("--strict: {}", result.warnings.join("; "))))
}
