//! Victim policies written in Python.

use crate::errors::{Failure, RunError};
use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard};
use wearwell_base::units::BlockId;
use wearwell_engine::victim::{self, Needs, VictimPolicy};

/// The block table, lent to Python for the length of a call.
#[pyclass(frozen, module = "wearwell._core")]
pub struct Blocks {
    lent: Mutex<Option<&'static victim::Blocks>>,
}

impl Blocks {
    fn slot(&self) -> MutexGuard<'_, Option<&'static victim::Blocks>> {
        self.lent.lock().expect("nothing panics while the table is looked at")
    }

    /// Lends `blocks` until the guard is dropped.
    fn lend<'a>(&'a self, blocks: &'a victim::Blocks) -> Lent<'a> {
        // SAFETY: only the lifetime changes. The guard, which does not outlive `blocks`, is dropped before the
        // caller returns and takes the reference back; all use of it happens under the lock that this needs.
        *self.slot() =
            Some(unsafe { std::mem::transmute::<&'a victim::Blocks, &'static victim::Blocks>(blocks) });
        Lent(self)
    }

    /// Looks at the table. `look` must not call Python, which might come back here.
    fn look<T>(&self, look: impl FnOnce(&victim::Blocks) -> T) -> PyResult<T> {
        self.slot().map(look).ok_or_else(|| {
            PyRuntimeError::new_err("blocks can be looked at only during the call that they were passed to")
        })
    }

    /// One value for every block.
    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&victim::Blocks, BlockId) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let values =
            self.look(|blocks| (0..blocks.len()).map(|block| value(blocks, BlockId(block))).collect())?;
        Ok(PyArray1::from_vec(py, values))
    }
}

/// Takes the table back.
struct Lent<'a>(&'a Blocks);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        *self.0.slot() = None;
    }
}

#[pymethods]
impl Blocks {
    fn __len__(&self) -> PyResult<usize> {
        self.look(|blocks| blocks.len() as usize)
    }

    #[getter]
    fn pages_per_block(&self) -> PyResult<u32> {
        self.look(victim::Blocks::pages_per_block)
    }

    #[getter]
    fn logical_pages(&self) -> PyResult<u32> {
        self.look(victim::Blocks::logical_pages)
    }

    #[getter]
    fn now(&self) -> PyResult<u64> {
        self.look(victim::Blocks::now)
    }

    #[getter]
    fn valid_pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.column(py, victim::Blocks::valid_pages)
    }

    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.column(py, victim::Blocks::is_candidate)
    }

    #[getter]
    fn age<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        self.column(py, victim::Blocks::age)
    }

    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.column(py, victim::Blocks::erases)
    }
}

/// A policy that asks a Python object.
pub struct PythonPolicy {
    name: String,
    view: Py<Blocks>,
    select: Py<PyAny>,
    closed: Option<Py<PyAny>>,
    invalidated: Option<Py<PyAny>>,
    taken: Option<Py<PyAny>>,
    failure: Failure,
}

impl PythonPolicy {
    pub fn new(policy: &Bound<'_, PyAny>, failure: Failure) -> PyResult<Self> {
        let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            match policy.getattr_opt(name)? {
                Some(method) if !method.is_callable() => {
                    Err(PyTypeError::new_err(format!("{name} of the victim policy {policy} is no method")))
                }
                method => Ok(method.map(Bound::unbind)),
            }
        };
        let name = policy.get_type().name()?.to_string();
        let select = method("select")?.ok_or_else(|| {
            PyTypeError::new_err(format!("the victim policy {name} has no method select(blocks)"))
        })?;
        Ok(PythonPolicy {
            view: Py::new(policy.py(), Blocks { lent: Mutex::new(None) })?,
            select,
            closed: method("closed")?,
            invalidated: method("invalidated")?,
            taken: method("taken")?,
            name,
            failure,
        })
    }

    fn ask(&self, py: Python<'_>, blocks: &victim::Blocks) -> PyResult<BlockId> {
        let answer = {
            let _lent = self.view.get().lend(blocks);
            self.select.bind(py).call1((&self.view,))?
        };
        let wrong = |what: String| {
            RunError::new_err(format!(
                "{}.select returned {what}; it must return the number of a candidate block",
                self.name
            ))
        };
        let Ok(block) = answer.extract::<i64>() else {
            return Err(wrong(answer.repr()?.to_string()));
        };
        let Some(block) = u32::try_from(block).ok().filter(|&block| block < blocks.len()) else {
            return Err(wrong(format!("{block}, and blocks go from 0 to {}", blocks.len() - 1)));
        };
        if !blocks.is_candidate(BlockId(block)) {
            return Err(wrong(format!(
                "block {block}, which is erased, open or bad (see blocks.candidates)"
            )));
        }
        Ok(BlockId(block))
    }
}

/// Any sensible victim, for the few pages between an exception and the end of the run.
fn fewest_valid(blocks: &victim::Blocks) -> BlockId {
    let candidates = blocks.iter_candidates();
    candidates.min_by_key(|&block| blocks.valid_pages(block)).expect("select is only called with a candidate")
}

impl VictimPolicy for PythonPolicy {
    fn needs(&self) -> Needs {
        Needs { age: true, erases: true }
    }

    fn closed(&mut self, block: BlockId, _blocks: &victim::Blocks) {
        let Some(method) = self.closed.as_ref().filter(|_| !self.failure.is_set()) else { return };
        if let Err(error) = Python::attach(|py| method.call1(py, (block.0,))) {
            self.failure.record(error);
        }
    }

    fn invalidated(&mut self, block: BlockId, _score: u32, blocks: &victim::Blocks) {
        let Some(method) = self.invalidated.as_ref().filter(|_| !self.failure.is_set()) else { return };
        let valid = blocks.valid_pages(block);
        if let Err(error) = Python::attach(|py| method.call1(py, (block.0, valid))) {
            self.failure.record(error);
        }
    }

    fn taken(&mut self, block: BlockId) {
        let Some(method) = self.taken.as_ref().filter(|_| !self.failure.is_set()) else { return };
        if let Err(error) = Python::attach(|py| method.call1(py, (block.0,))) {
            self.failure.record(error);
        }
    }

    fn select(&mut self, blocks: &victim::Blocks) -> BlockId {
        if self.failure.is_set() {
            return fewest_valid(blocks);
        }
        Python::attach(|py| self.ask(py, blocks)).unwrap_or_else(|error| {
            self.failure.record(error);
            fewest_valid(blocks)
        })
    }
}
