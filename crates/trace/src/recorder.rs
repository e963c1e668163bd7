//! Writing a trace down while it happens.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::encode::{Content, Encode};
use super::error::TraceError;
use super::options::WriteOptions;
use super::request::{Digest, Request};
use super::writer::encoder;

/// The format: it loses nothing.
const FORMAT: &str = "wearwell-csv";

/// So many bytes are written at once.
const PIECE_BYTES: usize = 256 << 10;

/// What was recorded is in the file after this time, whether it is a piece or not.
const SOON: Duration = Duration::from_millis(200);

/// More bytes than this do not wait to be written: who records does.
const MOST_WAITING: usize = 32 << 20;

/// A trace in `wearwell-csv` that is written while its requests happen.
///
/// It grows under its own name, by whole lines, so that a process that is killed leaves what it had recorded until a moment before.
/// With a name that ends in `.zst` each piece is a frame of its own, which can be read without those after it.
pub struct Recorder {
    path: PathBuf,
    encoder: Box<dyn Encode>,
    digest_bytes: u32,
    sheet: Arc<Sheet>,
    writer: Option<JoinHandle<io::Result<()>>>,
    requests: u64,
}

/// What waits to be written.
#[derive(Default)]
struct Sheet {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// Nothing comes any more, or nobody writes.
    is_over: bool,
}

impl Sheet {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    /// A new recording at `path`, with digests over so many bytes of what is written, or none for 0.
    ///
    /// # Errors
    /// A file that is there already, or a name of a compression that cannot be read from the beginning on.
    pub fn create(path: &Path, digest_bytes: u32) -> Result<Self, TraceError> {
        let failed = |error| TraceError::io(path, error);
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("gz" | "xz")) {
            let why = "a recording is plain or compressed with zstd; end its name with .csv or .csv.zst";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        let (_, mut encoder) = encoder(&WriteOptions::named(FORMAT))?;
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
        let sheet = Arc::new(Sheet::default());
        encoder.begin(&mut sheet.lines().text);
        let writer = {
            let (sheet, is_compressed) = (sheet.clone(), ending == Some("zst"));
            let thread = std::thread::Builder::new().name("recording".into());
            thread.spawn(move || {
                let written = write_on(&sheet, file, is_compressed);
                sheet.lines().is_over = true;
                sheet.changed.notify_all();
                written
            })
        };
        let writer = Some(writer.map_err(failed)?);
        Ok(Recorder { path: path.to_owned(), encoder, digest_bytes, sheet, writer, requests: 0 })
    }

    /// Records a request, with the digests of what it writes. After the file could not be written nothing more is recorded, which
    /// [`Recorder::finish`] tells.
    ///
    /// # Errors
    /// A request that the format cannot hold: one of more digests than fit into a line.
    pub fn record(&mut self, request: &Request, digests: &[Digest]) -> Result<(), String> {
        let mut lines = self.sheet.lines();
        while lines.text.len() >= MOST_WAITING && !lines.is_over {
            lines = self.sheet.changed.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        if lines.is_over {
            return Ok(());
        }
        let before = lines.text.len();
        let content = Content { digests, digest_bytes: self.digest_bytes };
        if let Err(reason) = self.encoder.request(request, content, &mut lines.text) {
            lines.text.truncate(before);
            return Err(reason.into_owned());
        }
        self.requests += 1;
        if before < PIECE_BYTES && lines.text.len() >= PIECE_BYTES {
            self.sheet.changed.notify_all();
        }
        Ok(())
    }

    /// Ends the recording; how many requests it has.
    ///
    /// # Errors
    /// A file that could not be written.
    pub fn finish(mut self) -> Result<u64, TraceError> {
        self.end().map_err(|error| TraceError::io(&self.path, error))?;
        Ok(self.requests)
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        {
            let mut lines = self.sheet.lines();
            self.encoder.end(&mut lines.text);
            lines.is_over = true;
        }
        self.sheet.changed.notify_all();
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it panicked")))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Whoever wants to know finishes it.
        let _ = self.end();
    }
}

/// Writes what is on the sheet, until it is over.
fn write_on(sheet: &Sheet, mut file: File, is_compressed: bool) -> io::Result<()> {
    let mut piece = Vec::new();
    loop {
        let mut lines = sheet.lines();
        if lines.text.len() < PIECE_BYTES && !lines.is_over {
            lines = sheet.changed.wait_timeout(lines, SOON).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut lines.text, &mut piece);
        let is_over = lines.is_over;
        drop(lines);
        sheet.changed.notify_all();
        if !piece.is_empty() {
            if is_compressed {
                file.write_all(&zstd::encode_all(&piece[..], zstd::DEFAULT_COMPRESSION_LEVEL)?)?;
            } else {
                file.write_all(&piece)?;
            }
            piece.clear();
        }
        if is_over {
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
    fn what_was_recorded_is_read_plain_or_compressed() {
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

    /// As a killed process leaves it: read while it is still being recorded.
    #[test]
    fn what_was_recorded_a_moment_ago_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.csv.zst"] {
            let path = folder.path().join(name);
            let mut recorder = Recorder::create(&path, 0).unwrap();
            (0..10).for_each(|at| recorder.record(&request(at), &[]).unwrap());
            let end = std::time::Instant::now() + Duration::from_secs(60);
            while path.metadata().unwrap().len() == 0 {
                assert!(std::time::Instant::now() < end);
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(read(&path).len(), 10, "{name}");
            std::mem::forget(recorder);
        }
    }
}
