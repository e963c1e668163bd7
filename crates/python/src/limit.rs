//! Comparison of a drive with its lower bound, with progress and Ctrl-C for Python.

use crate::errors::{self, ScenarioError};
use crate::store::ResultStore;
use crate::study;
use pyo3::prelude::*;
use serde_json::{Value, json};
use wearwell_study::limit::{LimitError, LimitOptions, Policies, policies};

/// Compares placements and victim policies, given as JSON lists of names and tables, with the lower bound; returns JSON.
#[pyfunction]
#[pyo3(signature = (scenario, *, placements=None, victims=None, all_pairs, replicas, quick, threads=None, progress=None, store=None, executor=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn limit(
    py: Python<'_>,
    scenario: &str,
    placements: Option<&str>,
    victims: Option<&str>,
    all_pairs: bool,
    replicas: u32,
    quick: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    store: Option<Py<ResultStore>>,
    executor: Option<Py<PyAny>>,
) -> PyResult<String> {
    let draft = study::draft(scenario, quick)?;
    let placements = placements.map_or_else(LimitOptions::every_placement, listed);
    let victims = victims.map_or_else(LimitOptions::every_victim, listed);
    let found = study::watched(py, progress, executor, move |executor, watch| {
        let sweep = study::options(threads, store.as_ref(), executor);
        policies(&draft, &LimitOptions { placements, victims, all_pairs, replicas, sweep }, watch)
    })?;
    Ok(as_json(&found.map_err(from_limit)?))
}

fn listed(json: &str) -> Vec<Value> {
    serde_json::from_str(json).expect("the package gives a list")
}

/// Returns the columns with their rows, and the complete comparison.
fn as_json(found: &Policies) -> String {
    let (columns, rows) = study::table(&found.rows());
    json!({ "columns": columns, "rows": rows, "limit": found.to_value() }).to_string()
}

fn from_limit(error: LimitError) -> PyErr {
    match error {
        LimitError::Draft(error) => study::from_draft(&error),
        LimitError::Options(problem) => ScenarioError::new_err((problem, None::<String>)),
        LimitError::Sweep(error) => study::from_sweep(&error),
        other => errors::RunError::new_err(other.to_string()),
    }
}
