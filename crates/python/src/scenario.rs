//! Scenarios as JSON text.

use crate::errors::{self, ScenarioError};
use crate::interruptible::run_abandoning;
use pyo3::exceptions::PyFutureWarning;
use pyo3::prelude::*;
use std::ffi::CString;
use wearwell_base::seed::Seed;
use wearwell_nvmfs::top;
use wearwell_stack::{Scenario, renamed_keys, steady};

/// Number of bits of a replica's seed, with which JSON numbers stay exact in programs that read them as
/// floating-point numbers.
const SEED_BITS: u32 = 53;

/// Parses a scenario; an error names the key. A key given by an older name causes a `FutureWarning`.
pub fn parse(text: &str) -> PyResult<Scenario> {
    let value = serde_json::from_str(text)
        .map_err(|error| ScenarioError::new_err((error.to_string(), None::<String>)))?;
    for warning in renamed_keys(&value) {
        let text = CString::new(warning.replace('\0', "")).expect("no zero byte");
        Python::attach(|py| PyErr::warn(py, &py.get_type::<PyFutureWarning>(), &text, 3))?;
    }
    Scenario::read(&value).map_err(|error| {
        let key = Some(error.key).filter(|key| !key.is_empty());
        let message =
            key.as_ref().map_or_else(|| error.problem.clone(), |key| format!("{key}: {}", error.problem));
        ScenarioError::new_err((message, key))
    })
}

/// Returns the scenario with every default filled in.
#[pyfunction]
pub fn resolve(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = parse(scenario)?;
    let resolved = run_abandoning(py, move || top::resolve(&scenario))?;
    let resolved = resolved.map_err(|error| errors::from_run(&error))?;
    Ok(serde_json::to_string(&resolved).expect("scenarios are plain data"))
}

/// Returns the key within the table at `key` that a plain name sets, such as `policy` for `ftl.victim`.
#[pyfunction]
pub fn short_form(key: &str) -> Option<&'static str> {
    wearwell_stack::short_form(key)
}

/// Returns the JSON Schema of scenarios.
#[pyfunction]
pub fn scenario_schema() -> String {
    serde_json::to_string(&top::schema()).expect("schemas are plain data")
}

/// Returns the half-width of the 95 % confidence interval of the values' mean; `None` for fewer than two values.
#[pyfunction]
pub fn ci95_half_width(values: Vec<f64>) -> Option<f64> {
    steady::ci95_half_width(&values)
}

/// Returns the seed of a sweep's replica; replica 0 has the seed of the scenario.
#[pyfunction]
pub fn replica_seed(seed: u64, replica: u32) -> u64 {
    match replica {
        0 => seed,
        _ => Seed(seed).derive(&format!("replica {replica}")).0 >> (u64::BITS - SEED_BITS),
    }
}
