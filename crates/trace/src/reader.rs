//! Reading a trace, whatever its format.

use std::io::Read;
use std::path::Path;

use super::error::{Bad, Place, TraceError};
use super::format::{self, Format};
use super::input::Input;
use super::options::{ReadOptions, Settings};
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

impl Sink<'_> {
    /// Whether the batch has room.
    #[inline]
    pub fn wants_more(&self) -> bool {
        self.batch.len() < self.limit
    }

    /// A sink into another batch, without the choice of volumes.
    pub(crate) fn detour<'b>(&'b mut self, batch: &'b mut RequestBatch, limit: usize) -> Sink<'b> {
        let skipped = self.skipped.as_deref_mut();
        Sink { batch, limit, volumes: None, skipped, digests: Vec::new() }
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
    let bad = |column, found: u64, expected| Err(Bad::new(column, found.to_string().as_bytes(), expected));
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

/// A trace that is being read.
pub struct TraceReader {
    input: Input,
    format: &'static Format,
    decoder: Box<dyn Decoder>,
    volumes: Option<Vec<u32>>,
    skip_bad: bool,
    skipped: Skipped,
}

/// Opens the trace at `path`: plain, gzip, xz or zstd, which is told from its first bytes.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<TraceReader, TraceError> {
    TraceReader::from_input(Input::open(path.as_ref())?, options)
}

impl TraceReader {
    /// Reads from `source`, which error messages call `name`.
    pub fn new(
        name: &str,
        source: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        Self::from_input(Input::new(Path::new(name), Box::new(source), None)?, options)
    }

    fn from_input(mut input: Input, options: &ReadOptions) -> Result<Self, TraceError> {
        let format = format::choose(options.format.as_deref(), &mut input)?;
        let decoder = (format.read)(&Settings::new(format, &options.options)?);
        let mut volumes = options.volumes.clone();
        volumes.iter_mut().for_each(|volumes| volumes.sort_unstable());
        let skipped = Skipped::default();
        Ok(TraceReader { input, format, decoder, volumes, skip_bad: options.skip_bad, skipped })
    }

    /// Replaces the content of `batch` by the next requests, at most `limit` (and at least one); 0 only at the end.
    ///
    /// After an error `batch` holds the requests before it.
    pub fn read_batch(&mut self, batch: &mut RequestBatch, limit: usize) -> Result<usize, TraceError> {
        batch.clear();
        let skipped = self.skip_bad.then_some(&mut self.skipped);
        let volumes = self.volumes.as_deref();
        let mut sink = Sink { batch, limit: limit.max(1), volumes, skipped, digests: Vec::new() };
        self.decoder.fill(&mut self.input, &mut sink)?;
        Ok(batch.len())
    }

    /// The trace's format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The trace's file name.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Bytes taken from the file so far, before decompression: a progress bar's position.
    pub fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    /// Size of the file, before decompression: a progress bar's end; `None` for pipes.
    pub fn total_bytes(&self) -> Option<u64> {
        self.input.total_bytes()
    }

    /// What was passed over so far; nothing unless [`ReadOptions::skip_bad`] is set.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// What the volumes seen so far are called, for formats that name them.
    pub fn volume_names(&self) -> Vec<(u32, String)> {
        self.decoder.volume_names()
    }
}
