//! Mapped traces that all runs of the process share.

use super::mapped::{MappedTrace, Mark, Recorder};
use crate::scenario::{AddressRule, TraceConfig, VolumeRule};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_trace::TraceIdentity;
use wearwell_workload::PageBatch;

/// Memory that mapped traces may take in a process, bytes: about 15 million requests of six pages each.
pub const MAPPED_BYTES: usize = 512 << 20;

/// All parameters that the operations of a pass depend on.
#[derive(Clone, PartialEq)]
pub struct Key {
    trace: TraceIdentity,
    address: AddressRule,
    volumes_side_by_side: bool,
    trim: bool,
    by_request: bool,
    page_bytes: u64,
    /// Pages of the drive, if the rule depends on it.
    logical_pages: Option<u32>,
}

impl Key {
    /// Returns the key of the operations that `config` makes of a trace.
    pub fn new(
        trace: TraceIdentity,
        config: &TraceConfig,
        by_request: bool,
        (logical_pages, page_bytes): (u32, u64),
    ) -> Self {
        let depends_on_size = matches!(config.address, AddressRule::Wrap | AddressRule::Scale);
        Key {
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
    /// A run is recording it.
    InTheMaking,
    Complete(Arc<MappedTrace>),
    /// Its operations take more than [`MAPPED_BYTES`].
    TooLarge,
}

struct Entry {
    key: Key,
    state: State,
    bytes: usize,
}

/// Mapped traces; the most recently used one is last.
static TRACES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Answer to a request for a mapped trace.
pub enum Claim {
    Known(Arc<MappedTrace>),
    /// No run has recorded it; the caller may do so.
    Record(Box<Recording>),
    /// Another run is recording it, or it is too large.
    Unavailable,
}

impl Claim {
    /// Looks up the mapped trace of `key`.
    pub fn new(key: &Key) -> Self {
        let mut traces = lock();
        let Some(at) = traces.iter().position(|entry| entry.key == *key) else {
            traces.push(Entry { key: key.clone(), state: State::InTheMaking, bytes: 0 });
            let recording = Recording { key: key.clone(), recorder: Recorder::default(), kept: false };
            return Claim::Record(Box::new(recording));
        };
        let entry = traces.remove(at);
        let claim = match &entry.state {
            State::Complete(trace) => Claim::Known(trace.clone()),
            State::InTheMaking | State::TooLarge => Claim::Unavailable,
        };
        traces.push(entry);
        claim
    }
}

/// A mapped trace that a run is recording.
pub struct Recording {
    key: Key,
    recorder: Recorder,
    /// True once the table of the process holds the result.
    kept: bool,
}

impl Recording {
    /// Ends a request, see [`Recorder::end_request`].
    #[inline]
    pub fn end_request(&mut self, batch: &PageBatch, mark: Mark) {
        self.recorder.end_request(batch, mark);
    }

    /// Records the operations after `mark` in `batch`; returns false if memory is exhausted.
    pub fn record(&mut self, batch: &PageBatch, mark: Mark) -> bool {
        let bytes = self.recorder.record(batch, mark);
        self.allow(bytes)
    }

    /// Notes that `skipped` bad lines were skipped up to here; returns false if memory is exhausted.
    pub fn skip(&mut self, skipped: u64) -> bool {
        let bytes = self.recorder.skip(skipped);
        self.allow(bytes)
    }

    /// Discards the recorded operations.
    pub fn begin_again(&mut self) {
        self.recorder = Recorder::default();
        let mut traces = lock();
        traces.iter_mut().filter(|entry| entry.key == self.key).for_each(|entry| entry.bytes = 0);
    }

    /// Ends the pass, in which `skipped` bad lines were skipped; returns the mapped trace if memory allows to store it.
    pub fn finish(mut self, skipped: u64) -> Option<Arc<MappedTrace>> {
        let (trace, bytes) = std::mem::take(&mut self.recorder).finish(skipped);
        if !self.allow(bytes) {
            return None;
        }
        let trace = Arc::new(trace);
        let mut traces = lock();
        let entry = traces.iter_mut().find(|entry| entry.key == self.key)?;
        entry.state = State::Complete(trace.clone());
        self.kept = true;
        Some(trace)
    }

    /// Makes room for `bytes` more by evicting the least recently used traces; returns false if there is not enough
    /// memory.
    fn allow(&mut self, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let mut traces = lock();
        let Some(own) = traces.iter_mut().find(|entry| entry.key == self.key) else { return false };
        own.bytes += bytes;
        let mut excess = traces.iter().map(|entry| entry.bytes).sum::<usize>().saturating_sub(MAPPED_BYTES);
        traces.retain(|entry| {
            let is_forgotten = excess > 0 && matches!(entry.state, State::Complete(_));
            excess = excess.saturating_sub(if is_forgotten { entry.bytes } else { 0 });
            !is_forgotten
        });
        if excess == 0 {
            return true;
        }
        for own in traces.iter_mut().filter(|entry| entry.key == self.key) {
            (own.state, own.bytes) = (State::TooLarge, 0);
        }
        self.kept = true;
        false
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.kept {
            lock().retain(|entry| entry.key != self.key);
        }
    }
}

fn lock() -> MutexGuard<'static, Vec<Entry>> {
    TRACES.lock().unwrap_or_else(PoisonError::into_inner)
}
