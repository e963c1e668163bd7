//! A drive compared with its lower bound, as text.

use super::grid;
use wearwell_study::limit::{PairMeasurement, PolicyComparison, PolicyRow, RewriteLoss};

/// Returns the comparison as text for people.
pub fn as_table(comparison: &PolicyComparison) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    let best = comparison.offline.as_ref();
    let mut figures = vec![
        ("Write amplification", number(comparison.write_amplification())),
        ("  at least, for anything that knows the future", number(Some(comparison.lower_bound()))),
    ];
    if let Some(best) = best {
        let best_text = format!("{:.4} ({}, {})", best.write_amplification, best.placement, best.victim);
        figures.push(("  with the best placement and cleaning that know it", best_text));
    }
    figures.extend([
        ("Host pages measured", comparison.host_pages().to_string()),
        ("  pages that had to be rewritten", comparison.least_rewrites().to_string()),
        (
            "Rewriting that nobody has shown to be necessary",
            comparison.unproven_share().map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share)),
        ),
    ]);
    let figures = figures.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut text = grid(&["figure", "value"], figures, &[1]);
    if !comparison.rows.is_empty() {
        text += &format!("\n{}", policies(comparison));
    }
    for warning in comparison.warnings() {
        text += &format!("Warning: {warning}.\n");
    }
    text
}

/// Returns the table of placements and victim policies that were run, the best first, and the losses of the other
/// pairs.
fn policies(comparison: &PolicyComparison) -> String {
    let mut run: Vec<(&PolicyRow, &PairMeasurement)> =
        comparison.rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?))).collect();
    run.sort_by(|(_, one), (_, other)| one.write_amplification.total_cmp(&other.write_amplification));
    let best = comparison.offline.as_ref().map(|best| best.write_amplification);
    let line = |&(row, measured): &(&PolicyRow, &PairMeasurement)| {
        let signed = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:+.3}"));
        let loss_of = |part: fn(&RewriteLoss) -> f64| signed(row.loss.as_ref().map(part));
        let amplification = measured.write_amplification;
        vec![
            row.placement.clone(),
            row.victim.clone(),
            format!("{amplification:.4}{}", if measured.pooled { " *" } else { "" }),
            measured.ci95.map_or("-".to_owned(), |half_width| format!("{half_width:.4}")),
            signed(Some(amplification - comparison.lower_bound())),
            signed(best.map(|best| amplification - best)),
            loss_of(|loss| loss.placement),
            loss_of(|loss| loss.victim),
            loss_of(|loss| loss.block_size),
        ]
    };
    let heads = ["placement", "victim", "WA", "±95 %", "bound", "foresight", "placing", "victims", "blocks"];
    let mut text = grid(&heads, run.iter().map(line).collect(), &[2, 3, 4, 5, 6, 7, 8]);
    text += "\nAbove the bound, above the best with foresight, and where it is lost.\n";
    if comparison.limits.len() > 1 {
        text += &format!("Means over {} seeds, the same for all.\n", comparison.limits.len());
    }
    if run.iter().any(|(_, measured)| measured.pooled) {
        text += "* with a pool of erased blocks, as it cannot reclaim in place.\n";
    }
    text + &not_run(comparison)
}

/// Lists the policies that were not run, one line for each reason.
fn not_run(comparison: &PolicyComparison) -> String {
    let mut placements: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for row in &comparison.rows {
        let Err(reason) = &row.outcome else { continue };
        let key = (row.victim.as_str(), reason.as_str());
        match placements.iter_mut().find(|(known, _)| *known == key) {
            Some((_, placements)) => placements.push(&row.placement),
            None => placements.push((key, vec![&row.placement])),
        }
    }
    let line = |((victim, reason), of): ((&str, &str), Vec<&str>)| {
        format!("Not run: {} with {victim}: {reason}.\n", of.join(", "))
    };
    placements.into_iter().map(line).collect()
}
