//! Steady-state test of a run, and confidence interval of its mean.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Number of batches into which the measured windows are grouped. Twenty is the usual compromise between independent
/// batches and a usable number of them (Law and Kelton, Simulation Modeling and Analysis, 9.5.3).
const BATCHES: usize = 20;

/// Fewest windows in the second half of the warm-up for the steady-state test.
const MIN_WINDOWS: usize = 10;

/// The mean of a series with the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the batches.
    pub mean: f64,
    /// Half-width of the 95 % confidence interval by batch means; `None` with fewer than two batches.
    pub ci95_half_width: Option<f64>,
    /// Number of batches.
    pub batches: usize,
    /// Correlation of neighbouring batches; far from zero, the interval is too narrow.
    pub lag1_autocorrelation: Option<f64>,
}

/// Returns mean and confidence interval by batch means.
///
/// Windows are grouped into at most twenty batches of equal length. Windows that do not fill a batch are dropped at the
/// beginning, where effects of the warm-up may remain.
pub fn estimate(windows: &[f64]) -> Option<Estimate> {
    let length = windows.len().div_ceil(BATCHES).max(1);
    let means: Vec<f64> = windows.rchunks_exact(length).map(mean).collect();
    if means.is_empty() {
        return None;
    }
    let centre = mean(&means);
    let squares: f64 = means.iter().map(|value| (value - centre).powi(2)).sum();
    let count = means.len();
    let ci95_half_width = ci95_half_width(&means);
    let products: f64 = means.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    let lag1_autocorrelation = (count >= 3 && squares > 0.0).then(|| products / squares);
    Some(Estimate { mean: centre, ci95_half_width, batches: count, lag1_autocorrelation })
}

/// Returns the half-width of the 95 % confidence interval of the mean of independent values, by Student's t; `None` for
/// fewer than two.
pub fn ci95_half_width(values: &[f64]) -> Option<f64> {
    let count = values.len();
    (count >= 2).then(|| {
        let centre = mean(values);
        let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
        let students = StudentsT::new(0.0, 1.0, (count - 1) as f64).expect("positive degrees of freedom");
        let deviation = (squares / (count - 1) as f64).sqrt();
        students.inverse_cdf(0.975) * deviation / (count as f64).sqrt()
    })
}

/// Returns the change of the least-squares line through `windows` from its first to its last point, as a fraction of
/// their mean; `None` with too few windows.
pub fn drift(windows: &[f64]) -> Option<f64> {
    if windows.len() < MIN_WINDOWS {
        return None;
    }
    let middle = (windows.len() - 1) as f64 / 2.0;
    let centre = mean(windows);
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (at, value) in windows.iter().enumerate() {
        covariance += (at as f64 - middle) * (value - centre);
        variance += (at as f64 - middle).powi(2);
    }
    Some(covariance / variance * (windows.len() - 1) as f64 / centre)
}

/// True if the warm-up is long enough: the second half of `windows` drifts by at most `tolerance`.
///
/// The test uses half of the history instead of a fixed number of windows. A slow approach to the steady state, as with
/// cold data that is rarely overwritten, drifts little over any fixed interval but not over half of the history.
pub fn is_steady(windows: &[f64], tolerance: f64) -> bool {
    drift(&windows[windows.len() / 2..]).is_some_and(|drift| drift.abs() <= tolerance)
}

/// True if `values` lie within `tolerance` of each other, as a fraction of their mean.
pub fn agree(values: &[f64], tolerance: f64) -> bool {
    let highest = values.iter().copied().fold(f64::MIN, f64::max);
    let lowest = values.iter().copied().fold(f64::MAX, f64::min);
    highest - lowest <= tolerance * mean(values)
}

/// Returns the mean of one or more values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use wearwell_base::seed::Seed;

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Seed(seed).random();
        (0..count).map(|_| 3.0 + random.random_range(-0.1..0.1)).collect()
    }

    #[test]
    fn confidence_interval_covers_the_true_mean_at_its_level() {
        let covers = |seed: &u64| {
            let estimate = estimate(&noise(100, *seed)).unwrap();
            (estimate.mean - 3.0).abs() <= estimate.ci95_half_width.unwrap()
        };
        let covered = (0..1000).filter(covers).count();
        // Binomial(1000, 0.95): four standard deviations are 28.
        assert!((922..=978).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn drift_of_straight_line_is_its_rise() {
        let line: Vec<f64> = (0..11).map(|at| 1.0 + 0.01 * f64::from(at)).collect();
        assert!((drift(&line).unwrap() - 0.1 / 1.05).abs() < 1e-12);
        assert_eq!(drift(&line[..9]), None);
    }

    #[test]
    fn exponential_approach_is_steady_after_several_time_constants() {
        let approach = |windows: usize| -> Vec<f64> {
            (0..windows).map(|at| 4.0 - 2.0 * (-(at as f64) / 50.0).exp()).collect()
        };
        let first = (20..1000).find(|&windows| is_steady(&approach(windows), 0.01)).unwrap();
        let remaining = 2.0 * (-(first as f64) / 50.0).exp() / 4.0;
        assert!(remaining < 0.01, "steady at window {first} with {remaining} still to go");
        assert!(first > 150, "steady already at window {first}");
    }

    #[test]
    fn incomplete_first_batch_is_ignored() {
        let mut windows = vec![100.0];
        windows.extend([2.0; 40]);
        let estimate = estimate(&windows[..]).unwrap();
        assert_eq!((estimate.mean, estimate.batches), (2.0, 13));
    }
}
