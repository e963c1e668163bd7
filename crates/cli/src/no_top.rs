//! Runs in a program that was built without NVMFS: only workloads and traces can write.

use serde_json::Value;
use wearwell_base::config::ConfigError;
use wearwell_stack::{Observer, RunError, RunResult, Scenario};

/// Runs a scenario.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    refuse_top(scenario)?;
    wearwell_stack::run(scenario, observer)
}

/// Checks a scenario and fills in every default.
pub fn resolve(scenario: &Scenario) -> Result<Scenario, RunError> {
    refuse_top(scenario)?;
    wearwell_stack::resolve(scenario)
}

/// Returns the JSON Schema of scenarios.
pub fn schema() -> Value {
    wearwell_stack::scenario::schema().clone()
}

fn refuse_top(scenario: &Scenario) -> Result<(), ConfigError> {
    match scenario.top {
        Some(_) => Err(ConfigError::new(
            "top",
            "this program was built without NVMFS; `make build` builds it with it",
        )),
        None => Ok(()),
    }
}
