//! Jobs on a mounted file system.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Number of rounds and operations.
pub struct Size {
    pub rounds: usize,
    writes: u64,
    synced_writes: u64,
    files: u64,
    read_time: Duration,
}

pub const QUICK: Size =
    Size { rounds: 3, writes: 20_000, synced_writes: 2_000, files: 2_000, read_time: Duration::from_secs(3) };
pub const FULL: Size = Size {
    rounds: 7,
    writes: 60_000,
    synced_writes: 10_000,
    files: 10_000,
    read_time: Duration::from_secs(10),
};

const BLOCK: u64 = 4096;
/// Number of user threads, each with its own file.
const USERS: u64 = 4;
/// Bytes of the file of each user thread.
const FILE_BYTES: u64 = 16 << 20;
/// Bytes of the file that is read from the SSD, several times the size of the NVRAM.
const COLD_BYTES: u64 = 512 << 20;
const READ_BYTES: usize = 1 << 20;

/// Block with the alignment that direct I/O needs.
#[derive(Clone)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK as usize]);

fn file_of(at: &Path, user: u64) -> std::path::PathBuf {
    at.join(format!("file {user}"))
}

/// Maps numbers to pseudo-random block offsets in a file; equal in every run.
fn block_offset(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    mixed % (FILE_BYTES / BLOCK) * BLOCK
}

/// Runs the operations on `users` threads. Returns the total operations per second.
fn rate(
    users: u64,
    operations: u64,
    one: impl Fn(u64, std::ops::Range<u64>) -> io::Result<()> + Sync,
) -> io::Result<f64> {
    let each = operations / users;
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> =
            (0..users).map(|user| scope.spawn(move || one(user, user * each..(user + 1) * each))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok((users * each) as f64 / begin.elapsed().as_secs_f64())
}

fn random_writes(at: &Path, users: u64, writes: u64, flags: i32, sync: bool) -> io::Result<f64> {
    let block = Block([7; BLOCK as usize]);
    rate(users, writes, |user, numbers| {
        let file = OpenOptions::new().write(true).custom_flags(flags).open(file_of(at, user))?;
        for number in numbers {
            file.write_all_at(&block.0, block_offset(number))?;
            if sync {
                file.sync_data()?;
            }
        }
        Ok(())
    })
}

fn random_reads(at: &Path, users: u64, reads: u64, flags: i32) -> io::Result<f64> {
    rate(users, reads, |user, mut numbers| {
        let file = OpenOptions::new().read(true).custom_flags(flags).open(file_of(at, user))?;
        let mut block = Box::new(Block([0; BLOCK as usize]));
        numbers.try_for_each(|number| file.read_exact_at(&mut block.0, block_offset(number)))
    })
}

fn names(at: &Path, users: u64, files: u64) -> io::Result<f64> {
    rate(users, files, |user, mut numbers| {
        let directory = at.join(format!("d{user}"));
        numbers.try_for_each(|number| {
            let path = directory.join(number.to_string());
            File::create_new(&path)?;
            fs::remove_file(path)
        })
    })
}

/// Runs all jobs. Returns the rate of each.
pub fn rates(at: &Path, size: &Size) -> io::Result<Vec<(&'static str, f64)>> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    for user in 0..USERS {
        fs::write(file_of(at, user), vec![1; FILE_BYTES as usize])?;
        fs::create_dir_all(at.join(format!("d{user}")))?;
    }
    let rates = vec![
        ("random writes", random_writes(at, 1, size.writes, 0, false)?),
        ("random writes, 4 users", random_writes(at, USERS, size.writes, 0, false)?),
        ("O_DIRECT writes", random_writes(at, 1, size.writes, direct, false)?),
        ("O_DIRECT writes, 4 users", random_writes(at, USERS, size.writes, direct, false)?),
        ("synced writes", random_writes(at, 1, size.synced_writes, 0, true)?),
        ("synced writes, 4 users", random_writes(at, USERS, size.synced_writes, 0, true)?),
        ("O_DIRECT reads", random_reads(at, 1, size.writes, direct)?),
        ("O_DIRECT reads, 4 users", random_reads(at, USERS, size.writes, direct)?),
        ("names made and removed", names(at, 1, size.files)?),
        ("names made and removed, 4 users", names(at, USERS, size.files)?),
    ];
    (0..USERS).try_for_each(|user| fs::remove_file(file_of(at, user)))?;
    Ok(rates)
}

/// Latency of operations on names in us, and throughput of the concurrent reads.
pub struct Latency {
    median: f64,
    p99: f64,
    max: f64,
    read_mib_s: f64,
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8.0} {:>8.0} {:>8.0} {:>8.0}", self.median, self.p99, self.max, self.read_mib_s)
    }
}

/// Creates and removes names while another thread reads a file that is only on the SSD.
pub fn name_latency_during_reads(at: &Path, size: &Size) -> io::Result<Latency> {
    let path = at.join("cold");
    let file = File::create(&path)?;
    let piece = vec![5; READ_BYTES];
    (0..COLD_BYTES).step_by(READ_BYTES).try_for_each(|offset| file.write_all_at(&piece, offset))?;
    file.sync_all()?;
    // Waits for background flushing.
    std::thread::sleep(Duration::from_secs(1));
    let (ends, read) = (AtomicBool::new(false), AtomicU64::new(0));
    let begin = Instant::now();
    let took: io::Result<Vec<f64>> = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_repeatedly(&path, &ends, &read));
        let mut took = Vec::new();
        let outcome: io::Result<()> =
            (0..).take_while(|_| begin.elapsed() < size.read_time).try_for_each(|number| {
                let name = at.join(format!("name {number}"));
                let begin = Instant::now();
                File::create_new(&name)?;
                fs::remove_file(&name)?;
                took.push(begin.elapsed().as_secs_f64() * 1e6);
                Ok(())
            });
        ends.store(true, Relaxed);
        reader.join().expect("no panic")?;
        outcome.map(|()| took)
    });
    let mut took = took?;
    let read_mib_s = read.load(Relaxed) as f64 / begin.elapsed().as_secs_f64() / f64::from(1 << 20);
    fs::remove_file(path)?;
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    Ok(Latency { median: at(0.5), p99: at(0.99), max: at(1.0), read_mib_s })
}

fn read_repeatedly(path: &Path, is_over: &AtomicBool, read: &AtomicU64) -> io::Result<()> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(direct).open(path)?;
    let mut blocks = vec![Block([0; BLOCK as usize]); READ_BYTES / BLOCK as usize];
    // SAFETY: the blocks are plain bytes without gaps.
    let buffer = unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast::<u8>(), READ_BYTES) };
    let mut offset = 0;
    while !is_over.load(Relaxed) {
        file.read_exact_at(buffer, offset)?;
        read.fetch_add(READ_BYTES as u64, Relaxed);
        offset = (offset + READ_BYTES as u64) % COLD_BYTES;
    }
    Ok(())
}
