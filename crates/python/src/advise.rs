//! Advice on a stack, with progress and Ctrl-C for Python.

use crate::errors::{self, ScenarioError};
use crate::store::ResultStore;
use crate::study;
use pyo3::prelude::*;
use serde_json::json;
use wearwell_study::advise::{self as core, Advice, AdviseError, AdviseOptions};

/// Tries changes to a scenario and returns the advice as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, *, only, replicas, depth, quick, threads=None, progress=None, store=None, executor=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn advise(
    py: Python<'_>,
    scenario: &str,
    only: Vec<String>,
    replicas: u32,
    depth: u32,
    quick: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    store: Option<Py<ResultStore>>,
    executor: Option<Py<PyAny>>,
) -> PyResult<String> {
    let draft = study::draft(scenario, quick)?;
    let advice = study::run_with_progress(py, progress, executor, move |executor, watch| {
        let sweep = study::options(threads, store.as_ref(), executor);
        core::advise(&draft, &AdviseOptions { only, replicas, depth, sweep }, watch)
    })?;
    Ok(as_json(&advice.map_err(from_advise)?))
}

/// Returns the columns and the rows of the table, the settings of each row, the skipped changes, and the complete
/// advice.
fn as_json(advice: &Advice) -> String {
    let (columns, rows) = study::columns_and_rows(&advice.rows());
    let trials = advice.changes.iter().chain(&advice.combinations);
    let settings: Vec<_> = trials.map(|trial| &trial.change.settings).collect();
    json!({"columns": columns, "rows": rows, "settings": settings, "skipped": advice.skipped, "advice": advice}).to_string()
}

fn from_advise(error: AdviseError) -> PyErr {
    match error {
        AdviseError::Draft(error) => study::from_draft(&error),
        AdviseError::Options(problem) => ScenarioError::new_err((problem, None::<String>)),
        AdviseError::Sweep(error) => study::from_sweep(&error),
        other => errors::RunError::new_err(other.to_string()),
    }
}
