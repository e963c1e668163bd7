//! Advice as table rows for programs.

use super::advice::{Advice, Figures, Tried};
use super::candidate::as_it_is;
use super::price::Price;
use super::software;
use super::{Change, Setting};
use crate::summary::Row;
use serde_json::{Value, json};

impl Advice {
    /// Returns a row for the unchanged stack, each change and each combination.
    pub fn rows(&self) -> Vec<Row> {
        let base = row("base", None, &as_it_is(), Default::default(), &self.base);
        let changes = self.changes.iter().map(|tried| tried_row("change", tried));
        let combinations = self.combinations.iter().map(|tried| tried_row("combination", tried));
        std::iter::once(base).chain(changes).chain(combinations).collect()
    }
}

/// Columns about the effect of a change; null for the unchanged stack.
const COMPARED: [&str; 10] = [
    "verdict",
    "saving",
    "saving_ci95",
    "saving_family_ci95",
    "gain",
    "gain_family_ci95",
    "tbw_ratio",
    "reference_write_amplification",
    "price",
    "options",
];

fn tried_row(kind: &str, tried: &Tried) -> Row {
    let (saving, gain) = (tried.saving, tried.gain);
    let compared = [
        json!(tried.verdict),
        json!(saving.map(|saving| saving.mean)),
        json!(saving.and_then(|saving| saving.ci95_half_width)),
        json!(saving.and_then(|saving| saving.family_half_width)),
        json!(gain.map(|gain| gain.mean)),
        json!(gain.and_then(|gain| gain.family_half_width)),
        json!(tried.tbw_ratio),
        json!(tried.reference.as_ref().and_then(|reference| reference.write_amplification)),
        joined(tried.prices.iter().map(Price::text).collect(), "; "),
        joined(
            Some(software::as_diff(&tried.options)).filter(|diff| !diff.is_empty()).into_iter().collect(),
            "",
        ),
    ];
    row(kind, tried.rank, &tried.change, compared, &tried.figures)
}

/// Joins text; null if there is none.
fn joined(parts: Vec<String>, between: &str) -> Value {
    if parts.is_empty() { Value::Null } else { json!(parts.join(between)) }
}

fn row(
    kind: &str,
    rank: Option<usize>,
    change: &Change,
    compared: [Value; COMPARED.len()],
    figures: &Figures,
) -> Row {
    let settings: Vec<String> = change.settings.iter().map(Setting::argument).collect();
    let mut row = vec![
        ("kind".to_owned(), json!(kind)),
        ("rank".to_owned(), json!(rank)),
        ("family".to_owned(), json!(change.family)),
        ("change".to_owned(), json!(change.description)),
    ];
    row.extend(COMPARED.iter().map(|name| (*name).to_owned()).zip(compared));
    row.extend(figure_columns(figures));
    row.push(("settings".to_owned(), json!(settings.join("; "))));
    row
}

fn figure_columns(figures: &Figures) -> Row {
    let mut row = vec![
        ("write_amplification".to_owned(), json!(figures.write_amplification)),
        (
            "first_write_amplification".to_owned(),
            json!(figures.write_amplifications.first().copied().flatten()),
        ),
        ("tbw".to_owned(), json!(figures.tbw)),
        ("host_pages".to_owned(), json!(figures.host_pages)),
        ("steady".to_owned(), json!(figures.steady)),
        ("problem".to_owned(), json!(figures.problem)),
    ];
    row.extend(
        figures
            .layers
            .iter()
            .map(|layer| (format!("{}_write_amplification", layer.name), json!(layer.write_amplification))),
    );
    row
}
