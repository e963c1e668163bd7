//! A position in a trace that is read pass after pass.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chunk::Progress;
use super::identity::TraceIdentity;
use super::pass_reader::PassReader;
use super::shared::{Continuation, SharedTrace};
use crate::error::TraceError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::open;
use crate::request::RequestBatch;

/// Reads a trace request by request, any number of times; requests are decoded once per process if memory allows.
pub struct TraceCursor {
    path: PathBuf,
    options: ReadOptions,
    identity: Option<TraceIdentity>,
    format: &'static Format,
    total_bytes: Option<u64>,
    /// Chunks that all cursors share; `None` for a pipe.
    shared: Option<Arc<SharedTrace>>,
    /// Chunks of `shared` read in this pass.
    chunks: usize,
    /// Reader of the rest of the pass, if this rest is not stored in chunks.
    stream: Option<PassReader>,
    progress: Progress,
}

impl TraceCursor {
    /// Opens the trace at `path`: plain, gzip, xz or zstd.
    ///
    /// # Errors
    /// Returns an error for a file that cannot be read, or whose format is not known. Bad lines are reported when they
    /// are reached.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let identity = TraceIdentity::of(path, options);
        let shared =
            identity.as_ref().map(|identity| SharedTrace::open(identity, path, options)).transpose()?;
        let (format, stream) = match &shared {
            Some(shared) if !shared.is_too_large() => (shared.format, None),
            _ => {
                let reader = open(path, options)?;
                (reader.format(), Some(PassReader::new(reader, 0)?))
            }
        };
        Ok(TraceCursor {
            path: path.to_owned(),
            options: options.clone(),
            identity,
            format,
            total_bytes: path
                .metadata()
                .ok()
                .filter(|metadata| metadata.is_file())
                .map(|metadata| metadata.len()),
            shared,
            chunks: 0,
            stream,
            progress: Progress::default(),
        })
    }

    /// Appends the next requests of the trace to `batch`, at most [`CHUNK_REQUESTS`](super::CHUNK_REQUESTS); returns
    /// their number, which is 0 only at the end of the pass.
    ///
    /// # Errors
    /// Returns an error for a line or record that cannot be read. Earlier requests have been returned, except those of
    /// the same chunk.
    pub fn read(&mut self, batch: &mut RequestBatch) -> Result<usize, TraceError> {
        let before = batch.len();
        if let (Some(shared), None) = (&self.shared, &self.stream) {
            match shared.next(self.chunks)? {
                Continuation::Chunk(chunk) => {
                    chunk.unpack(batch);
                    self.progress = chunk.progress;
                    self.chunks += 1;
                }
                Continuation::End(progress) => self.progress = progress,
                Continuation::Unstored(Some(reader)) => self.stream = Some(PassReader::new(*reader, 0)?),
                Continuation::Unstored(None) => {
                    let reader = open(&self.path, &self.options)?;
                    self.stream = Some(PassReader::new(reader, self.chunks)?);
                }
            }
        }
        if let Some(stream) = &mut self.stream {
            let mut next = RequestBatch::default();
            self.progress = stream.next(&mut next)?;
            match batch.is_empty() {
                true => *batch = next,
                false => (0..next.len()).for_each(|at| batch.push_from(&next, at)),
            }
        }
        Ok(batch.len() - before)
    }

    /// Returns to the beginning of the trace.
    ///
    /// # Errors
    /// Returns an error for a trace that has to be read from the file again, and can no longer be opened.
    pub fn rewind(&mut self) -> Result<(), TraceError> {
        (self.chunks, self.progress) = (0, Progress::default());
        // A trace that is too large is read from the file completely, so that its beginning takes no memory.
        let is_too_large =
            self.stream.is_some() || self.shared.as_ref().is_some_and(|shared| shared.is_too_large());
        self.stream = None;
        if is_too_large {
            self.stream = Some(PassReader::new(open(&self.path, &self.options)?, 0)?);
        }
        Ok(())
    }

    /// Returns the identity of the trace; `None` for a pipe.
    pub fn identity(&self) -> Option<&TraceIdentity> {
        self.identity.as_ref()
    }

    /// Returns the format of the trace.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Returns the bad lines or records skipped in this pass, up to the last request read; 0 unless
    /// [`ReadOptions::skip_bad`] is set.
    pub fn skipped(&self) -> u64 {
        self.progress.skipped
    }

    /// Returns the fraction of the trace that was read in this pass; 0 if its length is not known.
    pub fn fraction_read(&self) -> f64 {
        match self.total_bytes {
            Some(bytes) if bytes > 0 => (self.progress.bytes_read as f64 / bytes as f64).min(1.0),
            _ => 0.0,
        }
    }

    /// Returns the bytes of memory that the decoded requests take, and their number; `None` for a pipe.
    pub fn stored_size(&self) -> Option<(usize, usize)> {
        self.shared.as_ref().map(|shared| shared.size())
    }
}
