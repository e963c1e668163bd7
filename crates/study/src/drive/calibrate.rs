//! Calibration: from a measured write amplification to the spare space that explains it.

use super::interval::Interval;
use super::law::{LAWS, Law, Laws};
use super::sheet::Sheet;
use serde::Serialize;
use wearwell_base::units::OverProvisioning;
use wearwell_theory::TheoryError;

/// Spare space with which a law gives the measured write amplification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effective {
    /// Law that was inverted.
    pub law: Law,
    /// Description of the writes that the law assumes.
    pub writes: String,
    /// Victim policy of the law.
    pub cleaning: &'static str,
    /// Write amplification by the law for the drive's nominal spare space.
    pub nominal_write_amplification: f64,
    /// Spare factor that explains the measurement; `None` if no spare factor does.
    pub spare_factor: Option<Interval>,
    /// Over-provisioning with that spare factor.
    pub over_provisioning: Option<Interval>,
    /// Spare flash of a drive with the same logical capacity, in bytes.
    pub reserve_bytes: Option<Interval>,
    /// Fraction of the logical capacity that would have to be unused (trimmed or never written) for the drive's own
    /// flash to provide this spare space; negative if part of its reserve would be missing.
    pub unused_share: Option<Interval>,
}

/// Relative width below which the ends of an interval are computed from the slope at its middle.
const NARROW: f64 = 0.01;

/// Step for that slope, as a fraction of the spare factor.
const STEP: f64 = 1e-3;

/// Applies every law to a measured write amplification.
///
/// # Errors
/// Returns an error if the theory has no solution.
pub fn calibrate(sheet: &Sheet, seen: Option<&Interval>) -> Result<Vec<Effective>, TheoryError> {
    LAWS.iter().map(|&law| effective(sheet, law, seen)).collect()
}

/// Combines a figure over all laws with a known pattern of writes: the value of greedy cleaning, with bounds that cover
/// the other laws and the rounding of counters.
pub fn envelope(all: &[Effective], figure: fn(&Effective) -> Option<Interval>) -> Option<Interval> {
    let known = all.iter().filter(|one| one.law != Law::Random).map(|one| Some((one.law, figure(one)?)));
    let known: Vec<(Law, Interval)> = known.collect::<Option<_>>()?;
    let (_, greedy) = known.iter().find(|(law, _)| *law == Law::Greedy)?;
    let low = known.iter().map(|(_, found)| found.low).fold(f64::INFINITY, f64::min);
    let high = known.iter().map(|(_, found)| found.high).fold(0.0, f64::max);
    Some(Interval { value: greedy.value, low, high })
}

fn effective(sheet: &Sheet, law: Law, seen: Option<&Interval>) -> Result<Effective, TheoryError> {
    let nominal = sheet.spare_space();
    let spare_factor = seen.and_then(|seen| spare_factor(&sheet.laws, law, seen));
    // All three measures grow with the spare factor.
    let with = |measure: &dyn Fn(f64) -> f64| {
        spare_factor.map(|found| Interval {
            value: measure(found.value),
            low: measure(found.low),
            high: measure(found.high),
        })
    };
    let over_provisioning = |spare_factor: f64| {
        if spare_factor < 1.0 {
            OverProvisioning::from_spare_factor(spare_factor).over_provisioning
        } else {
            f64::INFINITY
        }
    };
    let capacity_bytes = sheet.capacity_bytes as f64;
    Ok(Effective {
        law,
        writes: sheet.laws.writes(law),
        cleaning: law.cleaning(),
        nominal_write_amplification: sheet.laws.write_amplification(law, nominal.spare_factor)?,
        spare_factor,
        over_provisioning: with(&over_provisioning),
        reserve_bytes: with(&|spare_factor| capacity_bytes * over_provisioning(spare_factor)),
        unused_share: with(&|spare_factor| 1.0 - (1.0 - spare_factor) * nominal.alpha),
    })
}

