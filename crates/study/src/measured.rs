//! Runs of which a study wants no more than a number or two each: a sweep of them, a part at a time, so that memory holds it.

use crate::points::{Point, SweepError};
use crate::sweep::{Shifted, Sweep, SweepObserver, SweepOptions};
use wearwell_base::config::ConfigError;
use wearwell_stack::{ResolvedScenario, RunResult, Scenario};

/// Runs whose whole results are held at a time.
const PART: usize = 10_000;

/// Why there are no measurements.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The observer stopped the runs.
    #[error("interrupted")]
    Interrupted,
    /// They cannot be made or kept.
    #[error(transparent)]
    Sweep(SweepError),
    /// The scenario of one of them cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// One of them failed.
    #[error("{0}")]
    Failed(String),
    /// One of them has no write amplification.
    #[error("no write amplification was measured: {0}")]
    Nothing(String),
}

impl From<SweepError> for MeasureError {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Interrupted { .. } => MeasureError::Interrupted,
            other => MeasureError::Sweep(other),
        }
    }
}

/// The scenario of a point with every default filled in, which a store knows it by.
///
/// # Errors
///
/// A scenario that cannot be.
pub fn resolved(scenario: Scenario) -> Result<Scenario, MeasureError> {
    Ok(ResolvedScenario::of(scenario)?.scenario)
}

/// What `keep` takes from each run, with its write amplification, in the order of the points.
///
/// # Errors
///
/// As of [`Sweep::run`]; the first run that failed or has no write amplification.
pub fn measure<T>(
    points: Vec<Point>,
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
    keep: impl Fn(f64, &RunResult) -> T,
) -> Result<Vec<T>, MeasureError> {
    let planned = points.len();
    let mut kept = Vec::with_capacity(planned);
    let mut left = points.into_iter().peekable();
    while left.peek().is_some() {
        let part = Sweep::of(left.by_ref().take(PART).collect());
        let shifted = Shifted { inner: observer, finished: kept.len(), planned };
        let outcomes = part
            .run(options, &shifted)
            .map_err(|error| MeasureError::from(error.after(kept.len(), planned)))?;
        for outcome in outcomes {
            let result = outcome.map_err(MeasureError::Failed)?.result;
            let nothing = || MeasureError::Nothing(result.warnings.join("; "));
            let write_amplification = result.write_amplification.ok_or_else(nothing)?;
            kept.push(keep(write_amplification, &result));
        }
    }
    Ok(kept)
}
