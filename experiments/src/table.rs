//! Tables as CSV for programs and as Markdown for people.

use crate::Failure;
use std::fmt::Write;
use std::path::Path;

/// Rows of text under column names.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: &[&'static str]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one field a column.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len(), "a field for each column");
        self.rows.push(row);
    }

    /// The table as CSV, after a comment with the command that made it.
    pub fn to_csv(&self, command: &str) -> String {
        let mut text = format!("# {command}\n{}\n", self.columns.join(","));
        for row in &self.rows {
            let _ = writeln!(text, "{}", row.join(","));
        }
        text
    }

    /// The table as Markdown.
    pub fn to_markdown(&self) -> String {
        let line = |fields: Vec<&str>| format!("| {} |\n", fields.join(" | "));
        let mut text = line(self.columns.clone());
        text += &line(self.columns.iter().map(|_| "---").collect());
        for row in &self.rows {
            text += &line(row.iter().map(String::as_str).collect());
        }
        text
    }

    /// Writes the CSV.
    pub fn write(&self, path: &Path, command: &str) -> Result<(), Failure> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        Ok(std::fs::write(path, self.to_csv(command))?)
    }

    /// Writes the CSV and prints the Markdown.
    pub fn publish(&self, path: &Path, command: &str) -> Result<(), Failure> {
        self.write(path, command)?;
        println!("{}", self.to_markdown());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn both_forms_hold_the_same_fields() {
        let mut table = Table::new(&["b", "WA"]);
        table.push(vec!["16".into(), "4.5".into()]);
        assert_eq!(table.to_csv("make it"), "# make it\nb,WA\n16,4.5\n");
        assert_eq!(table.to_markdown(), "| b | WA |\n| --- | --- |\n| 16 | 4.5 |\n");
    }
}
