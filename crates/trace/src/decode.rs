//! Interface of a format's reader: decoding input to requests, and the sink for them.

use std::path::Path;

use super::error::{BadValue, TraceError, TracePosition};
use super::input::Input;
use super::request::{Digest, Op, Request, RequestBatch};

/// Largest read or write, bytes. No block interface moves more in one command; a mix-up of columns that turns an
/// address into a length is caught here instead of filling memory.
pub const MAX_TRANSFER_BYTES: u64 = 1 << 32;

/// Number of messages about skipped lines that are stored.
const MAX_MESSAGES: usize = 5;

/// Turns input into requests.
pub trait Decoder: Send {
    /// Reads until the sink is full or the input ends.
    fn fill(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError>;

    /// Returns the names of numbered volumes in the trace, for formats that name them.
    fn volume_names(&self) -> Vec<(u32, String)> {
        Vec::new()
    }
}

/// Bad lines or records that were skipped.
#[derive(Clone, Debug, Default)]
pub struct SkippedLines {
    /// Number of bad lines or records.
    pub count: u64,
    /// Messages about the first few bad lines or records.
    pub messages: Vec<String>,
}

/// Sink for the requests of decoders: checks them, filters volumes, and counts bad requests.
pub struct Sink<'a> {
    pub(crate) batch: &'a mut RequestBatch,
    /// Maximum number of requests in the batch.
    limit: usize,
    volumes: Option<&'a [u32]>,
    /// Statistics of skipped lines; `None` stops at the first bad line.
    skipped: Option<&'a mut SkippedLines>,
    /// Digests of the request that is being read.
    pub(crate) digests: Vec<Digest>,
}

impl<'a> Sink<'a> {
    /// Returns a sink into `batch`, for at most `limit` requests in total. `volumes` lists the accepted volumes,
    /// sorted; `None` accepts all. Bad requests are counted in `skipped`.
    pub(crate) fn new(
        batch: &'a mut RequestBatch,
        limit: usize,
        volumes: Option<&'a [u32]>,
        skipped: Option<&'a mut SkippedLines>,
    ) -> Self {
        Sink { batch, limit, volumes, skipped, digests: Vec::new() }
    }

    /// True if the batch can hold another request.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.batch.len() < self.limit
    }

    /// Returns a sink into another batch, without the filter for volumes.
    pub(crate) fn redirect<'b>(&'b mut self, batch: &'b mut RequestBatch, limit: usize) -> Sink<'b> {
        let skipped = self.skipped.as_deref_mut();
        Sink::new(batch, limit, None, skipped)
    }

    /// Appends a request and its digests if its volume is accepted.
    #[inline]
    pub fn accept(&mut self, request: &Request, digest_bytes: u32) -> Result<(), BadValue> {
        let validity = check_request(request);
        let is_accepted = self.volumes.is_none_or(|volumes| volumes.binary_search(&request.volume).is_ok());
        if validity.is_ok() && is_accepted {
            match digest_bytes {
                0 => self.batch.push(request),
                bytes => self.batch.push_with_digests(request, &self.digests, bytes),
            }
        }
        self.digests.clear();
        validity
    }

    /// Counts a bad line, or returns the error if bad lines are not skipped.
    #[cold]
    pub fn handle_bad_value(
        &mut self,
        path: &Path,
        position: TracePosition,
        bad: BadValue,
    ) -> Result<(), TraceError> {
        self.digests.clear();
        let Some(skipped) = self.skipped.as_deref_mut() else {
            return Err(TraceError::BadValue { path: path.to_owned(), position, value: bad });
        };
        skipped.count += 1;
        if skipped.messages.len() < MAX_MESSAGES {
            skipped.messages.push(format!("{position}: {bad}"));
        }
        Ok(())
    }
}

/// Checks the conditions that requests of all formats must meet.
#[inline]
fn check_request(request: &Request) -> Result<(), BadValue> {
    let length = request.length_bytes;
    let error = |column: &'static str, found: u64, expected: &'static str| {
        Err(BadValue::new(column, found.to_string().as_bytes(), expected))
    };
    if request.op == Op::Flush {
        return Ok(());
    }
    if length == 0 {
        return error("length in bytes", 0, "more than 0");
    }
    if length > MAX_TRANSFER_BYTES && request.op != Op::Trim {
        return error("length in bytes", length, "at most 2^32 bytes read or written by one request");
    }
    if request.offset_bytes.checked_add(length).is_none() {
        return error("offset in bytes", request.offset_bytes, "a request that ends below 2^64 bytes");
    }
    Ok(())
}
