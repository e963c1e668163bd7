//! Comparison of a result with the lower bound on write amplification and with offline policies.

use super::pairs::LimitError;
use super::pairs::Pairs;
use super::policies::foreseeing;
use super::run::{Limit, check};
use crate::sweep::{SweepObserver, SweepOptions};
use serde::Serialize;
use std::ops::ControlFlow;
use wearwell_stack::{Draft, ForeseeingResult, LimitResult, Progress, RunResult};

/// Adds to `result`, a run of the scenario `draft`, the lower bound and the result of the best offline policy on the
/// same writes.
///
/// # Errors
///
/// Fails as [`super::policies`] does.
pub fn beside_limit(
    draft: &Draft,
    result: RunResult,
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<RunResult, LimitError> {
    let foreseeing = foreseeing(draft, std::slice::from_ref(&result), options, observer)?;
    let found = Limit::of(result, &mut || observer.keep_going())?;
    let lower_bound = found.lower_bound();
    let Limit { mut result, least_rewrites, .. } = found;
    result.limit = Some(LimitResult { lower_bound, least_rewrites, foreseeing });
    Ok(result)
}

/// Relative excess over the best offline policy up to which little can be gained.
const LITTLE: f64 = 0.05;

/// Distance of a drive from the lower bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// Page writes per host page.
    pub write_amplification: f64,
    /// Lower bound on write amplification.
    pub lower_bound: f64,
    /// Result of the best offline policy; `None` if the FTL has no placement and victim policy.
    pub foreseeing: Option<ForeseeingResult>,
}

impl Distance {
    /// True if even an offline policy would save no more than a twentieth of the writes.
    pub fn is_little(&self) -> bool {
        let best = self.foreseeing.as_ref().map_or(self.lower_bound, |best| best.write_amplification);
        self.write_amplification - best <= LITTLE * self.write_amplification
    }
}

/// Measures the distance from the lower bound for the drive that `draft` describes; `None` for a drive without a bound
/// or without a write amplification.
///
/// # Errors
///
/// Fails as [`super::policies`] does.
pub fn distance(
    draft: &Draft,
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Option<Distance>, LimitError> {
    if check(&draft.scenario()?).is_err() {
        return Ok(None);
    }
    let quiet = Quiet(observer);
    let own = Pairs::new(draft, 1, options, &quiet).own_runs()?.remove(0);
    let Some(write_amplification) = own.write_amplification else { return Ok(None) };
    let beside = beside_limit(draft, own, options, &quiet)?;
    Ok(beside.limit.map(|LimitResult { lower_bound, foreseeing, .. }| Distance {
        write_amplification,
        lower_bound,
        foreseeing,
    }))
}

/// Observer that does not count runs, only forwards requests to stop.
struct Quiet<'a>(&'a dyn SweepObserver);

impl SweepObserver for Quiet<'_> {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        self.0.keep_going()
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.0.keep_going()
    }

    fn took(&self, seconds: f64) {
        self.0.took(seconds);
    }

    fn finished(&self, _: usize, _: usize) {}
}
