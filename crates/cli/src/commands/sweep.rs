//! `wearwell sweep`.

use super::run::Format;
use crate::exit::Failure;
use crate::messages::print_message;
use crate::output::OutputFile;
use crate::page::Page;
use crate::progress::{ProgressArgs, with_progress};
use crate::report::row_table;
use crate::scenario_args::{self, ScenarioArgs};
use crate::study_args::{StudyArgs, runs_folder};
use crate::study_command::StudyResult;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use wearwell_stack::Draft;
use wearwell_study::{Axis, Outcome, PointResult, Row, Sweep, SweepError, identity, rows};

/// Runs a scenario over a grid of settings, on all cores or a cluster
///
/// Every combination of the values is one run. Results do not depend on the executor: threads of this machine, or a
/// Dask cluster with --dask. With --output or --store, finished runs are kept in a folder, and repeating the command
/// continues an interrupted sweep.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// A key and its values: a list, a range with step, or evenly or logarithmically spaced numbers
    ///
    /// key=v1,v2,... or key=first:last:step (both included) or key=lin(first,last,count) or
    /// key=log(first,last,count). Values are TOML or bare words. Given several times, all combinations run.
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    vary: Vec<String>,
    /// Runs of each combination with different seeds; the table then shows means with their 95 % interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replicas: u32,
    #[command(flatten)]
    study: StudyArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the table to a file (.csv, .json or .parquet), or to a directory, which then also keeps every full
    /// result in the store runs/
    #[arg(long, short, value_name = "FILE|DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also write the points as a self-contained page: .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Keep the time series of every run in the store
    #[arg(long, help_heading = "Output")]
    windows: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
Examples:
  wearwell sweep --vary ftl.victim=greedy,fifo,random --vary device.spare_factor=0.05:0.3:0.05
  wearwell sweep my.toml --vary 'ftl.victim.choices=log(1,1000,4)' --replicas 5 --output choices.csv
  wearwell sweep my.toml --vary ftl.victim=greedy,fifo --vary device.spare_factor=0.05:0.3:0.05 --report map.html
  wearwell sweep my.toml --vary 'ftl.victim={policy=\"d_choices\",choices=4},greedy' --output results/
  wearwell sweep my.toml --vary seed=1:1000:1 --store runs/ --dask tcp://scheduler:8786

An interrupted sweep (Ctrl-C, power cut) goes on where it stopped when the same command is given again. Beside
--output FILE the finished runs stand in the store FILE.runs until the sweep is complete; those in
--store DIR stay, for several sweeps at once, and `wearwell results DIR` shows them.";

/// Files and folders for the results of a sweep.
struct OutputPaths {
    /// Folder for finished runs, unless the user gave a store.
    runs: Option<PathBuf>,
    tables: Vec<OutputFile>,
    /// True if finished runs are removed once the tables are written.
    is_transient: bool,
}

