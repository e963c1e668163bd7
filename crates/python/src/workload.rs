//! Workloads written in Python.

use crate::errors::{FirstException, RunError};
use crate::part::{PythonPart, shortened_repr};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use wearwell_base::units::Lpn;
use wearwell_trace::Op;
use wearwell_workload::{PageBatch, Workload};

/// Pages of an item that Python yielded, and the position of the next page.
struct YieldedItem {
    op: Op,
    hint: u16,
    pages: Vec<Lpn>,
    next: usize,
}

/// Maximum number of successive items without pages, such as flushes.
const MAX_EMPTY_ITEMS: u32 = 100_000;

/// A workload whose pages come from a Python iterable, or from a function that returns one.
pub struct PythonWorkload {
    part: PythonPart,
    failure: FirstException,
    source: Py<PyAny>,
    logical_pages: u32,
    iterator: Option<Py<PyIterator>>,
    /// True if the current iteration over the source has yielded a request.
    has_yielded: bool,
    /// Number of items without pages since the last item with pages.
    empty: u32,
    current: Option<YieldedItem>,
}

impl PythonWorkload {
    pub fn new(source: &Bound<'_, PyAny>, failure: FirstException) -> PyResult<Self> {
        let part = PythonPart::new(source, "workload", failure.clone())?;
        if !source.is_callable() {
            // This is only a first check; the full check follows when the run uses the source.
            iterator_of(source)?;
        }
        Ok(PythonWorkload {
            part,
            failure,
            source: source.clone().unbind(),
            logical_pages: 0,
            iterator: None,
            has_yielded: false,
            empty: 0,
            current: None,
        })
    }

    /// Returns the workload for a stack of `logical_pages` pages.
    pub fn for_logical_pages(mut self, logical_pages: u32) -> Self {
        self.logical_pages = logical_pages;
        self
    }

