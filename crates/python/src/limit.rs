//! Comparison of a drive with its lower bound, with progress and Ctrl-C for Python.

use crate::errors::{self, ScenarioError};
use crate::study::{self, StudyArgs};
use pyo3::prelude::*;
use serde_json::Value;
use wearwell_study::limit::{LowerBoundError, LowerBoundOptions, compare_policies};

/// Compares placements and victim policies, given as JSON lists of names and tables, with the lower bound; returns JSON.
#[pyfunction]
#[pyo3(signature = (args, *, placements=None, victims=None, all_pairs, replicas))]
pub fn limit(
    py: Python<'_>,
    args: StudyArgs,
    placements: Option<&str>,
    victims: Option<&str>,
    all_pairs: bool,
    replicas: u32,
) -> PyResult<String> {
    let placements = placements.map_or_else(LowerBoundOptions::all_placements, parse_list);
    let victims = victims.map_or_else(LowerBoundOptions::all_victims, parse_list);
    let outcome = args.run(py, move |draft, sweep, watch| {
        let options = LowerBoundOptions { placements, victims, all_pairs, replicas, sweep };
        compare_policies(draft, &options, watch)
    })?;
    let found = outcome.map_err(from_limit)?;
    Ok(study::as_json(&found.rows(), &found.to_value(), None))
}

fn parse_list(json: &str) -> Vec<Value> {
    serde_json::from_str(json).expect("the package gives a list")
}

fn from_limit(error: LowerBoundError) -> PyErr {
    match error {
        LowerBoundError::Draft(error) => study::from_draft(&error),
        LowerBoundError::Options(problem) => ScenarioError::new_err((problem, None::<String>)),
        LowerBoundError::Sweep(error) => study::from_sweep(&error),
        other => errors::RunError::new_err(other.to_string()),
    }
}
