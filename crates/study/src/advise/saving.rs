//! How much flash wear a change saves, and how sure that is.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use wearwell_stack::steady::Estimate;

/// Chance that any of the verdicts on all changes is wrong, where there is no difference.
const ERROR: f64 = 0.05;

/// What an interval rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t over runs with the same seeds before and after.
    PairedReplicas,
    /// The batch means of a single run before and after.
    BatchMeans,
}

/// A saving: 1 - write amplification after / before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saving {
    /// The saving as a share; below 0 where the change costs.
    pub mean: f64,
    /// Half-width of its own 95 % interval; `None` where there are too few runs or batches to say.
    pub ci95_half_width: Option<f64>,
    /// Half-width of the intervals that cover all changes compared at once with 95 %.
    pub family_half_width: Option<f64>,
    /// What the intervals rest on.
    pub method: Method,
}

impl Saving {
    /// Whether the interval for all changes leaves 0 out.
    pub fn is_told(&self) -> bool {
        self.family_half_width.is_some_and(|half| self.mean.abs() > half)
    }
}

/// One run's write amplification with its estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub write_amplification: f64,
    pub estimate: Option<Estimate>,
}

/// The saving from `before` to `after`, run by run with equal seeds, as one of `family` comparisons.
///
/// Replicas that all agree exactly, as those of a trace replayed on a stack that draws nothing, tell nothing about
/// chance; their batches must.
pub(super) fn saving(before: &[Measured], after: &[Measured], family: usize) -> Saving {
    let shares: Vec<f64> = before
        .iter()
        .zip(after)
        .map(|(before, after)| 1.0 - after.write_amplification / before.write_amplification)
        .collect();
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    // Bonferroni: each of the family gets its part of the error.
    let part = ERROR / family.max(1) as f64;
    if shares.len() > 1 && !(all_equal(before) && all_equal(after)) {
        let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let half = |error_of_all: f64| Some(quantile(error_of_all, count - 1.0) * error);
        return Saving {
            mean,
            ci95_half_width: half(ERROR),
            family_half_width: half(part),
            method: Method::PairedReplicas,
        };
    }
    let half = |error_of_all| batch_half_width(before[0], after[0], error_of_all);
    Saving { mean, ci95_half_width: half(ERROR), family_half_width: half(part), method: Method::BatchMeans }
}

fn all_equal(runs: &[Measured]) -> bool {
    runs.iter().all(|run| run.write_amplification == runs[0].write_amplification)
}

/// Half-width of the saving by the batch means of two runs, to first order and as if they were independent.
fn batch_half_width(before: Measured, after: Measured, error: f64) -> Option<f64> {
    let half = |estimate: Option<Estimate>| {
        let estimate = estimate?;
        let freedom = estimate.batches as f64 - 1.0;
        let known = estimate.ci95_half_width?;
        Some(known / quantile(ERROR, freedom) * quantile(error, freedom))
    };
    let (old, new) = (before.write_amplification, after.write_amplification);
    let (old_half, new_half) = (half(before.estimate)?, half(after.estimate)?);
    Some((new_half / old).hypot(new * old_half / (old * old)))
}

/// The two-sided quantile of Student's t.
fn quantile(error: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).expect("at least one degree of freedom").inverse_cdf(1.0 - error / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Vec<Measured> {
        values.iter().map(|&value| Measured { write_amplification: value, estimate: None }).collect()
    }

    fn with_batches(value: f64, half_width: f64) -> Vec<Measured> {
        let estimate = Estimate {
            mean: value,
            ci95_half_width: Some(half_width),
            batches: 20,
            lag1_autocorrelation: None,
        };
        vec![Measured { write_amplification: value, estimate: Some(estimate) }]
    }

    #[test]
    fn replicas_are_compared_in_pairs() {
        // The seeds differ by much more than the change, which is the same in each.
        let saving = saving(&runs(&[2.0, 3.0, 4.0]), &runs(&[1.8, 2.7, 3.6001]), 1);
        assert!((saving.mean - 0.1).abs() < 1e-4 && saving.is_told(), "{saving:?}");
        assert_eq!(saving.method, Method::PairedReplicas);
    }

    #[test]
    fn the_interval_is_students_and_grows_with_the_family() {
        let (before, after) = (runs(&[1.0, 1.0, 1.0]), runs(&[0.9, 0.8, 0.7]));
        let alone = saving(&before, &after, 1);
        // t(0.975, 2) = 4.3027 times 0.1 / sqrt 3.
        assert!((alone.ci95_half_width.unwrap() - 0.24841).abs() < 1e-4, "{alone:?}");
        assert_eq!(alone.ci95_half_width, alone.family_half_width);
        assert!(!alone.is_told());
        let of_ten = saving(&before, &after, 10);
        // t(0.9975, 2) = 14.089.
        assert!((of_ten.family_half_width.unwrap() - 0.81344).abs() < 1e-3, "{of_ten:?}");
    }

    #[test]
    fn one_run_rests_on_its_batches() {
        let told = saving(&with_batches(2.0, 0.02), &with_batches(1.8, 0.02), 1);
        assert_eq!(told.method, Method::BatchMeans);
        let expected = (0.01f64).hypot(1.8 * 0.02 / 4.0);
        assert!((told.ci95_half_width.unwrap() - expected).abs() < 1e-6 && told.is_told(), "{told:?}");
        let none = saving(&runs(&[2.0]), &runs(&[1.0]), 1);
        assert!(none.family_half_width.is_none() && !none.is_told());
    }

    #[test]
    fn replicas_that_all_agree_say_nothing_about_chance() {
        let equal = saving(&runs(&[2.0, 2.0]), &runs(&[1.9, 1.9]), 1);
        assert_eq!((equal.method, equal.is_told()), (Method::BatchMeans, false));
    }
}
