//! Placements written in Python.

use crate::errors::{FirstException, RunError};
use crate::part::{Method, PythonPart, Store, shortened_repr};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use wearwell_base::config::StoreSize;
use wearwell_base::units::{Lpn, StreamId};
use wearwell_engine::counters::Cause;
use wearwell_engine::placement::{self, Placement};
use wearwell_stack::CustomPlacement;

/// Context of a page that is about to be appended, for a placement.
#[pyclass(frozen, get_all, module = "wearwell._core")]
pub struct PageContext {
    /// Number of the page.
    page: u32,
    /// True if the page is moved, false if the host writes it.
    moved: bool,
    /// Reason for the write: `host`, `cleaning`, `wear_levelling` and so on.
    cause: &'static str,
    /// Number of host pages written to the layer before this one.
    now: u64,
    /// Stream of the block from which the page is moved; `None` for a host write.
    from_stream: Option<u8>,
    /// Stream hint of the host.
    hint: u16,
}

#[pymethods]
impl PageContext {
    fn __repr__(&self) -> String {
        let from = self.from_stream.map_or_else(|| "None".to_owned(), |stream| stream.to_string());
        format!(
            "PageContext(page={}, cause='{}', now={}, from_stream={from}, hint={})",
            self.page, self.cause, self.now, self.hint
        )
    }
}

/// A placement that calls a Python object.
pub struct PythonPlacement {
    part: PythonPart,
    streams: u8,
    begin: Option<Method>,
    place: Method,
    reclaimed: Option<Method>,
    trimmed: Option<Method>,
}

impl PythonPlacement {
    fn new(placement: &Bound<'_, PyAny>, failure: FirstException) -> PyResult<Self> {
        let part = PythonPart::new(placement, "placement", failure)?;
        Ok(PythonPlacement {
            place: part.required(placement, "place", "page")?,
            streams: streams(&part, placement)?,
            begin: part.optional(placement, "begin")?,
            reclaimed: part.optional(placement, "reclaimed")?,
            trimmed: part.optional(placement, "trimmed")?,
            part,
        })
    }

    /// Returns the placement in the form that a run accepts; `begin` is called when the size of the store is known.
    pub fn custom(
        placement: &Bound<'_, PyAny>,
        seed: u64,
        failure: FirstException,
    ) -> PyResult<CustomPlacement> {
        let placement = PythonPlacement::new(placement, failure)?;
        let streams = placement.streams;
        let build = Box::new(move |size: &StoreSize| {
            if let Some(begin) = &placement.begin {
                let part = &placement.part;
                let store = Store::new(size.blocks, size.pages_per_block, size.logical_pages, seed);
                part.attempt(|py| part.call(py, begin, (Py::new(py, store)?,)).map(drop));
            }
            Box::new(placement) as Box<dyn Placement>
        });
        Ok(CustomPlacement { streams, make: build })
    }

    fn call_place(&self, py: Python<'_>, context: &placement::PageContext) -> PyResult<StreamId> {
        let page = PageContext {
            page: context.page.0,
            moved: context.cause != Cause::Host,
            cause: context.cause.name(),
            now: context.now,
            from_stream: context.from.map(|stream| stream.0),
            hint: context.hint,
        };
        let answer = self.part.call(py, &self.place, (Py::new(py, page)?,))?;
        match answer.extract::<u8>() {
            Ok(stream) if stream < self.streams => Ok(StreamId(stream)),
            _ => Err(RunError::new_err(format!(
                "{} returned {}; it must return the number of a stream, 0 to {}",
                self.part.name(&self.place),
                shortened_repr(&answer)?,
                self.streams - 1
            ))),
        }
    }
}

/// Reads the attribute with the number of streams.
fn streams(part: &PythonPart, placement: &Bound<'_, PyAny>) -> PyResult<u8> {
    let class = part.class();
    let Some(streams) = placement.getattr_opt("streams")? else {
        let problem = format!("the placement {class} has no attribute streams, the number of its streams");
        return Err(PyTypeError::new_err(problem));
    };
    let Ok(number) = streams.extract::<i64>() else {
        let problem = format!("{class}.streams is {}; it must be a whole number", shortened_repr(&streams)?);
        return Err(PyTypeError::new_err(problem));
    };
    u8::try_from(number).ok().filter(|streams| *streams > 0).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{class}.streams is {number}; a placement has 1 to {} streams",
            u8::MAX
        ))
    })
}

impl Placement for PythonPlacement {
    fn streams(&self) -> u8 {
        self.streams
    }

    fn place(&mut self, context: &placement::PageContext) -> StreamId {
        // Stream 0 is used for the few pages between an exception and the end of the run.
        self.part.attempt(|py| self.call_place(py, context)).unwrap_or(StreamId(0))
    }

    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        self.part.notify(&self.reclaimed, (stream.0, opened_at, now, valid_pages));
    }

    fn needs_block_history(&self) -> bool {
        true
    }

    fn trimmed(&mut self, page: Lpn) {
        self.part.notify(&self.trimmed, (page.0,));
    }
}
