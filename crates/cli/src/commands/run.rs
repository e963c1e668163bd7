//! `wearwell run`.

use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::progress::{ProgressArgs, RunProgress};
use crate::report::{csv_rows, parquet, table, top, windows};
use crate::scenario_args::ScenarioArgs;
use clap::ValueEnum;
use std::ops::ControlFlow;
use std::path::PathBuf;
use wearwell_core::stack::{self, Observer, Parts, Progress, RunResult, summary};
use wearwell_nvmfs::top::{TakeError, TopConfig, TopHandle, TopReport};

/// Runs a scenario and reports what it does to the flash
///
/// Fills the drive, warms up until write amplification is steady, measures, and prints the result. Equal scenarios and
/// seeds give equal results, bit for bit; only the `performance` of a result differs from run to run.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the result to a file, by its ending: .json (everything), .csv (one row) or .parquet (the time
    /// series, with everything else as metadata)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also write the time series to a file: .csv, .json or .parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    timeseries: Option<PathBuf>,
    /// End with exit code 3 if the result is not steady or would mean nothing
    #[arg(long, help_heading = "Output")]
    strict: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// To be read by people
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
  wearwell run my.toml --timeseries windows.csv --strict";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut draft = args.scenario.draft()?;
    let config = TopConfig::take(&mut draft).map_err(|error| match error {
        TakeError::Draft(error) => error.into(),
        TakeError::Config(error) => Failure::from(draft.explain(&error)),
    })?;
    let scenario = draft.scenario()?;
    let (parts, handle) = match &config {
        Some(config) => {
            let (parts, handle) =
                config.parts(&scenario).map_err(|error| Failure::from(draft.explain(&error)))?;
            (parts, Some(handle))
        }
        None => (Parts::default(), None),
    };
    let output = args.output.as_deref().map(OutputFile::new).transpose()?;
    let timeseries = args.timeseries.as_deref().map(OutputFile::new).transpose()?;
    let display = RunProgress::new(args.progress);
    let outcome = stack::run_with(&scenario, parts, &mut Watch { display: &display, top: handle.as_ref() });
    display.clear();
    if let Some(failure) = handle.as_ref().and_then(TopHandle::failure) {
        return Err(Failure::Run(format!("top: {failure}")));
    }
    let result = outcome.map_err(|error| Failure::of_run(error, &draft))?;
    let top = config.zip(handle).map(|(config, handle)| (config, handle.report()));
    let result = Outcome { result, top };
    if let Some(file) = &output {
        write_result(file, &result)?;
    }
    if let Some(file) = &timeseries {
        windows::write(file, &result.result)?;
    }
    print(&printed(args.format, &result)?)?;
    if args.strict { strict(&result.result) } else { Ok(()) }
}

/// A result, and what stood at the top of the stack.
struct Outcome {
    result: RunResult,
    top: Option<(TopConfig, TopReport)>,
}

impl Outcome {
    fn json(&self) -> String {
        top::json(&self.result, self.top.as_ref())
    }

    fn csv(&self) -> Result<String, Failure> {
        let mut row = summary(&self.result);
        row.extend(self.top.iter().flat_map(|(_, report)| top::columns(report)));
        csv_rows(&[row])
    }
}

/// Shows progress, and ends the run when what drives it has failed.
struct Watch<'a> {
    display: &'a RunProgress,
    top: Option<&'a TopHandle>,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.display.show(progress)
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        let failed = self.top.is_some_and(|handle| handle.failure().is_some());
        if failed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn printed(format: Format, outcome: &Outcome) -> Result<String, Failure> {
    Ok(match format {
        Format::Table => {
            let above = outcome.top.as_ref().map_or_else(String::new, |(_, report)| top::table(report));
            table::result(&outcome.result) + &above
        }
        Format::Json => outcome.json(),
        Format::Csv => outcome.csv()?,
    })
}

fn write_result(file: &OutputFile, outcome: &Outcome) -> Result<(), Failure> {
    let result = &outcome.result;
    match file.kind {
        FileKind::Json => file.write(|out| out.write_all(outcome.json().as_bytes())),
        FileKind::Csv => {
            let text = outcome.csv()?;
            file.write(|out| out.write_all(text.as_bytes()))
        }
        FileKind::Parquet => {
            file.write(|out| parquet::write(out, &windows::columns(result), &windows::metadata(result)))
        }
    }
}

fn strict(result: &RunResult) -> Result<(), Failure> {
    let meaningful = result.write_amplification.is_some() || result.worn_out.is_some();
    if meaningful && (result.course.steady || result.worn_out.is_some()) {
        return Ok(());
    }
    Err(Failure::NotMeaningful(format!("--strict: {}", result.warnings.join("; "))))
}
