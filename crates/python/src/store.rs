//! Stores of finished runs, from Python.

use crate::errors::{self, StoreError};
use crate::scenario;
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use wearwell_stack::RunResult;
use wearwell_study::{PointResult, Store, identity, summary_row};

/// A folder with finished runs.
#[pyclass(frozen, name = "ResultStore", module = "wearwell._core")]
pub struct ResultStore(wearwell_store::ResultStore);

impl ResultStore {
    /// Returns the store in the form that a study accepts.
    pub fn as_store(&self) -> &dyn Store {
        &self.0
    }
}

type Settings = BTreeMap<String, serde_json::Value>;

fn parsed(settings: &str) -> PyResult<Settings> {
    serde_json::from_str(settings).map_err(|error| errors::invalid_parameter("settings", &error.to_string()))
}

fn failed(error: wearwell_study::StoreError) -> PyErr {
    StoreError::new_err(error.to_string())
}

#[pymethods]
impl ResultStore {
    /// Opens the store in a folder, which is created if it does not exist.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| wearwell_store::ResultStore::open(&path)).map(ResultStore).map_err(failed)
    }

    /// Returns messages about damaged files and other problems in the store.
    fn complaints(&self) -> Vec<String> {
        self.0.inventory().messages()
    }

    /// Declares the settings that the stored runs vary, each as a JSON object.
    fn expect(&self, settings: Vec<String>) -> PyResult<()> {
        let settings: Vec<Settings> = settings.iter().map(|text| parsed(text)).collect::<PyResult<_>>()?;
        self.0.declare_settings(&mut settings.iter());
        Ok(())
    }

    /// Returns the stored result of a resolved scenario as JSON, if it was there when the store was opened.
    fn find(&self, scenario: &str) -> PyResult<Option<String>> {
        let found = self.0.find(&identity(&scenario::parse(scenario)?));
        Ok(found.map(|result| serde_json::to_string(&result).expect("results are plain data")))
    }

    /// Stores a finished run.
    fn keep(&self, py: Python<'_>, settings: &str, replica: u32, result: &str) -> PyResult<()> {
        let result = serde_json::from_str(result).and_then(RunResult::read);
        let result = result.map_err(|error| errors::invalid_parameter("result", &error.to_string()))?;
        let point = PointResult { settings: parsed(settings)?, replica, result };
        py.detach(|| self.0.put(&point)).map_err(failed)
    }

    /// Makes the stored runs durable.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.flush()).map_err(failed)
    }
}

/// Returns all runs in a store as JSON, each with settings, replica, summary and result, together with messages about
/// problems.
#[pyfunction]
pub fn read_store(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let stored = py.detach(|| wearwell_store::read(&path)).map_err(failed)?;
    let row = |point: &PointResult| {
        let (names, values): (Vec<_>, Vec<_>) = summary_row(&point.result).into_iter().unzip();
        json!({
            "settings": point.settings, "replica": point.replica, "names": names, "values": values, "result": point.result,
        })
    };
    let rows: Vec<_> = stored.points.iter().map(row).collect();
    Ok(json!({ "rows": rows, "complaints": stored.inventory.messages() }).to_string())
}

/// Merges the many files with runs of this build into a few; returns the number of runs, and the number of files
/// before and after.
#[pyfunction]
pub fn compact_store(py: Python<'_>, path: PathBuf) -> PyResult<(usize, usize, usize)> {
    let done = py.detach(|| wearwell_store::compact(&path)).map_err(failed)?;
    Ok((done.runs, done.files_before, done.files_after))
}
