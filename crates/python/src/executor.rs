//! Runs that are made by an executor of Python's.

use crate::errors::Failure;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use wearwell_stack::RunResult;
use wearwell_study::{Executor, ExecutorError, Foreman, Job};

/// A run that has come to its end: its number, its result as JSON, or what went wrong.
type Ended = (usize, Option<String>, Option<String>);

/// What is called with the numbers and scenarios of runs, and gives an iterator over those that have ended; nothing in between,
/// many times a second.
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
    /// What `make` raises is recorded in `failure`.
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

    /// What ended next; outside nothing once all have, inside nothing while none does.
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
                // Cancels what is still to be made.
                let closed = Python::attach(|py| ended.bind(py).call_method0("close").map(drop));
                return closed.map_err(|error| self.failed(error));
            }
        }
        Ok(())
    }
}
