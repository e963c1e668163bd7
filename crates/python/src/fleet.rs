//! Fleets of drives, from Python.

use crate::errors::{self, ScenarioError};
use crate::study;
use pyo3::prelude::*;
use std::path::PathBuf;
use wearwell_stack::Draft;
use wearwell_study::SweepOptions;
use wearwell_study::fleet::{self as core, CheckOptions, FleetError, FleetOptions};

/// Predicts the fleet that a file describes or, without a file, a JSON text whose paths are relative to the current
/// folder. Returns JSON.
#[pyfunction]
#[pyo3(signature = (path, text, *, check=None, check_blocks, tolerance, threads=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn fleet(
    py: Python<'_>,
    path: Option<PathBuf>,
    text: &str,
    check: Option<u32>,
    check_blocks: Option<u32>,
    tolerance: f64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let plan = match path {
        Some(path) => core::from_file(&path),
        None => {
            let value = serde_json::from_str(text)
                .map_err(|error| errors::invalid_parameter("fleet", &error.to_string()))?;
            core::of_draft(&Draft::from_value(value), &PathBuf::new())
        }
    };
    let plan = plan.map_err(from_fleet)?;
    let check = check.map(|drives| CheckOptions { drives, blocks: check_blocks, tolerance });
    let sweep = SweepOptions { threads, ..SweepOptions::default() };
    let options = FleetOptions { check, sweep };
    let found = study::run_with_progress(py, progress, None, move |_, watch| {
        core::evaluate(&plan, &options, watch).map_err(Box::new)
    })?;
    Ok(serde_json::to_string(&found.map_err(|error| from_fleet(*error))?).expect("plain data"))
}

fn from_fleet(error: FleetError) -> PyErr {
    match error {
        FleetError::Draft(error) => ScenarioError::new_err((error.to_string(), error.key)),
        FleetError::Config(error) => ScenarioError::new_err((error.to_string(), Some(error.key))),
        other => errors::RunError::new_err(other.to_string()),
    }
}
