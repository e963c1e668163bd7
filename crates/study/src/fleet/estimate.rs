//! Means over repeated draws, and how sure they are.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A figure over all draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the draws.
    pub mean: f64,
    /// Half-width of the 95 % interval of the mean, Student's t: what more draws would narrow.
    pub ci95: f64,
    /// Between this and `high` one fleet comes out with 95 %: what no number of draws narrows.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

impl Estimate {
    /// Of the figures of all draws, two or more. Figures that are infinite leave no interval.
    pub fn of(values: &[f64]) -> Estimate {
        // Rounding would leave an interval of its own.
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
        let t = student(count - 1.0, 0.95);
        let spread = t * (variance * (1.0 + 1.0 / count)).sqrt();
        Estimate { mean, ci95: t * (variance / count).sqrt(), low: mean - spread, high: mean + spread }
    }

    /// The same of what cannot be below 0.
    pub fn from_zero(values: &[f64]) -> Estimate {
        let found = Estimate::of(values);
        Estimate { low: found.low.max(0.0), ..found }
    }
}

/// The half-width, in standard errors, of an interval that holds with this probability.
pub fn student(freedom: f64, probability: f64) -> f64 {
    let law = StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("at least one degree of freedom");
    law.inverse_cdf(0.5 + 0.5 * probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_students() {
        let found = Estimate::of(&[1.0, 2.0, 3.0]);
        // t of two degrees of freedom is 4.3027, the standard deviation 1.
        assert!((found.mean - 2.0).abs() < 1e-12 && (found.ci95 - 4.3027 / 3f64.sqrt()).abs() < 1e-3);
        assert!((found.high - 2.0 - 4.3027 * (4f64 / 3.0).sqrt()).abs() < 1e-3);
        assert_eq!(Estimate::from_zero(&[1.0, 2.0, 3.0]).low, 0.0);
        assert_eq!(Estimate::of(&[2.0, 2.0]), Estimate { mean: 2.0, ci95: 0.0, low: 2.0, high: 2.0 });
        assert!(Estimate::of(&[1.0, f64::INFINITY]).mean.is_infinite());
    }
}
