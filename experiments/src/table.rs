//! Tables as CSV.

use crate::Failure;
use crate::session::Session;

/// Rows of text under column names.
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

    /// Adds a row, one field per column.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len(), "a field for each column");
        self.rows.push(row);
    }

    /// Returns the table as CSV, after a comment with the command that made it.
    pub fn to_csv(&self, command: &str) -> String {
        let mut writer = csv::Writer::from_writer(format!("# {command}\n").into_bytes());
        writer.write_record(&self.columns).expect("memory takes all");
        self.rows.iter().for_each(|row| writer.write_record(row).expect("memory takes all"));
        String::from_utf8(writer.into_inner().expect("memory takes all")).expect("fields are text")
    }

    /// Writes the table as data of the session's item, to a file of this name.
    pub fn write(&self, session: &Session, name: &str) -> Result<(), Failure> {
        session.leave(name, "csv", &self.to_csv(session.command()))
    }

    /// Writes the table, and marks it as one for people.
    pub fn publish(&self, session: &Session, name: &str) -> Result<(), Failure> {
        session.show(name);
        self.write(session, name)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn the_command_stands_above_the_fields() {
        let mut table = Table::new(&["b", "WA"]);
        table.push(vec!["16".into(), "4.5".into()]);
        assert_eq!(table.to_csv("make it"), "# make it\nb,WA\n16,4.5\n");
    }
}
