//! A drive beside its limit: as text, JSON and rows.

use super::grid;
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_study::limit::{Loss, Measured, Policies, PolicyRow};

/// Everything, for programs.
pub fn as_value(found: &Policies) -> Value {
    let limit = &found.limit;
    let rows: Vec<Value> = rows(found).into_iter().map(|row| row.into_iter().collect()).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "write_amplification": limit.result.write_amplification,
        "lower_bound": limit.lower_bound(),
        "host_pages": limit.host_pages,
        "least_rewrites": limit.least_rewrites,
        "open_share": limit.open_share(),
        "foreseeing": found.foreseeing,
        "rows": rows,
        "scenario": limit.result.scenario,
        "warnings": limit.result.warnings,
    })
}

/// A row for each placement and victim policy; of a drive that has none, one for itself.
pub fn as_rows(found: &Policies) -> Vec<Row> {
    let limit = &found.limit;
    let best = found.foreseeing.as_ref().map(|best| best.write_amplification);
    let known = [
        ("lower_bound", json!(limit.lower_bound())),
        ("foreseeing_write_amplification", json!(best)),
        ("host_pages", json!(limit.host_pages)),
        ("least_rewrites", json!(limit.least_rewrites)),
        ("warnings", json!(limit.result.warnings.join("; "))),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    let rows = rows(found);
    if rows.is_empty() {
        let own = [("write_amplification".to_owned(), json!(limit.result.write_amplification))];
        return vec![own.into_iter().chain(known).collect()];
    }
    rows.into_iter().map(|row| row.into_iter().chain(known.clone()).collect()).collect()
}

fn rows(found: &Policies) -> Vec<Row> {
    let bound = found.limit.lower_bound();
    let best = found.foreseeing.as_ref().map(|best| best.write_amplification);
    found.rows.iter().map(|row| columns(row, bound, best)).collect()
}

fn columns(row: &PolicyRow, bound: f64, best: Option<f64>) -> Row {
    let measured = row.outcome.as_ref().ok();
    let amplification = measured.map(|measured| measured.write_amplification);
    let above =
        |level: Option<f64>| amplification.zip(level).map(|(amplification, level)| amplification - level);
    let lost = |part: fn(&Loss) -> f64| json!(row.loss.as_ref().map(part));
    [
        ("placement", json!(row.placement)),
        ("victim", json!(row.victim)),
        ("write_amplification", json!(amplification)),
        ("write_amplification_ci95", json!(measured.and_then(|measured| measured.ci95))),
        ("above_lower_bound", json!(above(Some(bound)))),
        ("above_foreseeing", json!(above(best))),
        ("lost_by_placement", lost(|loss| loss.placement)),
        ("lost_by_victim", lost(|loss| loss.victim)),
        ("lost_by_block_size", lost(|loss| loss.block_size)),
        ("with_pool", json!(measured.map(|measured| measured.pooled))),
        ("problem", json!(row.outcome.as_ref().err())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// To be read by people.
pub fn as_table(found: &Policies) -> String {
    let limit = &found.limit;
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    let best = found.foreseeing.as_ref();
    let mut figures = vec![
        ("Write amplification", number(limit.result.write_amplification)),
        ("  at least, for anything that knows the future", number(Some(limit.lower_bound()))),
    ];
    if let Some(best) = best {
        let with = format!("{:.4} ({}, {})", best.write_amplification, best.placement, best.victim);
        figures.push(("  with the best placement and cleaning that know it", with));
    }
    figures.extend([
        ("Host pages measured", limit.host_pages.to_string()),
        ("  pages that had to be rewritten", limit.least_rewrites.to_string()),
        (
            "Rewriting that nobody has shown to be necessary",
            limit.open_share().map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share)),
        ),
    ]);
    let figures = figures.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut text = grid(&["figure", "value"], figures, &[1]);
    if !found.rows.is_empty() {
        text += &format!("\n{}", policies(found));
    }
    for warning in &limit.result.warnings {
        text += &format!("Warning: {warning}.\n");
    }
    text
}

/// The placements and victim policies that were run, the best first, and what kept the others from it.
fn policies(found: &Policies) -> String {
    let mut run: Vec<(&PolicyRow, &Measured)> =
        found.rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?))).collect();
    run.sort_by(|(_, one), (_, other)| one.write_amplification.total_cmp(&other.write_amplification));
    let best = found.foreseeing.as_ref().map(|best| best.write_amplification);
    let line = |&(row, measured): &(&PolicyRow, &Measured)| {
        let signed = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:+.3}"));
        let lost = |part: fn(&Loss) -> f64| signed(row.loss.as_ref().map(part));
        let amplification = measured.write_amplification;
        vec![
            row.placement.clone(),
            row.victim.clone(),
            format!("{amplification:.4}{}", if measured.pooled { " *" } else { "" }),
            measured.ci95.map_or("-".to_owned(), |half| format!("{half:.4}")),
            signed(Some(amplification - found.limit.lower_bound())),
            signed(best.map(|best| amplification - best)),
            lost(|loss| loss.placement),
            lost(|loss| loss.victim),
            lost(|loss| loss.block_size),
        ]
    };
    let heads = ["placement", "victim", "WA", "±95 %", "bound", "foresight", "placing", "victims", "blocks"];
    let mut text = grid(&heads, run.iter().map(line).collect(), &[2, 3, 4, 5, 6, 7, 8]);
    text += "\nAbove the bound, above the best with foresight, and where it is lost.\n";
    if run.iter().any(|(_, measured)| measured.pooled) {
        text += "* with a pool of erased blocks, as it cannot reclaim in place.\n";
    }
    let problems = found.rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().err()?)));
    for (row, problem) in problems {
        text += &format!("Not run: {} with {}: {problem}.\n", row.placement, row.victim);
    }
    text
}
