//! Cost of a mounted NVMFS, compared with a FUSE mount that forwards every call to a directory in memory.
//!
//!     cargo bench -p wearwell-mount --bench mount -- [--quick]
//!
//! Both file systems are mounted by the same code with the same options, in alternating rounds. Both rates include
//! the cost of FUSE, so their ratio compares the file systems. The directory and both devices are in memory, and all
//! data fits into the NVRAM. The kernel caches no names or attributes, so that every request reaches the file system.
//! A rate is the median of the rounds. On a shared machine, ratios vary by a tenth and rates by half.

#[path = "../tests/support/pass_through.rs"]
mod pass_through;

#[path = "../tests/support/devices.rs"]
mod devices;

use pass_through::PassThrough;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};
use wearwell_mount::{Mountable, Options, mount};

/// Number of rounds and operations.
struct Size {
    rounds: usize,
    writes: u64,
    synced_writes: u64,
    files: u64,
}

/// Size in bytes of the file for random writes.
const FILE_BYTES: u64 = 64 << 20;
const BLOCK: u64 = 4096;

/// Block with the alignment that direct I/O needs.
#[repr(align(4096))]
struct Block([u8; BLOCK as usize]);

/// Calls `each` for every operation. Returns the operations per second.
fn rate(operations: u64, mut each: impl FnMut(u64) -> io::Result<()>) -> io::Result<f64> {
    let begin = Instant::now();
    for number in 0..operations {
        each(number)?;
    }
    Ok(operations as f64 / begin.elapsed().as_secs_f64())
}

/// Maps numbers to pseudo-random block offsets in the file; equal in every run.
fn block_offset(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    mixed % (FILE_BYTES / BLOCK) * BLOCK
}

fn random_writes(at: &Path, writes: u64, flags: i32, sync: bool) -> io::Result<f64> {
    let file = OpenOptions::new().write(true).custom_flags(flags).open(at.join("file"))?;
    let block = Box::new(Block([7; BLOCK as usize]));
    rate(writes, |number| {
        file.write_all_at(&block.0, block_offset(number))?;
        if sync { file.sync_data() } else { Ok(()) }
    })
}

fn name(number: u64) -> String {
    format!("d{}/file {number}", number % 16)
}

/// Runs one round on a mounted file system. Returns the rate of each job.
fn jobs(at: &Path, size: &Size) -> io::Result<Vec<(&'static str, f64)>> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    fs::write(at.join("file"), vec![1; FILE_BYTES as usize])?;
    for directory in 0..16 {
        fs::create_dir(at.join(format!("d{directory}")))?;
    }
    Ok(vec![
        ("4 KiB random writes", random_writes(at, size.writes, 0, false)?),
        ("4 KiB random writes, O_DIRECT", random_writes(at, size.writes, direct, false)?),
        ("4 KiB random writes, each synced", random_writes(at, size.synced_writes, 0, true)?),
        ("create", rate(size.files, |number| File::create_new(at.join(name(number))).map(drop))?),
        ("stat", rate(size.files, |number| at.join(name(number)).metadata().map(drop))?),
        (
            "rename",
            rate(size.files, |number| {
                fs::rename(at.join(name(number)), at.join(format!("{} new", name(number))))
            })?,
        ),
        ("unlink", rate(size.files, |number| fs::remove_file(at.join(format!("{} new", name(number)))))?),
    ])
}

/// Mounts a file system, runs one round, and unmounts it.
fn round<F: Mountable + Send + 'static>(
    file_system: F,
    at: &Path,
    size: &Size,
) -> io::Result<Vec<(&'static str, f64)>> {
    let options = Options { cache_time: Duration::ZERO, ..Options::default() };
    let mounted = mount(file_system, at, &options)?;
    let rates = jobs(at, size)?;
    mounted.unmount()?;
    mounted.join()?;
    Ok(rates)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn main() -> io::Result<()> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/fuse") {
        println!("skipped: nothing can be mounted here: /dev/fuse: {error}");
        return Ok(());
    }
    let quick = std::env::args().any(|argument| argument == "--quick");
    let size = if quick {
        Size { rounds: 3, writes: 5_000, synced_writes: 2_000, files: 2_000 }
    } else {
        Size { rounds: 7, writes: 50_000, synced_writes: 20_000, files: 10_000 }
    };
    let mut rounds = Vec::new();
    for _ in 0..size.rounds {
        let directory = tempfile::TempDir::new_in("/dev/shm")?;
        let (at, below) = (directory.path().join("mounted"), directory.path().join("below"));
        fs::create_dir(&at)?;
        fs::create_dir(&below)?;
        let passed = round(PassThrough::new(&below)?, &at, &size)?;
        fs::remove_dir_all(&below)?;
        let ours = round(devices::create(directory.path(), 256 << 20, 512 << 20, 20_000), &at, &size)?;
        rounds.push((passed, ours));
    }
    println!("{:<34} {:>14} {:>10} {:>7}", "operations a second", "passed through", "NVMFS", "ratio");
    for job in 0..rounds[0].0.len() {
        let name = rounds[0].0[job].0;
        let passed = median(rounds.iter().map(|(passed, _)| passed[job].1).collect());
        let ours = median(rounds.iter().map(|(_, ours)| ours[job].1).collect());
        let ratio = median(rounds.iter().map(|(passed, ours)| ours[job].1 / passed[job].1).collect());
        println!("{name:<34} {passed:>14.0} {ours:>10.0} {ratio:>7.2}");
    }
    Ok(())
}
