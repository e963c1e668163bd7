//! Savings in flash wear, with confidence intervals.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use wearwell_stack::steady::Estimate;

/// Family-wise error rate: probability of any wrong verdict if no change makes a difference.
const FAMILY_ERROR_RATE: f64 = 0.05;

/// Method of the confidence intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t over runs with equal seeds before and after.
    PairedReplicas,
    /// Batch means of a single run before and after.
    BatchMeans,
}

/// Saving: 1 - write amplification after / before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saving {
    /// Saving as a fraction; negative if the change costs.
    pub mean: f64,
    /// Half-width of the 95 % interval of this saving; `None` with too few runs or batches.
    pub ci95_half_width: Option<f64>,
    /// Half-width of an interval that covers all compared changes at once with 95 %.
    pub family_half_width: Option<f64>,
    /// Method of the intervals.
    pub method: Method,
}

impl Saving {
    /// True if the interval for all changes excludes 0.
    pub fn is_significant(&self) -> bool {
        self.family_half_width.is_some_and(|half| self.mean.abs() > half)
    }
}

/// Write amplification of one run with its estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunMeasurement {
    pub write_amplification: f64,
    pub estimate: Option<Estimate>,
}

/// Computes the saving from `before` to `after`, paired by seed, as one of `family` comparisons.
///
/// Replicas of a trace on a stack without random draws are identical, so they contain no information about chance;
/// their batch means are used instead.
pub(super) fn saving(before: &[RunMeasurement], after: &[RunMeasurement], family: usize) -> Saving {
    let shares: Vec<f64> = before
        .iter()
        .zip(after)
        .map(|(before, after)| 1.0 - after.write_amplification / before.write_amplification)
        .collect();
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    // Bonferroni correction: each comparison of the family gets an equal part of the error.
    let part = FAMILY_ERROR_RATE / family.max(1) as f64;
    if shares.len() > 1 && !(all_equal(before) && all_equal(after)) {
        let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let half = |error_of_all: f64| Some(quantile(error_of_all, count - 1.0) * error);
        return Saving {
            mean,
            ci95_half_width: half(FAMILY_ERROR_RATE),
            family_half_width: half(part),
            method: Method::PairedReplicas,
        };
    }
    let half = |error_of_all| batch_half_width(before[0], after[0], error_of_all);
    Saving {
        mean,
        ci95_half_width: half(FAMILY_ERROR_RATE),
        family_half_width: half(part),
        method: Method::BatchMeans,
    }
}

fn all_equal(runs: &[RunMeasurement]) -> bool {
    runs.iter().all(|run| run.write_amplification == runs[0].write_amplification)
}

/// Returns the half-width of the saving from the batch means of two runs, to first order, assuming independence.
fn batch_half_width(before: RunMeasurement, after: RunMeasurement, error: f64) -> Option<f64> {
    let half = |estimate: Option<Estimate>| {
        let estimate = estimate?;
        let freedom = estimate.batches as f64 - 1.0;
        let known = estimate.ci95_half_width?;
        Some(known / quantile(FAMILY_ERROR_RATE, freedom) * quantile(error, freedom))
    };
    let (old, new) = (before.write_amplification, after.write_amplification);
    let (old_half, new_half) = (half(before.estimate)?, half(after.estimate)?);
    Some((new_half / old).hypot(new * old_half / (old * old)))
}

/// Returns the two-sided quantile of Student's t.
fn quantile(error: f64, degrees_of_freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees_of_freedom)
        .expect("at least one degree of freedom")
        .inverse_cdf(1.0 - error / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Vec<RunMeasurement> {
        values.iter().map(|&value| RunMeasurement { write_amplification: value, estimate: None }).collect()
    }

    fn with_batches(value: f64, half_width: f64) -> Vec<RunMeasurement> {
        let estimate = Estimate {
            mean: value,
            ci95_half_width: Some(half_width),
            batches: 20,
            lag1_autocorrelation: None,
        };
        vec![RunMeasurement { write_amplification: value, estimate: Some(estimate) }]
    }

    #[test]
    fn replicas_are_compared_in_pairs() {
        // Write amplification differs between the seeds by much more than the change, whose effect is equal for each
        // seed.
        let saving = saving(&runs(&[2.0, 3.0, 4.0]), &runs(&[1.8, 2.7, 3.6001]), 1);
        assert!((saving.mean - 0.1).abs() < 1e-4 && saving.is_significant(), "{saving:?}");
        assert_eq!(saving.method, Method::PairedReplicas);
    }

    #[test]
    fn interval_follows_students_t_and_grows_with_the_family() {
        let (before, after) = (runs(&[1.0, 1.0, 1.0]), runs(&[0.9, 0.8, 0.7]));
        let alone = saving(&before, &after, 1);
        // t(0.975, 2) = 4.3027 times 0.1 / sqrt 3.
        assert!((alone.ci95_half_width.unwrap() - 0.24841).abs() < 1e-4, "{alone:?}");
        assert_eq!(alone.ci95_half_width, alone.family_half_width);
        assert!(!alone.is_significant());
        let of_ten = saving(&before, &after, 10);
        // t(0.9975, 2) = 14.089.
        assert!((of_ten.family_half_width.unwrap() - 0.81344).abs() < 1e-3, "{of_ten:?}");
    }

    #[test]
    fn single_run_uses_batch_means() {
        let significant = saving(&with_batches(2.0, 0.02), &with_batches(1.8, 0.02), 1);
        assert_eq!(significant.method, Method::BatchMeans);
        let expected = (0.01f64).hypot(1.8 * 0.02 / 4.0);
        assert!(
            (significant.ci95_half_width.unwrap() - expected).abs() < 1e-6 && significant.is_significant(),
            "{significant:?}"
        );
        let none = saving(&runs(&[2.0]), &runs(&[1.0]), 1);
        assert!(none.family_half_width.is_none() && !none.is_significant());
    }

    #[test]
    fn identical_replicas_fall_back_to_batch_means() {
        let equal = saving(&runs(&[2.0, 2.0]), &runs(&[1.9, 1.9]), 1);
        assert_eq!((equal.method, equal.is_significant()), (Method::BatchMeans, false));
    }
}
