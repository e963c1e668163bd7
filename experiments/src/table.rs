//! Tables in CSV format.

use crate::Failure;
use crate::session::Session;
use std::fmt::Display;
use std::path::Path;

/// Rows of text fields under column names.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns an empty table.
    pub fn new(columns: &[&'static str]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, which has one field per column.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len(), "a field for each column");
        self.rows.push(row);
    }

    /// Adds a row with named fields. The first row of a table without columns defines the names of the columns; every
    /// other row has equal names.
    pub fn add(&mut self, fields: Fields) {
        if self.columns.is_empty() {
            self.columns.clone_from(&fields.columns);
        }
        assert_eq!(fields.columns, self.columns, "the columns of the table");
        self.push(fields.values);
    }

    /// Returns the table in CSV format, after a comment with the command that made it.
    pub fn to_csv(&self, command: &str) -> String {
        let mut writer = csv::Writer::from_writer(format!("# {command}\n").into_bytes());
        writer.write_record(&self.columns).expect("memory takes all");
        self.rows.iter().for_each(|row| writer.write_record(row).expect("memory takes all"));
        String::from_utf8(writer.into_inner().expect("memory takes all")).expect("fields are text")
    }

    /// Writes the table as data of the session's item, to a file with this name.
    pub fn write(&self, session: &Session, name: &str) -> Result<(), Failure> {
        session.write_file(name, "csv", &self.to_csv(session.command()))
    }

    /// Writes the table, and marks it as meant for readers.
    pub fn publish(&self, session: &Session, name: &str) -> Result<(), Failure> {
        session.mark_published(name);
        self.write(session, name)
    }
}

/// A row under construction: fields with their columns.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    columns: Vec<&'static str>,
    values: Vec<String>,
}

impl Fields {
    /// Appends a field with a text or a whole number.
    pub fn text(mut self, column: &'static str, value: impl Display) -> Self {
        self.columns.push(column);
        self.values.push(value.to_string());
        self
    }

    /// Appends a number with `decimals` decimals; the field is empty for NaN or `None`.
    pub fn number(self, column: &'static str, value: impl Into<Option<f64>>, decimals: usize) -> Self {
        self.text(column, number(value, decimals))
    }
}

/// A row of a table, whose fields are accessible by column name.
pub struct Row {
    columns: csv::StringRecord,
    fields: csv::StringRecord,
}

impl Row {
    /// Returns the field in `column`.
    ///
    /// # Errors
    ///
    /// Returns an error if the column is missing.
    pub fn field(&self, column: &str) -> Result<&str, Failure> {
        let index = self.columns.iter().position(|name| name == column);
        index.and_then(|place| self.fields.get(place)).ok_or_else(|| {
            let names: Vec<&str> = self.columns.iter().collect();
            format!("no column `{column}`; there are {}", names.join(", ")).into()
        })
    }

    /// Returns the number in `column`.
    ///
    /// # Errors
    ///
    /// Returns an error if the column is missing or has no number.
    pub fn number(&self, column: &str) -> Result<f64, Failure> {
        let text = self.field(column)?;
        text.parse().map_err(|_| format!("column `{column}` has \"{text}\", which is no number").into())
    }

    /// Returns all columns and all fields.
    pub fn columns_and_fields(&self) -> (Vec<&str>, Vec<&str>) {
        (self.columns.iter().collect(), self.fields.iter().collect())
    }
}

/// Reads the rows of the table `name` in `folder`.
///
/// # Errors
///
/// Returns an error if the table is missing or unreadable.
pub fn read_table(folder: &Path, name: &str) -> Result<Vec<Row>, Failure> {
    let path = folder.join(format!("{name}.csv"));
    let failed = |error: csv::Error| format!("{}: {error}", path.display());
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(&path).map_err(failed)?;
    let columns = reader.headers().map_err(failed)?.clone();
    let row = |fields: Result<_, _>| Ok(Row { columns: columns.clone(), fields: fields.map_err(failed)? });
    reader.records().map(row).collect()
}

/// Formats a number with `decimals` decimals; empty for NaN or `None`.
pub fn number(value: impl Into<Option<f64>>, decimals: usize) -> String {
    let value = value.into().filter(|value| !value.is_nan());
    value.map_or(String::new(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::{Fields, Table};

    #[test]
    fn csv_starts_with_command_comment() {
        let mut table = Table::new(&["b", "WA"]);
        table.push(vec!["16".into(), "4.5".into()]);
        assert_eq!(table.to_csv("make it"), "# make it\nb,WA\n16,4.5\n");
    }

    #[test]
    fn named_fields_set_columns_and_leave_missing_numbers_empty() {
        let mut table = Table::default();
        table.add(Fields::default().text("b", 16).number("WA", 4.5, 2));
        table.add(Fields::default().text("b", 32).number("WA", None, 2));
        assert_eq!(table.to_csv("make it"), "# make it\nb,WA\n16,4.50\n32,\n");
    }

    #[test]
    #[should_panic(expected = "the columns of the table")]
    fn row_with_other_columns_is_refused() {
        let mut table = Table::default();
        table.add(Fields::default().text("b", 16));
        table.add(Fields::default().text("d", 16));
    }
}
