//! Requests of one pass through a trace that is too large to store, or that comes from a pipe.

use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::CHUNK_REQUESTS;
use super::chunk::Progress;
use crate::error::TraceError;
use crate::reader::TraceReader;
use crate::request::RequestBatch;

/// Batches that the decoding thread may be ahead of its reader: few, because a batch of long requests with digests
/// takes megabytes.
const MAX_BATCHES_AHEAD: usize = 8;

/// Message of the decoding thread: a batch, or the error that ends the trace.
type DecodedBatch = Result<(RequestBatch, Progress), TraceError>;

/// Reader of the remaining requests of a pass.
pub enum PassReader {
    /// Read in the calling thread.
    Inline(Box<TraceReader>),
    /// Decoded by a thread that stays ahead.
    Threaded {
        batches: Receiver<DecodedBatch>,
        /// Reading state after the last batch.
        progress: Progress,
        /// True once the end or an error was received, after which the thread sends nothing more.
        has_ended: bool,
    },
}

impl PassReader {
    /// Reads the remaining requests of `reader`, without the first `skipped_batches` batches.
    ///
    /// # Errors
    /// Returns an error for a line in these batches that cannot be read, if the trace is a pipe.
    pub fn new(mut reader: TraceReader, skipped_batches: usize) -> Result<Self, TraceError> {
        if !is_regular_file(reader.path()) {
            let mut batch = RequestBatch::default();
            for _ in 0..skipped_batches {
                reader.read_batch(&mut batch, CHUNK_REQUESTS)?;
            }
            return Ok(PassReader::Inline(Box::new(reader)));
        }
        let (sender, receiver) = sync_channel(MAX_BATCHES_AHEAD);
        thread::spawn(move || {
            for at in 0.. {
                let mut batch = RequestBatch::default();
                let message = match reader.read_batch(&mut batch, CHUNK_REQUESTS) {
                    Ok(_) if at < skipped_batches => continue,
                    Ok(_) => Ok((batch, progress_of(&reader))),
                    Err(error) => Err(error),
                };
                let is_last = !matches!(&message, Ok((batch, _)) if !batch.is_empty());
                // The receiving cursor may have been dropped.
                if sender.send(message).is_err() || is_last {
                    break;
                }
            }
        });
        Ok(PassReader::Threaded { batches: receiver, progress: Progress::default(), has_ended: false })
    }

    /// Replaces the content of `batch` by the next requests, none at the end of the pass; returns the reading state
    /// after them.
    pub fn next(&mut self, batch: &mut RequestBatch) -> Result<Progress, TraceError> {
        match self {
            PassReader::Inline(reader) => {
                reader.read_batch(batch, CHUNK_REQUESTS)?;
                Ok(progress_of(reader))
            }
            PassReader::Threaded { progress, has_ended: true, .. } => {
                batch.clear();
                Ok(*progress)
            }
            PassReader::Threaded { batches, progress, has_ended: is_over } => {
                let message = batches.recv().expect("the decoding thread sends the end before it ends");
                *is_over = !matches!(&message, Ok((next, _)) if !next.is_empty());
                (*batch, *progress) = message?;
                Ok(*progress)
            }
        }
    }
}

/// Returns the reading state of `reader`.
pub fn progress_of(reader: &TraceReader) -> Progress {
    Progress { skipped: reader.skipped().count, bytes_read: reader.bytes_read() }
}

/// True if `path` is a file that can be read again and never blocks.
pub fn is_regular_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
