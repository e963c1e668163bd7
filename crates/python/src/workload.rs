//! Workloads written in Python.

use crate::errors::{Failure, RunError};
use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use wearwell_base::units::Lpn;
use wearwell_trace::Op;
use wearwell_workload::{PageBatch, Workload};

/// Pages of one item that Python yielded, and how far they are used up.
struct Piece {
    op: Op,
    hint: u16,
    pages: Vec<Lpn>,
    next: usize,
}

/// A workload that takes its pages from a Python iterable, or from a function that makes one.
pub struct PythonWorkload {
    source: Py<PyAny>,
    logical_pages: u32,
    iterator: Option<Py<PyIterator>>,
    /// Whether the current pass through the source yielded anything.
    yielded: bool,
    piece: Option<Piece>,
    failure: Failure,
}

impl PythonWorkload {
    pub fn new(source: Py<PyAny>, logical_pages: u32, failure: Failure) -> Self {
        PythonWorkload { source, logical_pages, iterator: None, yielded: false, piece: None, failure }
    }

    /// Begins another pass through the source.
    fn begin<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let source = self.source.bind(py);
        let again = self.iterator.is_some();
        let iterable =
            if source.is_callable() { source.call1((self.logical_pages,))? } else { source.clone() };
        let iterator = iterable.try_iter().map_err(|_| {
            let found = iterable.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "a workload is an iterable of page numbers in arrays, or a function that makes one; found {found}"
            ))
        })?;
        if again && iterator.is(source) {
            return Err(RunError::new_err(
                "the workload ended before the run did; pass a function that makes the iterator, to have it called \
                 again, or let the iterator go on for ever",
            ));
        }
        if again && !self.yielded {
            return Err(RunError::new_err("the workload yields nothing"));
        }
        self.yielded = false;
        self.iterator = Some(iterator.clone().unbind());
        Ok(iterator)
    }

    fn next_piece(&mut self, py: Python<'_>) -> PyResult<Piece> {
        let mut iterator = match &self.iterator {
            Some(iterator) => iterator.bind(py).clone(),
            None => self.begin(py)?,
        };
        loop {
            match iterator.next() {
                Some(item) => {
                    self.yielded = true;
                    return self.read(&item?);
                }
                None => iterator = self.begin(py)?,
            }
        }
    }

    /// An array of page numbers to write, or a tuple of operation, pages and perhaps a hint.
    fn read(&self, item: &Bound<'_, PyAny>) -> PyResult<Piece> {
        let Ok(tuple) = item.cast::<PyTuple>() else {
            return Ok(Piece { op: Op::Write, hint: 0, pages: self.pages(item)?, next: 0 });
        };
        if !(2..=3).contains(&tuple.len()) {
            return Err(PyTypeError::new_err(format!(
                "a tuple of a workload holds operation, pages and perhaps a hint, not {} items",
                tuple.len()
            )));
        }
        let op = operation(&tuple.get_item(0)?)?;
        let hint = if tuple.len() == 3 { tuple.get_item(2)?.extract()? } else { 0 };
        Ok(Piece { op, hint, pages: self.pages(&tuple.get_item(1)?)?, next: 0 })
    }

    fn pages(&self, pages: &Bound<'_, PyAny>) -> PyResult<Vec<Lpn>> {
        let numpy = pages.py().import("numpy")?;
        let array = numpy.call_method1("atleast_1d", (pages,))?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let empty = array.getattr("size")?.extract::<usize>()? == 0;
        if !empty && kind != "i" && kind != "u" {
            return Err(PyTypeError::new_err(format!(
                "page numbers of a workload must be integers, not {}",
                array.getattr("dtype")?
            )));
        }
        let array = numpy.call_method1("ascontiguousarray", (array, "int64"))?;
        let array: PyReadonlyArray1<'_, i64> = array.cast::<numpy::PyArray1<i64>>()?.try_readonly()?;
        let numbers = array.as_slice()?;
        if let Some(page) = numbers.iter().find(|&&page| !(0..i64::from(self.logical_pages)).contains(&page))
        {
            return Err(RunError::new_err(format!(
                "the workload yielded page {page}; the stack has pages 0 to {}",
                self.logical_pages - 1
            )));
        }
        Ok(numbers.iter().map(|&page| Lpn(page as u32)).collect())
    }
}

fn operation(item: &Bound<'_, PyAny>) -> PyResult<Op> {
    if let Ok(name) = item.extract::<String>() {
        match name.as_str() {
            "read" => return Ok(Op::Read),
            "write" => return Ok(Op::Write),
            "trim" => return Ok(Op::Trim),
            "flush" => return Ok(Op::Flush),
            _ => {}
        }
    } else if let Ok(number) = item.extract::<usize>()
        && let Some(&op) = [Op::Read, Op::Write, Op::Trim, Op::Flush].get(number)
    {
        return Ok(op);
    }
    Err(PyValueError::new_err(format!(
        "{} is no operation; one of read, write, trim, flush, or their numbers 0 to 3 in a trace",
        item.repr()?
    )))
}

impl Workload for PythonWorkload {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let until = batch.pages.len() + pages;
        while batch.pages.len() < until && !self.failure.is_set() {
            let Some(piece) = &mut self.piece else {
                match Python::attach(|py| self.next_piece(py)) {
                    Ok(piece) => self.piece = Some(piece),
                    Err(error) => self.failure.record(error),
                }
                continue;
            };
            if piece.op == Op::Flush {
                batch.push_request(Op::Flush, piece.hint, Lpn(0), 0);
                self.piece = None;
                continue;
            }
            let end = piece.pages.len().min(piece.next + until - batch.pages.len());
            batch.extend_single(piece.op, piece.hint, piece.pages[piece.next..end].iter().copied());
            piece.next = end;
            if end == piece.pages.len() {
                self.piece = None;
            }
        }
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}
