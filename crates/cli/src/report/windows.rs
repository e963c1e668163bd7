//! The time series of a run as a table.

use super::{csv_rows, parquet, rows_as_columns, rows_as_json};
use crate::exit::Failure;
use crate::output::{FileKind, OutputFile};
use serde_json::{Value, json};
use wearwell_stack::{RunResult, Window};
use wearwell_store::Column;
use wearwell_study::Row;

fn rows(result: &RunResult) -> Vec<Row> {
    result.windows.iter().map(row).collect()
}

fn row(window: &Window) -> Row {
    let fields = [
        ("phase", json!(window.phase)),
        ("host_pages", json!(window.host_pages)),
        ("window_host_pages", json!(window.window_host_pages)),
        ("programs", json!(window.programs)),
        ("erases", json!(window.erases)),
        ("write_amplification", json!(window.write_amplification)),
        ("mapped_share", json!(window.mapped_share)),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Returns the time series as columns.
pub fn columns(result: &RunResult) -> Vec<(String, Column)> {
    rows_as_columns(&rows(result))
}

/// Returns the metadata of a Parquet file: the scenario, and the result without the time series, as JSON.
pub fn metadata(result: &RunResult) -> Vec<(String, String)> {
    let text = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default();
    let mut value = serde_json::to_value(result).expect("results are plain data");
    if let Some(fields) = value.as_object_mut() {
        fields.remove("windows");
    }
    vec![
        ("wearwell.version".to_owned(), result.version.clone()),
        ("wearwell.scenario".to_owned(), text(value.get("scenario"))),
        ("wearwell.result".to_owned(), text(Some(&value))),
    ]
}

/// Writes the time series to `file`.
pub fn write(file: &OutputFile, result: &RunResult) -> Result<(), Failure> {
    match file.kind {
        FileKind::Parquet => file.write(|out| parquet::write(out, &columns(result), &metadata(result))),
        FileKind::Json => file.write(|out| out.write_all(rows_as_json(&rows(result)).as_bytes())),
        FileKind::Csv => {
            let text = csv_rows(&rows(result))?;
            file.write(|out| out.write_all(text.as_bytes()))
        }
    }
}
