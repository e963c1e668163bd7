//! Theory applied to a scenario.

use crate::errors;
use crate::interruptible::run_abandoning;
use crate::scenario::parse;
use pyo3::prelude::*;
use wearwell_study::{PredictionEffort, PredictionError, predict};

/// Returns the prediction for the store to which the host writes, as JSON.
#[pyfunction]
pub fn theory_of_scenario(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = parse(scenario)?;
    let found = run_abandoning(py, move || predict(&scenario, PredictionEffort::Short))?.map_err(
        |error| match &error {
            PredictionError::Scenario(error) => errors::from_config(error),
            PredictionError::NoModel(_) => errors::invalid_parameter("scenario", &error.to_string()),
            PredictionError::Theory(error) => errors::from_theory(error, None),
        },
    )?;
    Ok(serde_json::to_string(&found).expect("predictions are plain data"))
}
