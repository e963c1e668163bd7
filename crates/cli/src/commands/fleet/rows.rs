//! Tables of a fleet as rows, for programs.

use serde::Serialize;
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_study::fleet::FleetResult;

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
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
pub fn rows(result: &FleetResult, which: Which) -> Vec<Row> {
    match which {
        Which::Years => flat(&result.years),
        Which::Life => flat(&result.life),
        Which::Groups => flat(&result.groups),
        Which::Tenants => flat(&result.tenants),
        Which::WhatIf => flat(&result.what_if),
        Which::Basis => flat(&result.basis),
        Which::Check => result.check.as_ref().map_or_else(Vec::new, |check| flat(&check.rows)),
    }
}

fn flat<T: Serialize>(rows: &[T]) -> Vec<Row> {
    let row = |row: &T| match serde_json::to_value(row).expect("plain data") {
        Value::Object(fields) => fields.into_iter().flat_map(|(name, value)| field(name, value)).collect(),
        other => vec![("value".to_owned(), other)],
    };
    rows.iter().map(row).collect()
}

/// Flattens a field. In an estimate, the mean keeps the name of the field.
fn field(name: String, value: Value) -> Row {
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
