//! Mapped traces that all runs of the process share.

use super::mapped::{BatchPosition, MappedTrace, Recorder};
use crate::scenario::{AddressRule, TraceConfig, VolumeRule};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_trace::TraceIdentity;
use wearwell_workload::PageBatch;

/// Memory that mapped traces may take in a process, bytes: about 15 million requests of six pages each.
pub const MAPPED_BYTES: usize = 512 << 20;

/// All parameters that the operations of a pass depend on.
#[derive(Clone, PartialEq)]
pub struct MappingKey {
    trace: TraceIdentity,
    address: AddressRule,
    volumes_side_by_side: bool,
    trim: bool,
    by_request: bool,
    page_bytes: u64,
    /// Pages of the drive, if the rule depends on it.
    logical_pages: Option<u32>,
}

impl MappingKey {
    /// Returns the key of the operations that `config` makes of a trace.
    pub fn new(
        trace: TraceIdentity,
        config: &TraceConfig,
        by_request: bool,
        (logical_pages, page_bytes): (u32, u64),
    ) -> Self {
        let depends_on_size = matches!(config.address, AddressRule::Wrap | AddressRule::Scale);
        MappingKey {
            trace,
            address: config.address,
            volumes_side_by_side: config.volume_rule == VolumeRule::SideBySide,
            trim: config.trim,
            by_request,
            page_bytes,
            logical_pages: depends_on_size.then_some(logical_pages),
        }
    }
}

/// State of a mapped trace in the process.
enum State {
    /// A run is recording the trace.
    InProgress,
    Complete(Arc<MappedTrace>),
    /// The operations of the trace take more than [`MAPPED_BYTES`].
    TooLarge,
}

struct MappedEntry {
    key: MappingKey,
    state: State,
    bytes: usize,
}

/// Mapped traces; the most recently used one is last.
static TRACES: Mutex<Vec<MappedEntry>> = Mutex::new(Vec::new());

/// Answer to a request for a mapped trace.
pub enum LookupResult {
    Found(Arc<MappedTrace>),
    /// No run has recorded the trace; the caller may record it.
    MayRecord(Box<Recording>),
    /// Another run is recording the trace, or the trace is too large.
    Unavailable,
}

impl LookupResult {
    /// Looks up the mapped trace of `key`.
    pub fn new(key: &MappingKey) -> Self {
        let mut traces = lock();
        let Some(at) = traces.iter().position(|entry| entry.key == *key) else {
            traces.push(MappedEntry { key: key.clone(), state: State::InProgress, bytes: 0 });
            let recording = Recording { key: key.clone(), recorder: Recorder::default(), is_stored: false };
            return LookupResult::MayRecord(Box::new(recording));
        };
        let entry = traces.remove(at);
        let result = match &entry.state {
            State::Complete(trace) => LookupResult::Found(trace.clone()),
            State::InProgress | State::TooLarge => LookupResult::Unavailable,
        };
        traces.push(entry);
        result
    }
}

/// A mapped trace that a run is recording.
pub struct Recording {
    key: MappingKey,
    recorder: Recorder,
    /// True once [`TRACES`] holds the result.
    is_stored: bool,
}

impl Recording {
    /// Ends a request, see [`Recorder::end_request`].
    #[inline]
    pub fn end_request(&mut self, batch: &PageBatch, start: BatchPosition) {
        self.recorder.end_request(batch, start);
    }

    /// Records the operations after `start` in `batch`; returns false if memory is exhausted.
    pub fn record(&mut self, batch: &PageBatch, start: BatchPosition) -> bool {
        let bytes = self.recorder.record(batch, start);
        self.reserve(bytes)
    }

    /// Records that `skipped` bad lines were skipped up to here; returns false if memory is exhausted.
    pub fn record_skipped(&mut self, skipped: u64) -> bool {
        let bytes = self.recorder.skip(skipped);
        self.reserve(bytes)
    }

    /// Discards the recorded operations.
    pub fn restart(&mut self) {
        self.recorder = Recorder::default();
        let mut traces = lock();
        traces.iter_mut().filter(|entry| entry.key == self.key).for_each(|entry| entry.bytes = 0);
    }

    /// Ends the pass, in which `skipped` bad lines were skipped; returns the mapped trace if memory allows to store it.
    pub fn finish(mut self, skipped: u64) -> Option<Arc<MappedTrace>> {
        let (trace, bytes) = std::mem::take(&mut self.recorder).finish(skipped);
        if !self.reserve(bytes) {
            return None;
        }
        let trace = Arc::new(trace);
        let mut traces = lock();
        let entry = traces.iter_mut().find(|entry| entry.key == self.key)?;
        entry.state = State::Complete(trace.clone());
        self.is_stored = true;
        Some(trace)
    }

    /// Frees memory for `bytes` more bytes by evicting the least recently used traces; returns false if there is not
    /// enough memory.
    fn reserve(&mut self, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let mut traces = lock();
        let Some(entry) = traces.iter_mut().find(|entry| entry.key == self.key) else { return false };
        entry.bytes += bytes;
        let mut excess = traces.iter().map(|entry| entry.bytes).sum::<usize>().saturating_sub(MAPPED_BYTES);
        traces.retain(|entry| {
            let is_evicted = excess > 0 && matches!(entry.state, State::Complete(_));
            excess = excess.saturating_sub(if is_evicted { entry.bytes } else { 0 });
            !is_evicted
        });
        if excess == 0 {
            return true;
        }
        for entry in traces.iter_mut().filter(|entry| entry.key == self.key) {
            (entry.state, entry.bytes) = (State::TooLarge, 0);
        }
        self.is_stored = true;
        false
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.is_stored {
            lock().retain(|entry| entry.key != self.key);
        }
    }
}

fn lock() -> MutexGuard<'static, Vec<MappedEntry>> {
    TRACES.lock().unwrap_or_else(PoisonError::into_inner)
}
