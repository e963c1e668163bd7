//! Text shared by the output for data sheets and for SMART reports.

use crate::report::table::{gigabytes, short};
use crate::report::{count, grid};
use wearwell_stack::{ByteSize, Rating};
use wearwell_study::drive::{EffectiveSpace, Interval};

/// If both bounds are within this share of the figure, they are shown as `±`.
const SYMMETRY_TOLERANCE: f64 = 0.005;

/// Formats the size of the flash; `assumed` is the remark for a size that was not given.
pub fn flash(raw_bytes: u64, assumed: Option<&str>) -> String {
    let assumed = assumed.map_or_else(String::new, |remark| format!(", ASSUMED{remark}"));
    format!("{} ({}){assumed}", gigabytes(raw_bytes as f64 / 1e9), ByteSize(raw_bytes))
}

/// Formats the rated host writes.
pub fn rated(rating: &Rating, capacity_bytes: u64) -> String {
    let dwpd = rating.dwpd.map_or_else(String::new, |dwpd| format!("; {} DWPD", short(dwpd)));
    let warranty =
        rating.warranty_years.map_or_else(String::new, |years| format!(" over {} years", short(years)));
    let writes = rating.tbw * 1e12 / capacity_bytes as f64;
    format!("{} TBW, {} drive writes{dwpd}{warranty}", terabytes(rating.tbw), terabytes(writes))
}

/// Formats terabytes: a large number without decimals, a small number with some decimals.
pub fn terabytes(number: f64) -> String {
    if number >= 100.0 { count(number.round() as u64) } else { short(number) }
}

/// Formats bytes in decimal units.
pub fn size(bytes: f64) -> String {
    gigabytes(bytes / 1e9)
}

/// Returns a table of the models' explanations of a write amplification.
pub fn effective_table(all: &[EffectiveSpace]) -> String {
    let line = |one: &EffectiveSpace| {
        let dash = || "–".to_owned();
        vec![
            one.writes.clone(),
            one.cleaning.to_owned(),
            format!("{:.3}", one.nominal_write_amplification),
            one.spare_factor.as_ref().map_or_else(dash, |spare| interval(spare, 1.0)),
            one.over_provisioning.as_ref().map_or_else(dash, |share| interval(share, 100.0) + " %"),
            one.reserve_bytes.as_ref().map_or_else(dash, |bytes| size(bytes.value)),
            one.unused_share.as_ref().map_or_else(dash, |share| format!("{:.1} %", 100.0 * share.value)),
        ]
    };
    let head = [
        "writes",
        "cleaning",
        "write amplification by its flash",
        "effective spare factor",
        "over-provisioning",
        "reserve",
        "as if unused",
    ];
    grid(&head, all.iter().map(line).collect(), &[2, 3, 4, 5, 6])
}

/// Formats a figure with its bounds by the models.
pub fn range(figure: &Interval) -> String {
    format!("{:.4} ({:.4} to {:.4})", figure.value, figure.low, figure.high)
}

/// Formats a figure times `scale` with its bounds.
pub fn interval(figure: &Interval, scale: f64) -> String {
    let Interval { value, low, high } = *figure;
    let digits = if scale > 1.0 { 2 } else { 4 };
    let at = |value: f64| format!("{:.digits$}", value * scale);
    if !high.is_finite() {
        return format!("{} (at least {})", at(value), at(low));
    }
    let off = (high - value).max(value - low);
    match () {
        _ if off > SYMMETRY_TOLERANCE * value => format!("{} ({} to {})", at(value), at(low), at(high)),
        _ if at(off) == at(0.0) => at(value),
        _ => format!("{} ± {}", at(value), at(off)),
    }
}
