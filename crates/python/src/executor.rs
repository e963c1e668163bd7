//! Execution of runs by a Python executor.

use crate::errors::Failure;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use wearwell_stack::RunResult;
use wearwell_study::{Executor, ExecutorError, Foreman, Job};

/// A run that has ended: its number, its result as JSON, or its error.
type Ended = (usize, Option<String>, Option<String>);

/// Wraps a Python function that takes the numbers and scenarios of runs and returns an iterator. The iterator yields
/// runs as they end and, many times per second, `None` in between.
#[derive(Debug)]
pub struct PythonExecutor {
    make: Py<PyAny>,
    failure: PythonFailure,
}

struct PythonFailure(Failure);

impl std::fmt::Debug for PythonFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PythonFailure")
    }
}

impl PythonExecutor {
    /// Returns an executor that calls `make`; exceptions are recorded in `failure`.
    pub fn new(make: Py<PyAny>, failure: Failure) -> Self {
        PythonExecutor { make, failure: PythonFailure(failure) }
    }

    fn begin(&self, jobs: &[Job<'_>]) -> PyResult<Py<PyIterator>> {
        let text = |job: &Job<'_>| {
            (job.number, serde_json::to_string(job.scenario).expect("scenarios are plain data"))
        };
        let jobs: Vec<(usize, String)> = jobs.iter().map(text).collect();
        Python::attach(|py| Ok(self.make.bind(py).call1((jobs,))?.try_iter()?.unbind()))
    }

    /// Returns the next run that ended. The outer `None` means that all have ended, the inner one that none ended yet.
    fn next(&self, ended: &Py<PyIterator>) -> PyResult<Option<Option<Ended>>> {
        Python::attach(|py| match ended.bind(py).clone().next() {
            None => Ok(None),
            Some(next) => Ok(Some(next?.extract::<Option<Ended>>()?)),
        })
    }

    fn failed(&self, error: PyErr) -> ExecutorError {
        let problem = error.to_string();
        self.failure.0.record(error);
        ExecutorError(problem)
    }
}

impl Executor for PythonExecutor {
    fn execute(&self, jobs: &[Job<'_>], foreman: &dyn Foreman) -> Result<(), ExecutorError> {
        let ended = self.begin(jobs).map_err(|error| self.failed(error))?;
        while let Some(next) = self.next(&ended).map_err(|error| self.failed(error))? {
            let flow = match next {
                None => foreman.keep_going(),
                Some((number, Some(text), _)) => {
                    let result = serde_json::from_str(&text).and_then(RunResult::read);
                    let result = result.map_err(|error| {
                        ExecutorError(format!("run {number} came back as no result: {error}"))
                    })?;
                    foreman.done(number, Ok(result))
                }
                Some((number, None, error)) => foreman.done(number, Err(error.unwrap_or_default())),
            };
            if flow.is_break() {
                // Cancels the remaining runs.
                let closed = Python::attach(|py| ended.bind(py).call_method0("close").map(drop));
                return closed.map_err(|error| self.failed(error));
            }
        }
        Ok(())
    }
}
