//! Code that all parts of a run written in Python share.

use crate::errors::FirstException;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;

/// Sizes of the store for which a policy is built.
#[pyclass(frozen, get_all, module = "wearwell._core")]
pub struct Store {
    /// Number of erase blocks.
    blocks: u32,
    /// Number of pages per erase block.
    pages_per_block: u32,
    /// Number of logical pages that the store offers.
    logical_pages: u32,
    /// Seed of the run, for generators of random numbers.
    seed: u64,
}

#[pymethods]
impl Store {
    fn __repr__(&self) -> String {
        let Store { blocks, pages_per_block, logical_pages, seed } = self;
        format!(
            "Store(blocks={blocks}, pages_per_block={pages_per_block}, logical_pages={logical_pages}, seed={seed})"
        )
    }
}

impl Store {
    pub fn new(blocks: u32, pages_per_block: u32, logical_pages: u32, seed: u64) -> Self {
        Store { blocks, pages_per_block, logical_pages, seed }
    }
}

/// Formats a returned value for an error message, as one short line.
pub fn shortened_repr(value: &Bound<'_, PyAny>) -> PyResult<String> {
    const MAX_CHARS: usize = 60;
    let text = value.repr()?.to_string();
    let line: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_CHARS + 1).collect();
    let cut = line.char_indices().nth(MAX_CHARS).map(|(at, _)| at);
    Ok(match cut {
        Some(at) => format!("{} ... (a {})", &line[..at], value.get_type().name()?),
        None => line,
    })
}

/// A Python object that is used as a part of a run.
pub struct PythonPart {
    /// Name of the object's class, or of the function if the object is one, for error messages.
    class: String,
    /// Role of the part in the run, such as `victim policy`.
    role: &'static str,
    failure: FirstException,
}

/// A method of the Python object.
pub struct Method {
    name: &'static str,
    bound: Py<PyAny>,
}

impl PythonPart {
    pub fn new(object: &Bound<'_, PyAny>, role: &'static str, failure: FirstException) -> PyResult<Self> {
        let has_name = object.is_callable() && object.hasattr("__name__")?;
        let class = match has_name {
            true => object.getattr("__name__")?.str()?.to_string(),
            false => object.get_type().name()?.to_string(),
        };
        Ok(PythonPart { class, role, failure })
    }

    /// Returns the name of the object's class, or of the function if the object is one.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// Returns a method of the object, if it has one with this name.
    pub fn optional(&self, object: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Option<Method>> {
        let Some(method) = object.getattr_opt(name)? else { return Ok(None) };
        if !method.is_callable() {
            let problem =
                format!("{}.{name}, of a {}, is no method but {}", self.class, self.role, method.repr()?);
            return Err(PyTypeError::new_err(problem));
        }
        Ok(Some(Method { name, bound: method.unbind() }))
    }

    /// Returns a method that the object must have.
    pub fn required(
        &self,
        object: &Bound<'_, PyAny>,
        name: &'static str,
        parameters: &str,
    ) -> PyResult<Method> {
        self.optional(object, name)?.ok_or_else(|| {
            PyTypeError::new_err(format!(
                "the {} {} has no method {name}({parameters})",
                self.role, self.class
            ))
        })
    }

    /// Returns the name of a method for error messages.
    pub fn name(&self, method: &Method) -> String {
        format!("{}.{}", self.class, method.name)
    }

    /// Calls the method; to an exception, adds a note with the name of the method.
    pub fn call<'py, A: PyCallArgs<'py>>(
        &self,
        py: Python<'py>,
        method: &Method,
        arguments: A,
    ) -> PyResult<Bound<'py, PyAny>> {
        let called = method.bound.bind(py).call1(arguments);
        called.map_err(|error| self.add_origin(py, &self.name(method), error))
    }

    /// Adds a note about the origin to an exception.
    pub fn add_origin(&self, py: Python<'_>, origin: &str, error: PyErr) -> PyErr {
        // Ctrl-C is not caused by the part, so it gets no note.
        if error.is_instance_of::<PyException>(py) {
            let note = format!("in {origin}, the {} of this run", self.role);
            // If the exception accepts no notes, it is raised without a note.
            let _ = error.value(py).call_method1("add_note", (note,));
        }
        error
    }

    /// Calls Python, unless an earlier call failed; an exception of this call ends the run.
    pub fn attempt<T>(&self, action: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        self.failure.attempt(action)
    }

    /// Calls the method, if the object has it.
    pub fn notify<A: for<'py> PyCallArgs<'py>>(&self, method: &Option<Method>, arguments: A) {
        let Some(method) = method else { return };
        self.attempt(|py| self.call(py, method, arguments).map(drop));
    }
}
