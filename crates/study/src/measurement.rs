//! Runs of which a study keeps only a few numbers each, executed in parts to bound memory.

use crate::points::{Point, SweepError};
use crate::sweep::{RoundObserver, Sweep, SweepObserver, SweepOptions};
use wearwell_base::config::ConfigError;
use wearwell_stack::{ResolvedScenario, RunResult, Scenario};

/// Number of runs whose whole results are held at a time.
const BATCH_RUNS: usize = 10_000;

/// Reason why there are no measurements.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The observer stopped the runs.
    #[error("interrupted")]
    Interrupted,
    /// The runs cannot be executed or stored.
    #[error(transparent)]
    Sweep(SweepError),
    /// The scenario of a run is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A run failed.
    #[error("{0}")]
    Failed(String),
    /// A run has no write amplification.
    #[error("no write amplification was measured: {0}")]
    NoAmplification(String),
}

impl From<SweepError> for MeasureError {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Interrupted { .. } => MeasureError::Interrupted,
            other => MeasureError::Sweep(other),
        }
    }
}

/// Returns the scenario with all defaults resolved, which identifies it in a store.
///
/// # Errors
///
/// Returns an error for an invalid scenario.
pub fn resolve(scenario: Scenario) -> Result<Scenario, MeasureError> {
    Ok(ResolvedScenario::of(scenario)?.scenario)
}

/// Executes the runs, and returns the value that `extract` computes from the write amplification and the result of
/// each, in the order of the points.
///
/// # Errors
///
/// Fails as [`Sweep::run`] does, and for the first run that failed or has no write amplification.
pub fn measure<T>(
    points: Vec<Point>,
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
    extract: impl Fn(f64, &RunResult) -> T,
) -> Result<Vec<T>, MeasureError> {
    let planned = points.len();
    let mut extracted = Vec::with_capacity(planned);
    let mut remaining = points.into_iter().peekable();
    while remaining.peek().is_some() {
        let part = Sweep::of(remaining.by_ref().take(BATCH_RUNS).collect());
        let shifted = RoundObserver { inner: observer, finished: extracted.len(), planned };
        let outcomes = part
            .run(options, &shifted)
            .map_err(|error| MeasureError::from(error.in_round(extracted.len(), planned)))?;
        for outcome in outcomes {
            let result = outcome.map_err(MeasureError::Failed)?.result;
            let no_amplification = || MeasureError::NoAmplification(result.warnings.join("; "));
            let write_amplification = result.write_amplification.ok_or_else(no_amplification)?;
            extracted.push(extract(write_amplification, &result));
        }
    }
    Ok(extracted)
}
