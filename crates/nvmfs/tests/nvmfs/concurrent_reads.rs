//! Test of requests by many threads while other threads wait for the SSD, as on a mount. Waiting happens without the
//! lock, and the SSD is slow and sometimes fails. Each block that a read returns has the content that was written
//! last, or content that is being written.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use wearwell_base::seed::{Seed, random_below};
use wearwell_nvmfs::api::{Allocate, Caller, Error, FileSystem, Ino, Kind, ROOT, Result};
use wearwell_nvmfs::fs::{Nvmfs, Work};
use wearwell_nvmfs::layout::Checksums;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};

/// SSD with slow requests, on which about one read in a hundred and one flush in twelve fail. Writes do not fail: a
/// batch has one flush, but possibly one write per block, so hardly any batch would succeed.
struct SlowSsd {
    inner: MemorySsd,
    requests: AtomicU64,
    fails: AtomicBool,
}

impl SlowSsd {
    fn delay_or_fail(&self, one_in: u64) -> io::Result<()> {
        let number = self.requests.fetch_add(1, SeqCst);
        thread::sleep(Duration::from_micros(number % 5 * 20));
        match self.fails.load(SeqCst) && number % one_in == one_in - 1 {
            true => Err(io::Error::other("the drive failed")),
            false => Ok(()),
        }
    }
}

impl Ssd for SlowSsd {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.delay_or_fail(211)?;
        self.inner.read(first, out)
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        self.delay_or_fail(10_007)?;
        self.inner.write(first, data, stream)
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        self.inner.trim(first, blocks)
    }

    fn flush(&self) -> io::Result<()> {
        self.delay_or_fail(17)?;
        self.inner.flush()
    }
}

type Fs = Nvmfs<PlainNvram, SlowSsd>;

const THREADS: u64 = 4;
const FILES: usize = 2;
/// Bytes of a unit, whose content is tracked: half a block, so that some writes must read first.
const UNIT_BYTES: u64 = 2048;
/// Number of units of a file; each thread writes the units in its part of the file.
const UNITS: u64 = 4096;
const STEPS: u32 = 1200;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 1 };

/// File that all threads read, with the state of each unit.
struct TrackedFile {
    ino: Ino,
    /// For each unit, the number of the last write that began, and of the last write that returned.
    started: Vec<AtomicU64>,
    returned: Vec<AtomicU64>,
}

struct Fixture {
    fs: Mutex<Fs>,
    ssd: Arc<SlowSsd>,
    files: Vec<TrackedFile>,
    /// Number of times that requests waited.
    waits: AtomicU64,
    /// Number of extents flushed, recycled or trimmed.
    jobs: AtomicU64,
    is_over: AtomicBool,
}

impl Fixture {
    /// Runs a request as a mount does: repeats it after the work for which it must wait.
    fn request<T>(&self, mut handle: impl FnMut(&mut Fs) -> Result<T>) -> Result<T> {
        let mut waited: Option<(Work<SlowSsd>, io::Result<()>)> = None;
        loop {
            let mut fs = self.fs.lock().unwrap();
            fs.allow_waiting(true);
            if let Some((work, outcome)) = waited.take() {
                fs.end_background(work, outcome)?;
            }
            let answer = handle(&mut fs);
            let Err(Error::Wait) = answer else {
                fs.allow_waiting(false);
                return answer;
            };
            let work = fs.begin_wait();
            fs.allow_waiting(false);
            drop(fs);
            let counted = if matches!(work, Work::Write(_)) { &self.jobs } else { &self.waits };
            counted.fetch_add(1, SeqCst);
            let outcome = work.run();
            waited = Some((work, outcome));
        }
    }

