//! Differences between results: in their settings, and in their figures.

use super::summary::{Row, summary_row};
use serde_json::Value;
use std::collections::BTreeSet;
use wearwell_stack::RunResult;
use wearwell_stack::steady::Estimate;

/// Numeric columns of a summary that are not compared as figures.
const EXCLUDED_COLUMNS: [&str; 6] =
    ["seed", "mode", "version", "final_draw", "warnings", "write_amplification_ci95"];

/// Comparison of a figure with that of the first result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Significance {
    /// The values differ by more than both confidence intervals allow.
    Significant,
    /// The difference is within chance: at most the root of the summed squares of both 95 % half-widths.
    Insignificant,
    /// The values are equal.
    Equal,
    /// There is no confidence interval.
    Unknown,
}

/// Setting that differs between results.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingChange {
    /// Key, with dots.
    pub key: String,
    /// Value in each result; null where it is unset.
    pub values: Vec<Value>,
}

/// Figure of all results.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name, with the unit.
    pub name: String,
    /// Value in each result; `None` where a result does not have this figure.
    pub values: Vec<Option<f64>>,
    /// Comparison of each result with the first, which is [`Significance::Equal`] to itself.
    pub significances: Vec<Significance>,
}

impl Figure {
    /// Returns the relative change from the first result; `None` if either has no value or the first is 0.
    pub fn change(&self, at: usize) -> Option<f64> {
        let (first, value) = (self.values[0]?, self.values[at]?);
        (first != 0.0).then(|| value / first - 1.0)
    }
}

/// Comparison of several results.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Settings that differ, sorted by key.
    pub settings: Vec<SettingChange>,
    /// Figures that occur in any of the results, in the order of their summaries.
    pub figures: Vec<Figure>,
}

/// Compares results with the first of them; panics without results.
pub fn compare(results: &[RunResult]) -> Comparison {
    Comparison { settings: settings(results), figures: figures(results) }
}

fn settings(results: &[RunResult]) -> Vec<SettingChange> {
    let flat: Vec<Row> = results
        .iter()
        .map(|result| {
            let mut row = Row::new();
            let scenario = serde_json::to_value(&result.scenario).expect("scenarios are plain data");
            flatten(String::new(), &scenario, &mut row);
            row
        })
        .collect();
    let keys: BTreeSet<&String> = flat.iter().flatten().map(|(key, _)| key).collect();
    let change = |key: &String| {
        let value = |row: &Row| row.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        let values: Vec<Value> = flat.iter().map(|row| value(row).unwrap_or_default()).collect();
        let differs = values.iter().any(|value| *value != values[0]);
        differs.then(|| SettingChange { key: key.clone(), values })
    };
    keys.into_iter().filter_map(change).collect()
}

/// Appends the values inside `value` with their key paths; empty tables and lists add nothing.
fn flatten(key: String, value: &Value, row: &mut Row) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(field, value)| {
            let key = if key.is_empty() { field.clone() } else { format!("{key}.{field}") };
            flatten(key, value, row);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| flatten(format!("{key}[{at}]"), item, row));
        }
        Value::Null => {}
        plain => row.push((key, plain.clone())),
    }
}

fn figures(results: &[RunResult]) -> Vec<Figure> {
    let summaries: Vec<Row> = results.iter().map(summary_row).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, value) in summaries.iter().flatten() {
        if value.is_number() && !EXCLUDED_COLUMNS.contains(&name.as_str()) && !names.contains(&name) {
            names.push(name);
        }
    }
    let figure = |name: &String| {
        let value =
            |row: &Row| row.iter().find(|(other, _)| other == name).and_then(|(_, value)| value.as_f64());
        let values: Vec<Option<f64>> = summaries.iter().map(value).collect();
        let verdicts = (0..results.len()).map(|at| significance(name, results, &values, at)).collect();
        Figure { name: name.clone(), values, significances: verdicts }
    };
    names.into_iter().map(figure).collect()
}

fn significance(name: &str, results: &[RunResult], values: &[Option<f64>], at: usize) -> Significance {
    if values[at] == values[0] {
        return Significance::Equal;
    }
    // Only the write amplification of the whole stack has a confidence interval.
    let estimate = |at: usize| {
        let has_one = name == "write_amplification" || name == "write_amplification_mean";
        results[at].write_amplification_estimate.filter(|_| has_one)
    };
    match (estimate(0), estimate(at)) {
        (Some(first), Some(other)) => compare_intervals(&first, &other),
        _ => Significance::Unknown,
    }
}

