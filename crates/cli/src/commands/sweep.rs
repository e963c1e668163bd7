//! `wearwell sweep`.

use super::run::Format;
use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::page::Page;
use crate::progress::{ProgressArgs, SweepProgress};
use crate::report::{csv_rows, parquet, row_table, rows_as_columns, rows_as_json, wrapped};
use crate::scenario_args::{self, ScenarioArgs};
use crate::tell::tell;
use crate::top;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use wearwell_stack::{Draft, RunError};
use wearwell_study::{Axis, PointResult, Row, Sweep, SweepError, SweepOptions, rows};

/// Runs a scenario over a grid of settings, on all cores
///
/// Every combination of the values is one run. Results do not depend on the number of threads. With --output, finished
/// runs are kept in a file beside it, and the same command goes on where an interrupted one stopped.
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
    /// Runs at a time; as many as there are cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the table to a file (.csv, .json or .parquet), or to a directory, which then also keeps every full
    /// result in runs.jsonl
    #[arg(long, short, value_name = "FILE|DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also draw the points on a page, which needs nothing else to be looked at: .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Keep the time series of every run in runs.jsonl
    #[arg(long, help_heading = "Output", requires = "output")]
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

An interrupted sweep (Ctrl-C, power cut) goes on where it stopped when the same command is given again. Beside
--output FILE the finished runs stand in FILE.runs.jsonl until the sweep is complete.";

/// Where a sweep keeps its results.
struct Places {
    journal: Option<PathBuf>,
    tables: Vec<OutputFile>,
    /// Whether the journal goes once the tables are there.
    transient: bool,
}

impl Places {
    fn new(output: Option<&Path>, inputs: &[PathBuf]) -> Result<Places, Failure> {
        let Some(path) = output else {
            return Ok(Places { journal: None, tables: Vec::new(), transient: false });
        };
        let names_file =
            path.extension().is_some_and(|end| end == "csv" || end == "json" || end == "parquet");
        if names_file && !path.is_dir() {
            let mut journal = path.as_os_str().to_owned();
            journal.push(".runs.jsonl");
            let tables = vec![OutputFile::new(path, inputs)?];
            return Ok(Places { journal: Some(journal.into()), tables, transient: true });
        }
        std::fs::create_dir_all(path)
            .map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
        let table = |name: &str| OutputFile::new(&path.join(name), inputs);
        let mut tables = vec![table("table.csv")?];
        if cfg!(feature = "parquet") {
            tables.push(table("table.parquet")?);
        }
        Ok(Places { journal: Some(path.join("runs.jsonl")), tables, transient: false })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut draft = args.scenario.draft()?;
    let axes: Vec<Axis> =
        args.vary.iter().map(|text| Axis::parse(text)).collect::<Result<_, _>>().map_err(Failure::usage)?;
    // One drive for all, unless it is drives or traces that are compared.
    let changes_fit = |axis: &Axis| ["device", "trace"].iter().any(|table| axis.key.starts_with(table));
    if !axes.iter().any(changes_fit) {
        scenario_args::fit(&mut draft, args.progress)?;
    }
    let sweep = Sweep::plan(&draft, &axes, args.replicas).map_err(sweep_failure)?;
    let inputs = args.scenario.inputs(&draft);
    let places = Places::new(args.output.as_deref(), &inputs)?;
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    let options = SweepOptions {
        beside_theory: true,
        journal: places.journal.as_deref(),
        threads: args.threads.map(usize::from),
        keep_windows: args.windows,
        run: Some(top::run),
    };
    let display = SweepProgress::new(args.progress, sweep.points().len());
    let outcome = sweep.run(&options, &display);
    display.clear();
    let (results, failures) = sort_out(&sweep, outcome.map_err(sweep_failure)?);
    let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
    let table: Vec<Row> = rows(&results).into_iter().map(|row| settings_first(row, &keys)).collect();
    for file in &places.tables {
        write_table(file, &table)?;
    }
    if let Some(page) = page {
        draw(&page, &draft, &keys, &table, &failures)?;
    }
    print(&match args.format {
        Format::Table => wrapped(&row_table(&table, &keys)),
        Format::Json => rows_as_json(&table),
        Format::Csv => csv_rows(&table)?,
    })?;
    if !failures.is_empty() {
        return Err(Failure::Run(format!(
            "{} of {} runs failed:\n{}",
            failures.len(),
            sweep.points().len(),
            failures.join("\n")
        )));
    }
    if let Some(journal) = places.journal.filter(|_| places.transient) {
        remove_journal(&journal, sweep.points().len());
    }
    Ok(())
}

/// Writes the page of a sweep, which says as well what the table does not: which of its columns are axes, and of what scenario.
fn draw(
    page: &Page,
    draft: &Draft,
    keys: &[&str],
    table: &[Row],
    failures: &[String],
) -> Result<(), Failure> {
    let scenario = draft.scenario()?;
    let name = scenario.name.as_deref().unwrap_or("A sweep");
    let rows: Vec<Map<String, Value>> = table.iter().map(|row| row.iter().cloned().collect()).collect();
    let whole = json!({ "axes": keys, "rows": rows, "scenario": scenario, "failures": failures });
    page.write_value(name, whole)
}

/// Removes the journal of a sweep whose `runs` are in the table now, unless it holds finished runs of others.
fn remove_journal(journal: &Path, runs: usize) {
    let lines = std::fs::read(journal).map_or(0, |text| text.iter().filter(|&&byte| byte == b'\n').count());
    if lines <= runs {
        let _ = std::fs::remove_file(journal);
        return;
    }
    tell(format_args!(
        "{} stays: it holds {} finished runs of another sweep, which goes on from there",
        journal.display(),
        lines - runs
    ));
}

/// What went wrong with runs, as the command says it.
pub fn sweep_failure(error: SweepError) -> Failure {
    match error {
        SweepError::Draft { point, error } => match Failure::from(*error) {
            Failure::Usage(message) => Failure::Usage(format!("{point}{message}")),
            other => other,
        },
        SweepError::Size { .. } | SweepError::Twice { .. } => Failure::usage(error),
        SweepError::Interrupted { finished, points } => {
            tell(format_args!(
                "{finished} of {points} runs finished; with --output, the same command goes on from here"
            ));
            Failure::Interrupted
        }
        other => Failure::run(other),
    }
}

/// Results and what was wrong with the runs that have none.
fn sort_out(sweep: &Sweep, outcomes: Vec<Result<PointResult, RunError>>) -> (Vec<PointResult>, Vec<String>) {
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

/// The row with its settings in the order of the axes.
fn settings_first(row: Row, keys: &[&str]) -> Row {
    let place = |name: &str| keys.iter().position(|key| *key == name).unwrap_or(keys.len());
    let mut row = row;
    row.sort_by_key(|(name, _)| place(name));
    row
}

/// Writes rows to a file of any kind.
pub fn write_table(file: &OutputFile, table: &[Row]) -> Result<(), Failure> {
    match file.kind {
        FileKind::Json => file.write(|out| out.write_all(rows_as_json(table).as_bytes())),
        FileKind::Csv => {
            let text = csv_rows(table)?;
            file.write(|out| out.write_all(text.as_bytes()))
        }
        FileKind::Parquet => {
            let metadata = [("wearwell.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
            file.write(|out| parquet::write(out, &rows_as_columns(table), &metadata))
        }
    }
}