    /// Writes the next number to units of this thread. A failed write changes either no unit or all units; a short
    /// write changes the first units.
    fn write(&self, file: &TrackedFile, units: Range<u64>) {
        let numbers = units.clone().map(|unit| file.started[unit as usize].fetch_add(1, SeqCst) + 1);
        let data: Vec<u8> =
            numbers.flat_map(|number| number.to_le_bytes().repeat(UNIT_BYTES as usize / 8)).collect();
        let begin = Instant::now();
        let (mut units, mut data) = (units, &data[..]);
        while begin.elapsed() < Duration::from_secs(600) {
            match self.request(|fs| fs.write(file.ino, units.start * UNIT_BYTES, data, &CALLER)) {
                Ok(written) => {
                    // If a write fails after its first block, the write is short; the next write writes the remaining
                    // units.
                    let whole_units = written as u64 / UNIT_BYTES;
                    let done = |unit: u64| file.started[unit as usize].load(SeqCst);
                    for unit in units.start..units.start + whole_units {
                        file.returned[unit as usize].store(done(unit), SeqCst);
                    }
                    units.start += whole_units;
                    data = &data[(whole_units * UNIT_BYTES) as usize..];
                    if units.is_empty() {
                        return;
                    }
                }
                // The write is repeated after a pause, in which the worker frees space.
                Err(Error::Ssd(_) | Error::NoSpace(_)) => thread::sleep(Duration::from_millis(1)),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("a write fails again and again");
    }

    fn read(&self, file: &TrackedFile, units: Range<u64>) {
        let oldest: Vec<u64> = units.clone().map(|unit| file.returned[unit as usize].load(SeqCst)).collect();
        let mut out = vec![0xee; ((units.end - units.start) * UNIT_BYTES) as usize];
        match self.request(|fs| fs.read(file.ino, units.start * UNIT_BYTES, &mut out, &CALLER)) {
            Ok(read) => assert_eq!(read, out.len()),
            Err(Error::Ssd(_)) => return,
            Err(error) => panic!("{error}"),
        }
        for ((unit, least), content) in units.zip(oldest).zip(out.chunks(UNIT_BYTES as usize)) {
            let newest = file.started[unit as usize].load(SeqCst);
            let (words, _) = content.as_chunks::<8>();
            let number = u64::from_le_bytes(words[0]);
            assert!(words.iter().all(|word| *word == words[0]), "unit {unit} is torn");
            assert!(
                (least..=newest).contains(&number),
                "unit {unit} is {number}, not from {least} to {newest}"
            );
        }
    }

    /// Creates and removes a file of this thread, so that extents are used and freed.
    fn create_and_remove(&self, name: &[u8], blocks: u64) {
        let created = self.request(|fs| fs.create(ROOT, name, Kind::File, 0o644, 0, &CALLER));
        let Ok(made) = created else { return };
        for block in 0..blocks {
            let _ = self.request(|fs| fs.write(made.ino, block * 4096, &[7; 4096], &CALLER));
        }
        let punched = self.request(|fs| fs.allocate(made.ino, Allocate::Punch, 1000, 70_000, &CALLER));
        assert!(matches!(punched, Ok(()) | Err(Error::Ssd(_) | Error::NoSpace(_))), "{punched:?}");
        self.request(|fs| fs.unlink(ROOT, name, &CALLER)).unwrap();
    }

    fn run_requests(&self, thread: u64) {
        let mut random = Seed(thread).derive("beside").random();
        let part = UNITS / THREADS;
        for _ in 0..STEPS {
            let file = &self.files[random_below(&mut random, FILES as u64) as usize];
            let length = 1 + random_below(&mut random, 9);
            match random_below(&mut random, 20) {
                0..8 => {
                    let from = thread * part + random_below(&mut random, part - length);
                    self.write(file, from..from + length);
                }
                8..19 => {
                    let from = random_below(&mut random, UNITS - 4 * length);
                    self.read(file, from..from + 4 * length);
                }
                _ => self.create_and_remove(format!("own {thread}").as_bytes(), 10 * length),
            }
        }
    }

    /// Flushes and recycles until the end of the test; failed work is retried.
    fn run_background(&self) {
        while !self.is_over.load(SeqCst) {
            let Ok(Some(work)) = self.fs.lock().unwrap().begin_background() else {
                thread::yield_now();
                continue;
            };
            let outcome = work.run();
            let ended = self.fs.lock().unwrap().end_background(work, outcome);
            assert!(matches!(ended, Ok(()) | Err(Error::Ssd(_))), "{ended:?}");
            self.jobs.fetch_add(1, SeqCst);
        }
    }
}

fn fixture(placement: PlacementKind, checksums: Checksums) -> Fixture {
    let format = Format { inodes: Some(64), placement, checksums, ..Format::default() };
    let options =
        Options { flush_above: 0.3, flush_below: 0.2, small_file_bytes: 4096, ..Options::default() };
    let ssd = SlowSsd {
        inner: MemorySsd::new(44 * 128),
        requests: AtomicU64::new(0),
        fails: AtomicBool::new(false),
    };
    let ssd = Arc::new(ssd);
    let mut fs = Fs::format(PlainNvram::new(6 << 20), ssd.clone(), &format, options).unwrap();
    fs.use_background_thread();
    let make = |file: usize| {
        let name = format!("file {file}");
        let created = fs.create(ROOT, name.as_bytes(), Kind::File, 0o644, 0, &CALLER).unwrap();
        fs.write(created.ino, 0, &vec![0; (UNITS * UNIT_BYTES) as usize], &CALLER).unwrap();
        let zeros = || (0..UNITS).map(|_| AtomicU64::new(0)).collect();
        TrackedFile { ino: created.ino, started: zeros(), returned: zeros() }
    };
    let files = (0..FILES).map(make).collect();
    let (waits, works, ends) = Default::default();
    Fixture { fs: Mutex::new(fs), ssd, files, waits, jobs: works, is_over: ends }
}

fn run_threads(placement: PlacementKind, checksums: Checksums) {
    let world = fixture(placement, checksums);
    world.ssd.fails.store(true, SeqCst);
    thread::scope(|scope| {
        let worker = scope.spawn(|| world.run_background());
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let world = &world;
                scope.spawn(move || world.run_requests(thread))
            })
            .collect();
        let results: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        world.is_over.store(true, SeqCst);
        worker.join().unwrap();
        results.into_iter().for_each(|end| end.unwrap());
    });
    world.ssd.fails.store(false, SeqCst);
    let (waits, works) = (world.waits.load(SeqCst), world.jobs.load(SeqCst));
    assert!(waits > 100 && works > 10, "{waits} waits, {works} pieces of work");
    world.files.iter().for_each(|file| world.read(file, 0..UNITS));
    world.fs.into_inner().unwrap().store().check().unwrap();
}

#[test]
fn requests_wait_concurrently() {
    run_threads(PlacementKind::Nvmfs, Checksums::All);
}

/// Without data checksums, only the tracking of locations detects a stale read.
#[test]
fn requests_wait_concurrently_without_data_checksums() {
    run_threads(PlacementKind::Nvmfs, Checksums::Metadata);
}

#[test]
fn requests_wait_concurrently_with_fixed_places() {
    run_threads(PlacementKind::Conquest, Checksums::Metadata);
}
