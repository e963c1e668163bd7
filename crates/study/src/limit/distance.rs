//! Comparison of a result with the lower bound on write amplification and with offline policies.

use super::pairs::LowerBoundError;
use super::pairs::PairRuns;
use super::policies::best_offline_result;
use super::run::{LowerBoundRun, check};
use crate::sweep::{SweepObserver, SweepOptions};
use serde::Serialize;
use std::ops::ControlFlow;
use wearwell_stack::{Draft, LowerBoundResult, OfflineResult, Progress, RunResult};

/// Adds to `result`, a run of the scenario `draft`, the lower bound and the result of the best offline policies on the
/// same writes.
///
/// # Errors
///
/// Fails as [`super::compare_policies`] does.
pub fn add_lower_bound(
    draft: &Draft,
    result: RunResult,
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<RunResult, LowerBoundError> {
    let offline = best_offline_result(draft, std::slice::from_ref(&result), options, observer)?;
    let bounded = LowerBoundRun::of(result, &mut || observer.keep_going())?;
    let lower_bound = bounded.lower_bound();
    let LowerBoundRun { mut result, least_rewrites, .. } = bounded;
    result.lower_bound = Some(LowerBoundResult { lower_bound, min_rewrites: least_rewrites, offline });
    Ok(result)
}

/// Relative excess over the best offline policy up to which little can be gained.
const SMALL_EXCESS: f64 = 0.05;

/// Distance of a drive from the lower bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoundDistance {
    /// Page writes per host page.
    pub write_amplification: f64,
    /// Lower bound on write amplification.
    pub lower_bound: f64,
    /// Result of the best offline policies; `None` if the FTL lacks a placement or a victim policy.
    pub offline: Option<OfflineResult>,
}

impl BoundDistance {
    /// True if even an offline policy would save no more than a twentieth of the writes.
    pub fn is_small(&self) -> bool {
        let best = self.offline.as_ref().map_or(self.lower_bound, |best| best.write_amplification);
        self.write_amplification - best <= SMALL_EXCESS * self.write_amplification
    }
}

/// Measures the distance from the lower bound for the drive that `draft` describes; `None` for a drive without a bound
/// or without a write amplification.
///
/// # Errors
///
/// Fails as [`super::compare_policies`] does.
pub fn bound_distance(
    draft: &Draft,
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Option<BoundDistance>, LowerBoundError> {
    if check(&draft.scenario()?).is_err() {
        return Ok(None);
    }
    let stop_observer = StopObserver(observer);
    let unchanged = PairRuns::new(draft, 1, options, &stop_observer).run_unchanged()?.remove(0);
    let Some(write_amplification) = unchanged.write_amplification else { return Ok(None) };
    let compared = add_lower_bound(draft, unchanged, options, &stop_observer)?;
    Ok(compared.lower_bound.map(|LowerBoundResult { lower_bound, offline, .. }| BoundDistance {
        write_amplification,
        lower_bound,
        offline,
    }))
}

/// Observer that does not count runs, only forwards requests to stop.
struct StopObserver<'a>(&'a dyn SweepObserver);

impl SweepObserver for StopObserver<'_> {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        self.0.keep_going()
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.0.keep_going()
    }

    fn run_timed(&self, seconds: f64) {
        self.0.run_timed(seconds);
    }

    fn finished(&self, _: usize, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_distance_is_at_most_a_twentieth_of_the_writes() {
        let distance = |lower_bound, offline: Option<f64>| {
            let offline = offline.map(|write_amplification| OfflineResult {
                placement: "future_knowledge".to_owned(),
                victim: "foresight".to_owned(),
                write_amplification,
            });
            BoundDistance { write_amplification: 2.0, lower_bound, offline }
        };
        assert!(distance(1.91, None).is_small() && !distance(1.89, None).is_small());
        // The offline result is the reference if there is one.
        assert!(distance(1.0, Some(1.91)).is_small() && !distance(2.0, Some(1.89)).is_small());
    }
}
