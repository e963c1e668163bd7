//! `wearwell compare`.

use super::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::page::Page;
use crate::report::{csv_rows, four_digits, grid, plain_text, rows_as_json, wrap};
use crate::results::{names, read_all};
use serde_json::{Value, json};
use std::path::PathBuf;
use wearwell_report::Document;
use wearwell_stack::RunResult;
use wearwell_study::{Comparison, Figure, Row, Significance, compare};

/// Compares results: settings, figures, and whether differences are significant
///
/// Each result is compared with the first. Where both have a confidence interval, a difference within the intervals is
/// called noise; for other figures only the change is shown.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Results of `wearwell run --output RESULT.json`
    #[arg(value_name = "RESULT.json", required = true, num_args = 2..)]
    results: Vec<PathBuf>,
    /// Show all figures, including equal ones
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Also write a page that shows the results side by side and one by one: .html
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  wearwell run scenarios/demo.toml --output greedy.json
  wearwell run scenarios/demo.toml --victim fifo --output fifo.json
  wearwell compare greedy.json fifo.json
  wearwell compare greedy.json fifo.json --report both.html
  wearwell compare greedy.json fifo.json --format json | jq '.[] | select(.verdict == \"differs\")'";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let page = args.report.as_deref().map(|path| Page::new(path, &args.results)).transpose()?;
    let results = read_all(&args.results)?;
    let comparison = compare(&results);
    let names = names(&args.results);
    if let Some(page) = page {
        let documents = names.iter().zip(&results).map(|(name, result)| Document::run(name, result));
        page.write(&names.join(", "), &documents.collect::<Vec<_>>())?;
    }
    print(&match args.format {
        Format::Table => wrap(&table(&comparison, &names, &results, args.all)),
        Format::Json => rows_as_json(&rows(&comparison, &names, args.all)),
        Format::Csv => csv_rows(&rows(&comparison, &names, args.all))?,
    })
}

/// True if any result has another value of this figure than the first.
fn has_difference(figure: &Figure) -> bool {
    figure.significances.iter().any(|verdict| *verdict != Significance::Equal)
}

fn significance_name(significance: Significance) -> &'static str {
    match significance {
        Significance::Significant => "differs",
        Significance::Insignificant => "noise",
        Significance::Equal => "equal",
        Significance::Unknown => "unknown",
    }
}

/// Returns one row for each setting and figure, and for each result but the first.
fn rows(comparison: &Comparison, names: &[String], all: bool) -> Vec<Row> {
    let row = |kind: &str, name: &str, at: usize, values: [Value; 4]| -> Row {
        let [first, value, change, verdict] = values;
        [
            ("kind", json!(kind)),
            ("name", json!(name)),
            ("against", json!(names[0])),
            ("result", json!(names[at])),
            ("first", first),
            ("value", value),
            ("change", change),
            ("verdict", verdict),
        ]
        .map(|(column, value)| (column.to_owned(), value))
        .into()
    };
    let mut rows = Vec::new();
    for change in &comparison.settings {
        rows.extend((1..names.len()).map(|at| {
            let (first, value) = (change.values[0].clone(), change.values[at].clone());
            let verdict = if first == value { "equal" } else { "differs" };
            row("setting", &change.key, at, [first, value, Value::Null, json!(verdict)])
        }));
    }
    for figure in comparison.figures.iter().filter(|figure| all || has_difference(figure)) {
        rows.extend((1..names.len()).map(|at| {
            let (first, value) = (json!(figure.values[0]), json!(figure.values[at]));
            let verdict = json!(significance_name(figure.significances[at]));
            row("figure", &figure.name, at, [first, value, json!(figure.change(at)), verdict])
        }));
    }
    rows
}

fn table(comparison: &Comparison, names: &[String], results: &[RunResult], all: bool) -> String {
    let mut text = String::new();
    if comparison.settings.is_empty() {
        text += "All settings are the same.\n";
    } else {
        let head: Vec<&str> = ["setting"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let cells = |values: &[Value]| {
            values.iter().map(|value| if value.is_null() { "–".into() } else { plain_text(value) }).collect()
        };
        let lines = comparison
            .settings
            .iter()
            .map(|change| [vec![change.key.clone()], cells(&change.values)].concat());
        text += &(grid(&head, lines.collect(), &[]) + "\n");
    }
    let figures: Vec<&Figure> =
        comparison.figures.iter().filter(|figure| all || has_difference(figure)).collect();
    if figures.is_empty() {
        text += "All figures are the same.\n";
    } else {
        let head: Vec<&str> = ["figure"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let right: Vec<usize> = (1..head.len()).collect();
        let lines = figures.iter().map(|figure| {
            let cells = (0..names.len()).map(|at| cell(figure, at));
            [figure.name.clone()].into_iter().chain(cells).collect()
        });
        text += &(grid(&head, lines.collect(), &right) + "\n");
        text += "(noise): no more than the 95 % intervals of both allow for; a change without a word has no interval.\n";
    }
    for (name, result) in names.iter().zip(results) {
        text.extend(result.warnings.iter().map(|warning| format!("warning: {name}: {warning}\n")));
    }
    text
}

/// Returns a figure with its change compared with the first result.
fn cell(figure: &Figure, at: usize) -> String {
    let Some(value) = figure.values[at] else { return "–".into() };
    let value = number(value);
    let change = figure.change(at).filter(|change| at > 0 && *change != 0.0);
    let change = change.map_or_else(String::new, |change| format!(" {:+.1} %", 100.0 * change));
    match figure.significances[at] {
        Significance::Insignificant => format!("{value}{change} (noise)"),
        _ => format!("{value}{change}"),
    }
}

/// Formats whole numbers in full, other numbers with four digits.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { four_digits(value) }
}
