//! Calibration: from a measured write amplification to the spare space that explains it.

use super::interval::Interval;
use super::models::{DRIVE_MODELS, DriveModel, DriveModels};
use super::sheet::ResolvedSheet;
use serde::Serialize;
use wearwell_base::units::SpareSpace;
use wearwell_theory::TheoryError;

/// Spare space with which a model gives the measured write amplification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectiveSpace {
    /// Model that was inverted.
    pub model: DriveModel,
    /// Description of the writes that the model assumes.
    pub writes: String,
    /// Victim policy of the model.
    pub cleaning: &'static str,
    /// Write amplification by the model for the drive's nominal spare space.
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
const NARROW_WIDTH: f64 = 0.01;

/// Step for that slope, as a fraction of the spare factor.
const SLOPE_STEP: f64 = 1e-3;

/// Applies every model to a measured write amplification.
///
/// # Errors
/// Returns an error if the theory has no solution.
pub fn calibrate(
    sheet: &ResolvedSheet,
    measured: Option<&Interval>,
) -> Result<Vec<EffectiveSpace>, TheoryError> {
    DRIVE_MODELS.iter().map(|&model| effective_space(sheet, model, measured)).collect()
}

/// Combines a figure over all models with a known pattern of writes: the value of greedy cleaning, with bounds that
/// cover the other models and the rounding of counters.
pub fn envelope(all: &[EffectiveSpace], figure: fn(&EffectiveSpace) -> Option<Interval>) -> Option<Interval> {
    let known =
        all.iter().filter(|one| one.model != DriveModel::Random).map(|one| Some((one.model, figure(one)?)));
    let known: Vec<(DriveModel, Interval)> = known.collect::<Option<_>>()?;
    let (_, greedy) = known.iter().find(|(model, _)| *model == DriveModel::Greedy)?;
    let low = known.iter().map(|(_, found)| found.low).fold(f64::INFINITY, f64::min);
    let high = known.iter().map(|(_, found)| found.high).fold(0.0, f64::max);
    Some(Interval { value: greedy.value, low, high })
}

fn effective_space(
    sheet: &ResolvedSheet,
    model: DriveModel,
    measured: Option<&Interval>,
) -> Result<EffectiveSpace, TheoryError> {
    let nominal = sheet.spare_space();
    let spare_factor = measured.and_then(|measured| spare_factor(&sheet.models, model, measured));
    // All three measures grow with the spare factor.
    let map_bounds = |measure: &dyn Fn(f64) -> f64| {
        spare_factor.map(|found| Interval {
            value: measure(found.value),
            low: measure(found.low),
            high: measure(found.high),
        })
    };
    let over_provisioning = |spare_factor: f64| {
        if spare_factor < 1.0 {
            SpareSpace::from_spare_factor(spare_factor).over_provisioning
        } else {
            f64::INFINITY
        }
    };
    let capacity_bytes = sheet.capacity_bytes as f64;
    Ok(EffectiveSpace {
        model,
        writes: sheet.models.writes(model),
        cleaning: model.cleaning(),
        nominal_write_amplification: sheet.models.write_amplification(model, nominal.spare_factor)?,
        spare_factor,
        over_provisioning: map_bounds(&over_provisioning),
        reserve_bytes: map_bounds(&|spare_factor| capacity_bytes * over_provisioning(spare_factor)),
        unused_share: map_bounds(&|spare_factor| 1.0 - (1.0 - spare_factor) * nominal.alpha),
    })
}

/// Returns the spare factor that explains `measured`, with bounds from those of `measured`; `None` if no spare space
/// does.
fn spare_factor(models: &DriveModels, model: DriveModel, measured: &Interval) -> Option<Interval> {
    let value = models.spare_factor(model, measured.value).ok()?;
    if measured.high <= measured.value * (1.0 + NARROW_WIDTH)
        && measured.low >= measured.value * (1.0 - NARROW_WIDTH)
        && measured.low > 1.0
    {
        let stepped = value * (1.0 + SLOPE_STEP);
        if let Ok(other) = models.write_amplification(model, stepped) {
            // Slope in logarithms, negative.
            let slope = SLOPE_STEP.ln_1p() / (other / measured.value).ln();
            let at = |amplification: f64| value * (amplification / measured.value).powf(slope);
            return Some(Interval { value, low: at(measured.high), high: at(measured.low) });
        }
    }
    // A write amplification above that of every spare factor maps to 0, and one below that of every spare factor maps
    // to 1.
    let low = if measured.high.is_finite() {
        models.spare_factor(model, measured.high).unwrap_or(0.0)
    } else {
        0.0
    };
    let high = models.spare_factor(model, measured.low).unwrap_or(1.0);
    Some(Interval { value, low, high })
}

