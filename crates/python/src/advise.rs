//! Advice on a stack, watched from Python.

use crate::errors::{self, Failure, ScenarioError};
use crate::executor::PythonExecutor;
use crate::patience::gently;
use crate::store::ResultStore;
use crate::study::{self, Watch};
use pyo3::prelude::*;
use serde_json::json;
use wearwell_study::advise::{self as core, Advice, AdviseError, AdviseOptions};

/// Tries changes to a scenario; the advice as JSON.
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
    let failure = Failure::default();
    let executor = executor.map(|make| PythonExecutor::new(make, failure.clone()));
    let watch = Watch::new(progress, failure.clone());
    let advice = gently(py, &failure, move || {
        let sweep = study::options(threads, store.as_ref(), executor.as_ref());
        core::advise(&draft, &AdviseOptions { only, replicas, depth, sweep }, &watch)
    })?;
    if let Some(error) = failure.get(py) {
        return Err(error);
    }
    Ok(as_json(&advice.map_err(from_advise)?))
}

/// Rows as lists under their columns, the settings of each, what was not tried, and all of it as it is.
fn as_json(advice: &Advice) -> String {
    let rows = advice.rows();
    let columns: Vec<&str> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|(_, value)| value).collect()).collect();
    let tried = advice.changes.iter().chain(&advice.combinations);
    let settings: Vec<_> = tried.map(|tried| &tried.change.settings).collect();
    json!({"columns": columns, "rows": values, "settings": settings, "skipped": advice.skipped, "advice": advice}).to_string()
}

fn from_advise(error: AdviseError) -> PyErr {
    match error {
        AdviseError::Draft(error) => study::from_draft(&error),
        AdviseError::Options(problem) => ScenarioError::new_err((problem, None::<String>)),
        AdviseError::Sweep(error) => study::from_sweep(&error),
        other => errors::RunError::new_err(other.to_string()),
    }
}
