//! Tables of a fleet as rows, for programs.

use serde::Serialize;
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_study::fleet::FleetResult;

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FleetTable {
    /// Each year ahead
    Years,
    /// Life of the drives
    Life,
    /// Each group of drives
    Groups,
    /// Each tenant
    Tenants,
    /// Results of the what-ifs
    WhatIf,
    /// Basis of each figure
    Basis,
    /// Theory compared with simulation
    Check,
}

/// Returns the rows of a table; names of nested fields are joined by an underscore.
pub fn rows(result: &FleetResult, table: FleetTable) -> Vec<Row> {
    match table {
        FleetTable::Years => flatten_rows(&result.years),
        FleetTable::Life => flatten_rows(&result.life),
        FleetTable::Groups => flatten_rows(&result.groups),
        FleetTable::Tenants => flatten_rows(&result.tenants),
        FleetTable::WhatIf => flatten_rows(&result.what_if),
        FleetTable::Basis => flatten_rows(&result.basis),
        FleetTable::Check => result.check.as_ref().map_or_else(Vec::new, |check| flatten_rows(&check.rows)),
    }
}

fn flatten_rows<T: Serialize>(rows: &[T]) -> Vec<Row> {
    let row = |row: &T| match serde_json::to_value(row).expect("plain data") {
        Value::Object(fields) => {
            fields.into_iter().flat_map(|(name, value)| flatten_field(name, value)).collect()
        }
        other => vec![("value".to_owned(), other)],
    };
    rows.iter().map(row).collect()
}

/// Flattens a field. In an estimate, the mean keeps the name of the field.
fn flatten_field(name: String, value: Value) -> Row {
    match value {
        Value::Object(mut fields) => {
            let mean = fields.remove("mean").map(|mean| (name.clone(), mean));
            let rest = fields.into_iter().map(|(inner, value)| (format!("{name}_{inner}"), value));
            mean.into_iter().chain(rest).collect()
        }
        Value::Array(list) => {
            let texts: Vec<_> = list.iter().filter_map(Value::as_str).collect();
            vec![(name, json!(texts.join("; ")))]
        }
        plain => vec![(name, plain)],
    }
}
