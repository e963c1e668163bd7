//! Advice on a stack, watched from Python.

use crate::errors::{self, Failure, ScenarioError};
use crate::executor::PythonExecutor;
use crate::patience::gently;
use crate::scenario;
use crate::store::ResultStore;
use pyo3::prelude::*;
use serde_json::json;
use std::ops::ControlFlow;
use wearwell_nvmfs::top;
use wearwell_stack::{Draft, Progress};
use wearwell_study::advise::{self as core, Advice, AdviseError, AdviseOptions};
use wearwell_study::{Executor, SweepError, SweepObserver, SweepOptions};

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
    scenario::parse(scenario)?;
    let mut draft = Draft::from_value(serde_json::from_str(scenario).expect("parsed before"));
    if quick {
        let shortened = core::shortened(&draft).map_err(|error| from_advise(error.into()))?;
        let applied = shortened.iter().try_for_each(|setting| setting.apply(&mut draft));
        applied.map_err(|error| from_advise(error.into()))?;
    }
    let failure = Failure::default();
    let executor = executor.map(|make| PythonExecutor::new(make, failure.clone()));
    let watch = Watch::new(progress, failure.clone());
    let advice = gently(py, &failure, move || {
        let sweep = SweepOptions {
            threads,
            store: store.as_ref().map(|store| store.get().as_store()),
            executor: executor.as_ref().map(|executor| executor as &dyn Executor),
            run: Some(top::run),
            ..SweepOptions::default()
        };
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
        AdviseError::Draft(error) => ScenarioError::new_err((error.to_string(), error.key)),
        AdviseError::Options(problem) => ScenarioError::new_err((problem, None::<String>)),
        AdviseError::Sweep(error @ SweepError::Store { .. }) => {
            errors::StoreError::new_err(error.to_string())
        }
        AdviseError::Sweep(error @ SweepError::Executor { .. }) => {
            errors::ExecutorError::new_err(error.to_string())
        }
        other => errors::RunError::new_err(other.to_string()),
    }
}

/// Passes on how many runs are finished, and stops where something in Python failed.
pub struct Watch {
    progress: Option<Py<PyAny>>,
    failure: Failure,
}

impl Watch {
    /// Calls `progress` with the numbers of finished and of all runs; what fails in it is recorded in `failure`.
    pub fn new(progress: Option<Py<PyAny>>, failure: Failure) -> Self {
        Watch { progress, failure }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.failure.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl SweepObserver for Watch {
    fn begin(&self, _: usize) -> ControlFlow<()> {
        self.flow()
    }

    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        self.flow()
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.flow()
    }

    fn finished(&self, finished: usize, points: usize) {
        let Some(callback) = &self.progress else { return };
        if let Err(error) = Python::attach(|py| callback.call1(py, (finished, points))) {
            self.failure.record(error);
        }
    }
}
