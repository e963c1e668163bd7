//! Conversion and cutting of traces.

use std::ops::Range;

use super::error::TraceError;
use super::reader::TraceReader;
use super::request::{Op, RequestBatch};
use super::writer::TraceWriter;

/// Number of requests copied at a time.
const BATCH_REQUESTS: usize = 8192;

/// Selection of requests: those that meet all conditions that are set.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// Range of request numbers in the trace, from 0, counted before the other conditions.
    pub requests: Option<Range<u64>>,
    /// Range of times since the trace's first request, ns. Requests with earlier times than the first one count as time
    /// 0.
    pub time_ns: Option<Range<u64>>,
    /// Range of addresses, bytes. A request that touches the range is kept whole. A flush touches all addresses.
    pub bytes: Option<Range<u64>>,
    /// Operations.
    pub ops: Option<Vec<Op>>,
    /// Volumes.
    pub volumes: Option<Vec<u32>>,
    /// True to shift times so that the first selected request is at time 0. In an unsorted trace, selected requests
    /// with earlier times are also at time 0.
    pub rebase_time: bool,
}

/// State of a [`Cut`] during its execution.
struct CutState<'a> {
    cut: &'a Cut,
    requests_read: u64,
    first_ns: Option<u64>,
    first_selected_ns: Option<u64>,
}

impl CutState<'_> {
    /// Appends the selected requests of `batch` to `selected`.
    fn select(&mut self, batch: &RequestBatch, selected: &mut RequestBatch) {
        for index in 0..batch.len() {
            if self.selects(batch, index) {
                selected.push_from(batch, index);
                let time_ns = selected.time_ns.last_mut().expect("just appended");
                let first_ns = *self.first_selected_ns.get_or_insert(*time_ns);
                if self.cut.rebase_time {
                    *time_ns = time_ns.saturating_sub(first_ns);
                }
            }
            self.requests_read += 1;
        }
    }

    fn selects(&mut self, batch: &RequestBatch, index: usize) -> bool {
        let request = batch.get(index);
        let since_first_ns = request.time_ns.saturating_sub(*self.first_ns.get_or_insert(request.time_ns));
        let end = request.offset_bytes.saturating_add(request.length_bytes);
        let touches = |range: &Range<u64>| {
            request.op == Op::Flush || (request.offset_bytes < range.end && end > range.start)
        };
        let cut = self.cut;
        cut.requests.as_ref().is_none_or(|range| range.contains(&self.requests_read))
            && cut.time_ns.as_ref().is_none_or(|range| range.contains(&since_first_ns))
            && cut.bytes.as_ref().is_none_or(touches)
            && cut.ops.as_ref().is_none_or(|ops| ops.contains(&request.op))
            && cut.volumes.as_ref().is_none_or(|volumes| volumes.contains(&request.volume))
    }

    /// True if no further request can be selected.
    fn is_finished(&self) -> bool {
        self.cut.requests.as_ref().is_some_and(|range| self.requests_read >= range.end)
    }
}

/// Writes the selected requests of the trace. The caller finishes the writer.
///
/// Reading stops with the last request of [`Cut::requests`].
pub fn cut(reader: &mut TraceReader, writer: &mut TraceWriter, cut: &Cut) -> Result<(), TraceError> {
    cut_while(reader, writer, cut, || true)
}

/// Writes the selected requests like [`cut()`], but calls `should_continue` before each batch and stops when the
/// callback returns false.
pub fn cut_while(
    reader: &mut TraceReader,
    writer: &mut TraceWriter,
    cut: &Cut,
    mut should_continue: impl FnMut() -> bool,
) -> Result<(), TraceError> {
    let mut state = CutState { cut, requests_read: 0, first_ns: None, first_selected_ns: None };
    let (mut batch, mut selected) = (RequestBatch::default(), RequestBatch::default());
    while should_continue() && !state.is_finished() && reader.read_batch(&mut batch, BATCH_REQUESTS)? > 0 {
        selected.clear();
        state.select(&batch, &mut selected);
        writer.write_batch(&selected)?;
    }
    Ok(())
}
