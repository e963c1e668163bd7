//! Execution of runs by a Python executor.

use crate::errors::FirstException;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use wearwell_stack::RunResult;
use wearwell_study::{Executor, ExecutorError, Job, RunListener};

/// A run that has ended: its number, and its result as JSON or its error.
type EndedRun = (usize, Option<String>, Option<String>);

/// Wrapper of a Python function that takes the numbers and scenarios of runs and returns an iterator. The iterator
/// yields runs as they end and, many times per second, `None` in between.
#[derive(Debug)]
pub struct PythonExecutor {
    submit: Py<PyAny>,
    failure: PythonFailure,
}

struct PythonFailure(FirstException);

impl std::fmt::Debug for PythonFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PythonFailure")
    }
}

impl PythonExecutor {
    /// Returns an executor that calls `submit`; an exception is recorded in `failure`.
    pub fn new(submit: Py<PyAny>, failure: FirstException) -> Self {
        PythonExecutor { submit, failure: PythonFailure(failure) }
    }

    fn begin(&self, jobs: &[Job<'_>]) -> PyResult<Py<PyIterator>> {
        let text = |job: &Job<'_>| {
            (job.number, serde_json::to_string(job.scenario).expect("scenarios are plain data"))
        };
        let jobs: Vec<(usize, String)> = jobs.iter().map(text).collect();
        Python::attach(|py| Ok(self.submit.bind(py).call1((jobs,))?.try_iter()?.unbind()))
    }

    /// Returns the next run that has ended. The outer `None` means that all runs have ended; the inner `None` means
    /// that no run has ended since the last call.
    fn next_result(&self, results: &Py<PyIterator>) -> PyResult<Option<Option<EndedRun>>> {
        Python::attach(|py| match results.bind(py).clone().next() {
            None => Ok(None),
            Some(next) => Ok(Some(next?.extract::<Option<EndedRun>>()?)),
        })
    }

    fn failed(&self, error: PyErr) -> ExecutorError {
        let problem = error.to_string();
        self.failure.0.record(error);
        ExecutorError(problem)
    }
}

impl Executor for PythonExecutor {
    fn execute(&self, jobs: &[Job<'_>], listener: &dyn RunListener) -> Result<(), ExecutorError> {
        let results = self.begin(jobs).map_err(|error| self.failed(error))?;
        while let Some(next) = self.next_result(&results).map_err(|error| self.failed(error))? {
            let flow = match next {
                None => listener.keep_going(),
                Some((number, Some(text), _)) => {
                    let result = serde_json::from_str(&text).and_then(RunResult::read);
                    let result = result.map_err(|error| {
                        ExecutorError(format!("run {number} came back as no result: {error}"))
                    })?;
                    listener.done(number, Ok(result))
                }
                Some((number, None, error)) => listener.done(number, Err(error.unwrap_or_default())),
            };
            if flow.is_break() {
                // This cancels the remaining runs.
                let closed = Python::attach(|py| results.bind(py).call_method0("close").map(drop));
                return closed.map_err(|error| self.failed(error));
            }
        }
        Ok(())
    }
}
