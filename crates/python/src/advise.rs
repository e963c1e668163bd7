//! Advice on a stack, with progress and Ctrl-C for Python.

use crate::errors::{self, ScenarioError};
use crate::study::{self, StudyArgs};
use pyo3::prelude::*;
use serde_json::{Value, json};
use wearwell_study::advise::{self as core, Advice, AdviseError, AdviseOptions};

/// Tries changes to a scenario and returns the advice as JSON.
#[pyfunction]
#[pyo3(signature = (args, *, only, replicas, depth))]
pub fn advise(
    py: Python<'_>,
    args: StudyArgs,
    only: Vec<String>,
    replicas: u32,
    depth: u32,
) -> PyResult<String> {
    let outcome = args.run(py, move |draft, sweep, watch| {
        core::advise(draft, &AdviseOptions { only, replicas, depth, sweep }, watch)
    })?;
    let advice = outcome.map_err(from_advise)?;
    Ok(study::as_json(&advice.rows(), &json!(advice), Some(settings(&advice))))
}

/// Returns the settings of each change, in the order of the rows.
fn settings(advice: &Advice) -> Value {
    let trials = advice.changes.iter().chain(&advice.combinations);
    trials.map(|trial| json!(trial.change.settings)).collect()
}

fn from_advise(error: AdviseError) -> PyErr {
    match error {
        AdviseError::Draft(error) => study::from_draft(&error),
        AdviseError::Options(problem) => ScenarioError::new_err((problem, None::<String>)),
        AdviseError::Sweep(error) => study::from_sweep(&error),
        other => errors::RunError::new_err(other.to_string()),
    }
}
