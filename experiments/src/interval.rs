//! Means with confidence intervals.

use crate::table::number;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Mean value.
    pub mean: f64,
    /// Half-width; infinite with fewer than two values.
    pub half_width: f64,
}

impl Interval {
    /// Calculates the interval from independent values, by Student's t.
    pub fn from_values(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Interval { mean, half_width: f64::INFINITY };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let students = StudentsT::new(0.0, 1.0, count - 1.0).expect("at least one degree of freedom");
        Interval { mean, half_width: students.inverse_cdf(0.975) * (variance / count).sqrt() }
    }

    /// Formats mean and half-width with `decimals` decimals; the half-width is empty for a single value.
    pub fn numbers(&self, decimals: usize) -> [String; 2] {
        let half_width = if self.half_width.is_infinite() { f64::NAN } else { self.half_width };
        [self.mean, half_width].map(|value| number(value, decimals))
    }

    /// Returns the difference of the means in units of the combined half-width, `sqrt(a^2 + b^2)`.
    ///
    /// If both means estimate the same value, the result lies within -1 and 1 in about 95 % of all cases.
    pub fn distance(&self, other: &Interval) -> f64 {
        (self.mean - other.mean) / self.half_width.hypot(other.half_width)
    }
}

/// Returns the difference between `found` and `worst` in per cent of the difference between `best` and `worst`; 0 if
/// `best` equals `worst`.
pub fn closed_percent(worst: f64, best: f64, found: f64) -> f64 {
    if worst > best { 100.0 * (worst - found) / (worst - best) } else { 0.0 }
}

/// Returns the mean of `field` over `items`.
pub fn mean<T>(items: &[T], field: impl Fn(&T) -> f64) -> f64 {
    items.iter().map(field).sum::<f64>() / items.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_three_values_matches_textbook() {
        let interval = Interval::from_values(&[1.0, 2.0, 3.0]);
        assert_eq!(interval.mean, 2.0);
        // The half-width is t(0.975, 2) = 4.3027, divided by the square root of 3.
        assert!((interval.half_width - 2.4841).abs() < 1e-4);
        assert!(Interval::from_values(&[1.0]).half_width.is_infinite());
        assert_eq!(interval.numbers(2), ["2.00", "2.48"]);
        assert_eq!(Interval::from_values(&[1.0]).numbers(1), ["1.0", ""]);
    }

    #[test]
    fn closed_percent_of_partial_complete_and_zero_distance() {
        let closed = [(3.0, 1.0, 2.5), (3.0, 1.0, 3.5), (1.0, 1.0, 1.0), (1.0, 2.0, 1.5)];
        let closed = closed.map(|(worst, best, found)| closed_percent(worst, best, found));
        assert_eq!(closed, [25.0, -25.0, 0.0, 0.0]);
    }

    #[test]
    fn distance_is_signed_and_in_half_widths() {
        let first = Interval { mean: 2.0, half_width: 0.3 };
        let second = Interval { mean: 3.0, half_width: 0.4 };
        assert!((first.distance(&second) + 2.0).abs() < 1e-12);
    }
}
