//! Recording of a trace while its requests happen.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::encode::{Encoder, RequestContent};
use super::error::TraceError;
use super::options::WriteOptions;
use super::request::{Digest, Request};
use super::writer::encoder;

/// Format of recordings, which loses nothing.
const FORMAT: &str = "wearwell-csv";

/// Bytes written to the file at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Longest time until recorded requests are in the file, even if they do not fill a chunk.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of bytes that wait to be written; beyond that, recording blocks.
const MAX_BUFFERED_BYTES: usize = 32 << 20;

/// A trace in `wearwell-csv` that is written while its requests happen.
///
/// The file grows by whole lines under its final name, so that a killed process leaves all but the last moment of its
/// recording. If the name ends in `.zst`, each chunk is a separate frame, which can be read without later frames.
pub struct Recorder {
    path: PathBuf,
    encoder: Box<dyn Encoder>,
    digest_bytes: u32,
    buffer: Arc<SharedBuffer>,
    writer: Option<JoinHandle<io::Result<()>>>,
    requests: u64,
}

/// Buffer of lines that wait to be written, shared with the writing thread.
#[derive(Default)]
struct SharedBuffer {
    lines: Mutex<BufferedLines>,
    changed: Condvar,
}

#[derive(Default)]
struct BufferedLines {
    text: Vec<u8>,
    /// True if recording or the writing thread has ended.
    is_finished: bool,
}

impl SharedBuffer {
    fn lines(&self) -> MutexGuard<'_, BufferedLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    /// Creates a recording at `path`, with digests over `digest_bytes` bytes of written data each, or without digests
    /// for 0.
    ///
    /// # Errors
    /// Returns an error for a file that already exists, and for an extension of a compression that cannot be read while
    /// the file grows.
    pub fn create(path: &Path, digest_bytes: u32) -> Result<Self, TraceError> {
        let failed = |error| TraceError::io(path, error);
        let extension = path.extension().and_then(|ending| ending.to_str());
        if matches!(extension, Some("gz" | "xz")) {
            let problem = "a recording is plain or compressed with zstd; end its name with .csv or .csv.zst";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        let (_, mut encoder) = encoder(&WriteOptions::named(FORMAT))?;
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
        let buffer = Arc::new(SharedBuffer::default());
        encoder.begin(&mut buffer.lines().text);
        let writer = {
            let (buffer, is_compressed) = (buffer.clone(), extension == Some("zst"));
            let thread = std::thread::Builder::new().name("recording".into());
            thread.spawn(move || {
                let written = write_buffered(&buffer, file, is_compressed);
                buffer.lines().is_finished = true;
                buffer.changed.notify_all();
                written
            })
        };
        let writer = Some(writer.map_err(failed)?);
        Ok(Recorder { path: path.to_owned(), encoder, digest_bytes, buffer, writer, requests: 0 })
    }

    /// Records a request, with the digests of its written data. After a write error nothing more is recorded;
    /// [`Recorder::finish`] returns that error.
    ///
    /// # Errors
    /// Returns an error for a request that the format cannot hold: one with more digests than fit into a line.
    pub fn record(&mut self, request: &Request, digests: &[Digest]) -> Result<(), String> {
        let mut lines = self.buffer.lines();
        while lines.text.len() >= MAX_BUFFERED_BYTES && !lines.is_finished {
            lines = self.buffer.changed.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        if lines.is_finished {
            return Ok(());
        }
        let before = lines.text.len();
        let content = RequestContent { digests, digest_bytes: self.digest_bytes };
        if let Err(reason) = self.encoder.encode(request, content, &mut lines.text) {
            lines.text.truncate(before);
            return Err(reason.into_owned());
        }
        self.requests += 1;
        if before < CHUNK_BYTES && lines.text.len() >= CHUNK_BYTES {
            self.buffer.changed.notify_all();
        }
        Ok(())
    }

    /// Ends the recording; returns the number of its requests.
    ///
    /// # Errors
    /// Returns an error if the file could not be written.
    pub fn finish(mut self) -> Result<u64, TraceError> {
        self.end().map_err(|error| TraceError::io(&self.path, error))?;
        Ok(self.requests)
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        {
            let mut lines = self.buffer.lines();
            self.encoder.end(&mut lines.text);
            lines.is_finished = true;
        }
        self.buffer.changed.notify_all();
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it panicked")))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Errors are ignored here; [`Recorder::finish`] returns them.
        let _ = self.end();
    }
}

/// Writes the buffered lines to the file until recording ends.
fn write_buffered(buffer: &SharedBuffer, mut file: File, is_compressed: bool) -> io::Result<()> {
    let mut chunk = Vec::new();
    loop {
        let mut lines = buffer.lines();
        if lines.text.len() < CHUNK_BYTES && !lines.is_finished {
            lines =
                buffer.changed.wait_timeout(lines, FLUSH_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut lines.text, &mut chunk);
        let is_finished = lines.is_finished;
        drop(lines);
        buffer.changed.notify_all();
        if !chunk.is_empty() {
            if is_compressed {
                file.write_all(&zstd::encode_all(&chunk[..], zstd::DEFAULT_COMPRESSION_LEVEL)?)?;
            } else {
                file.write_all(&chunk)?;
            }
            chunk.clear();
        }
        if is_finished {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Op;
    use super::super::{ReadOptions, RequestBatch, open};
    use super::*;

    fn request(at: u64) -> Request {
        let op = if at.is_multiple_of(7) { Op::Read } else { Op::Write };
        Request { time_ns: 1000 * at, op, volume: 0, offset_bytes: 4096 * at, length_bytes: 4096, hint: 0 }
    }

    fn read(path: &Path) -> RequestBatch {
        let (mut all, mut batch) = (RequestBatch::default(), RequestBatch::default());
        let mut reader = open(path, &ReadOptions::default()).unwrap();
        while reader.read_batch(&mut batch, 1000).unwrap() > 0 {
            (0..batch.len()).for_each(|index| all.push_from(&batch, index));
        }
        all
    }

    #[test]
    fn recording_is_readable_plain_and_compressed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.csv.zst"] {
            let path = folder.path().join(name);
            let mut recorder = Recorder::create(&path, 4096).unwrap();
            for at in 0..30_000 {
                let digest = [[at as u8; 16]];
                let digests = if request(at).op == Op::Write { &digest[..] } else { &[] };
                recorder.record(&request(at), digests).unwrap();
            }
            assert_eq!(recorder.finish().unwrap(), 30_000);
            let found = read(&path);
            assert_eq!((found.len(), found.digest_bytes), (30_000, 4096));
            assert!((0..30_000).all(|at| found.get(at) == request(at as u64)));
            assert_eq!((found.digests_of(7).len(), found.digests_of(300)[0][0]), (0, 44));
            assert!(Recorder::create(&path, 0).is_err(), "it is there already");
        }
        assert!(Recorder::create(&folder.path().join("a.gz"), 0).is_err());
    }

    /// Reads the file while it is still being recorded, as after a kill of the process.
    #[test]
    fn recorded_requests_reach_file_while_recording() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.csv.zst"] {
            let path = folder.path().join(name);
            let mut recorder = Recorder::create(&path, 0).unwrap();
            (0..10).for_each(|at| recorder.record(&request(at), &[]).unwrap());
            // On a busy machine, the requests may reach the file in several parts.
            let end = std::time::Instant::now() + Duration::from_secs(300);
            while path.metadata().unwrap().len() == 0 || read(&path).len() < 10 {
                assert!(std::time::Instant::now() < end, "{name}");
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(read(&path).len(), 10, "{name}");
            std::mem::forget(recorder);
        }
    }
}
