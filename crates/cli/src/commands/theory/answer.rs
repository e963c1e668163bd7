//! What a model answers, as text, JSON and CSV.

use super::options::drive_parameters;
use super::writes::Writes;
use crate::commands::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::report::table::spare_space;
use crate::report::{csv_rows, grid, ordered_json, wrapped};
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_theory::Drive;

/// The answer to one question.
pub struct Answer {
    model: &'static str,
    title: String,
    parameters: Row,
    /// Lines of the table: what, and how much.
    pub figures: Vec<(String, String)>,
    /// What follows the table.
    pub sections: Vec<String>,
    /// Fields of the JSON; plain ones are columns of the CSV, too.
    pub values: Row,
    /// Rows of the CSV where it is not the parameters and values in one.
    pub rows: Option<Vec<Row>>,
}

impl Answer {
    /// An answer of `model` without anything in it.
    pub fn new(model: &'static str, title: impl Into<String>) -> Self {
        let title = title.into();
        let (parameters, figures, sections, values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Answer { model, title, parameters, figures, sections, values, rows: None }
    }

    /// An answer that is a write amplification, of a drive and how it is written.
    pub fn of_drive(
        model: &'static str,
        title: impl Into<String>,
        drive: &Drive,
        writes: Option<&Writes>,
        write_amplification: f64,
    ) -> Self {
        let mut answer = Answer::new(model, title);
        answer.figure("Write amplification", format!("{write_amplification:.4}"));
        answer.about(drive, writes);
        answer.value("write_amplification", json!(write_amplification));
        answer
    }

    /// Adds the drive and its writes.
    pub fn about(&mut self, drive: &Drive, writes: Option<&Writes>) {
        self.parameters(drive_parameters(drive));
        self.figure("Block", format!("{} pages", drive.pages_per_block()));
        let measures = drive.over_provisioning();
        self.figure("Spare space", spare_space(&measures));
        self.value("over_provisioning", json!(measures));
        if let Some(writes) = writes {
            self.parameters(writes.parameters.clone());
            self.figure("Writes", writes.text.clone());
        }
    }

    /// Adds parameters.
    pub fn parameters(&mut self, row: Row) {
        self.parameters.extend(row);
    }

    /// Adds a parameter.
    pub fn parameter(&mut self, name: &str, value: Value) {
        self.parameters.push((name.to_owned(), value));
    }

    /// Adds a line to the table.
    pub fn figure(&mut self, what: &str, how_much: String) {
        self.figures.push((what.to_owned(), how_much));
    }

    /// Adds a field to the JSON.
    pub fn value(&mut self, name: &str, value: Value) {
        self.values.push((name.to_owned(), value));
    }

    /// Prints the answer.
    pub fn print(&self, format: Format) -> Result<(), Failure> {
        print(&match format {
            Format::Table => wrapped(&self.table()),
            Format::Json => self.json(),
            Format::Csv => match &self.rows {
                Some(rows) => csv_rows(rows)?,
                None => csv_rows(&[self.row()])?,
            },
        })
    }

    fn table(&self) -> String {
        let mut text = format!("{}  (wearwell {}, theory)\n", self.title, env!("CARGO_PKG_VERSION"));
        let lines = self.figures.iter().map(|(what, much)| vec![what.clone(), much.clone()]).collect();
        text += &grid(&[], lines, &[]);
        text.push('\n');
        for section in &self.sections {
            text += section;
            text.push('\n');
        }
        text
    }

    /// The head stands as in the JSON of a run.
    fn json(&self) -> String {
        let field = |name: &str, value: Value| (name.to_owned(), value);
        let mut fields = vec![
            field("version", json!(env!("CARGO_PKG_VERSION"))),
            field("mode", json!("theory")),
            field("model", json!(self.model)),
            field("parameters", Value::Object(self.parameters.iter().cloned().collect())),
        ];
        fields.extend(self.values.iter().cloned());
        ordered_json(fields)
    }

    fn row(&self) -> Row {
        let mut row = vec![("model".to_owned(), json!(self.model))];
        row.extend(self.parameters.iter().cloned());
        let plain = self.values.iter().filter(|(_, value)| !value.is_array());
        for (name, value) in plain {
            match value {
                Value::Object(fields) => {
                    let new = fields.iter().filter(|(field, _)| !row.iter().any(|(own, _)| own == *field));
                    let new: Row = new.map(|(field, value)| (field.clone(), value.clone())).collect();
                    row.extend(new);
                }
                value => row.push((name.clone(), value.clone())),
            }
        }
        row
    }
}
