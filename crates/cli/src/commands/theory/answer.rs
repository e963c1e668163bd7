//! Answers of a model as text, JSON and CSV.

use super::options::drive_parameters;
use super::writes::WriteDistribution;
use crate::commands::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::page::Page;
use crate::report::table::spare_space;
use crate::report::{csv_rows, grid, ordered_json, wrap};
use serde_json::{Value, json};
use std::path::PathBuf;
use wearwell_study::Row;
use wearwell_theory::{Drive, TheoryError};

/// Options for the output of an answer.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Output format; csv has a row for each point where the answer is a path or a scan
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Also write the answer as a self-contained page: .html
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl OutputArgs {
    /// Returns the HTML page, if one was requested, after checking that the page can be written.
    pub fn page(&self) -> Result<Option<Page>, Failure> {
        self.report.as_deref().map(|path| Page::new(path, &[])).transpose()
    }

    /// Returns points of write amplification by spare space for the HTML page, if one was requested. Points that the
    /// model cannot answer are left out.
    pub fn curve(
        &self,
        drive: &Drive,
        amplification: impl Fn(Drive) -> Result<f64, TheoryError>,
    ) -> Option<Vec<(f64, f64)>> {
        let pages = drive.pages_per_block();
        self.curve_by(drive.spare_factor(), |spare_factor| {
            amplification(Drive::new(pages, spare_factor).ok()?).ok()
        })
    }

    /// Returns points as [`Self::curve`] does, for any function of the spare factor; `drive_spare` is the spare factor
    /// of the drive.
    pub fn curve_by(
        &self,
        drive_spare: f64,
        amplification: impl Fn(f64) -> Option<f64>,
    ) -> Option<Vec<(f64, f64)>> {
        self.report.as_ref()?;
        let other_factors =
            CURVE_SPARE_FACTORS.iter().copied().filter(|factor| (factor - drive_spare).abs() > MIN_DISTANCE);
        let mut factors: Vec<f64> = other_factors.chain([drive_spare]).collect();
        factors.sort_by(f64::total_cmp);
        Some(factors.into_iter().filter_map(|factor| Some((factor, amplification(factor)?))).collect())
    }
}

/// Spare factors of the curve, in addition to that of the drive.
const CURVE_SPARE_FACTORS: [f64; 11] = [0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5];
/// Spare factors closer than this to that of the drive are not drawn.
const MIN_DISTANCE: f64 = 0.005;

/// The answer to one question.
pub struct Answer {
    model: &'static str,
    title: String,
    parameters: Row,
    /// Lines of the table: name and value.
    pub figures: Vec<(String, String)>,
    /// Sections after the table.
    pub sections: Vec<String>,
    /// Fields of the JSON output; fields with plain values are also columns of the CSV output.
    pub values: Row,
    /// Rows of the CSV output; `None` for a single row of parameters and values.
    pub rows: Option<Vec<Row>>,
    /// Write amplification by spare factor, for the HTML page.
    pub curve: Option<Vec<(f64, f64)>>,
    /// Scenario of the answer, for the HTML page.
    pub scenario: Option<Value>,
}

impl Answer {
    /// Returns an empty answer of `model`.
    pub fn new(model: &'static str, title: impl Into<String>) -> Self {
        let title = title.into();
        let (parameters, figures, sections, values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Answer {
            model,
            title,
            parameters,
            figures,
            sections,
            values,
            rows: None,
            curve: None,
            scenario: None,
        }
    }

    /// Returns an answer that is a write amplification, for a drive and its writes.
    pub fn for_drive(
        model: &'static str,
        title: impl Into<String>,
        drive: &Drive,
        writes: Option<&WriteDistribution>,
        write_amplification: f64,
    ) -> Self {
        let mut answer = Answer::new(model, title);
        answer.figure("Write amplification", format!("{write_amplification:.4}"));
        answer.add_drive(drive, writes);
        answer.value("write_amplification", json!(write_amplification));
        answer
    }

    /// Adds the parameters of the drive and its writes.
    pub fn add_drive(&mut self, drive: &Drive, writes: Option<&WriteDistribution>) {
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
    pub fn figure(&mut self, name: &str, value: String) {
        self.figures.push((name.to_owned(), value));
    }

    /// Adds a field to the JSON.
    pub fn value(&mut self, name: &str, value: Value) {
        self.values.push((name.to_owned(), value));
    }

    /// Prints the answer, and writes the HTML page if one was requested.
    pub fn finish(&self, output: &OutputArgs) -> Result<(), Failure> {
        if let Some(page) = output.page()? {
            page.write_value(&self.title, self.page_data())?;
        }
        print(&match output.format {
            Format::Table => wrap(&self.table()),
            Format::Json => self.json(),
            Format::Csv => match &self.rows {
                Some(rows) => csv_rows(rows)?,
                None => csv_rows(&[self.row()])?,
            },
        })
    }

    fn table(&self) -> String {
        let mut text = format!("{}  (wearwell {}, theory)\n", self.title, env!("CARGO_PKG_VERSION"));
        let lines = self.figures.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect();
        text += &grid(&[], lines, &[]);
        text.push('\n');
        for section in &self.sections {
            text += section;
            text.push('\n');
        }
        text
    }

    /// Returns the JSON with the fields that only the HTML page shows.
    fn page_data(&self) -> Value {
        let mut value = Value::Object(self.fields().into_iter().collect());
        if let Some(curve) = &self.curve {
            let point = |(spare_factor, write_amplification): &(f64, f64)| json!({ "spare_factor": spare_factor, "write_amplification": write_amplification });
            value["curve"] = curve.iter().map(point).collect();
        }
        if let Some(scenario) = &self.scenario {
            value["scenario"] = scenario.clone();
        }
        value
    }

    fn json(&self) -> String {
        ordered_json(self.fields())
    }

    /// Returns the fields, beginning with those that also begin the JSON of a run.
    fn fields(&self) -> Row {
        let field = |name: &str, value: Value| (name.to_owned(), value);
        let mut fields = vec![
            field("version", json!(env!("CARGO_PKG_VERSION"))),
            field("mode", json!("theory")),
            field("model", json!(self.model)),
            field("parameters", Value::Object(self.parameters.iter().cloned().collect())),
        ];
        fields.extend(self.values.iter().cloned());
        fields
    }

    fn row(&self) -> Row {
        let mut row = vec![("model".to_owned(), json!(self.model))];
        row.extend(self.parameters.iter().cloned());
        let scalars = self.values.iter().filter(|(_, value)| !value.is_array());
        for (name, value) in scalars {
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
