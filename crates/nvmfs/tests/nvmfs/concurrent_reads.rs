//! Requests of many threads while other threads wait for the SSD, as on a mount: waiting happens without the lock, and
//! the SSD is slow and sometimes fails. Each block that a read returns has the content written last, or one
//! being written at the moment.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use wearwell_base::seed::{Seed, below};
use wearwell_nvmfs::api::{Allocate, Caller, Error, FileSystem, Ino, Kind, ROOT, Result};
use wearwell_nvmfs::fs::{Nvmfs, Work};
use wearwell_nvmfs::layout::Checksums;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};

/// SSD with slow requests, on which about one read in a hundred and one flush in a dozen fail. A batch has one
/// flush, but possibly one write per block: if writes failed at this rate, hardly any batch would succeed.
struct Slow {
    inner: MemorySsd,
    requests: AtomicU64,
    fails: AtomicBool,
}

impl Slow {
    fn pass(&self, one_in: u64) -> io::Result<()> {
        let number = self.requests.fetch_add(1, SeqCst);
        thread::sleep(Duration::from_micros(number % 5 * 20));
        match self.fails.load(SeqCst) && number % one_in == one_in - 1 {
            true => Err(io::Error::other("the drive failed")),
            false => Ok(()),
        }
    }
}

impl Ssd for Slow {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.pass(211)?;
        self.inner.read(first, out)
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        self.pass(10_007)?;
        self.inner.write(first, data, stream)
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        self.inner.trim(first, blocks)
    }

    fn flush(&self) -> io::Result<()> {
        self.pass(17)?;
        self.inner.flush()
    }
}

type Fs = Nvmfs<PlainNvram, Slow>;

const THREADS: u64 = 4;
const FILES: usize = 2;
/// Unit of tracking: half a block, so that some writes must read first.
const UNIT_BYTES: u64 = 2048;
/// Units of a file; each thread writes those in its own part.
const UNITS: u64 = 4096;
const STEPS: u32 = 1200;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 1 };

/// File that all threads read, with the state of each unit.
struct Followed {
    ino: Ino,
    /// Number of the last write that began, and of the last one that returned.
    begun: Vec<AtomicU64>,
    done: Vec<AtomicU64>,
}

struct World {
    fs: Mutex<Fs>,
    ssd: Arc<Slow>,
    files: Vec<Followed>,
    /// Number of waits of requests, and of extents flushed, recycled or trimmed.
    waits: AtomicU64,
    works: AtomicU64,
    ends: AtomicBool,
}

