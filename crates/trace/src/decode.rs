//! What a format's reader is: requests made of input, and where they are put.

use std::path::Path;

use super::error::{Bad, Place, TraceError};
use super::input::Input;
use super::request::{Digest, Op, Request, RequestBatch};

/// Largest read or write, bytes: no block interface moves more in one command, and a slip of columns
/// that turns an address into a length is caught here instead of filling memory.
pub const MAX_TRANSFER_BYTES: u64 = 1 << 32;

/// Messages about skipped lines that are kept.
const KEPT_MESSAGES: usize = 5;

/// Turns input into requests.
pub trait Decoder: Send {
    /// Reads until the sink wants no more or the input ends.
    fn fill(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError>;

    /// What numbered volumes are called in the trace, for formats that name them.
    fn volume_names(&self) -> Vec<(u32, String)> {
        Vec::new()
    }
}

/// What was passed over because it was bad.
#[derive(Clone, Debug, Default)]
pub struct Skipped {
    /// Number of bad lines or records.
    pub count: u64,
    /// What was wrong with the first few.
    pub messages: Vec<String>,
}

/// Where decoders put requests: checks them, filters volumes, and counts bad ones.
pub struct Sink<'a> {
    pub(crate) batch: &'a mut RequestBatch,
    /// Requests the batch may hold in all.
    limit: usize,
    volumes: Option<&'a [u32]>,
    /// `None` stops at the first bad line.
    skipped: Option<&'a mut Skipped>,
    /// Digests of the request that is being read.
    pub(crate) digests: Vec<Digest>,
}

impl<'a> Sink<'a> {
    /// A sink into `batch`, for `limit` requests in all, of these volumes or of all, in order; bad ones are counted in `skipped`.
    pub(crate) fn new(
        batch: &'a mut RequestBatch,
        limit: usize,
        volumes: Option<&'a [u32]>,
        skipped: Option<&'a mut Skipped>,
    ) -> Self {
        Sink { batch, limit, volumes, skipped, digests: Vec::new() }
    }

    /// Whether the batch has room.
    #[inline]
    pub fn wants_more(&self) -> bool {
        self.batch.len() < self.limit
    }

    /// A sink into another batch, without the choice of volumes.
    pub(crate) fn detour<'b>(&'b mut self, batch: &'b mut RequestBatch, limit: usize) -> Sink<'b> {
        let skipped = self.skipped.as_deref_mut();
        Sink::new(batch, limit, None, skipped)
    }

    /// Appends a request and its digests unless its volume is not asked for.
    #[inline]
    pub fn accept(&mut self, request: &Request, digest_bytes: u32) -> Result<(), Bad> {
        let checked = check(request);
        let wanted = self.volumes.is_none_or(|volumes| volumes.binary_search(&request.volume).is_ok());
        if checked.is_ok() && wanted {
            match digest_bytes {
                0 => self.batch.push(request),
                bytes => self.batch.push_with_digests(request, &self.digests, bytes),
            }
        }
        self.digests.clear();
        checked
    }

    /// Counts a bad line, or stops where bad lines are not skipped.
    #[cold]
    pub fn refuse(&mut self, path: &Path, place: Place, bad: Bad) -> Result<(), TraceError> {
        self.digests.clear();
        let Some(skipped) = self.skipped.as_deref_mut() else {
            return Err(TraceError::Bad { path: path.to_owned(), place, bad });
        };
        skipped.count += 1;
        if skipped.messages.len() < KEPT_MESSAGES {
            skipped.messages.push(format!("{place}: {bad}"));
        }
        Ok(())
    }
}

/// What every request must fulfil, whatever its format.
#[inline]
fn check(request: &Request) -> Result<(), Bad> {
    let length = request.length_bytes;
    let bad = |column: &'static str, found: u64, expected: &'static str| {
        Err(Bad::new(column, found.to_string().as_bytes(), expected))
    };
    if request.op == Op::Flush {
        return Ok(());
    }
    if length == 0 {
        return bad("length in bytes", 0, "more than 0");
    }
    if length > MAX_TRANSFER_BYTES && request.op != Op::Trim {
        return bad("length in bytes", length, "at most 2^32 bytes read or written by one request");
    }
    if request.offset_bytes.checked_add(length).is_none() {
        return bad("offset in bytes", request.offset_bytes, "a request that ends below 2^64 bytes");
    }
    Ok(())
}
