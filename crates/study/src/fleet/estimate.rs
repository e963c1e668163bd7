//! Means over repeated draws, with confidence and prediction intervals.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Estimate of a figure over all draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the draws.
    pub mean: f64,
    /// Half-width of the 95 % confidence interval of the mean, by Student's t; more draws narrow it.
    pub ci95: f64,
    /// Lower bound of the 95 % prediction interval for a single fleet; more draws do not narrow it.
    pub low: f64,
    /// Upper bound of the 95 % prediction interval.
    pub high: f64,
}

impl Estimate {
    /// Estimates from the figures of two or more draws. Infinite figures have no finite interval.
    pub fn of(values: &[f64]) -> Estimate {
        // Rounding would give identical values a nonzero interval.
        if values.iter().all(|value| *value == values[0]) && values[0].is_finite() {
            return Estimate { mean: values[0], ci95: 0.0, low: values[0], high: values[0] };
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if !mean.is_finite() {
            return Estimate { mean, ci95: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let variance =
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let t = student_half_width(count - 1.0, 0.95);
        let spread = t * (variance * (1.0 + 1.0 / count)).sqrt();
        Estimate { mean, ci95: t * (variance / count).sqrt(), low: mean - spread, high: mean + spread }
    }

    /// Estimates a figure that cannot be negative: the bounds are at least 0.
    pub fn non_negative(values: &[f64]) -> Estimate {
        let found = Estimate::of(values);
        Estimate { low: found.low.max(0.0), ..found }
    }
}

/// Returns the half-width, in standard errors, of an interval with this coverage probability.
pub fn student_half_width(degrees_of_freedom: f64, probability: f64) -> f64 {
    let distribution =
        StudentsT::new(0.0, 1.0, degrees_of_freedom.max(1.0)).expect("at least one degree of freedom");
    distribution.inverse_cdf(0.5 + 0.5 * probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_students_t() {
        let found = Estimate::of(&[1.0, 2.0, 3.0]);
        // t with two degrees of freedom is 4.3027; the standard deviation is 1.
        assert!((found.mean - 2.0).abs() < 1e-12 && (found.ci95 - 4.3027 / 3f64.sqrt()).abs() < 1e-3);
        assert!((found.high - 2.0 - 4.3027 * (4f64 / 3.0).sqrt()).abs() < 1e-3);
        assert_eq!(Estimate::non_negative(&[1.0, 2.0, 3.0]).low, 0.0);
        assert_eq!(Estimate::of(&[2.0, 2.0]), Estimate { mean: 2.0, ci95: 0.0, low: 2.0, high: 2.0 });
        assert!(Estimate::of(&[1.0, f64::INFINITY]).mean.is_infinite());
    }
}
