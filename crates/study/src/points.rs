//! Runs of a sweep, and errors that stop it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use wearwell_stack::{DraftError, RunResult, Scenario};

/// Maximum number of points of a sweep; more is probably a mistake.
pub(crate) const MAX_POINTS: usize = 1_000_000;

/// Run of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Varied keys with this run's values, in the order of the axes.
    pub settings: BTreeMap<String, Value>,
    /// Number of the replica, from 0; replica 0 has the scenario's own seed.
    pub replica: u32,
    /// Scenario with all defaults resolved.
    pub scenario: Scenario,
}

/// Finished run of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Varied keys with this run's values.
    pub settings: BTreeMap<String, Value>,
    /// Number of the replica, from 0.
    pub replica: u32,
    /// Result, without its time series unless requested.
    pub result: RunResult,
}

/// Reason why finished runs cannot be stored or found.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct StoreError {
    /// Path of the file or folder.
    pub place: String,
    /// System error, or description of the problem.
    pub problem: String,
}

/// Reason why a sweep cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A scenario of the grid cannot be run.
    #[error("{point}{error}")]
    Draft {
        /// Settings that cause the error, or an empty text.
        point: String,
        /// Description of the problem.
        error: Box<DraftError>,
    },
    /// The grid is empty, or too large to be intended.
    #[error("a sweep of {points} runs; it must have at least one and at most {MAX_POINTS}")]
    GridSize {
        /// Number of runs requested.
        points: u128,
    },
    /// Two axes vary the same key.
    #[error("{key} is varied twice")]
    DuplicateKey {
        /// Name of the key.
        key: String,
    },
    /// Finished runs cannot be stored.
    #[error("{error}; {finished} of {points} runs were finished")]
    Store {
        /// Description of the problem.
        error: StoreError,
        /// Number of finished runs.
        finished: usize,
        /// Number of planned runs.
        points: usize,
    },
    /// The executor cannot execute the runs.
    #[error("{problem}; {finished} of {points} runs were finished")]
    Executor {
        /// Description of the problem.
        problem: String,
        /// Number of finished runs.
        finished: usize,
        /// Number of planned runs.
        points: usize,
    },
    /// The observer stopped the sweep; runs in the store remain finished.
    #[error("interrupted after {finished} of {points} runs")]
    Interrupted {
        /// Number of finished runs.
        finished: usize,
        /// Number of planned runs.
        points: usize,
    },
}

impl SweepError {
    /// Counts the runs of all rounds in the error: `earlier` runs were finished in earlier rounds, and `planned` runs
    /// are planned in all rounds.
    pub(super) fn in_round(mut self, earlier: usize, planned: usize) -> Self {
        match &mut self {
            SweepError::Store { finished, points, .. }
            | SweepError::Executor { finished, points, .. }
            | SweepError::Interrupted { finished, points } => {
                *finished += earlier;
                *points = planned;
            }
            SweepError::Draft { .. } | SweepError::GridSize { .. } | SweepError::DuplicateKey { .. } => {}
        }
        self
    }
}
