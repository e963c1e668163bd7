//! Executor that computes the points of a program outside of this process.

use crate::journal::PointResult;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Inputs with which a program reaches its points: its settings, and the results of earlier points.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramInputs {
    /// Name of the program.
    pub program: String,
    /// Settings of the program.
    pub settings: toml::Table,
    /// Assumptions whose values differ from the register.
    pub assumptions: BTreeMap<String, f64>,
    /// Folder of traces, if there is one.
    pub traces: Option<PathBuf>,
    /// Earlier results: one list per request for points, one result per point.
    #[serde(rename = "earlier")]
    pub earlier_results: Vec<Vec<Value>>,
}

/// A point that has ended: its index among the requested points, and its result or its error. An error is final:
/// repeating the point gives the same error.
pub type PointOutcome = (usize, Result<PointResult, String>);

/// Executor of points outside of this process.
pub trait PointExecutor: Sync + fmt::Debug {
    /// Computes `points` in any order. Calls `heed` for each point that ends, and with `None` at intervals in which
    /// no point ends. Returns when all points have ended or `heed` requests a stop.
    ///
    /// # Errors
    ///
    /// Returns an error if the points could not be computed for external reasons.
    fn answer(
        &self,
        way: &ProgramInputs,
        points: &[String],
        heed: &mut dyn FnMut(Option<PointOutcome>) -> ControlFlow<()>,
    ) -> Result<(), ExecutorLost>;
}

/// The executor is lost and computes no further points; finished points are kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExecutorLost(pub String);
