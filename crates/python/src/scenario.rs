//! Scenarios as JSON text.

use crate::errors::{self, ScenarioError};
use pyo3::prelude::*;
use serde_json::Deserializer;
use wearwell_base::seed::Seed;
use wearwell_nvmfs::top;
use wearwell_stack::Scenario;

/// Bits of a replica's seed, few enough for every program that reads JSON numbers as floating point.
const SEED_BITS: u32 = 53;

/// Reads a scenario; the error names the key.
pub fn parse(text: &str) -> PyResult<Scenario> {
    let mut json = Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let key = (path != ".").then_some(path);
        let problem = error.into_inner().to_string();
        // The position is one in our own JSON, of which the caller knows nothing.
        let problem = problem.split_once(" at line ").map_or(&*problem, |(problem, _)| problem);
        let message = key.as_ref().map_or_else(|| problem.to_owned(), |key| format!("{key}: {problem}"));
        ScenarioError::new_err((message, key))
    })
}

/// The scenario with every default filled in.
#[pyfunction]
pub fn resolve(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = parse(scenario)?;
    let resolved = py.detach(|| top::resolve(&scenario)).map_err(|error| errors::from_run(&error))?;
    Ok(serde_json::to_string(&resolved).expect("scenarios are plain data"))
}

/// The JSON Schema of scenarios.
#[pyfunction]
pub fn scenario_schema() -> String {
    serde_json::to_string(&top::schema()).expect("schemas are plain data")
}

/// The seed of a sweep's replica; replica 0 keeps the scenario's own.
#[pyfunction]
pub fn replica_seed(seed: u64, replica: u32) -> u64 {
    match replica {
        0 => seed,
        _ => Seed(seed).of(&format!("replica {replica}")).0 >> (u64::BITS - SEED_BITS),
    }
}
