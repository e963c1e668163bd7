//! Time of a mount after a crash of the process, time of a quick `fsck` after a clean close, and the memory that both
//! use in addition to the NVRAM.
//!
//!     cargo bench -p wearwell-nvmfs --bench recovery -- [files] [GiB of NVRAM]
//!
//! By default, a million small files in a hundred directories and 4 GiB of NVRAM, all in /dev/shm, which needs this
//! much free memory.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use wearwell_nvmfs::api::{Caller, FileSystem, Ino, Kind, ROOT, Result};
use wearwell_nvmfs::backing::Existing;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::names::check::check;
use wearwell_nvmfs::nvram::{MappedNvram, Persistence};
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::ssd::{Caching, FileSsd};
use wearwell_nvmfs::store::Store;

const GIB: u64 = 1 << 30;
const SSD_BYTES: u64 = 32 * GIB;
const DIRECTORIES: u32 = 100;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 1 };

type FileFs = Nvmfs<MappedNvram, FileSsd>;

fn make(at: &Path, nvram_bytes: u64, files: u32) -> std::result::Result<FileFs, Box<dyn std::error::Error>> {
    let nvram =
        MappedNvram::create(at.join("nvram"), nvram_bytes, Existing::Refuse, Persistence::CacheLines)?;
    let ssd = FileSsd::create(at.join("ssd"), SSD_BYTES, Existing::Refuse, Caching::Cached)?;
    let format = Format { inodes: Some(files + DIRECTORIES + 16), ..Format::default() };
    Ok(Nvmfs::format(nvram, Arc::new(ssd), &format, Options::default())?)
}

fn fill(fs: &mut FileFs, files: u32) -> Result<()> {
    let directories: Vec<Ino> = (0..DIRECTORIES)
        .map(|number| {
            let name = format!("directory {number}");
            fs.make_directory(ROOT, name.as_bytes(), 0o755, &CALLER).map(|made| made.ino)
        })
        .collect::<Result<_>>()?;
    for number in 0..files {
        let (parent, name) = (directories[(number % DIRECTORIES) as usize], format!("a small file {number}"));
        let ino = fs.create(parent, name.as_bytes(), Kind::File, 0o644, 0, &CALLER)?.ino;
        fs.write(ino, 0, &[number as u8; 500], &CALLER)?;
    }
    Ok(())
}

/// Returns the anonymous memory of this process in KiB.
fn anonymous_memory_kib() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    Ok(line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0))
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let files = numbers.next().unwrap_or(1_000_000u32);
    let nvram_bytes = u64::from(numbers.next().unwrap_or(4)) * GIB;
    let directory = tempfile::TempDir::new_in("/dev/shm")?;
    let mut fs = make(directory.path(), nvram_bytes, files)?;
    let begin = Instant::now();
    fill(&mut fs, files)?;
    println!("{files} files of 500 bytes made in {:.1} s", begin.elapsed().as_secs_f64());
    let stats = fs.stats();
    println!("{} dirty pages, {} valid blocks on the SSD", stats.dirty_pages, stats.ssd_valid_blocks);
    // The file system is dropped without a close, as in a crash.
    drop(fs);
    for _ in 0..3 {
        let nvram = MappedNvram::open(directory.path().join("nvram"), Persistence::CacheLines)?;
        let ssd = FileSsd::open(directory.path().join("ssd"), Caching::Cached)?;
        let begin = Instant::now();
        let (fs, found) = Nvmfs::mount(nvram, Arc::new(ssd), Options::default())?;
        let seconds = begin.elapsed().as_secs_f64();
        let own_kib = anonymous_memory_kib()?;
        assert!(!found.was_closed && found.scan.inodes == files + DIRECTORIES + 1);
        println!("mounted after a crash in {seconds:.2} s; the process has {own_kib} KiB beside the NVRAM");
        drop(fs);
    }
    let nvram = MappedNvram::open(directory.path().join("nvram"), Persistence::CacheLines)?;
    let ssd = FileSsd::open(directory.path().join("ssd"), Caching::Cached)?;
    Nvmfs::mount(nvram, Arc::new(ssd), Options::default())?.0.close();
    for (threads, name) in [(1, "one processor"), (0, "all"), (1, "one"), (0, "all"), (1, "one"), (0, "all")]
    {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let [seconds, of_blocks] =
            pool.install(|| measure_fsck(directory.path(), files)).map_err(|error| error.to_string())?;
        let own_kib = anonymous_memory_kib()?;
        println!(
            "quick fsck by {name} in {seconds:.2} s, {of_blocks:.2} s of it for blocks; the process has {own_kib} KiB beside the NVRAM"
        );
    }
    Ok(())
}

/// Performs a quick `fsck`; returns its duration in seconds, and the part of it that the check of blocks takes.
fn measure_fsck(
    at: &Path,
    files: u32,
) -> std::result::Result<[f64; 2], Box<dyn std::error::Error + Send + Sync>> {
    let nvram = MappedNvram::open_private(at.join("nvram"))?;
    let ssd = FileSsd::open(at.join("ssd"), Caching::Cached)?;
    let begin = Instant::now();
    let (store, found) = Store::open_damaged(nvram, Arc::new(ssd), Options::default())?;
    let of_blocks = begin.elapsed().as_secs_f64();
    let problems = check(&store.region)?;
    let seconds = begin.elapsed().as_secs_f64();
    let is_whole = found.was_closed && found.scan.problem_count == 0 && problems.is_empty();
    assert!(is_whole && found.scan.inodes == files + DIRECTORIES + 1);
    Ok([seconds, of_blocks])
}