impl World {
    /// Runs a request as a mount does.
    fn request<T>(&self, mut handle: impl FnMut(&mut Fs) -> Result<T>) -> Result<T> {
        let mut waited: Option<(Work<Slow>, io::Result<()>)> = None;
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
            let counted = if matches!(work, Work::Write(_)) { &self.works } else { &self.waits };
            counted.fetch_add(1, SeqCst);
            let outcome = work.run();
            waited = Some((work, outcome));
        }
    }

    /// Writes the next number to units of this thread. A failed write changes nothing or everything, a short one its first units.
    fn write(&self, file: &Followed, units: Range<u64>) {
        let numbers = units.clone().map(|unit| file.begun[unit as usize].fetch_add(1, SeqCst) + 1);
        let data: Vec<u8> =
            numbers.flat_map(|number| number.to_le_bytes().repeat(UNIT_BYTES as usize / 8)).collect();
        let begin = Instant::now();
        let (mut units, mut data) = (units, &data[..]);
        while begin.elapsed() < Duration::from_secs(60) {
            match self.request(|fs| fs.write(file.ino, units.start * UNIT_BYTES, data, &CALLER)) {
                Ok(written) => {
                    // A write that fails behind its first block is short; the rest is written by the next one.
                    let whole_units = written as u64 / UNIT_BYTES;
                    let done = |unit: u64| file.begun[unit as usize].load(SeqCst);
                    for unit in units.start..units.start + whole_units {
                        file.done[unit as usize].store(done(unit), SeqCst);
                    }
                    units.start += whole_units;
                    data = &data[(whole_units * UNIT_BYTES) as usize..];
                    if units.is_empty() {
                        return;
                    }
                }
                // The write is retried, while the worker frees space.
                Err(Error::Ssd(_) | Error::NoSpace(_)) => thread::sleep(Duration::from_millis(1)),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("a write fails again and again");
    }

    fn read(&self, file: &Followed, units: Range<u64>) {
        let least: Vec<u64> = units.clone().map(|unit| file.done[unit as usize].load(SeqCst)).collect();
        let mut out = vec![0xee; ((units.end - units.start) * UNIT_BYTES) as usize];
        match self.request(|fs| fs.read(file.ino, units.start * UNIT_BYTES, &mut out, &CALLER)) {
            Ok(read) => assert_eq!(read, out.len()),
            Err(Error::Ssd(_)) => return,
            Err(error) => panic!("{error}"),
        }
        for ((unit, least), content) in units.zip(least).zip(out.chunks(UNIT_BYTES as usize)) {
            let most = file.begun[unit as usize].load(SeqCst);
            let (words, _) = content.as_chunks::<8>();
            let number = u64::from_le_bytes(words[0]);
            assert!(words.iter().all(|word| *word == words[0]), "unit {unit} is torn");
            assert!((least..=most).contains(&number), "unit {unit} is {number}, not from {least} to {most}");
        }
    }

    /// Creates and removes a file of this thread, so that extents are used and freed.
    fn come_and_go(&self, name: &[u8], blocks: u64) {
        let made = self.request(|fs| fs.create(ROOT, name, Kind::File, 0o644, 0, &CALLER));
        let Ok(made) = made else { return };
        for block in 0..blocks {
            let _ = self.request(|fs| fs.write(made.ino, block * 4096, &[7; 4096], &CALLER));
        }
        let punched = self.request(|fs| fs.allocate(made.ino, Allocate::Punch, 1000, 70_000, &CALLER));
        assert!(matches!(punched, Ok(()) | Err(Error::Ssd(_) | Error::NoSpace(_))), "{punched:?}");
        self.request(|fs| fs.unlink(ROOT, name, &CALLER)).unwrap();
    }

    fn live(&self, thread: u64) {
        let mut random = Seed(thread).of("beside").random();
        let part = UNITS / THREADS;
        for _ in 0..STEPS {
            let file = &self.files[below(&mut random, FILES as u64) as usize];
            let length = 1 + below(&mut random, 9);
            match below(&mut random, 20) {
                0..8 => {
                    let from = thread * part + below(&mut random, part - length);
                    self.write(file, from..from + length);
                }
                8..19 => {
                    let from = below(&mut random, UNITS - 4 * length);
                    self.read(file, from..from + 4 * length);
                }
                _ => self.come_and_go(format!("own {thread}").as_bytes(), 10 * length),
            }
        }
    }

    /// Flushes and recycles until the end of the test; failed work is retried.
    fn work(&self) {
        while !self.ends.load(SeqCst) {
            let Ok(Some(work)) = self.fs.lock().unwrap().begin_background() else {
                thread::yield_now();
                continue;
            };
            let outcome = work.run();
            let ended = self.fs.lock().unwrap().end_background(work, outcome);
            assert!(matches!(ended, Ok(()) | Err(Error::Ssd(_))), "{ended:?}");
            self.works.fetch_add(1, SeqCst);
        }
    }
}

fn world(placement: PlacementKind, checksums: Checksums) -> World {
    let format = Format { inodes: Some(64), placement, checksums, ..Format::default() };
    let options =
        Options { flush_above: 0.3, flush_below: 0.2, small_file_bytes: 4096, ..Options::default() };
    let ssd =
        Slow { inner: MemorySsd::new(44 * 128), requests: AtomicU64::new(0), fails: AtomicBool::new(false) };
    let ssd = Arc::new(ssd);
    let mut fs = Fs::format(PlainNvram::new(6 << 20), ssd.clone(), &format, options).unwrap();
    fs.use_background_thread();
    let make = |file: usize| {
        let name = format!("file {file}");
        let made = fs.create(ROOT, name.as_bytes(), Kind::File, 0o644, 0, &CALLER).unwrap();
        fs.write(made.ino, 0, &vec![0; (UNITS * UNIT_BYTES) as usize], &CALLER).unwrap();
        let zeros = || (0..UNITS).map(|_| AtomicU64::new(0)).collect();
        Followed { ino: made.ino, begun: zeros(), done: zeros() }
    };
    let files = (0..FILES).map(make).collect();
    let (waits, works, ends) = Default::default();
    World { fs: Mutex::new(fs), ssd, files, waits, works, ends }
}

fn many_threads(placement: PlacementKind, checksums: Checksums) {
    let world = world(placement, checksums);
    world.ssd.fails.store(true, SeqCst);
    thread::scope(|scope| {
        let worker = scope.spawn(|| world.work());
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let world = &world;
                scope.spawn(move || world.live(thread))
            })
            .collect();
        let ended: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        world.ends.store(true, SeqCst);
        worker.join().unwrap();
        ended.into_iter().for_each(|end| end.unwrap());
    });
    world.ssd.fails.store(false, SeqCst);
    let (waits, works) = (world.waits.load(SeqCst), world.works.load(SeqCst));
    assert!(waits > 100 && works > 10, "{waits} waits, {works} pieces of work");
    world.files.iter().for_each(|file| world.read(file, 0..UNITS));
    world.fs.into_inner().unwrap().store().check().unwrap();
}

#[test]
fn requests_wait_concurrently() {
    many_threads(PlacementKind::Nvmfs, Checksums::All);
}

/// Without data checksums, only the tracking of locations detects a stale read.
#[test]
fn requests_wait_concurrently_without_data_checksums() {
    many_threads(PlacementKind::Nvmfs, Checksums::Metadata);
}

#[test]
fn requests_wait_concurrently_with_fixed_places() {
    many_threads(PlacementKind::Conquest, Checksums::Metadata);
}
