//! A mean and how far to trust it.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half-width; infinite with fewer than two values.
    pub half_width: f64,
}

impl Interval {
    /// From independent values, by Student's t.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Interval { mean, half_width: f64::INFINITY };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let students = StudentsT::new(0.0, 1.0, count - 1.0).expect("at least one degree of freedom");
        Interval { mean, half_width: students.inverse_cdf(0.975) * (variance / count).sqrt() }
    }

    /// The difference of the means in units of the combined half-width, `sqrt(a^2 + b^2)`.
    ///
    /// Where both means estimate the same value, it lies within -1 and 1 in about 95 % of all cases.
    pub fn distance(&self, other: &Interval) -> f64 {
        (self.mean - other.mean) / self.half_width.hypot(other.half_width)
    }
}

/// The mean of what `field` takes from each of `items`.
pub fn mean<T>(items: &[T], field: impl Fn(&T) -> f64) -> f64 {
    items.iter().map(field).sum::<f64>() / items.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_have_the_interval_of_the_textbook() {
        let interval = Interval::of(&[1.0, 2.0, 3.0]);
        assert_eq!(interval.mean, 2.0);
        // t(0.975, 2) = 4.3027, over the square root of 3.
        assert!((interval.half_width - 2.4841).abs() < 1e-4);
        assert!(Interval::of(&[1.0]).half_width.is_infinite());
    }

    #[test]
    fn distances_are_signed_and_count_half_widths() {
        let ours = Interval { mean: 2.0, half_width: 0.3 };
        let theirs = Interval { mean: 3.0, half_width: 0.4 };
        assert!((ours.distance(&theirs) + 2.0).abs() < 1e-12);
    }
}
