//! Failing drives: the affected operations return errors, and durable data survives.

use crate::common::content;
use crate::damaged::image::options;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use wearwell_nvmfs::api::{BLOCK_BYTES, Caller, Error, FileSystem, Ino, Kind, ROOT};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::Format;
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};
use wearwell_nvmfs::store::OpenError;

/// Type of request that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Read,
    Write,
    Flush,
    Trim,
}

/// Drive on which some requests fail, once or permanently.
struct FailingSsd {
    inner: MemorySsd,
    failing: Request,
    /// Number of requests of this type before the first failure.
    requests_before_failure: AtomicU64,
    /// Number of requests that fail from then on.
    failures: AtomicU64,
    failed: AtomicU64,
}

impl FailingSsd {
    fn new(blocks: u64, which: Request) -> Self {
        let inner = MemorySsd::new(blocks);
        FailingSsd {
            inner,
            failing: which,
            requests_before_failure: AtomicU64::new(u64::MAX),
            failures: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    fn request(&self, which: Request) -> io::Result<()> {
        if which != self.failing {
            return Ok(());
        }
        let after = self.requests_before_failure.load(SeqCst);
        if after == u64::MAX {
            return Ok(());
        }
        self.requests_before_failure.store(after.saturating_sub(1), SeqCst);
        if after > 0 || self.failed.load(SeqCst) >= self.failures.load(SeqCst) {
            return Ok(());
        }
        self.failed.fetch_add(1, SeqCst);
        Err(io::Error::other("the drive failed"))
    }
}

impl Ssd for FailingSsd {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.request(Request::Read)?;
        self.inner.read(first, out)
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        if let Err(error) = self.request(Request::Write) {
            // Only a part of the data is written.
            self.inner.write(first, &data[..data.len() / BLOCK_BYTES / 2 * BLOCK_BYTES], stream)?;
            return Err(error);
        }
        self.inner.write(first, data, stream)
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        self.request(Request::Trim)?;
        self.inner.trim(first, blocks)
    }

    fn flush(&self) -> io::Result<()> {
        self.request(Request::Flush)?;
        self.inner.flush()
    }
}

type Fs = Nvmfs<PlainNvram, FailingSsd>;
const FILES: usize = 6;
const PARTS: usize = 90;
const PART_BYTES: usize = 10_000;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 5 };

/// Files on a failing drive, with their possible content.
struct Fixture {
    drive: Arc<FailingSsd>,
    inos: Vec<Ino>,
    /// For each part of each file: the content written last, and the content of each failed write since then.
    possible: Vec<Vec<Vec<u8>>>,
    errors: usize,
}

impl Fixture {
    fn new(placement: PlacementKind, which: Request) -> (Self, Fs) {
        let drive = Arc::new(FailingSsd::new(2048, which));
        let format = Format { inodes: Some(64), placement, ..Format::default() };
        let nvram = PlainNvram::new(4 << 20);
        let mut fs = Nvmfs::format(nvram, Arc::clone(&drive), &format, options()).expect("a fresh one");
        let mut make = |number: usize| {
            let name = format!("{number}");
            fs.create(ROOT, name.as_bytes(), Kind::File, 0o644, 0, &CALLER).expect("room").ino
        };
        let inos = (0..FILES).map(&mut make).collect();
        let mut fixture = Fixture { drive, inos, possible: vec![vec![vec![0]; PARTS]; FILES], errors: 0 };
        for number in 0..FILES * PARTS {
            fixture.write(&mut fs, number % FILES, number / FILES, number as u8);
        }
        assert!(fs.stats().ssd_valid_blocks > 300, "more than stays on NVRAM");
        (fixture, fs)
    }

    /// Checks that an error of the drive was reported; returns true if the operation succeeded.
    fn check_result(&mut self, failed_before: u64, result: Result<(), Error>) -> bool {
        let failed = self.drive.failed.load(SeqCst) > failed_before && self.drive.failing != Request::Trim;
        match result {
            Ok(()) => assert!(!failed, "nobody was told"),
            Err(Error::Ssd(_)) => {
                assert!(failed, "there was nothing to tell");
                self.errors += 1;
                return false;
            }
            Err(error) => panic!("{error}"),
        }
        true
    }

