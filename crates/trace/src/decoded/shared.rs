//! Decoded traces that all cursors of the process share.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use super::CHUNK_REQUESTS;
use super::chunk::{Chunk, Progress};
use super::identity::TraceIdentity;
use super::pass_reader::progress_of;
use crate::error::TraceError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::{TraceReader, open};
use crate::request::RequestBatch;

/// Memory that decoded traces may take in a process, bytes: about 50 million requests without digests.
pub const RESIDENT_BYTES: usize = 512 << 20;

/// A trace that is decoded once.
pub struct SharedTrace {
    pub format: &'static Format,
    state: Mutex<State>,
    /// Notified when chunks or the end of decoding are added.
    changed: Condvar,
}

/// Chunks decoded so far.
#[derive(Default)]
struct State {
    chunks: Vec<Arc<Chunk>>,
    bytes: usize,
    requests: usize,
    end: Option<DecodeEnd>,
}

/// Result of decoding.
enum DecodeEnd {
    /// All requests are in the chunks; the value is the reading state after the last line.
    Complete(Progress),
    /// Requests after the chunks must be read from the file; the first cursor may take this reader.
    Unstored(Option<Box<TraceReader>>),
    /// Reading fails after the chunks. The first cursor that gets there takes this error; further cursors find it in
    /// the file again.
    Failed(Option<TraceError>),
}

/// Continuation after a number of chunks.
pub enum Continuation {
    Chunk(Arc<Chunk>),
    /// The end of the trace.
    End(Progress),
    /// Requests that are not stored, with a reader positioned after the chunks, if it is still available.
    Unstored(Option<Box<TraceReader>>),
}

/// Decoded traces of the process; the most recently used one is last.
static TRACES: Mutex<Vec<(TraceIdentity, Arc<SharedTrace>)>> = Mutex::new(Vec::new());

/// Memory that the chunks of all traces in [`TRACES`] and of all cursors take, bytes.
static DECODED_BYTES: AtomicUsize = AtomicUsize::new(0);

impl SharedTrace {
    /// Returns the decoded trace `identity`; starts to decode it if it is not known.
    ///
    /// # Errors
    /// Fails as [`open`] does, for a trace that is not known.
    pub fn open(
        identity: &TraceIdentity,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Arc<Self>, TraceError> {
        let mut traces = lock(&TRACES);
        if let Some(at) = traces.iter().position(|(other, _)| other == identity) {
            let entry = traces.remove(at);
            let shared = entry.1.clone();
            traces.push(entry);
            return Ok(shared);
        }
        let reader = open(path, options)?;
        let shared = Arc::new(SharedTrace {
            format: reader.format(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let weak = Arc::downgrade(&shared);
        thread::spawn(move || decode(reader, weak));
        traces.push((identity.clone(), shared.clone()));
        evict_oldest(&mut traces);
        Ok(shared)
    }

    /// Returns the continuation after the first `chunks` chunks, waiting for it if necessary.
    ///
    /// # Errors
    /// Returns the error that ends the trace after these chunks.
    pub fn next(&self, chunks: usize) -> Result<Continuation, TraceError> {
        let mut state = lock(&self.state);
        loop {
            if let Some(chunk) = state.chunks.get(chunks) {
                return Ok(Continuation::Chunk(chunk.clone()));
            }
            match &mut state.end {
                Some(DecodeEnd::Complete(progress)) => return Ok(Continuation::End(*progress)),
                Some(DecodeEnd::Unstored(reader)) => {
                    let reader = reader.take();
                    state.clear_chunks();
                    return Ok(Continuation::Unstored(reader));
                }
                Some(DecodeEnd::Failed(error)) => {
                    return error.take().map_or(Ok(Continuation::Unstored(None)), Err);
                }
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Returns the bytes that the requests decoded so far take, and their number.
    pub fn size(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.bytes, state.requests)
    }

    /// True if the trace is too large to store, so that its beginning need not be stored either.
    pub fn is_too_large(&self) -> bool {
        matches!(lock(&self.state).end, Some(DecodeEnd::Unstored(None)))
    }

    fn add(&self, chunk: Option<Chunk>, end: Option<DecodeEnd>) {
        let mut state = lock(&self.state);
        if let Some(chunk) = chunk {
            state.bytes += chunk.bytes();
            DECODED_BYTES.fetch_add(chunk.bytes(), Ordering::Relaxed);
            state.requests += chunk.requests();
            state.chunks.push(Arc::new(chunk));
        }
        state.end = end;
        self.changed.notify_all();
    }
}

impl State {
    fn clear_chunks(&mut self) {
        DECODED_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
        (self.chunks, self.bytes, self.requests) = (Vec::new(), 0, 0);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.clear_chunks();
    }
}

/// Decodes the trace until its end, an error, or the memory limit for decoded traces. Ends early if neither a cursor
/// nor [`TRACES`] refers to the trace any longer.
fn decode(mut reader: TraceReader, shared: Weak<SharedTrace>) {
    let mut batch = RequestBatch::default();
    let _end = EndOnPanic(shared.clone());
    loop {
        let read = reader.read_batch(&mut batch, CHUNK_REQUESTS);
        let Some(shared) = shared.upgrade() else { return };
        let progress = progress_of(&reader);
        match read {
            Err(error) => return shared.add(None, Some(DecodeEnd::Failed(Some(error)))),
            Ok(0) => return shared.add(None, Some(DecodeEnd::Complete(progress))),
            Ok(_) => shared.add(Some(Chunk::pack(&batch, progress)), None),
        }
        if DECODED_BYTES.load(Ordering::Relaxed) > RESIDENT_BYTES {
            evict_oldest(&mut lock(&TRACES));
        }
        // Traces in use take memory even after they were evicted from [`TRACES`].
        if DECODED_BYTES.load(Ordering::Relaxed) > RESIDENT_BYTES {
            return shared.add(None, Some(DecodeEnd::Unstored(Some(Box::new(reader)))));
        }
    }
}

/// Lets cursors read the rest of a trace themselves if the decoding thread panics.
struct EndOnPanic(Weak<SharedTrace>);

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade().filter(|_| thread::panicking()) {
            shared.add(None, Some(DecodeEnd::Failed(None)));
        }
    }
}

/// Evicts the least recently used traces until the rest is within [`RESIDENT_BYTES`]; never evicts the last one.
fn evict_oldest(traces: &mut Vec<(TraceIdentity, Arc<SharedTrace>)>) {
    let mut bytes = 0;
    let retained = traces.iter().rev().take_while(|(_, shared)| {
        bytes += shared.size().0;
        bytes <= RESIDENT_BYTES
    });
    let retained = retained.count().max(1);
    traces.drain(..traces.len() - retained);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