impl OutputPaths {
    fn new(output: Option<&Path>, inputs: &[PathBuf]) -> Result<OutputPaths, Failure> {
        let Some(path) = output else {
            return Ok(OutputPaths { runs: None, tables: Vec::new(), is_transient: false });
        };
        let names_file =
            path.extension().is_some_and(|end| end == "csv" || end == "json" || end == "parquet");
        if names_file && !path.is_dir() {
            let tables = vec![OutputFile::new(path, inputs)?];
            return Ok(OutputPaths { runs: Some(runs_folder(path)), tables, is_transient: true });
        }
        std::fs::create_dir_all(path)
            .map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
        let table = |name: &str| OutputFile::new(&path.join(name), inputs);
        let mut tables = vec![table("table.csv")?];
        if cfg!(feature = "parquet") {
            tables.push(table("table.parquet")?);
        }
        Ok(OutputPaths { runs: Some(path.join("runs")), tables, is_transient: false })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.windows && args.output.is_none() && !args.study.has_store() {
        return Err(Failure::Usage(
            "--windows: time series are kept in a store; give --store or --output".into(),
        ));
    }
    let mut draft = args.scenario.draft()?;
    let axes: Vec<Axis> =
        args.vary.iter().map(|text| Axis::parse(text)).collect::<Result<_, _>>().map_err(Failure::usage)?;
    // The drive is fitted once for all points, unless drives or traces are compared.
    let changes_fit = |axis: &Axis| ["device", "trace"].iter().any(|table| axis.key.starts_with(table));
    if !axes.iter().any(changes_fit) {
        scenario_args::fit(&mut draft, args.progress)?;
    }
    let sweep = Sweep::plan(&draft, &axes, args.replicas).map_err(sweep_failure)?;
    let inputs = args.scenario.inputs(&draft);
    let paths = OutputPaths::new(args.output.as_deref(), &inputs)?;
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    let study = args.study.open_resources(paths.runs.as_deref())?;
    let options = study.options(true, args.windows);
    let outcome = with_progress(args.progress, sweep.points().len(), |display| sweep.run(&options, display));
    let (results, failures) = split_outcomes(&sweep, outcome.map_err(sweep_failure)?);
    let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
    let table: Vec<Row> = rows(&results).into_iter().map(|row| settings_first(row, &keys)).collect();
    let value = sweep_document(&draft, &keys, &table, &failures)?;
    let result = StudyResult { table: row_table(&table, &keys), value, rows: table };
    paths.tables.iter().try_for_each(|file| result.write(file))?;
    if let Some(page) = &page {
        result.write_page(page, &draft, "A sweep")?;
    }
    result.print(args.format)?;
    if !failures.is_empty() {
        return Err(Failure::Run(format!(
            "{} of {} runs failed:\n{}",
            failures.len(),
            sweep.points().len(),
            failures.join("\n")
        )));
    }
    if paths.is_transient {
        let identities: Vec<String> = sweep.points().iter().map(|point| identity(&point.scenario)).collect();
        study.remove_if_complete(&identities);
    }
    Ok(())
}

/// Returns a sweep as JSON, which also names the axes and includes the scenario.
fn sweep_document(
    draft: &Draft,
    keys: &[&str],
    table: &[Row],
    failures: &[String],
) -> Result<Value, Failure> {
    let rows: Vec<Map<String, Value>> = table.iter().map(|row| row.iter().cloned().collect()).collect();
    let (version, scenario) = (env!("CARGO_PKG_VERSION"), draft.scenario()?);
    Ok(json!({ "version": version, "axes": keys, "rows": rows, "scenario": scenario, "failures": failures }))
}

/// Converts an error of a sweep to that of the command.
pub fn sweep_failure(error: SweepError) -> Failure {
    match error {
        SweepError::Draft { point, error } => match Failure::from(*error) {
            Failure::Usage(message) => Failure::Usage(format!("{point}{message}")),
            other => other,
        },
        SweepError::GridSize { .. } | SweepError::DuplicateKey { .. } => Failure::usage(error),
        SweepError::Interrupted { finished, points } => {
            print_message(format_args!(
                "{finished} of {points} runs finished; with --output or --store, the same command goes on from here"
            ));
            Failure::Interrupted
        }
        other => Failure::run(other),
    }
}

/// Separates results from the errors of runs without a result.
fn split_outcomes(sweep: &Sweep, outcomes: Vec<Outcome>) -> (Vec<PointResult>, Vec<String>) {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for (point, outcome) in sweep.points().iter().zip(outcomes) {
        match outcome {
            Ok(result) => results.push(result),
            Err(error) => {
                let settings: Vec<_> =
                    point.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
                failures.push(format!("  {}: {error}", settings.join(" ")));
            }
        }
    }
    (results, failures)
}

/// Returns the row with its settings first, in the order of the axes.
fn settings_first(row: Row, keys: &[&str]) -> Row {
    let position = |name: &str| keys.iter().position(|key| *key == name).unwrap_or(keys.len());
    let mut row = row;
    row.sort_by_key(|(name, _)| position(name));
    row
}
