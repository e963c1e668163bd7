//! Traces, which are read in batches.

use crate::errors::{TraceError, from_trace};
use crate::interruptible::run_abandoning;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wearwell_trace::{
    self, Cut, DescribeOptions, Describer, Op, ReadOptions, RequestBatch, SampleRate, TraceWriter,
    WriteOptions,
};

/// Number of requests between checks for Ctrl-C.
const BATCH_REQUESTS: usize = 1 << 16;

/// A trace that is being read.
#[pyclass(frozen, module = "wearwell._core")]
pub struct TraceReader {
    reader: Arc<Mutex<wearwell_trace::TraceReader>>,
    /// True if a thread that was abandoned on Ctrl-C may still use the reader.
    interrupted: AtomicBool,
    batch_requests: usize,
}

impl TraceReader {
    fn check(&self) -> PyResult<()> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(TraceError::new_err("the trace was interrupted while it was read; open it again"));
        }
        Ok(())
    }

    fn with_reader<T>(&self, access: impl FnOnce(&mut wearwell_trace::TraceReader) -> T) -> PyResult<T> {
        self.check()?;
        // The reader is usable even if a thread panicked while it held the lock.
        Ok(access(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Runs work on the reader, which may have to wait for the file.
    fn read<T: Send + 'static>(
        &self,
        py: Python<'_>,
        access: impl FnOnce(&mut wearwell_trace::TraceReader) -> T + Send + 'static,
    ) -> PyResult<T> {
        self.check()?;
        let reader = self.reader.clone();
        run_abandoning(py, move || access(&mut reader.lock().unwrap_or_else(PoisonError::into_inner)))
            .inspect_err(|_| self.interrupted.store(true, Ordering::Relaxed))
    }
}

#[pymethods]
impl TraceReader {
    #[new]
    #[pyo3(signature = (path, format=None, *, skip_bad=false, volumes=None, options=vec![], batch_requests=65536))]
    fn new(
        py: Python<'_>,
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
        let reader = run_abandoning(py, move || wearwell_trace::open(path, &options))?;
        let reader = reader.map_err(|error| from_trace(&error))?;
        Ok(TraceReader {
            reader: Arc::new(Mutex::new(reader)),
            interrupted: AtomicBool::new(false),
            batch_requests,
        })
    }

    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let requests = self.batch_requests;
        let (read, batch) = self.read(py, move |reader| {
            let mut batch = RequestBatch::default();
            let read = reader.read_batch(&mut batch, requests);
            (read, batch)
        })?;
        match read.map_err(|error| from_trace(&error))? {
            0 => Ok(None),
            _ => columns(py, batch).map(Some),
        }
    }

    #[getter]
    fn format(&self) -> PyResult<&'static str> {
        self.with_reader(|reader| reader.format().name)
    }

    #[getter]
    fn bytes_read(&self) -> PyResult<u64> {
        self.with_reader(|reader| reader.bytes_read())
    }

    #[getter]
    fn total_bytes(&self) -> PyResult<Option<u64>> {
        self.with_reader(|reader| reader.total_bytes())
    }

    #[getter]
    fn skipped(&self) -> PyResult<u64> {
        self.with_reader(|reader| reader.skipped().count)
    }

    #[getter]
    fn skipped_messages(&self) -> PyResult<Vec<String>> {
        self.with_reader(|reader| reader.skipped().messages.clone())
    }

    #[getter]
    fn volume_names(&self) -> PyResult<Vec<(u32, String)>> {
        self.with_reader(|reader| reader.volume_names())
    }
}

/// Returns the memory of the batch as arrays, without a copy.
fn columns(py: Python<'_>, batch: RequestBatch) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("time_ns", batch.time_ns.into_pyarray(py))?;
    // The conversion reuses the memory, because an operation is already a byte.
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

/// Suggests the columns of a table, as JSON; null if the file is not a table.
#[pyfunction]
pub fn trace_columns(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let name = path.display().to_string();
    let file = run_abandoning(py, move || std::fs::File::open(&path))?;
    let file = file.map_err(|error| TraceError::new_err(format!("{name}: {error}")))?;
    let guess = run_abandoning(py, move || wearwell_trace::guess_columns(&name, file))?;
    let guess = guess.map_err(|error| from_trace(&error))?;
    Ok(serde_json::to_string(&guess).expect("guesses are plain data"))
}

/// Describes the remaining part of a trace, as JSON.
#[pyfunction]
#[pyo3(signature = (trace, *, page_bytes=4096, stack_distance=true, sample=None))]
pub fn describe_trace(
    py: Python<'_>,
    trace: &TraceReader,
    page_bytes: u64,
    stack_distance: bool,
    sample: Option<f64>,
) -> PyResult<String> {
    if page_bytes == 0 {
        return Err(PyValueError::new_err("page_bytes is 0"));
    }
    let sample = sample.map(SampleRate::new).transpose();
    let sample = sample.map_err(|problem| PyValueError::new_err(format!("sample: {problem}")))?;
    let mut describer = Describer::new(&DescribeOptions { page_bytes, stack_distance, sample });
    let mut batch = RequestBatch::default();
    loop {
        // The batch is moved back and forth, so that its memory is allocated only once.
        let (read, filled) = trace.read(py, move |reader| {
            let read = reader.read_batch(&mut batch, BATCH_REQUESTS);
            (read, batch)
        })?;
        batch = filled;
        if read.map_err(|error| from_trace(&error))? == 0 {
            break;
        }
        py.check_signals()?;
        py.detach(|| describer.add(&batch));
    }
    let mut description = py.detach(|| describer.finish());
    description.skipped = trace.skipped()?;
    for (number, name) in trace.volume_names()? {
        if let Some(volume) = description.volumes.iter_mut().find(|volume| volume.volume == number) {
            volume.name = Some(name);
        }
    }
    Ok(serde_json::to_string(&description).expect("descriptions are plain data"))
}

/// Writes the remaining part of a trace, or a selection from it, in another format.
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
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let written = trace.read(py, move |reader| {
        let keep_going = || !stopped.load(Ordering::Relaxed);
        let mut writer = TraceWriter::create(path, &options)?;
        wearwell_trace::cut_while(reader, &mut writer, &cut, keep_going)?;
        // An unfinished file is removed.
        if keep_going() { writer.finish().map(Some) } else { Ok(None) }
    });
    let written = written.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
    let written =
        written.map_err(|error: wearwell_trace::TraceError| TraceError::new_err(error.to_string()))?;
    let written = written.expect("finished, as nothing interrupted it");
    let summary = PyDict::new(py);
    summary.set_item("requests", written.requests)?;
    summary.set_item("dropped", written.dropped)?;
    summary.set_item("first_dropped", written.first_dropped)?;
    Ok(summary)
}
