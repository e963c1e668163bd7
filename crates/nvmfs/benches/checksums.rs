//! Cost of checksums: the same operations with checksums of everything, of metadata only, and of nothing, in turns.
//!
//!     cargo bench -p wearwell-nvmfs --bench checksums -- [turns]
//!
//! NVRAM and SSD are in memory, so that only the file system takes time: on a drive, and behind FUSE, the
//! relative cost is smaller.

use std::sync::Arc;
use std::time::Instant;
use wearwell_nvmfs::api::{BLOCK_BYTES, Caller, FileSystem, Ino, Kind, ROOT, Result};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::Checksums;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::ssd::MemorySsd;

const NVRAM_BYTES: usize = 64 << 20;
const SSD_BLOCKS: u64 = 128 << 10;
const FILE_BLOCKS: u64 = 64 << 10;
const BLOCK: u64 = BLOCK_BYTES as u64;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 1 };
const KINDS: [Checksums; 3] = [Checksums::None, Checksums::Metadata, Checksums::All];
const JOBS: [&str; 6] = [
    "sequential writes",
    "sequential reads",
    "random writes",
    "random reads",
    "creates and removals",
    "unmounts and mounts",
];

type Fs = Nvmfs<PlainNvram, MemorySsd>;

/// Returns the seconds that each job takes.
fn measure(checksums: Checksums) -> Result<[f64; JOBS.len()]> {
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    let format = Format { checksums, ..Format::default() };
    let nvram = PlainNvram::new(NVRAM_BYTES);
    let mut fs = Fs::format(nvram, Arc::clone(&ssd), &format, Options::default()).expect("it fits");
    let ino = fs.create(ROOT, b"file", Kind::File, 0o600, 0, &CALLER)?.ino;
    let mut seconds = [0.0; JOBS.len()];
    let mut timed = |number: usize, fs: &mut Fs, work: &dyn Fn(&mut Fs) -> Result<()>| {
        let begin = Instant::now();
        let done = work(fs);
        seconds[number] = begin.elapsed().as_secs_f64();
        done
    };
    timed(0, &mut fs, &|fs| (0..FILE_BLOCKS / 64).try_for_each(|at| write(fs, ino, at * 64, 64)))?;
    timed(1, &mut fs, &|fs| (0..FILE_BLOCKS / 64).try_for_each(|at| read(fs, ino, at * 64, 64)))?;
    timed(2, &mut fs, &|fs| (0..FILE_BLOCKS).try_for_each(|at| write(fs, ino, scattered(at), 1)))?;
    timed(3, &mut fs, &|fs| (0..FILE_BLOCKS).try_for_each(|at| read(fs, ino, scattered(at), 1)))?;
    timed(4, &mut fs, &names)?;
    let begin = Instant::now();
    for _ in 0..4 {
        // Mounting a file system without checksums adds checksums of metadata, so `checksums` is set again.
        let nvram = fs.close();
        fs = Fs::mount(nvram, Arc::clone(&ssd), Options::default()).expect("it was closed").0;
    }
    seconds[5] = begin.elapsed().as_secs_f64();
    Ok(seconds)
}

/// Maps 0, 1, 2 and so on to block numbers in a scattered order; each block occurs once.
fn scattered(number: u64) -> u64 {
    number * 40_503 % FILE_BLOCKS
}

fn write(fs: &mut Fs, ino: Ino, block: u64, blocks: u64) -> Result<()> {
    let data = [7; 64 * BLOCK_BYTES];
    fs.write(ino, block * BLOCK, &data[..blocks as usize * BLOCK_BYTES], &CALLER).map(drop)
}

fn read(fs: &mut Fs, ino: Ino, block: u64, blocks: u64) -> Result<()> {
    let mut out = [0; 64 * BLOCK_BYTES];
    fs.read(ino, block * BLOCK, &mut out[..blocks as usize * BLOCK_BYTES], &CALLER).map(drop)
}

fn names(fs: &mut Fs) -> Result<()> {
    for directory in 0..20 {
        let dir = fs.make_directory(ROOT, format!("{directory}").as_bytes(), 0o700, &CALLER)?.ino;
        for file in 0..500 {
            fs.create(dir, format!("file {file}").as_bytes(), Kind::File, 0o600, 0, &CALLER)?;
        }
        (0..500).try_for_each(|file| fs.unlink(dir, format!("file {file}").as_bytes(), &CALLER))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let turns = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(9);
    let mut ratios: Vec<[Vec<f64>; 2]> = JOBS.map(|_| [Vec::new(), Vec::new()]).into();
    for _ in 0..turns {
        let [none, metadata, all] = KINDS.map(measure);
        let (none, rivals) = (none?, [metadata?, all?]);
        for (work, ratios) in ratios.iter_mut().enumerate() {
            for (ratios, rival) in ratios.iter_mut().zip(&rivals) {
                ratios.push(rival[work] / none[work]);
            }
        }
    }
    println!("time over that without checksums: of metadata, of all; the median of {turns} turns");
    for (name, ratios) in JOBS.iter().zip(ratios) {
        let [metadata, all] = ratios.map(|mut of| {
            of.sort_by(f64::total_cmp);
            of[of.len() / 2]
        });
        println!("{name:<22} {metadata:.3} {all:.3}");
    }
    Ok(())
}