    fn write(&mut self, fs: &mut Fs, file: usize, part: usize, seed: u8) {
        let failed_before = self.drive.failed.load(SeqCst);
        let data = content(seed, PART_BYTES);
        let written = fs.write(self.inos[file], (part * PART_BYTES) as u64, &data, &CALLER);
        let may = &mut self.possible[file][part];
        match written {
            Ok(PART_BYTES) => *may = vec![seed],
            _ => may.push(seed),
        }
        if written.as_ref().is_ok_and(|length| *length < PART_BYTES) {
            // A short length reports the data that was written before the drive failed.
            assert!(self.drive.failed.load(SeqCst) > failed_before, "there is room");
            self.errors += 1;
            return;
        }
        self.check_result(failed_before, written.map(drop));
    }

    fn read(&mut self, fs: &mut Fs, file: usize, part: usize) {
        let failed_before = self.drive.failed.load(SeqCst);
        let mut out = vec![0; PART_BYTES];
        let read = fs.read(self.inos[file], (part * PART_BYTES) as u64, &mut out, &CALLER);
        if self.check_result(failed_before, read.map(drop)) {
            // A failed write may have changed some of its blocks.
            let may: Vec<Vec<u8>> =
                self.possible[file][part].iter().map(|seed| content(*seed, PART_BYTES)).collect();
            let is_known = |at: usize| may.iter().any(|content| content[at] == out[at]);
            let strange = (0..PART_BYTES).find(|at| !is_known(*at));
            assert_eq!(strange, None, "file {file}, part {part}");
        }
    }

    fn play(&mut self, fs: &mut Fs, steps: usize) {
        for step in 0..steps {
            let number = step * 131 % (FILES * PARTS);
            let (file, part) = (number % FILES, number / FILES);
            if step % 3 == 2 {
                self.read(fs, file, part);
            } else {
                self.write(fs, file, part, step as u8);
            }
        }
        fs.store().check().expect("the store adds up");
    }

    fn read_all(&mut self, fs: &mut Fs) {
        for number in 0..FILES * PARTS {
            self.read(fs, number % FILES, number / FILES);
        }
    }
}

#[test]
fn drive_failures_are_reported_and_nothing_is_lost() {
    let requests = [Request::Read, Request::Write, Request::Flush, Request::Trim];
    for (placement, which) in PlacementKind::ALL.into_iter().flat_map(|kind| requests.map(|one| (kind, one)))
    {
        let mut errors = 0;
        // The drive fails once, several times or permanently, early or late.
        for (after, many) in [(0, 1), (1, 1), (2, 1), (5, 1), (0, 4), (3, 10), (0, u64::MAX), (7, u64::MAX)] {
            let (mut fixture, mut fs) = Fixture::new(placement, which);
            fixture.drive.requests_before_failure.store(after, SeqCst);
            fixture.drive.failures.store(many, SeqCst);
            fixture.play(&mut fs, 400);
            errors += fixture.errors;
            fixture.drive.failures.store(0, SeqCst);
            fixture.read_all(&mut fs);
            fixture.play(&mut fs, 60);
            let nvram = if after % 2 == 0 { fs.close() } else { fs.into_store().region.into_nvram() };
            let (mut fs, found) =
                Nvmfs::mount(nvram, Arc::clone(&fixture.drive), options()).expect("the drive is well again");
            assert_eq!(found.scan.problem_count, 0);
            fixture.read_all(&mut fs);
            fs.store().check().expect("the store adds up");
        }
        assert_eq!(errors > 0, which != Request::Trim, "{placement:?}, {which:?}: {errors} errors");
    }
}

#[test]
fn unreadable_drive_is_not_reported_as_damage() {
    let (fixture, fs) = Fixture::new(PlacementKind::Nvmfs, Request::Read);
    let nvram = fs.close();
    let bytes = nvram.into_bytes();
    fixture.drive.requests_before_failure.store(0, SeqCst);
    fixture.drive.failures.store(1, SeqCst);
    let mount = || Nvmfs::mount(PlainNvram::from(bytes.clone()), Arc::clone(&fixture.drive), options());
    assert!(matches!(mount().map(drop), Err(OpenError::Ssd(_))));
    mount().map(drop).expect("the next time it can be read");
}
