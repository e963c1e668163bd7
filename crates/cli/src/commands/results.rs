//! `wearwell results`: what a store holds.

use super::run::Format;
use super::sweep::write_table;
use crate::exit::Failure;
use crate::output::{OutputFile, print};
use crate::report::{csv_rows, row_table, rows_as_json, wrapped};
use crate::tell::tell;
use serde_json::json;
use std::path::PathBuf;
use wearwell_store::{Compacted, compact, read};
use wearwell_study::{BUILD, PointResult, Row, summary};

/// Shows the runs that a store holds
///
/// A store is the folder of --store, or what `sweep --output DIR` has in DIR/runs. Each run of this version is a row; of others,
/// and of files that are damaged, a line says that they are there.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The folder
    #[arg(value_name = "STORE")]
    store: PathBuf,
    /// First put the runs of this version from many files into few
    ///
    /// It may be ended at any moment, and others may read and write the store meanwhile.
    #[arg(long)]
    compact: bool,
    /// What to print
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
        let Compacted { runs, files_before, files_after } = compact(&args.store).map_err(Failure::usage)?;
        tell(format!("{runs} runs are in {files_after} files now, which had been {files_before}"));
    }
    let stored = read(&args.store).map_err(Failure::usage)?;
    stored.found.complaints().into_iter().for_each(tell);
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
        Format::Table => wrapped(&row_table(&table, &keys)),
        Format::Json => rows_as_json(&table),
        Format::Csv => csv_rows(&table)?,
    })
}

/// A run as a row of a sweep's table.
fn row(point: &PointResult) -> Row {
    let settings = point.settings.iter().map(|(key, value)| (key.clone(), value.clone()));
    settings.chain([("replica".to_owned(), json!(point.replica))]).chain(summary(&point.result)).collect()
}
