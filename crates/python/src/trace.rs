//! Traces, batch by batch.

use crate::errors::{Failure, TraceError, from_trace};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use wearwell_trace::{
    self, Cut, DescribeOptions, Describer, Op, ReadOptions, RequestBatch, TraceWriter, WriteOptions,
};

/// Requests between two looks at Ctrl-C.
const BATCH_REQUESTS: usize = 1 << 16;

/// A trace that is being read.
#[pyclass(frozen, module = "wearwell._core")]
pub struct TraceReader {
    reader: Mutex<wearwell_trace::TraceReader>,
    batch_requests: usize,
}

impl TraceReader {
    fn with<T>(&self, look: impl FnOnce(&mut wearwell_trace::TraceReader) -> T) -> T {
        // A reader is as usable after a panic elsewhere as before.
        look(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl TraceReader {
    #[new]
    #[pyo3(signature = (path, format=None, *, skip_bad=false, volumes=None, options=vec![], batch_requests=65536))]
    fn new(
        path: PathBuf,
        format: Option<String>,
        skip_bad: bool,
        volumes: Option<Vec<u32>>,
        options: Vec<(String, String)>,
        batch_requests: usize,
    ) -> PyResult<Self> {
        if batch_requests == 0 {
            return Err(PyValueError::new_err("batch_requests is 0; a batch holds at least one request"));
        }
        let options = ReadOptions { format, skip_bad, volumes, options };
        let reader = wearwell_trace::open(path, &options).map_err(|error| from_trace(&error))?;
        Ok(TraceReader { reader: Mutex::new(reader), batch_requests })
    }

    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (read, batch) = py.detach(|| {
            let mut batch = RequestBatch::default();
            let read = self.with(|reader| reader.read_batch(&mut batch, self.batch_requests));
            (read, batch)
        });
        match read.map_err(|error| from_trace(&error))? {
            0 => Ok(None),
            _ => columns(py, batch).map(Some),
        }
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.with(|reader| reader.format().name)
    }

    #[getter]
    fn bytes_read(&self) -> u64 {
        self.with(|reader| reader.bytes_read())
    }

    #[getter]
    fn total_bytes(&self) -> Option<u64> {
        self.with(|reader| reader.total_bytes())
    }

    #[getter]
    fn skipped(&self) -> u64 {
        self.with(|reader| reader.skipped().count)
    }

    #[getter]
    fn skipped_messages(&self) -> Vec<String> {
        self.with(|reader| reader.skipped().messages.clone())
    }

    #[getter]
    fn volume_names(&self) -> Vec<(u32, String)> {
        self.with(|reader| reader.volume_names())
    }
}

/// The batch's own memory as arrays; nothing is copied.
fn columns(py: Python<'_>, batch: RequestBatch) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("time_ns", batch.time_ns.into_pyarray(py))?;
    // Collected in place: an operation is a byte already.
    let op: Vec<u8> = batch.op.into_iter().map(|op| op as u8).collect();
    columns.set_item("op", op.into_pyarray(py))?;
    columns.set_item("volume", batch.volume.into_pyarray(py))?;
    columns.set_item("offset_bytes", batch.offset_bytes.into_pyarray(py))?;
    columns.set_item("length_bytes", batch.length_bytes.into_pyarray(py))?;
    columns.set_item("hint", batch.hint.into_pyarray(py))?;
    if batch.digest_bytes > 0 {
        let digests = batch.digests.len();
        let flat = batch.digests.into_flattened().into_pyarray(py);
        columns.set_item("digests", flat.reshape([digests, 16])?)?;
        columns.set_item("digest_ends", batch.digest_ends.into_pyarray(py))?;
        columns.set_item("digest_bytes", batch.digest_bytes)?;
    }
    Ok(columns)
}

/// What the columns of a table may be, as JSON; null if the file is no table.
#[pyfunction]
pub fn trace_columns(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let name = path.display().to_string();
    let file = std::fs::File::open(&path).map_err(|error| TraceError::new_err(format!("{name}: {error}")))?;
    let guess =
        py.detach(|| wearwell_trace::guess_columns(&name, file)).map_err(|error| from_trace(&error))?;
    Ok(serde_json::to_string(&guess).expect("guesses are plain data"))
}

/// Describes the rest of a trace, as JSON.
#[pyfunction]
#[pyo3(signature = (trace, *, page_bytes=4096, stack_distance=true))]
pub fn describe_trace(
    py: Python<'_>,
    trace: &TraceReader,
    page_bytes: u64,
    stack_distance: bool,
) -> PyResult<String> {
    if page_bytes == 0 {
        return Err(PyValueError::new_err("page_bytes is 0"));
    }
    let mut describer = Describer::new(&DescribeOptions { page_bytes, stack_distance });
    let mut batch = RequestBatch::default();
    while read_on(py, trace, &mut batch)? {
        py.detach(|| describer.add(&batch));
    }
    let mut description = py.detach(|| describer.finish());
    description.skipped = trace.skipped();
    for (number, name) in trace.volume_names() {
        if let Some(volume) = description.volumes.iter_mut().find(|volume| volume.volume == number) {
            volume.name = Some(name);
        }
    }
    Ok(serde_json::to_string(&description).expect("descriptions are plain data"))
}

/// Reads the next requests, unless Ctrl-C was pressed; false at the end.
fn read_on(py: Python<'_>, trace: &TraceReader, batch: &mut RequestBatch) -> PyResult<bool> {
    py.check_signals()?;
    let read = py.detach(|| trace.with(|reader| reader.read_batch(batch, BATCH_REQUESTS)));
    read.map(|requests| requests > 0).map_err(|error| from_trace(&error))
}

/// Writes what is left of a trace, or a part of it, in another format.
#[pyfunction]
#[pyo3(signature = (
    trace, path, format, *, options=vec![], drop_inexpressible=false, requests=None, time_ns=None, bytes=None,
    ops=None, volumes=None, rebase_time=false
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn convert_trace<'py>(
    py: Python<'py>,
    trace: &TraceReader,
    path: PathBuf,
    format: String,
    options: Vec<(String, String)>,
    drop_inexpressible: bool,
    requests: Option<(u64, u64)>,
    time_ns: Option<(u64, u64)>,
    bytes: Option<(u64, u64)>,
    ops: Option<Vec<u8>>,
    volumes: Option<Vec<u32>>,
    rebase_time: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let range = |bounds: Option<(u64, u64)>| bounds.map(|(start, end)| Range { start, end });
    let known = [Op::Read, Op::Write, Op::Trim, Op::Flush];
    let ops = ops.map(|ops| {
        let op = |op: u8| known.get(usize::from(op)).copied();
        ops.into_iter().map(|number| op(number).ok_or(number)).collect::<Result<Vec<_>, _>>()
    });
    let ops = ops.transpose().map_err(|number| PyValueError::new_err(format!("{number} is no operation")))?;
    let cut = Cut {
        requests: range(requests),
        time_ns: range(time_ns),
        bytes: range(bytes),
        ops,
        volumes,
        rebase_time,
    };
    let options = WriteOptions { format, drop_inexpressible, options };
    let failure = Failure::default();
    let goes_on = || failure.attempt(|py| py.check_signals()).is_some();
    let written = py.detach(|| {
        let mut writer = TraceWriter::create(path, &options)?;
        trace.with(|reader| wearwell_trace::cut_while(reader, &mut writer, &cut, goes_on))?;
        // Unfinished, the new file goes away.
        if failure.is_set() { Ok(None) } else { writer.finish().map(Some) }
    });
    if let Some(interrupt) = failure.get(py) {
        return Err(interrupt);
    }
    let written =
        written.map_err(|error: wearwell_trace::TraceError| TraceError::new_err(error.to_string()))?;
    let written = written.expect("finished, as nothing interrupted it");
    let summary = PyDict::new(py);
    summary.set_item("requests", written.requests)?;
    summary.set_item("dropped", written.dropped)?;
    summary.set_item("first_dropped", written.first_dropped)?;
    Ok(summary)
}
