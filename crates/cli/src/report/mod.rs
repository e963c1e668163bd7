//! Results as text, JSON, CSV and Parquet.

pub mod advice;
mod drive;
pub mod ftl;
mod grid;
pub mod limit;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
pub mod parquet;
pub mod table;
pub mod timing;
#[cfg(feature = "nvmfs")]
pub mod top;
#[cfg(not(feature = "nvmfs"))]
#[path = "no_top.rs"]
pub mod top;
pub mod windows;

use crate::exit::Failure;
use crate::output::{FileKind, OutputFile};
pub use grid::{grid, table_width, terminal_width, wrap};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use wearwell_stack::RunResult;
use wearwell_store::Column;
#[cfg(feature = "parquet")]
pub use wearwell_store::parquet;
use wearwell_study::Row;

/// Returns a value as indented JSON, with a final newline.
pub fn pretty(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string_pretty(value).expect("what is printed is plain data") + "\n"
}

/// Returns a result as it is written to a .json file.
pub fn json(result: &RunResult) -> String {
    pretty(result)
}

/// Formats a whole number with separated thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let groups = digits.as_bytes()[head..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let groups: Vec<String> =
        (head > 0).then(|| digits[..head].to_owned()).into_iter().chain(groups).collect();
    groups.join(",")
}

/// Returns the names of all columns of `rows`, in order of first appearance.
fn columns(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn value_of<'a>(row: &'a Row, name: &str) -> &'a Value {
    row.iter().find(|(own, _)| own == name).map_or(&Value::Null, |(_, value)| value)
}

/// Returns rows as CSV with a head; null becomes an empty field.
pub fn csv_rows(rows: &[Row]) -> Result<String, Failure> {
    let names = columns(rows);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&names).map_err(Failure::run)?;
    for row in rows {
        writer
            .write_record(names.iter().map(|name| plain_text(value_of(row, name))))
            .map_err(Failure::run)?;
    }
    let bytes = writer.into_inner().map_err(Failure::run)?;
    String::from_utf8(bytes).map_err(Failure::run)
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

/// Returns a plain value as text.
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Column of the prediction by theory, which is empty in some sweeps.
const THEORY: (&str, &str) = ("theory_write_amplification", "by theory");

/// Returns the prediction by theory for the whole stack, if only the predicted layer amplifies writes.
fn theory(row: &Row) -> Value {
    let layer = plain_text(value_of(row, "theory_layer"));
    let is_whole =
        value_of(row, &format!("{layer}_write_amplification")) == value_of(row, "write_amplification");
    if is_whole { value_of(row, THEORY.0).clone() } else { Value::Null }
}

/// Returns rows as a JSON list of objects.
pub fn rows_as_json(rows: &[Row]) -> String {
    let objects: Vec<Map<String, Value>> = rows.iter().map(|row| row.iter().cloned().collect()).collect();
    pretty(&objects)
}

/// Returns rows as typed columns: numbers or truth values if all values of a column are such, otherwise text.
pub fn rows_as_columns(rows: &[Row]) -> Vec<(String, Column)> {
    columns(rows)
        .into_iter()
        .map(|name| {
            let values: Vec<&Value> = rows.iter().map(|row| value_of(row, &name)).collect();
            let column = Column::of(&values);
            (name, column)
        })
        .collect()
}

/// Formats a number with four decimals, or with more if it is small.
pub fn four_digits(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || size >= 0.1 => format!("{value:.4}"),
        size if size < 1e-3 => format!("{value:.3e}"),
        size => format!("{value:.*}", (3.0 - size.log10().floor()) as usize),
    }
}

/// Returns the table of a sweep: its settings and the most important figures first.
pub fn row_table(rows: &[Row], keys: &[&str]) -> String {
    let has_theory = rows.iter().any(|row| !theory(row).is_null());
    let mut figures = vec![
        ("write_amplification", "write amplification"),
        ("write_amplification_ci95", "± 95 %"),
        ("steady", "steady"),
        ("erases", "erases"),
        ("erases_max", "most erased"),
        ("tbw", "TBW"),
        ("dwpd", "DWPD"),
    ];
    if rows.iter().any(|row| !value_of(row, "life_ratio").is_null()) {
        figures.push(("life_ratio", "of rated TBW"));
    }
    if has_theory {
        figures.insert(2, THEORY);
    }
    let head: Vec<&str> = keys.iter().copied().chain(figures.iter().map(|(_, title)| *title)).collect();
    let value =
        |row: &Row, name: &str| if name == THEORY.0 { theory(row) } else { value_of(row, name).clone() };
    let cell = |row: &Row, name: &str| match &value(row, name) {
        Value::Null => "–".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "NO".into(),
        Value::Number(number) if number.is_f64() && !keys.contains(&name) => {
            four_digits(number.as_f64().unwrap_or_default())
        }
        other => plain_text(other),
    };
    let names = || keys.iter().copied().chain(figures.iter().map(|(name, _)| *name));
    let body = rows.iter().map(|row| names().map(|name| cell(row, name)).collect()).collect();
    let right: Vec<usize> = (keys.len()..head.len()).collect();
    let mut text = grid(&head, body, &right) + "\n";
    for row in rows {
        let warnings = plain_text(value_of(row, "warnings"));
        if !warnings.is_empty() {
            let settings: Vec<_> =
                keys.iter().map(|key| format!("{key}={}", plain_text(value_of(row, key)))).collect();
            text += &format!("warning: {}: {warnings}\n", settings.join(" "));
        }
    }
    text
}

/// Fields of an object that keep their order.
struct OrderedObject(Row);

impl Serialize for OrderedObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Returns fields as a JSON object, in their order.
pub fn ordered_json(fields: Row) -> String {
    pretty(&OrderedObject(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_keep_their_digits() {
        let shown = [0.0, 1.08416, 100.75, 0.52261, -0.0019874, 0.01, 0.000012345].map(four_digits);
        assert_eq!(shown, ["0.0000", "1.0842", "100.7500", "0.5226", "-0.001987", "0.01000", "1.234e-5"]);
    }

    #[test]
    fn thousands_are_separated() {
        let shown: Vec<_> = [0, 12, 123, 1234, 123_456, 1_234_567].map(count).to_vec();
        assert_eq!(shown, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
    }
}
