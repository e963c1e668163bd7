//! A result with what nothing could have done better, and what knowing the future comes to.

use super::pairs::LimitError;
use super::pairs::Pairs;
use super::policies::foreseeing;
use super::run::{Limit, check};
use crate::sweep::{SweepObserver, SweepOptions};
use serde::Serialize;
use std::ops::ControlFlow;
use wearwell_stack::{Draft, ForeseeingResult, LimitResult, Progress, RunResult};

/// Writes the limit beside `result`, which is that of the scenario `draft`: the lower bound, and the best of what knows the future over
/// the same writes.
///
/// # Errors
///
/// As of [`super::policies`].
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

/// Of what is written beyond what knowing the future writes, the share from which on there is something to win.
const LITTLE: f64 = 0.05;

/// How far a drive is from the best possible.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// What it writes for each page of the host.
    pub write_amplification: f64,
    /// Below which nothing gets.
    pub lower_bound: f64,
    /// The best of what knows the future; `None` where its FTL has no placement and no victim policy.
    pub foreseeing: Option<ForeseeingResult>,
}

impl Distance {
    /// Whether not even knowing the future would save more than a twentieth of what is written.
    pub fn is_little(&self) -> bool {
        let best = self.foreseeing.as_ref().map_or(self.lower_bound, |best| best.write_amplification);
        self.write_amplification - best <= LITTLE * self.write_amplification
    }
}

/// How far the drive that `draft` describes is from the best possible; `None` of one that has no limit, or no amplification.
///
/// # Errors
///
/// As of [`super::policies`].
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

/// Runs that are none of those that somebody counts.
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
