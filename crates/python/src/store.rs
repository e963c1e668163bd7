//! Stores of finished runs, from Python.

use crate::errors::{self, StoreError};
use crate::scenario;
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use wearwell_stack::RunResult;
use wearwell_study::{PointResult, Store, identity, summary};

/// A folder of finished runs.
#[pyclass(frozen, name = "ResultStore", module = "wearwell._core")]
pub struct ResultStore(wearwell_store::ResultStore);

impl ResultStore {
    /// As a study takes it.
    pub fn as_store(&self) -> &dyn Store {
        &self.0
    }
}

type Settings = BTreeMap<String, serde_json::Value>;

fn parsed(settings: &str) -> PyResult<Settings> {
    serde_json::from_str(settings).map_err(|error| errors::wrong("settings", &error.to_string()))
}

fn failed(error: wearwell_study::StoreError) -> PyErr {
    StoreError::new_err(error.to_string())
}

#[pymethods]
impl ResultStore {
    /// Opens the store in a folder, which is made if it is not there.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| wearwell_store::ResultStore::open(&path)).map(ResultStore).map_err(failed)
    }

    /// What somebody should know who goes on from here.
    fn complaints(&self) -> Vec<String> {
        self.0.found().complaints()
    }

    /// Says what the runs that will be kept vary, each a JSON object.
    fn expect(&self, settings: Vec<String>) -> PyResult<()> {
        let settings: Vec<Settings> = settings.iter().map(|text| parsed(text)).collect::<PyResult<_>>()?;
        self.0.expect(&mut settings.iter());
        Ok(())
    }

    /// The result of a resolved scenario that was there when the store was opened, as JSON.
    fn find(&self, scenario: &str) -> PyResult<Option<String>> {
        let found = self.0.find(&identity(&scenario::parse(scenario)?));
        Ok(found.map(|result| serde_json::to_string(&result).expect("results are plain data")))
    }

    /// Keeps a finished run.
    fn keep(&self, py: Python<'_>, settings: &str, replica: u32, result: &str) -> PyResult<()> {
        let result = serde_json::from_str(result).and_then(RunResult::read);
        let result = result.map_err(|error| errors::wrong("result", &error.to_string()))?;
        let point = PointResult { settings: parsed(settings)?, replica, result };
        py.detach(|| self.0.keep(&point)).map_err(failed)
    }

    /// Makes safe what was kept.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.flush()).map_err(failed)
    }
}

/// All runs in a store, as JSON: their settings, replica, summary and result, and what somebody should know of the rest.
#[pyfunction]
pub fn read_store(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let stored = py.detach(|| wearwell_store::read(&path)).map_err(failed)?;
    let row = |point: &PointResult| {
        let (names, values): (Vec<_>, Vec<_>) = summary(&point.result).into_iter().unzip();
        json!({
            "settings": point.settings, "replica": point.replica, "names": names, "values": values, "result": point.result,
        })
    };
    let rows: Vec<_> = stored.points.iter().map(row).collect();
    Ok(json!({ "rows": rows, "complaints": stored.found.complaints() }).to_string())
}

/// Puts the runs of this build from many files into few; how many runs, and files before and afterwards.
#[pyfunction]
pub fn compact_store(py: Python<'_>, path: PathBuf) -> PyResult<(usize, usize, usize)> {
    let done = py.detach(|| wearwell_store::compact(&path)).map_err(failed)?;
    Ok((done.runs, done.files_before, done.files_after))
}
