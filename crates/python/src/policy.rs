//! Victim policies written in Python.

use crate::errors::{FirstException, RunError};
use crate::part::{Method, PythonPart, Store, shortened_repr};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard};
use wearwell_base::units::BlockId;
use wearwell_engine::victim::{self, Needs, VictimPolicy};

/// The block table, which Python can access during a call.
#[pyclass(frozen, module = "wearwell._core")]
pub struct Blocks {
    lent: Mutex<Option<&'static victim::Blocks>>,
}

impl Blocks {
    fn slot(&self) -> MutexGuard<'_, Option<&'static victim::Blocks>> {
        self.lent.lock().expect("nothing panics while the table is looked at")
    }

    /// Makes `blocks` accessible until the guard is dropped.
    fn lend<'a>(&'a self, blocks: &'a victim::Blocks) -> BorrowGuard<'a> {
        // SAFETY: only the lifetime changes. The guard does not outlive `blocks`: it is dropped before the caller
        // returns, and then removes the reference. All accesses hold the lock that the removal needs.
        *self.slot() =
            Some(unsafe { std::mem::transmute::<&'a victim::Blocks, &'static victim::Blocks>(blocks) });
        BorrowGuard(self)
    }

    /// Calls `access` with the block table. `access` must not call Python, which might call this function again.
    fn read<T>(&self, access: impl FnOnce(&victim::Blocks) -> T) -> PyResult<T> {
        self.slot().map(access).ok_or_else(|| {
            PyRuntimeError::new_err("blocks can be looked at only during the call that they were passed to")
        })
    }

    /// Returns an array with one value per block.
    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&victim::Blocks, BlockId) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let values =
            self.read(|blocks| (0..blocks.len()).map(|block| value(blocks, BlockId(block))).collect())?;
        Ok(PyArray1::from_vec(py, values))
    }
}

/// Guard that removes the reference when dropped.
struct BorrowGuard<'a>(&'a Blocks);

impl Drop for BorrowGuard<'_> {
    fn drop(&mut self) {
        *self.0.slot() = None;
    }
}

#[pymethods]
impl Blocks {
    fn __len__(&self) -> PyResult<usize> {
        self.read(|blocks| blocks.len() as usize)
    }

    #[getter]
    fn pages_per_block(&self) -> PyResult<u32> {
        self.read(victim::Blocks::pages_per_block)
    }

    #[getter]
    fn logical_pages(&self) -> PyResult<u32> {
        self.read(victim::Blocks::logical_pages)
    }

    #[getter]
    fn now(&self) -> PyResult<u64> {
        self.read(victim::Blocks::now)
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

/// A policy that calls a Python object.
pub struct PythonPolicy {
    part: PythonPart,
    seed: u64,
    view: Py<Blocks>,
    /// Method that receives the sizes before any other call; `None` after it was called.
    begin: Option<Method>,
    select: Method,
    closed: Option<Method>,
    invalidated: Option<Method>,
    taken: Option<Method>,
}

impl PythonPolicy {
    pub fn new(policy: &Bound<'_, PyAny>, seed: u64, failure: FirstException) -> PyResult<Self> {
        let part = PythonPart::new(policy, "victim policy", failure)?;
        Ok(PythonPolicy {
            seed,
            view: Py::new(policy.py(), Blocks { lent: Mutex::new(None) })?,
            select: part.required(policy, "select", "blocks")?,
            begin: part.optional(policy, "begin")?,
            closed: part.optional(policy, "closed")?,
            invalidated: part.optional(policy, "invalidated")?,
            taken: part.optional(policy, "taken")?,
            part,
        })
    }

    /// Calls the method, unless it was already called. Every entry point calls this function, because each of them
    /// has access to the blocks.
    fn begin(&mut self, blocks: &victim::Blocks) {
        let Some(begin) = self.begin.take() else { return };
        let store = Store::new(blocks.len(), blocks.pages_per_block(), blocks.logical_pages(), self.seed);
        self.part.attempt(|py| self.part.call(py, &begin, (Py::new(py, store)?,)).map(drop));
    }

    fn call_select(&self, py: Python<'_>, blocks: &victim::Blocks) -> PyResult<BlockId> {
        let answer = {
            let _lent = self.view.get().lend(blocks);
            self.part.call(py, &self.select, (&self.view,))?
        };
        let invalid = |what: String| {
            let name = self.part.name(&self.select);
            RunError::new_err(format!(
                "{name} returned {what}; it must return the number of a candidate block"
            ))
        };
        let Ok(block) = answer.extract::<i64>() else {
            return Err(invalid(shortened_repr(&answer)?));
        };
        let Some(block) = u32::try_from(block).ok().filter(|&block| block < blocks.len()) else {
            return Err(invalid(format!("{block}, and blocks go from 0 to {}", blocks.len() - 1)));
        };
        if !blocks.is_candidate(BlockId(block)) {
            return Err(invalid(format!(
                "block {block}, which is erased, open or bad (see blocks.candidates)"
            )));
        }
        Ok(BlockId(block))
    }
}

/// Returns a reasonable victim, used between an exception and the end of the run.
fn fewest_valid(blocks: &victim::Blocks) -> BlockId {
    let candidates = blocks.iter_candidates();
    candidates.min_by_key(|&block| blocks.valid_pages(block)).expect("select is only called with a candidate")
}

impl VictimPolicy for PythonPolicy {
    fn needs(&self) -> Needs {
        Needs { age: true, erases: true, ..Needs::default() }
    }

    fn closed(&mut self, block: BlockId, blocks: &victim::Blocks) {
        self.begin(blocks);
        self.part.notify(&self.closed, (block.0,));
    }

    fn invalidated(&mut self, block: BlockId, _score: u32, blocks: &victim::Blocks) {
        self.begin(blocks);
        self.part.notify(&self.invalidated, (block.0, blocks.valid_pages(block)));
    }

    fn taken(&mut self, block: BlockId) {
        self.part.notify(&self.taken, (block.0,));
    }

    fn select(&mut self, blocks: &victim::Blocks) -> BlockId {
        self.begin(blocks);
        self.part.attempt(|py| self.call_select(py, blocks)).unwrap_or_else(|| fewest_valid(blocks))
    }
}
