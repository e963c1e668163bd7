//! List of the items that can be reproduced, with their costs and recorded verdicts.

use crate::commands::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::report::{csv_rows, rows_as_json, wrap};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use wearwell_experiments::manifest::{self, Costs, Manifest, ManifestEntry};
use wearwell_study::Row;

/// Text for an unknown cost.
const NOT_MEASURED: &str = "not measured";

/// Prints all items.
pub fn list(manifests: &[Manifest], format: Format) -> Result<(), Failure> {
    let costs = Costs::shipped().map_err(Failure::run)?;
    let rows = || manifest::entries(manifests).map(|found| row(found, &costs)).collect::<Vec<Row>>();
    print(&match format {
        Format::Table => wrap(&table(manifests, &costs)),
        Format::Json => rows_as_json(&rows()),
        Format::Csv => csv_rows(&rows())?,
    })
}

/// Returns the list as text: a section for each paper and two lines for each item. The second line is the description,
/// which would be too long for a table.
fn table(manifests: &[Manifest], costs: &Costs) -> String {
    let all = || manifest::entries(manifests);
    let width = all().map(|found| found.name().len()).max().unwrap_or_default();
    let line = |name: &str, quick: &str, full: &str, verdict: &str| {
        format!("{name:width$} {quick:>12} {full:>12}  {verdict}\n")
    };
    let mut text = line("", "--quick", "--full", "on record");
    for manifest in manifests {
        text += &format!("\n{}\n\n", manifest.title);
        for item in &manifest.items {
            let found = ManifestEntry { manifest, item };
            let [quick, full] = [&costs.quick_core_seconds, &costs.full_core_seconds]
                .map(|core_seconds| cost(found, core_seconds));
            text += &line(&found.name(), &quick, &full, item.verdict().label());
            let shared = item.data_source.as_ref().map(|other| format!(" (same data as {other})"));
            text += &format!("    {}{}\n", item.title, shared.unwrap_or_default());
        }
    }
    let [quick, full] = [&costs.quick_core_seconds, &costs.full_core_seconds].map(|core_seconds| {
        let (seconds, unknown) = total(manifests, core_seconds);
        let measured =
            if unknown == 0 { String::new() } else { format!(" (without {unknown} {NOT_MEASURED})") };
        format!("{}{measured}", duration(seconds))
    });
    text + &format!(
        "\nAll together: {quick} with --quick, {full} with --full.\n\
         Costs are seconds, minutes and hours of one core; two take about half as long, but for items of few and long points. Name items, \
         papers or `all`, as in\n\n  wearwell reproduce cagc/figure-8 --quick\n"
    )
}

/// Returns the core seconds of all programs that can be run, each counted once, and the number of programs of unknown
/// cost.
fn total(manifests: &[Manifest], core_seconds: &BTreeMap<String, f64>) -> (f64, usize) {
    let possible = manifest::entries(manifests).filter(|found| found.item.impossible.is_none());
    let sources: BTreeSet<String> = possible.map(source).collect();
    let unknown = sources.iter().filter(|name| !core_seconds.contains_key(*name)).count();
    (sources.iter().filter_map(|name| core_seconds.get(name)).sum(), unknown)
}

fn row(item: ManifestEntry, costs: &Costs) -> Row {
    let [quick, full] = [&costs.quick_core_seconds, &costs.full_core_seconds]
        .map(|core_seconds| core_seconds.get(&source(item)));
    as_row(json!({
        "item": item.name(), "kind": item.item.kind, "title": item.item.title, "says": item.item.summary,
        "data_of": item.item.data_source, "impossible": item.item.impossible,
        "quick_core_seconds": quick, "full_core_seconds": full, "verdict": item.item.verdict(),
    }))
}

/// Returns the item whose program provides the data of this item.
fn source(item: ManifestEntry) -> String {
    item.item.data_source.clone().unwrap_or_else(|| item.name())
}

fn cost(item: ManifestEntry, core_seconds: &BTreeMap<String, f64>) -> String {
    match core_seconds.get(&source(item)) {
        _ if item.item.impossible.is_some() => "-".to_owned(),
        None => NOT_MEASURED.to_owned(),
        Some(seconds) => duration(*seconds),
    }
}

/// Converts a value to a row.
pub fn as_row(value: Value) -> Row {
    match value {
        Value::Object(fields) => fields.into_iter().collect(),
        _ => Row::default(),
    }
}

/// Formats core seconds in a suitable unit.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => "< 1 s".to_owned(),
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_shows_its_cost_or_not_measured_in_80_columns() {
        let manifests = manifest::read_all().unwrap();
        let mut costs = Costs::default();
        costs.quick_core_seconds.insert("cagc/figure-9".to_owned(), 0.4);
        costs.full_core_seconds.insert("cagc/figure-9".to_owned(), 5400.0);
        let text = table(&manifests, &costs);
        for (name, columns) in [
            ("cagc/figure-9", ["< 1 s", "1.5 h", "reproduced"]),
            ("cagc/figure-5", ["< 1 s", "1.5 h", "reproduced"]),
            ("cagc/figure-8", [NOT_MEASURED, NOT_MEASURED, "reproduced"]),
            ("cagc/traces", ["-", "-", "impossible here"]),
        ] {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words.join(" "), format!("{name} {}", columns.join(" ")));
        }
        // Each program counts once, even if several items use its data.
        let sources: BTreeSet<String> = manifest::entries(&manifests)
            .filter(|found| found.item.impossible.is_none())
            .map(source)
            .collect();
        let not_measured = sources.len() - 1;
        let sum = format!(
            "All together: < 1 s (without {not_measured} {NOT_MEASURED}) with --quick, 1.5 h (without {not_measured} "
        );
        assert!(text.contains(&sum), "{text}");
        let all_known = sources.iter().map(|name| (name.clone(), 60.0)).collect();
        assert_eq!(total(&manifests, &all_known), (60.0 * sources.len() as f64, 0));
        assert!(
            text.contains("    Merging in the workflow of cleaning (same data as cagc/figure-9)\n"),
            "{text}"
        );
    }
}
