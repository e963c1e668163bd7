//! Remaining life of a drive at the measured rate.

use super::interval::Interval;
use super::sheet::ResolvedSheet;
use super::smart::SmartReport;
use super::usage::UsagePeriod;
use serde::Serialize;
use wearwell_stack::Lifetime;

/// Remaining life by one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RemainingLife {
    /// Method: `percentage_used`, `tbw` or `cycles`.
    pub method: &'static str,
    /// Bytes that the host can still write.
    pub host_bytes: Interval,
    /// Years until the host has written these bytes at the latest rate; `None` without a rate.
    pub years: Option<Interval>,
}

/// Estimates the remaining life by every method that the report allows: totals since new, at the rates of the latest
/// period.
pub fn remaining_lives(
    sheet: Option<&ResolvedSheet>,
    report: &SmartReport,
    since_new: &UsagePeriod,
    last: &UsagePeriod,
) -> Vec<RemainingLife> {
    let written = since_new.host_bytes;
    let by_percentage = report.percentage_used.as_ref().map(|used| {
        // Each remaining per cent is assumed to last as many bytes as each used per cent.
        let at = |used: f64| {
            if used > 0.0 { written.value * (100.0 - used).max(0.0) / used } else { f64::INFINITY }
        };
        let used = used.amount();
        ("percentage_used", Interval { value: at(used.value), low: at(used.high), high: at(used.low) })
    });
    let rating = sheet.and_then(|sheet| sheet.rating);
    let by_tbw = rating.map(|rating| ("tbw", remaining(rating.tbw * 1e12, written)));
    let by_cycles = || {
        let (endured, before, now) =
            (sheet?.media_bytes()?, since_new.counted_amplification()?, last.counted_amplification()?);
        let media_left = remaining(endured, before.scaled(written.value));
        Some(("cycles", media_left.divided_by(now))).filter(|(_, remaining)| remaining.is_known())
    };
    let all = by_percentage.into_iter().chain(by_tbw).chain(by_cycles());
    all.map(|(by, host_bytes)| RemainingLife {
        method: by,
        host_bytes,
        years: years(host_bytes, last.gb_per_day),
    })
    .collect()
}

/// Returns `endured` minus `used`, at least 0.
fn remaining(endured: f64, used: Interval) -> Interval {
    let minus = |used: f64| (endured - used).max(0.0);
    Interval { value: minus(used.value), low: minus(used.high), high: minus(used.low) }
}

fn years(bytes: Interval, gb_per_day: Option<Interval>) -> Option<Interval> {
    let rate = gb_per_day.filter(|rate| rate.value > 0.0)?;
    let at = |bytes: f64, gb: f64| if gb > 0.0 { Lifetime::years(bytes, gb * 1e9) } else { f64::INFINITY };
    Some(Interval {
        value: at(bytes.value, rate.value),
        low: at(bytes.low, rate.high),
        high: at(bytes.high, rate.low),
    })
}
