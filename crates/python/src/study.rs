//! Code that studies of many runs share.

use crate::errors::{self, FirstException, ScenarioError};
use crate::executor::PythonExecutor;
use crate::interruptible::run_stopping;
use crate::scenario;
use crate::store::ResultStore;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use wearwell_nvmfs::top;
use wearwell_stack::{Draft, DraftError, Progress};
use wearwell_study::advise::shorten_runs;
use wearwell_study::{Executor, Row, SweepError, SweepObserver, SweepOptions};

/// Arguments that all studies have: attributes of the package's `StudyArgs`.
#[derive(FromPyObject)]
pub struct StudyArgs {
    scenario: String,
    quick: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    store: Option<Py<ResultStore>>,
    executor: Option<Py<PyAny>>,
}

impl StudyArgs {
    /// Runs a study of the scenario with progress and Ctrl-C.
    pub fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        study: impl FnOnce(&Draft, SweepOptions<'_>, &StudyObserver) -> T + Send + 'static,
    ) -> PyResult<T> {
        let StudyArgs { scenario, quick, threads, progress, store, executor } = self;
        let draft = draft(&scenario, quick)?;
        run_with_progress(py, progress, executor, move |executor, watch| {
            let sweep = SweepOptions {
                threads,
                store: store.as_ref().map(|store| store.get().as_store()),
                executor: executor.map(|executor| executor as &dyn Executor),
                run: Some(top::run),
                ..SweepOptions::default()
            };
            study(&draft, sweep, watch)
        })
    }
}

/// Returns the draft of a study's scenario, with shorter runs if `quick`.
fn draft(scenario: &str, quick: bool) -> PyResult<Draft> {
    scenario::parse(scenario)?;
    let mut draft = Draft::from_value(serde_json::from_str(scenario).expect("parsed before"));
    if quick {
        shorten_runs(&mut draft).map_err(|error| from_draft(&error))?;
    }
    Ok(draft)
}

/// Runs a study with progress reports; `executor` executes the runs, if there is one. An exception in Python has
/// priority over the result.
pub fn run_with_progress<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    executor: Option<Py<PyAny>>,
    study: impl FnOnce(Option<&PythonExecutor>, &StudyObserver) -> T + Send + 'static,
) -> PyResult<T> {
    let failure = FirstException::default();
    let executor = executor.map(|submit| PythonExecutor::new(submit, failure.clone()));
    let watch = StudyObserver::new(progress, failure.clone());
    let found = run_stopping(py, &failure, move || study(executor.as_ref(), &watch))?;
    match failure.get(py) {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

/// Returns the columns with their rows, the document of the page, and the settings of each row if there are any.
pub fn as_json(rows: &[Row], document: &Value, settings: Option<Value>) -> String {
    let columns: Vec<&str> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|(_, value)| value).collect()).collect();
    json!({ "columns": columns, "rows": values, "document": document, "settings": settings }).to_string()
}

/// Converts an error in a scenario, with its key.
pub fn from_draft(error: &DraftError) -> PyErr {
    ScenarioError::new_err((error.to_string(), error.key.clone()))
}

/// Converts an error that ended the runs.
pub fn from_sweep(error: &SweepError) -> PyErr {
    match error {
        SweepError::Store { .. } => errors::StoreError::new_err(error.to_string()),
        SweepError::Executor { .. } => errors::ExecutorError::new_err(error.to_string()),
        other => errors::RunError::new_err(other.to_string()),
    }
}

/// Reports the number of finished runs to Python, and stops the study after an exception there.
pub struct StudyObserver {
    progress: Option<Py<PyAny>>,
    failure: FirstException,
}

impl StudyObserver {
    /// Calls `progress` with the number of finished runs and of all runs; an exception is recorded in `failure`.
    pub fn new(progress: Option<Py<PyAny>>, failure: FirstException) -> Self {
        StudyObserver { progress, failure }
    }

    fn stop_on_failure(&self) -> ControlFlow<()> {
        if self.failure.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl SweepObserver for StudyObserver {
    fn begin(&self, _: usize) -> ControlFlow<()> {
        self.stop_on_failure()
    }

    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        self.stop_on_failure()
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.stop_on_failure()
    }

    fn finished(&self, finished: usize, points: usize) {
        let Some(callback) = &self.progress else { return };
        if let Err(error) = Python::attach(|py| callback.call1(py, (finished, points))) {
            self.failure.record(error);
        }
    }
}
