//! Conversion of errors to Python exceptions.

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

/// Returns the error for an unknown name of a parameter; `names` are the valid names.
pub fn unknown_name(parameter: &'static str, name: &str, names: &[&str]) -> PyErr {
    invalid_parameter(parameter, &format!("there is no {name:?}; there are {}", names.join(", ")))
}

/// Returns the error for a parameter with a problem.
pub fn invalid_parameter(parameter: &'static str, problem: &str) -> PyErr {
    ParameterError::new_err((format!("{parameter}: {problem}"), parameter))
}

/// Advice in a message of the core that uses names from Rust, and its replacement with names from Python.
const MESSAGE_REPLACEMENT: (&str, &str) =
    ("merge classes (Classes::merged) or extrapolate (ManyClasses)", "see wearwell.theory.many_classes");

/// Converts an error of the theory; `index` is the row of the query, or the position of a class in its list.
pub fn from_theory(error: &wearwell_theory::TheoryError, index: Option<usize>) -> PyErr {
    match error {
        wearwell_theory::TheoryError::Parameter { parameter, problem } => {
            let problem = problem.replace(MESSAGE_REPLACEMENT.0, MESSAGE_REPLACEMENT.1);
            ParameterError::new_err((format!("{parameter}: {problem}"), *parameter, index))
        }
        wearwell_theory::TheoryError::NotConverged { .. } => {
            ConvergenceError::new_err((error.to_string(), index))
        }
    }
}

/// First exception raised by a part written in Python.
///
/// Parts of the engine cannot fail. A part that fails therefore stores its exception here, and continues with
/// harmless values until the observer of the run is called and stops the run.
#[derive(Clone, Default)]
pub struct FirstException(Arc<OnceLock<PyErr>>);

impl FirstException {
    pub fn record(&self, error: PyErr) {
        // A later exception is a consequence of the first.
        let _ = self.0.set(error);
    }

    /// Calls Python, unless an earlier call failed; records an exception of this call.
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
