//! Time of creating and deleting snapshots, and the delay of requests during a deletion.
//!
//!     cargo bench -p wearwell-nvmfs --bench snapshots -- [files] [MiB of the large file]
//!
//! By default, a hundred thousand small files and a large one of 2 GiB. NVRAM and SSD are simulated in memory, so
//! that only the file system takes time.

use std::sync::Arc;
use std::time::{Duration, Instant};
use wearwell_nvmfs::api::{Caller, FileSystem, Ino, Kind, ROOT, Result};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::ssd::MemorySsd;

const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 1 };
const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;
/// Number of blocks that the thread of a mount frees before it lets requests proceed.
const BLOCKS_PER_STEP: u64 = 2048;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

fn create(
    files: u32,
    large_mib: u64,
) -> std::result::Result<(Fs, Ino, Vec<Ino>), Box<dyn std::error::Error>> {
    let blocks = large_mib * MIB / BLOCK;
    // Space for the small files and the large file, and for a second copy of the large file.
    let ssd = Arc::new(MemorySsd::new(3 * blocks + 4 * u64::from(files)));
    let nvram =
        PlainNvram::new(((256 * MIB + 600 * u64::from(files) + 64 * blocks) as usize).next_multiple_of(4096));
    let mut fs = Fs::format(nvram, ssd, &Format::default(), Options::default())?;
    let large = fs.create(ROOT, b"large", Kind::File, 0o644, 0, &CALLER)?.ino;
    write_all(&mut fs, large, large_mib, 1)?;
    let mut small = Vec::new();
    for number in 0..files {
        let name = format!("a small file {number}");
        let ino = fs.create(ROOT, name.as_bytes(), Kind::File, 0o644, 0, &CALLER)?.ino;
        fs.write(ino, 0, &[number as u8; 500], &CALLER)?;
        small.push(ino);
    }
    Ok((fs, large, small))
}

fn write_all(fs: &mut Fs, ino: Ino, mib: u64, byte: u8) -> Result<()> {
    let piece = vec![byte; MIB as usize];
    (0..mib).try_for_each(|at| fs.write(ino, at * MIB, &piece, &CALLER).map(drop))
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Writes one block at each of `blocks` offsets of the large file; returns the microseconds per write.
fn write_blocks(fs: &mut Fs, ino: Ino, blocks: u64) -> Result<f64> {
    let begin = Instant::now();
    (0..blocks)
        .try_for_each(|number| fs.write(ino, number * 16 * BLOCK, &[7; BLOCK as usize], &CALLER).map(drop))?;
    Ok(us(begin.elapsed()) / blocks as f64)
}

/// Deletes a snapshot in steps, as a mount does; a request waits for at most one step.
fn delete(fs: &mut Fs, name: &str) -> Result<()> {
    let blocks = fs.store().blocks_of_snapshot(name)?;
    let begin = Instant::now();
    fs.begin_deleting_snapshot(name)?;
    let (mut steps, mut longest) = (0, Duration::ZERO);
    loop {
        let begin = Instant::now();
        let is_over = !fs.continue_deleting(BLOCKS_PER_STEP)?;
        longest = longest.max(begin.elapsed());
        steps += 1;
        if is_over {
            break;
        }
    }
    println!(
        "{name} deleted, which had {blocks} blocks: {:.1} ms in {steps} steps, the longest {:.0} us",
        us(begin.elapsed()) / 1e3,
        us(longest)
    );
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let files = numbers.next().unwrap_or(100_000u32);
    let large_mib = u64::from(numbers.next().unwrap_or(2048));
    let (mut fs, large, small) = create(files, large_mib)?;
    println!("{files} small files, and one of {large_mib} MiB");
    let blocks = large_mib * MIB / BLOCK / 16;
    println!("a block written: {:.2} us", write_blocks(&mut fs, large, blocks)?);
    for name in ["first", "second", "third"] {
        let begin = Instant::now();
        fs.create_snapshot(name, 1)?;
        println!("{name} made in {:.1} us", us(begin.elapsed()));
        println!("a block written for the first time since: {:.2} us", write_blocks(&mut fs, large, blocks)?);
        println!("for the second time: {:.2} us", write_blocks(&mut fs, large, blocks)?);
    }
    let begin = Instant::now();
    small.iter().try_for_each(|ino| fs.write(*ino, 0, &[1; 500], &CALLER).map(drop))?;
    println!(
        "a small file written for the first time: {:.2} us",
        us(begin.elapsed()) / f64::from(files.max(1))
    );
    let begin = Instant::now();
    fs.unlink(ROOT, b"large", &CALLER)?;
    println!("the large file removed, which the snapshots have: {:.0} us", us(begin.elapsed()));
    // Deleting the newest snapshot first moves everything that the older snapshots need to them.
    for name in ["third", "second", "first"] {
        delete(&mut fs, name)?;
    }
    Ok(())
}
