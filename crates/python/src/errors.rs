//! Errors on their way to Python.

use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};
use wearwell_base::config::ConfigError;

pyo3::import_exception!(wearwell._errors, ConvergenceError);
pyo3::import_exception!(wearwell._errors, ExecutorError);
pyo3::import_exception!(wearwell._errors, ParameterError);
pyo3::import_exception!(wearwell._errors, ReportError);
pyo3::import_exception!(wearwell._errors, RunError);
pyo3::import_exception!(wearwell._errors, ScenarioError);
pyo3::import_exception!(wearwell._errors, StoreError);
pyo3::import_exception!(wearwell._errors, TraceError);

pub fn from_config(error: &ConfigError) -> PyErr {
    ScenarioError::new_err((error.to_string(), error.key.clone()))
}

pub fn from_trace(error: &wearwell_trace::TraceError) -> PyErr {
    TraceError::new_err(error.to_string())
}

pub fn from_run(error: &wearwell_stack::RunError) -> PyErr {
    match error {
        wearwell_stack::RunError::Config(error) => from_config(error),
        wearwell_stack::RunError::Source(error) => TraceError::new_err(error.to_string()),
        other => RunError::new_err(other.to_string()),
    }
}

/// A parameter that has no such value, where there are only `names`.
pub fn no_such(parameter: &'static str, name: &str, names: &[&str]) -> PyErr {
    wrong(parameter, &format!("there is no {name:?}; there are {}", names.join(", ")))
}

/// A parameter that has a problem.
pub fn wrong(parameter: &'static str, problem: &str) -> PyErr {
    ParameterError::new_err((format!("{parameter}: {problem}"), parameter))
}

/// What a core message advises by Rust's names, and what it is called here.
const ADVICE: (&str, &str) =
    ("merge classes (Classes::merged) or extrapolate (ManyClasses)", "see wearwell.theory.many_classes");

/// `index` is that of the question in its column, or of a class in their list.
pub fn from_theory(error: &wearwell_theory::TheoryError, index: Option<usize>) -> PyErr {
    match error {
        wearwell_theory::TheoryError::Parameter { parameter, problem } => {
            let problem = problem.replace(ADVICE.0, ADVICE.1);
            ParameterError::new_err((format!("{parameter}: {problem}"), *parameter, index))
        }
        wearwell_theory::TheoryError::NotConverged { .. } => {
            ConvergenceError::new_err((error.to_string(), index))
        }
    }
}

/// The first exception that a part written in Python raised.
///
/// The engine's parts cannot fail, so a part that did keeps its exception here and goes on harmlessly until the
/// run's observer is asked and stops.
#[derive(Clone, Default)]
pub struct Failure(Arc<OnceLock<PyErr>>);

impl Failure {
    pub fn record(&self, error: PyErr) {
        // A later exception is a consequence of the first.
        let _ = self.0.set(error);
    }

    /// Does something in Python unless something went wrong before; what goes wrong now is recorded.
    pub fn attempt<T>(&self, action: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.is_set() {
            return None;
        }
        Python::attach(action).map_err(|error| self.record(error)).ok()
    }

    pub fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    pub fn get(&self, py: Python<'_>) -> Option<PyErr> {
        self.0.get().map(|error| error.clone_ref(py))
    }
}
