//! The runs of a sweep, and why they cannot go on.

use super::journal::{Entry, JournalError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use wearwell_stack::{DraftError, RunResult, Scenario};

/// Points that one sweep may have; more is a slip of the pen.
pub(crate) const MOST_POINTS: usize = 1_000_000;

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// What is varied, with this run's values, in the order of the axes.
    pub settings: BTreeMap<String, Value>,
    /// Number of the replica, from 0; replica 0 has the scenario's own seed.
    pub replica: u32,
    /// The scenario with every default filled in.
    pub scenario: Scenario,
}

/// A finished run of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// What is varied, with this run's values.
    pub settings: BTreeMap<String, Value>,
    /// Number of the replica, from 0.
    pub replica: u32,
    /// The result, without its time series unless that was asked for.
    pub result: RunResult,
}

/// Finished runs are known by their resolved scenario, which says all about a run; those of another version are not trusted.
impl Entry for PointResult {
    type Found = RunResult;
    const BEGINNING: &str = "{\"settings\":";
    const NAME: &str = "result of a sweep";

    fn read(line: &[u8]) -> serde_json::Result<Option<(String, RunResult)>> {
        let mut point: Value = serde_json::from_slice(line)?;
        let result = RunResult::read(point["result"].take())?;
        let is_ours = result.version == env!("CARGO_PKG_VERSION");
        Ok(is_ours.then(|| (identity(&result.scenario), result)))
    }
}

/// What a finished run of this scenario is known by.
pub(super) fn identity(scenario: &Scenario) -> String {
    serde_json::to_string(scenario).expect("scenarios are plain data")
}

/// Why a sweep cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A scenario of the grid cannot be run.
    #[error("{point}{error}")]
    Draft {
        /// The settings at fault, or nothing.
        point: String,
        /// What is wrong.
        error: Box<DraftError>,
    },
    /// The grid is empty, or so large that it cannot be meant.
    #[error("a sweep of {points} runs; it must have at least one and at most {MOST_POINTS}")]
    Size {
        /// Runs asked for.
        points: u128,
    },
    /// Two axes vary the same key.
    #[error("{key} is varied twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// The file of finished runs cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The threads could not be started.
    #[error("cannot start the threads of the sweep: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The observer stopped the sweep; what is in the journal stays finished.
    #[error("interrupted after {finished} of {points} runs")]
    Interrupted {
        /// Runs finished.
        finished: usize,
        /// Runs planned.
        points: usize,
    },
}