#[cfg(test)]
mod tests {
    use super::super::sheet::DataSheet;
    use super::*;
    use wearwell_stack::ByteSize;

    fn sheet() -> ResolvedSheet {
        let sheet = DataSheet {
            capacity: Some(ByteSize(900_000)),
            raw_capacity: Some(ByteSize(1_000_000)),
            pages_per_block: Some(16),
            ..DataSheet::default()
        };
        sheet.resolve().unwrap()
    }

    /// A drive that behaves as a model predicts from its flash is explained by exactly that flash, with nothing unused.
    #[test]
    fn prediction_of_a_model_is_calibrated_to_nominal_spare_factor() {
        let sheet = sheet();
        for model in DRIVE_MODELS {
            let measured = Interval::exact(sheet.models.write_amplification(model, 0.1).unwrap());
            let found = effective_space(&sheet, model, Some(&measured)).unwrap();
            assert!((found.nominal_write_amplification - measured.value).abs() < 1e-12);
            assert!((found.spare_factor.unwrap().value - 0.1).abs() < 1e-9, "{found:?}");
            assert!((found.reserve_bytes.unwrap().value - 100_000.0).abs() < 1e-3, "{found:?}");
            assert!(found.unused_share.unwrap().value.abs() < 1e-8, "{found:?}");
        }
    }

    /// Random cleaning is 1 / S_f, so all values can be computed by hand.
    #[test]
    fn envelope_covers_all_models() {
        let measured = Interval { value: 3.0, low: 2.9, high: 3.1 };
        let all = calibrate(&sheet(), Some(&measured)).unwrap();
        let combined = envelope(&all, |one| one.spare_factor).unwrap();
        let [greedy, choices, hot_cold, random] = &all[..] else { panic!("{all:?}") };
        assert_eq!(combined.value, greedy.spare_factor.unwrap().value);
        for one in [greedy, choices, hot_cold] {
            let found = one.spare_factor.unwrap();
            assert!(combined.low <= found.low && found.high <= combined.high, "{combined:?} {found:?}");
        }
        assert!(combined.high < random.spare_factor.unwrap().low, "{combined:?}");
        assert_eq!(envelope(&calibrate(&sheet(), None).unwrap(), |one| one.spare_factor), None);
    }

    #[test]
    fn bounds_follow_from_the_bounds_of_the_measurement() {
        let (sheet, is_near) = (sheet(), |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-6);
        for (low, high) in [(4.99, 5.02), (4.0, 8.0)] {
            let measured = Interval { value: 5.0, low, high };
            let found = effective_space(&sheet, DriveModel::Random, Some(&measured)).unwrap();
            let spare = found.spare_factor.unwrap();
            assert!(
                is_near(spare.value, 0.2) && is_near(spare.low, 1.0 / high) && is_near(spare.high, 1.0 / low)
            );
            // A spare fifth of a million bytes leaves 800,000 of 900,000 bytes in use: a ninth is unused.
            assert!(is_near(found.unused_share.unwrap().value, 1.0 / 9.0), "{found:?}");
            assert!(is_near(found.over_provisioning.unwrap().value, 0.25), "{found:?}");
        }
        let open = Interval { value: 5.0, low: 0.5, high: f64::INFINITY };
        let spare = effective_space(&sheet, DriveModel::Random, Some(&open)).unwrap().spare_factor.unwrap();
        assert_eq!((spare.low, spare.high), (0.0, 1.0));
        for none in [Some(Interval::exact(1.0)), Some(Interval::exact(0.7)), None] {
            assert_eq!(
                effective_space(&sheet, DriveModel::Random, none.as_ref()).unwrap().spare_factor,
                None
            );
        }
    }
}