    /// Begins another iteration over the source.
    fn begin<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let source = self.source.bind(py);
        let is_repeat = self.iterator.is_some();
        let iterable =
            if source.is_callable() { source.call1((self.logical_pages,))? } else { source.clone() };
        let iterator = iterator_of(&iterable)?;
        if is_repeat && iterator.is(source) {
            return Err(RunError::new_err(
                "the workload ended before the run did; pass a function that makes the iterator, to have it called \
                 again, or let the iterator go on for ever",
            ));
        }
        if is_repeat && !self.has_yielded {
            return Err(RunError::new_err(format!("the workload {} yields nothing", self.part.class())));
        }
        self.has_yielded = false;
        self.iterator = Some(iterator.clone().unbind());
        Ok(iterator)
    }

    /// Returns the next item, unless there was an error.
    fn next_or_failure(&mut self) -> Option<YieldedItem> {
        let failure = self.failure.clone();
        failure.attempt(|py| {
            let item = self.next_item(py);
            item.map_err(|error| self.part.add_origin(py, self.part.class(), error))
        })
    }

    fn next_item(&mut self, py: Python<'_>) -> PyResult<YieldedItem> {
        let mut iterator = match &self.iterator {
            Some(iterator) => iterator.bind(py).clone(),
            None => self.begin(py)?,
        };
        loop {
            let Some(item) = iterator.next() else {
                iterator = self.begin(py)?;
                continue;
            };
            let yielded = self.read(&item?)?;
            let has_pages = !yielded.pages.is_empty();
            self.empty = if has_pages { 0 } else { self.empty + 1 };
            if self.empty > MAX_EMPTY_ITEMS {
                let name = self.part.class();
                let problem =
                    format!("the workload {name} yielded {MAX_EMPTY_ITEMS} items in a row without a page");
                return Err(RunError::new_err(problem));
            }
            if has_pages || yielded.op == Op::Flush {
                self.has_yielded = true;
                return Ok(yielded);
            }
        }
    }

    /// Reads an item: an array of page numbers to write, or a tuple of an operation, pages and optionally a hint.
    fn read(&self, item: &Bound<'_, PyAny>) -> PyResult<YieldedItem> {
        let Ok(tuple) = item.cast::<PyTuple>() else {
            return Ok(YieldedItem { op: Op::Write, hint: 0, pages: self.pages(item)?, next: 0 });
        };
        if !(2..=3).contains(&tuple.len()) {
            return Err(PyTypeError::new_err(format!(
                "a tuple of a workload holds operation, pages and perhaps a hint, not {} items",
                tuple.len()
            )));
        }
        let op = operation(&tuple.get_item(0)?)?;
        let hint = if tuple.len() == 3 { hint(&tuple.get_item(2)?)? } else { 0 };
        Ok(YieldedItem { op, hint, pages: self.pages(&tuple.get_item(1)?)?, next: 0 })
    }

    fn pages(&self, pages: &Bound<'_, PyAny>) -> PyResult<Vec<Lpn>> {
        let numpy = pages.py().import("numpy")?;
        let array = numpy.call_method1("atleast_1d", (pages,))?;
        let (dtype, shape) = (array.getattr("dtype")?, array.getattr("shape")?);
        if shape.len()? != 1 {
            let problem =
                format!("page numbers of a workload must be one after the other, not of shape {shape}");
            return Err(PyValueError::new_err(problem));
        }
        if numpy.getattr("ma")?.call_method1("is_masked", (&array,))?.is_truthy()? {
            return Err(PyValueError::new_err(
                "page numbers of a workload must all be there; some are masked",
            ));
        }
        let kind: String = dtype.getattr("kind")?.extract()?;
        let empty = array.getattr("size")?.extract::<usize>()? == 0;
        if !empty && kind != "i" && kind != "u" {
            let problem = format!("page numbers of a workload must be integers, not {dtype}");
            return Err(PyTypeError::new_err(problem));
        }
        // Negative numbers are rejected by their sign, all other numbers by their value.
        match kind == "u" {
            true => self.checked::<u64>(&numpy.call_method1("ascontiguousarray", (array, "uint64"))?),
            false => self.checked::<i64>(&numpy.call_method1("ascontiguousarray", (array, "int64"))?),
        }
    }

    /// Returns the page numbers of a contiguous array, after checking that all exist on the stack.
    fn checked<T: numpy::Element + Copy + std::fmt::Display + TryInto<u32>>(
        &self,
        array: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Lpn>> {
        let array: PyReadonlyArray1<'_, T> = array.cast::<PyArray1<T>>()?.try_readonly()?;
        let on_stack = |&page: &T| page.try_into().ok().filter(|page| *page < self.logical_pages).map(Lpn);
        let wrong = |page: &T| {
            RunError::new_err(format!(
                "the workload {} yielded page {page}; the stack has pages 0 to {}",
                self.part.class(),
                self.logical_pages - 1
            ))
        };
        array.as_slice()?.iter().map(|page| on_stack(page).ok_or_else(|| wrong(page))).collect()
    }
}

/// Returns the iterator of a workload's source.
fn iterator_of<'py>(iterable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    iterable.try_iter().map_err(|error| {
        if !error.is_instance_of::<PyTypeError>(iterable.py()) {
            return error;
        }
        let found = iterable.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "a workload is an iterable of page numbers in arrays, or a function that makes one; found {found}"
        ))
    })
}

fn hint(item: &Bound<'_, PyAny>) -> PyResult<u16> {
    item.extract().map_err(|_| match shortened_repr(item) {
        Ok(item) => {
            PyValueError::new_err(format!("the hint of a workload must be 0 to {}, not {item}", u16::MAX))
        }
        Err(error) => error,
    })
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
        shortened_repr(item)?
    )))
}

impl Workload for PythonWorkload {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let until = batch.pages.len() + pages;
        while batch.pages.len() < until {
            let Some(current) = &mut self.current else {
                self.current = self.next_or_failure();
                if self.current.is_none() {
                    return;
                }
                continue;
            };
            if current.op == Op::Flush {
                batch.push_request(Op::Flush, current.hint, Lpn(0), 0);
                self.current = None;
                continue;
            }
            let end = current.pages.len().min(current.next + until - batch.pages.len());
            batch.extend_single(current.op, current.hint, current.pages[current.next..end].iter().copied());
            current.next = end;
            if end == current.pages.len() {
                self.current = None;
            }
        }
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}
