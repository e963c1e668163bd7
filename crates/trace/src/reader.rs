//! Reading a trace of any format.

use std::io::Read;
use std::path::Path;

use super::decode::{Decoder, Sink, SkippedLines};
use super::error::TraceError;
use super::format::Format;
use super::formats::table::{TableGuess, guess_table};
use super::input::Input;
use super::options::ReadOptions;
use super::request::RequestBatch;
use super::table::choose_format;

/// A trace that is being read.
pub struct TraceReader {
    input: Input,
    format: &'static Format,
    decoder: Box<dyn Decoder>,
    volumes: Option<Vec<u32>>,
    skip_bad: bool,
    skipped: SkippedLines,
}

/// Opens the trace at `path`: plain, gzip, xz or zstd, detected from its first bytes.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<TraceReader, TraceError> {
    TraceReader::from_input(Input::open(path.as_ref())?, options)
}

/// Guesses the columns of the table in `source`, called `name` in error messages; `None` if the source is not a table.
pub fn guess_columns(
    name: &str,
    source: impl Read + Send + 'static,
) -> Result<Option<TableGuess>, TraceError> {
    let mut input = Input::new(Path::new(name), Box::new(source), None)?;
    Ok(guess_table(input.beginning()?))
}

impl TraceReader {
    /// Reads from `source`, called `name` in error messages.
    pub fn new(
        name: &str,
        source: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        Self::from_input(Input::new(Path::new(name), Box::new(source), None)?, options)
    }

    fn from_input(mut input: Input, options: &ReadOptions) -> Result<Self, TraceError> {
        let format = choose_format(options, &mut input)?;
        let decoder = (format.read)(&format.settings(&options.options)?);
        let mut volumes = options.volumes.clone();
        volumes.iter_mut().for_each(|volumes| volumes.sort_unstable());
        let skipped = SkippedLines::default();
        Ok(TraceReader { input, format, decoder, volumes, skip_bad: options.skip_bad, skipped })
    }

    /// Replaces the content of `batch` by the next requests, at most `limit` (and at least one); returns their number,
    /// 0 only at the end.
    ///
    /// After an error `batch` holds the requests before it.
    pub fn read_batch(&mut self, batch: &mut RequestBatch, limit: usize) -> Result<usize, TraceError> {
        batch.clear();
        let skipped = self.skip_bad.then_some(&mut self.skipped);
        let volumes = self.volumes.as_deref();
        let mut sink = Sink::new(batch, limit.max(1), volumes, skipped);
        self.decoder.fill(&mut self.input, &mut sink)?;
        Ok(batch.len())
    }

    /// Returns the trace's format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Returns the trace's file name.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Returns the bytes read from the file so far, before decompression: the position of a progress bar.
    pub fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    /// Returns the size of the file, before decompression: the end of a progress bar; `None` for pipes.
    pub fn total_bytes(&self) -> Option<u64> {
        self.input.total_bytes()
    }

    /// Returns the lines and records skipped so far; none unless [`ReadOptions::skip_bad`] is set.
    pub fn skipped(&self) -> &SkippedLines {
        &self.skipped
    }

    /// Returns the names of the volumes found so far, for formats that name them.
    pub fn volume_names(&self) -> Vec<(u32, String)> {
        self.decoder.volume_names()
    }
}