/// Compares two means by their confidence intervals, assuming independent estimates.
fn compare_intervals(first: &Estimate, other: &Estimate) -> Significance {
    match (first.ci95_half_width, other.ci95_half_width) {
        (Some(a), Some(b)) if (first.mean - other.mean).abs() > a.hypot(b) => Significance::Significant,
        (Some(_), Some(_)) => Significance::Insignificant,
        _ => Significance::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_stack::{Draft, Progress};

    fn result(changes: &[(&str, &str)]) -> RunResult {
        let text = "[device]\nblocks_per_plane = 100\npages_per_block = 16\nload = 0.8\n[workload]\nkind = \"uniform\"\n\
                    [measure]\nwarm_up = 2.0\ndrive_writes = 3.0\n";
        let mut draft = Draft::from_toml(text, "test").unwrap();
        changes
            .iter()
            .for_each(|(key, value)| draft.set(key, wearwell_stack::parse_value(value).unwrap()).unwrap());
        let keep_going = &mut |_: &Progress| std::ops::ControlFlow::Continue(());
        wearwell_stack::run(&draft.scenario().unwrap(), keep_going).unwrap()
    }

    fn figure<'a>(comparison: &'a Comparison, name: &str) -> &'a Figure {
        comparison.figures.iter().find(|figure| figure.name == name).unwrap()
    }

    #[test]
    fn changed_settings_and_significant_figures_are_listed() {
        let base = result(&[]);
        let results = [base.clone(), base, result(&[("seed", "9")]), result(&[("ftl.victim", "fifo")])];
        let comparison = compare(&results);
        let keys: Vec<&str> = comparison.settings.iter().map(|change| change.key.as_str()).collect();
        assert_eq!(keys, ["ftl.victim.policy", "seed"]);
        assert_eq!(comparison.settings[1].values, [1, 1, 9, 1].map(Value::from));
        let amplification = figure(&comparison, "write_amplification");
        assert_eq!(
            amplification.significances,
            [
                Significance::Equal,
                Significance::Equal,
                Significance::Insignificant,
                Significance::Significant
            ],
            "{amplification:?}"
        );
        assert!(amplification.change(3).unwrap() > 0.02, "{amplification:?}");
        // Erases have no confidence interval.
        assert_eq!(figure(&comparison, "erases").significances[3], Significance::Unknown);
        assert!(comparison.figures.iter().all(|figure| figure.name != "seed"));
    }

    #[test]
    fn drives_are_compared_with_their_data_sheets() {
        let rated = [("device.endurance_cycles", "100"), ("device.tbw", "0.0001")];
        let results = [result(&rated), result(&[rated[0], ("device.tbw", "0.0002")]), result(&rated[..1])];
        let rating = |at: usize| results[at].rating.as_ref().unwrap();
        let comparison = compare(&results);
        assert_eq!(figure(&comparison, "rated_tbw").values, [Some(0.0001), Some(0.0002), None]);
        let ratio = figure(&comparison, "life_ratio");
        assert_eq!(ratio.values, [rating(0).life_ratio, rating(1).life_ratio, None]);
        assert!((ratio.change(1).unwrap() + 0.5).abs() < 1e-12, "{ratio:?}");
        let limit = figure(&comparison, "write_amplification_limit");
        assert_eq!(limit.values[1], rating(1).write_amplification_limit);
        assert_eq!(figure(&comparison, "rated_dwpd").values[0], rating(0).dwpd);
        // A data sheet changes no property of the simulated flash.
        assert_eq!(figure(&comparison, "tbw").significances, [Significance::Equal; 3]);
    }

    #[test]
    fn figure_missing_in_a_result_is_empty() {
        let stacked = result(&[("log", "[{ segment_size = \"64 KiB\", spare_factor = 0.3 }]")]);
        let comparison = compare(&[result(&[]), stacked]);
        assert_eq!(figure(&comparison, "log0_write_amplification").values[0], None);
        assert_eq!(figure(&comparison, "log0_write_amplification").change(1), None);
        let added = comparison.settings.iter().find(|change| change.key == "log[0].spare_factor").unwrap();
        assert_eq!(added.values, [Value::Null, Value::from(0.3)]);
    }
}