/// Returns the spare factor that explains `seen`, with bounds from those of `seen`; `None` if no spare space does.
fn spare_factor(laws: &Laws, law: Law, seen: &Interval) -> Option<Interval> {
    let value = laws.spare_factor(law, seen.value).ok()?;
    if seen.high <= seen.value * (1.0 + NARROW) && seen.low >= seen.value * (1.0 - NARROW) && seen.low > 1.0 {
        let beside = value * (1.0 + STEP);
        if let Ok(other) = laws.write_amplification(law, beside) {
            // Slope in logarithms, negative.
            let slope = STEP.ln_1p() / (other / seen.value).ln();
            let at = |amplification: f64| value * (amplification / seen.value).powf(slope);
            return Some(Interval { value, low: at(seen.high), high: at(seen.low) });
        }
    }
    // A higher write amplification than any spare space gives maps to 0, a lower one to 1.
    let low = if seen.high.is_finite() { laws.spare_factor(law, seen.high).unwrap_or(0.0) } else { 0.0 };
    let high = laws.spare_factor(law, seen.low).unwrap_or(1.0);
    Some(Interval { value, low, high })
}

#[cfg(test)]
mod tests {
    use super::super::sheet::DataSheet;
    use super::*;
    use wearwell_stack::ByteSize;

    fn sheet() -> Sheet {
        let sheet = DataSheet {
            capacity: Some(ByteSize(900_000)),
            raw_capacity: Some(ByteSize(1_000_000)),
            pages_per_block: Some(16),
            ..DataSheet::default()
        };
        sheet.resolve().unwrap()
    }

    /// A drive that behaves as the law predicts for its flash is explained by exactly that flash, with nothing unused.
    #[test]
    fn prediction_of_a_law_is_explained_by_the_nominal_spare_factor() {
        let sheet = sheet();
        for law in LAWS {
            let seen = Interval::exact(sheet.laws.write_amplification(law, 0.1).unwrap());
            let found = effective(&sheet, law, Some(&seen)).unwrap();
            assert!((found.nominal_write_amplification - seen.value).abs() < 1e-12);
            assert!((found.spare_factor.unwrap().value - 0.1).abs() < 1e-9, "{found:?}");
            assert!((found.reserve_bytes.unwrap().value - 100_000.0).abs() < 1e-3, "{found:?}");
            assert!(found.unused_share.unwrap().value.abs() < 1e-8, "{found:?}");
        }
    }

    /// Random cleaning is 1 / S_f, so all values can be computed by hand.
    #[test]
    fn envelope_covers_all_laws() {
        let seen = Interval { value: 3.0, low: 2.9, high: 3.1 };
        let all = calibrate(&sheet(), Some(&seen)).unwrap();
        let together = envelope(&all, |one| one.spare_factor).unwrap();
        let [greedy, choices, hot_cold, random] = &all[..] else { panic!("{all:?}") };
        assert_eq!(together.value, greedy.spare_factor.unwrap().value);
        for one in [greedy, choices, hot_cold] {
            let found = one.spare_factor.unwrap();
            assert!(together.low <= found.low && found.high <= together.high, "{together:?} {found:?}");
        }
        assert!(together.high < random.spare_factor.unwrap().low, "{together:?}");
        assert_eq!(envelope(&calibrate(&sheet(), None).unwrap(), |one| one.spare_factor), None);
    }

    #[test]
    fn bounds_follow_from_the_bounds_of_the_measurement() {
        let (sheet, near) = (sheet(), |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-6);
        for (low, high) in [(4.99, 5.02), (4.0, 8.0)] {
            let seen = Interval { value: 5.0, low, high };
            let found = effective(&sheet, Law::Random, Some(&seen)).unwrap();
            let spare = found.spare_factor.unwrap();
            assert!(near(spare.value, 0.2) && near(spare.low, 1.0 / high) && near(spare.high, 1.0 / low));
            // A spare fifth of a million bytes leaves 800,000 of 900,000 bytes in use: a ninth is unused.
            assert!(near(found.unused_share.unwrap().value, 1.0 / 9.0), "{found:?}");
            assert!(near(found.over_provisioning.unwrap().value, 0.25), "{found:?}");
        }
        let open = Interval { value: 5.0, low: 0.5, high: f64::INFINITY };
        let spare = effective(&sheet, Law::Random, Some(&open)).unwrap().spare_factor.unwrap();
        assert_eq!((spare.low, spare.high), (0.0, 1.0));
        for none in [Some(Interval::exact(1.0)), Some(Interval::exact(0.7)), None] {
            assert_eq!(effective(&sheet, Law::Random, none.as_ref()).unwrap().spare_factor, None);
        }
    }
}
