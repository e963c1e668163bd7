//! Throughput of mounts that several threads use: NVMFS; a FUSE mount that forwards every call to files in memory,
//! with the same number of threads; and ext4 on a file on the disk.
//!
//!     cargo bench -p wearwell-mount --bench threads -- [--quick] [DIR...]
//!
//! All file systems are measured in alternating rounds, and a rate is the median of the rounds. The written data fits
//! into the NVRAM, and for the two FUSE mounts the kernel caches no names or attributes.
//!
//! A second part measures the latency of creating and removing names while another thread reads a file that is only
//! on the SSD (a file on the disk). Each read is of 1 MiB and bypasses the page cache.
//!
//! Only root can mount ext4. Directories given on the command line are measured as well, for example a mount by an
//! older version.

mod baselines;
#[path = "../../tests/support/devices.rs"]
mod devices;
mod jobs;

use baselines::{Ext4, PassThrough};
use jobs::{Latency, Size};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wearwell_mount::{Options, mount};
use wearwell_nvmfs::backing::Existing;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::{MappedNvram, Persistence};
use wearwell_nvmfs::options::Format;
use wearwell_nvmfs::ssd::{Caching, FileSsd};

/// Number of request threads of the multi-threaded mounts.
const THREADS: usize = 4;

/// Operations per second of one file system, by job.
type Rates = Vec<(&'static str, f64)>;

fn options(threads: usize) -> Options {
    Options { cache_time: Duration::ZERO, threads, ..Options::default() }
}

/// Measures NVMFS with its devices in memory.
fn nvmfs(directory: &Path, threads: usize, size: &Size) -> io::Result<Rates> {
    let at = directory.join("nvmfs");
    fs::create_dir(&at)?;
    let mounted = mount(devices::create(directory, 256 << 20, 512 << 20, 20_000), &at, &options(threads))?;
    let rates = jobs::rates(&at, size)?;
    mounted.unmount()?;
    mounted.join()?;
    Ok(rates)
}

fn pass_through(directory: &Path, threads: usize, size: &Size) -> io::Result<Rates> {
    let (at, below) = (directory.join("passed"), directory.join("below"));
    fs::create_dir(&at)?;
    fs::create_dir(&below)?;
    let mounted = PassThrough::mount(&below, &at, threads)?;
    let rates = jobs::rates(&at, size)?;
    drop(mounted);
    Ok(rates)
}

/// Measures NVMFS with a small NVRAM in memory and a file on the disk as the SSD, with direct I/O if possible.
fn latency_during_reads(disk: &Path, threads: usize, size: &Size) -> io::Result<Latency> {
    let memory = tempfile::TempDir::new_in("/dev/shm")?;
    let nvram =
        MappedNvram::create(memory.path().join("nvram"), 64 << 20, Existing::Refuse, Persistence::Auto)?;
    let (path, bytes) = (disk.join("ssd"), 1 << 30);
    let direct = FileSsd::create(&path, bytes, Existing::Overwrite, Caching::Direct);
    let ssd = direct.or_else(|_| FileSsd::create(&path, bytes, Existing::Overwrite, Caching::Cached))?;
    let created = Nvmfs::format(nvram, Arc::new(ssd), &Format::default(), Default::default());
    let at = memory.path().join("nvmfs");
    fs::create_dir(&at)?;
    let mounted = mount(created.map_err(io::Error::other)?, &at, &options(threads))?;
    let latency = jobs::name_latency_during_reads(&at, size)?;
    mounted.unmount()?;
    mounted.join()?;
    fs::remove_file(path)?;
    Ok(latency)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(names: &[String], rounds: &[Vec<Rates>]) {
    print!("{:<34}", "operations a second");
    names.iter().for_each(|name| print!(" {name:>16}"));
    println!();
    for job in 0..rounds[0][0].len() {
        print!("{:<34}", rounds[0][0][job].0);
        for one in 0..names.len() {
            print!(" {:>16.0}", median(rounds.iter().map(|round| round[one][job].1).collect()));
        }
        println!();
    }
}

/// Measures every file system once.
fn round(ext4: Option<&Ext4>, directories: &[PathBuf], size: &Size) -> io::Result<Vec<(String, Rates)>> {
    let mut all = Vec::new();
    for threads in [1, THREADS] {
        let memory = tempfile::TempDir::new_in("/dev/shm")?;
        all.push((format!("passed on, {threads}"), pass_through(memory.path(), threads, size)?));
        all.push((format!("NVMFS, {threads}"), nvmfs(memory.path(), threads, size)?));
    }
    if let Some(ext4) = ext4 {
        all.push(("ext4".into(), jobs::rates(ext4.at(), size)?));
    }
    for path in directories {
        all.push((path.display().to_string(), jobs::rates(path, size)?));
    }
    Ok(all)
}

fn main() -> io::Result<()> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/fuse") {
        println!("skipped: nothing can be mounted here: /dev/fuse: {error}");
        return Ok(());
    }
    let size = if std::env::args().any(|argument| argument == "--quick") { jobs::QUICK } else { jobs::FULL };
    let given: Vec<PathBuf> =
        std::env::args().skip(1).filter(|one| !one.starts_with('-')).map(PathBuf::from).collect();
    let disk = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
    let ext4 = Ext4::mount(disk.path());
    if let Err(error) = &ext4 {
        println!("ext4 is left out: {error}");
    }
    let ext4 = ext4.ok();
    let (mut names, mut rounds) = (Vec::new(), Vec::new());
    for _ in 0..size.rounds {
        let (of, rates): (Vec<_>, Vec<_>) = round(ext4.as_ref(), &given, &size)?.into_iter().unzip();
        names = of;
        rounds.push(rates);
    }
    print(&names, &rounds);
    println!(
        "\na name made and removed beside who reads from the SSD, us: median, 99 of 100, longest; MiB/s read meanwhile"
    );
    for threads in [1, THREADS] {
        println!(
            "{:<34} {}",
            format!("NVMFS, {threads}"),
            latency_during_reads(disk.path(), threads, &size)?
        );
    }
    if let Some(ext4) = &ext4 {
        println!("{:<34} {}", "ext4", jobs::name_latency_during_reads(ext4.at(), &size)?);
    }
    for path in &given {
        println!("{:<34} {}", path.display(), jobs::name_latency_during_reads(path, &size)?);
    }
    Ok(())
}
