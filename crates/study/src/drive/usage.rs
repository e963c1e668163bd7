//! Activity of a drive over a period.

use super::interval::Interval;
use super::sheet::ResolvedSheet;
use serde::Serialize;

/// Period of a drive's life, by its counters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsagePeriod {
    /// Length in days.
    pub days: Option<Interval>,
    /// Source of the length.
    pub days_from: &'static str,
    /// Bytes written by the host.
    pub host_bytes: Interval,
    /// Bytes programmed to flash, if known.
    pub media_bytes: Option<Interval>,
    /// Bytes programmed over bytes written by the host.
    pub write_amplification: Option<Interval>,
    /// Source of the write amplification.
    pub evidence: Option<Evidence>,
    /// Increase of the maker's estimate of used life, per cent.
    pub percentage_used: Option<Interval>,
    /// Host writes per day, in units of 10^9 bytes.
    pub gb_per_day: Option<Interval>,
    /// Host writes in drive writes per day.
    pub dwpd: Option<Interval>,
}

impl UsagePeriod {
    /// Returns the write amplification if it was counted rather than bracketed by wear.
    pub fn counted_amplification(&self) -> Option<Interval> {
        let is_counted = self.evidence.as_ref().is_some_and(|evidence| evidence.kind != "percentage_used");
        self.write_amplification.filter(|_| is_counted)
    }
}

/// Source of a write amplification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Kind: `media_counter`, `erase_counts` or `percentage_used`; the last two give brackets rather than measurements.
    pub kind: &'static str,
    /// Names of the counters, and assumptions.
    pub counters: String,
}

/// Evaluates the counters of a period.
pub fn usage_period(
    sheet: Option<&ResolvedSheet>,
    host: Interval,
    days: Option<(Interval, &'static str)>,
    counted: Option<(Interval, String)>,
    erases: Option<(Interval, String)>,
    used: Option<Interval>,
) -> UsagePeriod {
    let evidence = counted.map(|(ratio, counters)| (ratio, Evidence { kind: "media_counter", counters }));
    let evidence = evidence.filter(|(ratio, _)| ratio.is_known());
    let evidence = evidence.or_else(|| {
        let ((mean, key), sheet) = erases.zip(sheet)?;
        let counters = format!("{key}, times {} bytes of flash", sheet.raw_bytes);
        let ratio = mean.scaled(sheet.raw_bytes as f64).divided_by(host);
        Some((ratio, Evidence { kind: "erase_counts", counters })).filter(|(ratio, _)| ratio.is_known())
    });
    let evidence = evidence.or_else(|| {
        let ((used, sheet), cycles) = used.zip(sheet).zip(sheet?.endurance_cycles)?;
        let ratio = used.scaled(0.01 * sheet.media_bytes()?).divided_by(host);
        let counters = format!("percentage_used, taken as the share of {cycles} cycles");
        let is_usable = ratio.is_known() && ratio.value > 0.0;
        Some((ratio, Evidence { kind: "percentage_used", counters })).filter(|_| is_usable)
    });
    let (amplification, evidence) = evidence.unzip();
    let rate = days.as_ref().map(|(days, _)| host.scaled(1e-9).divided_by(*days)).filter(Interval::is_known);
    UsagePeriod {
        days: days.as_ref().map(|(days, _)| *days),
        days_from: days.map_or("", |(_, from)| from),
        host_bytes: host,
        media_bytes: amplification.map(|ratio| ratio.scaled(host.value)),
        write_amplification: amplification,
        evidence,
        percentage_used: used,
        gb_per_day: rate,
        dwpd: rate.zip(sheet).map(|(rate, sheet)| rate.scaled(1e9 / sheet.capacity_bytes as f64)),
    }
}

/// Adds notes about the reliability of a write amplification.
pub fn add_notes(evidence: &Evidence, amplification: &Interval, notes: &mut Vec<String>) {
    if evidence.kind != "media_counter" {
        notes.push(format!(
            "the write amplification is a bracket and no measurement, from {}: the drive counts no bytes of flash",
            evidence.counters
        ));
    }
    if amplification.value <= 1.0 {
        let what = match evidence.kind {
            "media_counter" => {
                "the flash took no more than the host wrote: the drive compresses, or a counter is in another unit"
            }
            _ => {
                "that is less than the host wrote: the flash endures more cycles than were taken for granted, or is less"
            }
        };
        notes.push(format!("{what}; no spare space explains it"));
    }
}
