//! `wearwell results`: contents of a store of results.

use super::run::Format;
use crate::exit::Failure;
use crate::messages::print_message;
use crate::output::{OutputFile, print};
use crate::report::{csv_rows, row_table, rows_as_json, wrap, write_table};
use serde_json::json;
use std::path::PathBuf;
use wearwell_store::{CompactionResult, compact, read};
use wearwell_study::{BUILD, PointResult, Row, summary_row};

/// Lists the runs in a store
///
/// A store is the folder of --store, or DIR/runs of `sweep --output DIR`. Each run of this version is a row; runs of
/// other versions and damaged files are mentioned in a line.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Folder of the store
    #[arg(value_name = "STORE")]
    store: PathBuf,
    /// First merge the many files with runs of this version into a few
    ///
    /// Can be interrupted at any time, also while other processes read and write the store.
    #[arg(long)]
    compact: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the table to a file (.csv, .json or .parquet)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  wearwell results runs/
  wearwell results runs/ --format csv
  wearwell results results/runs --output all.parquet
  wearwell results runs/ --compact

The files are Parquet, which others read as well: duckdb -c \"from read_parquet('runs/*.parquet', union_by_name = true)\"";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let output = args.output.as_deref().map(|path| OutputFile::new(path, &[])).transpose()?;
    if args.compact {
        let CompactionResult { runs, files_before, files_after } =
            compact(&args.store).map_err(Failure::usage)?;
        print_message(format!("{runs} runs are in {files_after} files now, which had been {files_before}"));
    }
    let stored = read(&args.store).map_err(Failure::usage)?;
    stored.inventory.messages().into_iter().for_each(print_message);
    if stored.points.is_empty() {
        let problem = format!("holds no finished runs of version {BUILD}");
        return Err(Failure::Usage(format!("{}: {problem}", args.store.display())));
    }
    let mut keys: Vec<&str> = Vec::new();
    for key in stored.points.iter().flat_map(|point| point.settings.keys()) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let table: Vec<Row> = stored.points.iter().map(row).collect();
    if let Some(file) = &output {
        write_table(file, &table)?;
    }
    print(&match args.format {
        Format::Table => wrap(&row_table(&table, &keys)),
        Format::Json => rows_as_json(&table),
        Format::Csv => csv_rows(&table)?,
    })
}

/// Returns a run as a row of a sweep's table.
fn row(point: &PointResult) -> Row {
    let settings = point.settings.iter().map(|(key, value)| (key.clone(), value.clone()));
    settings.chain([("replica".to_owned(), json!(point.replica))]).chain(summary_row(&point.result)).collect()
}
