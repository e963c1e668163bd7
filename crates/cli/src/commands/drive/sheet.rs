//! Text output for a data sheet.

use super::parts::{effective_table, flash, rated, terabytes};
use crate::report::table::{duration, gigabytes, short, spare_space, years};
use crate::report::{count, grid};
use serde_json::json;
use wearwell_study::Row;
use wearwell_study::drive::{DriveSummary, Prediction};

/// Remark for a flash size that was not given.
const ASSUMED: &str =
    ", as flash comes in powers of two; --raw-capacity or --over-provisioning says what it is";

/// Returns the complete output.
pub fn table(summary: &DriveSummary) -> String {
    let cells = summary.cells.as_ref().map_or_else(String::new, |cells| format!(" {}", cells.to_uppercase()));
    let capacity = gigabytes(summary.capacity_bytes as f64 / 1e9);
    let mut text = format!("{capacity}{cells} drive  (wearwell {}, theory)\n", env!("CARGO_PKG_VERSION"));
    text += &grid(&[], figures(summary), &[]);
    text.push('\n');
    text += &predictions(summary);
    text.push('\n');
    if let Some(rates) = summary.interface_rates.as_ref().filter(|rates| !rates.effective.is_empty()) {
        text += "The spare space that explains its rates:\n";
        text += &effective_table(&rates.effective);
        text.push('\n');
    }
    text
}

fn figures(summary: &DriveSummary) -> Vec<Vec<String>> {
    let mut rows = vec![
        (
            "Capacity",
            format!(
                "{} ({} bytes)",
                gigabytes(summary.capacity_bytes as f64 / 1e9),
                count(summary.capacity_bytes)
            ),
        ),
        ("Flash", flash(summary.raw_bytes, summary.raw_assumed.then_some(ASSUMED))),
        ("Spare space", spare_space(&summary.spare_space)),
        (
            "Rating",
            summary.rating.as_ref().map_or_else(
                || "unknown: give --tbw, or --dwpd and --warranty".into(),
                |rating| rated(rating, summary.capacity_bytes),
            ),
        ),
        ("Endurance", endurance(summary)),
    ];
    if let Some(usage) = &summary.usage {
        let until = usage
            .rated_years
            .map_or_else(String::new, |rated| format!("; TBW is written in {}", years(rated)));
        let day = gigabytes(usage.gb_per_day);
        rows.push(("Written a day", format!("{day}, {} drive writes{until}", short(usage.dwpd))));
    }
    if let Some(rates) = &summary.interface_rates {
        let days = rates.rated_days.map_or_else(String::new, |days| {
            format!("; TBW is written at that rate in {}", duration(days * 86_400.0))
        });
        rows.push(("Sequential writes", format!("{} MB/s{days}", short(rates.sequential_mb_per_s))));
        if let Some(random) = rates.random_mb_per_s {
            let implied = match rates.write_amplification {
                Some(ratio) => {
                    format!("; room for a write amplification of {}, if flash limits both", short(ratio))
                }
                None => "; no slower than sequential ones, so that they say nothing of spare space".into(),
            };
            rows.push(("Random writes", format!("{} MB/s{implied}", short(random))));
        }
    }
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

fn endurance(summary: &DriveSummary) -> String {
    let (Some(cycles), Some(media_tb)) = (summary.endurance_cycles, summary.media_tb) else {
        return "unknown: give --cells, --endurance-cycles or --rated-wa".into();
    };
    let limit = summary.write_amplification_limit.map_or_else(String::new, |limit| {
        format!(": the rating up to a write amplification of {}", short(limit))
    });
    format!("{} cycles, {} TB of flash writes{limit}", count(cycles.into()), terabytes(media_tb))
}

/// Returns a table of predictions, one for each combination of writes and cleaning.
fn predictions(summary: &DriveSummary) -> String {
    let or_dash = |value: Option<f64>| value.map_or_else(|| "–".into(), short);
    let line = |one: &Prediction| {
        vec![
            one.writes.clone(),
            one.cleaning.to_owned(),
            format!("{:.3}", one.write_amplification),
            or_dash(one.tbw),
            or_dash(one.dwpd),
            one.years.map_or_else(|| "–".into(), years),
            one.rated_cycles.map_or_else(|| "–".into(), |cycles| count(cycles.round() as u64)),
        ]
    };
    let head = ["writes", "cleaning", "write amplification", "TBW", "DWPD", "lasts", "cycles for the rating"];
    grid(&head, summary.predictions.iter().map(line).collect(), &[2, 3, 4, 5, 6])
}

/// Returns one row for each prediction.
pub fn rows(summary: &DriveSummary) -> Vec<Row> {
    let row = |one: &Prediction| {
        let values = [
            ("capacity_bytes", json!(summary.capacity_bytes)),
            ("spare_factor", json!(summary.spare_space.spare_factor)),
            ("model", json!(one.model)),
            ("writes", json!(one.writes)),
            ("cleaning", json!(one.cleaning)),
            ("write_amplification", json!(one.write_amplification)),
            ("tbw", json!(one.tbw)),
            ("dwpd", json!(one.dwpd)),
            ("years", json!(one.years)),
            ("rated_cycles", json!(one.rated_cycles)),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    };
    summary.predictions.iter().map(row).collect()
}
