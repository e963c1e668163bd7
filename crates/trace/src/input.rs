//! Bytes of a trace file: decompressed while reading, split into lines or records without copies.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liblzma::stream::{CONCATENATED, Stream};

use super::error::TraceError;
use super::interruptible_read::{self, ThreadedReader};

/// Size of the buffers before and after decompression.
const BUFFER_BYTES: usize = 1 << 20;

/// Longest line; far longer than the lines of any format, and short enough that a file without line ends is noticed at
/// once.
pub const MAX_LINE_BYTES: usize = 256 << 10;

/// Memory that the xz decompressor may take; `xz -9` needs 65 MiB.
const XZ_MEMORY_BYTES: u64 = 256 << 20;

/// A stream of decompressed bytes with a window from which lines and records are borrowed.
pub struct Input {
    path: PathBuf,
    compression: &'static str,
    source: Box<dyn Read + Send>,
    /// `window[start..end]` is read but not yet returned.
    window: Vec<u8>,
    start: usize,
    end: usize,
    is_at_end: bool,
    /// Lines or records returned so far.
    count: u64,
    /// Beginning of the last line that was too long.
    long_line: Vec<u8>,
    /// True if the rest of a line that was too long comes next.
    is_in_long_line: bool,
    compressed_bytes_read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
}

