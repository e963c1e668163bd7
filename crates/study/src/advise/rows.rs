//! Advice as table rows, for other programs.

use super::advice::{Advice, Figures, TrialResult};
use super::candidate::no_change;
use super::price::Price;
use super::software;
use super::{Change, Setting};
use crate::summary::Row;
use serde_json::{Value, json};

impl Advice {
    /// Returns a row for the unchanged stack, each change and each combination.
    pub fn rows(&self) -> Vec<Row> {
        let base = row("base", None, &no_change(), Default::default(), &self.base);
        let changes = self.changes.iter().map(|trial| trial_row("change", trial));
        let combinations = self.combinations.iter().map(|trial| trial_row("combination", trial));
        std::iter::once(base).chain(changes).chain(combinations).collect()
    }
}

/// Columns about the effect of a change; null for the unchanged stack.
const COMPARISON_COLUMNS: [&str; 10] = [
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

fn trial_row(kind: &str, trial: &TrialResult) -> Row {
    let (saving, gain) = (trial.saving, trial.gain);
    let compared = [
        json!(trial.verdict),
        json!(saving.map(|saving| saving.mean)),
        json!(saving.and_then(|saving| saving.ci95_half_width)),
        json!(saving.and_then(|saving| saving.family_half_width)),
        json!(gain.map(|gain| gain.mean)),
        json!(gain.and_then(|gain| gain.family_half_width)),
        json!(trial.tbw_ratio),
        json!(trial.reference.as_ref().and_then(|reference| reference.write_amplification)),
        joined(trial.prices.iter().map(Price::text).collect(), "; "),
        joined(
            Some(software::as_diff(&trial.options)).filter(|diff| !diff.is_empty()).into_iter().collect(),
            "",
        ),
    ];
    row(kind, trial.rank, &trial.change, compared, &trial.figures)
}

/// Joins `parts` with `separator`; null if there are no parts.
fn joined(parts: Vec<String>, separator: &str) -> Value {
    if parts.is_empty() { Value::Null } else { json!(parts.join(separator)) }
}

fn row(
    kind: &str,
    rank: Option<usize>,
    change: &Change,
    compared: [Value; COMPARISON_COLUMNS.len()],
    figures: &Figures,
) -> Row {
    let settings: Vec<String> = change.settings.iter().map(Setting::argument).collect();
    let mut row = vec![
        ("kind".to_owned(), json!(kind)),
        ("rank".to_owned(), json!(rank)),
        ("family".to_owned(), json!(change.family)),
        ("change".to_owned(), json!(change.description)),
    ];
    row.extend(COMPARISON_COLUMNS.iter().map(|name| (*name).to_owned()).zip(compared));
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
