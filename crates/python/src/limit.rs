//! Comparison of a drive with its lower bound, with progress and Ctrl-C for Python.

use crate::errors::{self, ScenarioError};
use crate::store::ResultStore;
use crate::study;
use pyo3::prelude::*;
use serde_json::{Value, json};
use wearwell_study::limit::{LowerBoundError, LowerBoundOptions, PolicyComparison, compare_policies};

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
    let placements = placements.map_or_else(LowerBoundOptions::all_placements, parse_list);
    let victims = victims.map_or_else(LowerBoundOptions::all_victims, parse_list);
    let found = study::run_with_progress(py, progress, executor, move |executor, watch| {
        let sweep = study::options(threads, store.as_ref(), executor);
        compare_policies(
            &draft,
            &LowerBoundOptions { placements, victims, all_pairs, replicas, sweep },
            watch,
        )
    })?;
    Ok(as_json(&found.map_err(from_limit)?))
}

fn parse_list(json: &str) -> Vec<Value> {
    serde_json::from_str(json).expect("the package gives a list")
}

/// Returns the columns and the rows of the table, and the complete comparison.
fn as_json(comparison: &PolicyComparison) -> String {
    let (columns, rows) = study::columns_and_rows(&comparison.rows());
    json!({ "columns": columns, "rows": rows, "limit": comparison.to_value() }).to_string()
}

fn from_limit(error: LowerBoundError) -> PyErr {
    match error {
        LowerBoundError::Draft(error) => study::from_draft(&error),
        LowerBoundError::Options(problem) => ScenarioError::new_err((problem, None::<String>)),
        LowerBoundError::Sweep(error) => study::from_sweep(&error),
        other => errors::RunError::new_err(other.to_string()),
    }
}