/// Result of [`Input::next_line`].
pub enum Line<'a> {
    /// A line without its line end.
    Text(&'a [u8]),
    /// Beginning of a line longer than [`MAX_LINE_BYTES`]; the rest is skipped.
    TooLong(&'a [u8]),
    /// The end of the input.
    End,
}

/// Result of [`Input::next_record`].
pub enum Record<'a> {
    /// All requested bytes.
    Whole(&'a [u8]),
    /// Fewer bytes than a record has, at the end of the input.
    Truncated(&'a [u8]),
    /// The end of the input.
    End,
}

impl Input {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        if interruptible_read::needs_thread(path) {
            return Self::new(path, Box::new(ThreadedReader::open(path)), None);
        }
        let file = File::open(path).map_err(|error| TraceError::io(path, error))?;
        let metadata = file.metadata().map_err(|error| TraceError::io(path, error))?;
        if metadata.is_dir() {
            return Err(TraceError::io(path, io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let total_bytes = metadata.is_file().then_some(metadata.len());
        Self::new(path, Box::new(file), total_bytes)
    }

    /// Reads from `source`, called `path` in error messages.
    pub fn new(
        path: &Path,
        source: Box<dyn Read + Send>,
        total_bytes: Option<u64>,
    ) -> Result<Self, TraceError> {
        let compressed_bytes_read = Arc::new(AtomicU64::new(0));
        let counting = CountingReader { source, bytes: compressed_bytes_read.clone() };
        let (compression, source) = decompress(counting).map_err(|error| TraceError::io(path, error))?;
        let mut input = Input {
            path: path.to_owned(),
            compression,
            source,
            window: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            is_at_end: false,
            count: 0,
            long_line: Vec::new(),
            is_in_long_line: false,
            compressed_bytes_read,
            total_bytes,
        };
        input.refill()?;
        if input.end == 0 {
            return Err(TraceError::Empty { path: input.path });
        }
        if input.window.starts_with(b"\xef\xbb\xbf") {
            input.start = 3; // a byte order mark, which spreadsheets put before CSV
        }
        Ok(input)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of lines or records returned so far, which is the number of the current line or record.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the bytes read from the file, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.compressed_bytes_read.load(Ordering::Relaxed)
    }

    /// Returns the size of the file, before decompression; `None` for pipes.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Returns the first bytes, for format detection; only valid before any line or record is returned.
    pub fn beginning(&mut self) -> Result<&[u8], TraceError> {
        const BEGINNING_BYTES: usize = 64 << 10;
        while self.end - self.start < BEGINNING_BYTES && !self.is_at_end {
            self.refill()?;
        }
        Ok(&self.window[self.start..self.end.min(self.start + BEGINNING_BYTES)])
    }

    /// Returns the next line, without `\n` or `\r\n`; the last line may lack its end.
    #[inline]
    pub fn next_line(&mut self) -> Result<Line<'_>, TraceError> {
        if self.is_in_long_line {
            self.skip_long_line()?;
        }
        let mut searched = 0;
        loop {
            let unread = &self.window[self.start..self.end];
            if let Some(length) = memchr::memchr(b'\n', &unread[searched..]) {
                let line = self.start..self.start + searched + length;
                self.start = line.end + 1;
                self.count += 1;
                return Ok(Self::bounded(&self.window[line]));
            }
            searched = unread.len();
            if self.is_at_end {
                let line = self.start..self.end;
                self.start = self.end;
                if line.is_empty() {
                    return Ok(Line::End);
                }
                self.count += 1;
                return Ok(Self::bounded(&self.window[line]));
            }
            if searched > MAX_LINE_BYTES {
                self.long_line.clear();
                self.long_line.extend_from_slice(&self.window[self.start..self.start + 64]);
                self.count += 1;
                // The beginning is returned before the end of the line is searched for, because the line may have no
                // end.
                self.is_in_long_line = true;
                return Ok(Line::TooLong(&self.long_line));
            }
            self.refill()?;
        }
    }

    fn bounded(line: &[u8]) -> Line<'_> {
        match line {
            line if line.len() > MAX_LINE_BYTES => Line::TooLong(&line[..64]),
            [line @ .., b'\r'] => Line::Text(line),
            line => Line::Text(line),
        }
    }

    /// Skips the rest of a line that was too long.
    #[cold]
    fn skip_long_line(&mut self) -> Result<(), TraceError> {
        loop {
            let unread = &self.window[self.start..self.end];
            if let Some(length) = memchr::memchr(b'\n', unread) {
                self.start += length + 1;
                break;
            }
            self.start = self.end;
            if self.is_at_end {
                break;
            }
            self.refill()?;
        }
        self.is_in_long_line = false;
        Ok(())
    }

    /// Returns the next `bytes` bytes as the beginning of a record, and counts the record.
    pub fn next_record(&mut self, bytes: usize) -> Result<Record<'_>, TraceError> {
        self.count += 1;
        self.next_bytes(bytes)
    }

    /// Returns the next `bytes` bytes, at most the size of the window.
    pub fn next_bytes(&mut self, bytes: usize) -> Result<Record<'_>, TraceError> {
        assert!(bytes <= BUFFER_BYTES, "a record of {bytes} bytes");
        while self.end - self.start < bytes && !self.is_at_end {
            self.refill()?;
        }
        let taken = bytes.min(self.end - self.start);
        let record = self.start..self.start + taken;
        self.start = record.end;
        Ok(match taken {
            taken if taken == bytes => Record::Whole(&self.window[record]),
            0 => Record::End,
            _ => Record::Truncated(&self.window[record]),
        })
    }

    /// Reads more bytes into the window; sets `is_at_end` at the end of the input.
    fn refill(&mut self) -> Result<(), TraceError> {
        self.window.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.source.read(&mut self.window[self.end..]) {
                Ok(bytes) => {
                    self.end += bytes;
                    self.is_at_end = bytes == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(error)),
            }
        }
    }

    fn read_error(&mut self, source: io::Error) -> TraceError {
        self.is_at_end = true;
        let path = self.path.clone();
        match self.compression {
            "" => TraceError::Io { path, source },
            compression => TraceError::Compressed { path, compression, source },
        }
    }
}

/// Chooses the decompressor by the first bytes of the file. Concatenated streams are read as one.
fn decompress(mut source: CountingReader) -> io::Result<(&'static str, Box<dyn Read + Send>)> {
    let mut magic = Vec::new();
    source.by_ref().take(6).read_to_end(&mut magic)?;
    let compression = match magic.as_slice() {
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        [0xfd, b'7', b'z', b'X', b'Z', 0] => "xz",
        _ => "",
    };
    let replayed = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(magic).chain(source));
    Ok((compression, decompressor(compression, replayed)?))
}

fn decompressor(
    compression: &str,
    source: impl BufRead + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(match compression {
        "gzip" => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        "zstd" => Box::new(zstd::Decoder::with_buffer(source)?),
        "xz" => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(source, stream))
        }
        _ => Box::new(source),
    })
}

/// Counts the bytes read from a file, for progress bars.
struct CountingReader {
    source: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
