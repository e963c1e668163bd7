//! The runs of a sweep, and why they cannot go on.

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

/// Why finished runs cannot be kept or found.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct StoreError {
    /// The file or folder.
    pub place: String,
    /// What the system said, or what is wrong.
    pub problem: String,
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
    /// Finished runs cannot be kept.
    #[error("{error}; {finished} of {points} runs were finished")]
    Store {
        /// What is wrong.
        error: StoreError,
        /// Runs finished.
        finished: usize,
        /// Runs planned.
        points: usize,
    },
    /// Who was to make the runs does not.
    #[error("{problem}; {finished} of {points} runs were finished")]
    Executor {
        /// What is wrong.
        problem: String,
        /// Runs finished.
        finished: usize,
        /// Runs planned.
        points: usize,
    },
    /// The observer stopped the sweep; what is in the store stays finished.
    #[error("interrupted after {finished} of {points} runs")]
    Interrupted {
        /// Runs finished.
        finished: usize,
        /// Runs planned.
        points: usize,
    },
}

impl SweepError {
    /// The same of one round of several: `earlier` runs were finished before it, and `planned` are all.
    pub(super) fn after(mut self, earlier: usize, planned: usize) -> Self {
        match &mut self {
            SweepError::Store { finished, points, .. }
            | SweepError::Executor { finished, points, .. }
            | SweepError::Interrupted { finished, points } => {
                *finished += earlier;
                *points = planned;
            }
            SweepError::Draft { .. } | SweepError::Size { .. } | SweepError::Twice { .. } => {}
        }
        self
    }
}
