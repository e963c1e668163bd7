//! NVRAM and SSD of a file system, as the command line names them.

use crate::exit::Failure;
use clap::ValueEnum;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use wearwell_nvmfs::api::BLOCK_BYTES;
use wearwell_nvmfs::backing::Existing;
use wearwell_nvmfs::nvram::{MappedNvram, Persistence};
use wearwell_nvmfs::ssd::{Caching, FileSsd, Ssd, StackSsd};
use wearwell_stack::{Draft, Scenario};

/// Options that name the devices.
#[derive(clap::Args)]
#[command(next_help_heading = "Devices")]
pub struct Devices {
    /// NVRAM: a file or a DAX device; several (one option each, in any order) are used as one
    ///
    /// On persistent memory, contents survive power cuts. In memory (/dev/shm), contents survive a crash of the
    /// process, which is enough for tests.
    #[arg(long, value_name = "FILE", required = true)]
    pub nvram: Vec<PathBuf>,
    /// SSD: a file, a block device, or a scenario (.toml, .json) of a simulated drive
    ///
    /// The contents of a simulated drive are in a file next to the scenario, whose name ends in .content.
    #[arg(long, value_name = "FILE")]
    pub ssd: PathBuf,
    /// Method that makes stores to the NVRAM persistent
    #[arg(long, value_enum, default_value_t = Persist::Auto)]
    persist: Persist,
    /// Access the SSD without the page cache (O_DIRECT)
    #[arg(long)]
    ssd_direct: bool,
}

/// Method that makes stores persistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Persist {
    /// Cache-line flushes on persistent memory and in memory, msync elsewhere
    Auto,
    /// Cache-line flushes
    CacheLines,
    /// msync, which is safe across power cuts on any file system, but slow
    Msync,
}

impl From<Persist> for Persistence {
    fn from(persist: Persist) -> Self {
        match persist {
            Persist::Auto => Persistence::Auto,
            Persist::CacheLines => Persistence::CacheLines,
            Persist::Msync => Persistence::Msync,
        }
    }
}

/// An SSD of any kind.
pub type AnySsd = Box<dyn Ssd>;

/// Returns an error about an option.
pub fn option_failure(option: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("{option}: {error}"))
}

/// Returns the reason why a file was not created or opened, with a hint.
fn create_failure(option: &str, error: &std::io::Error) -> Failure {
    let help = match error.kind() {
        ErrorKind::AlreadyExists => "; --force destroys its content",
        ErrorKind::NotFound => "; mkfs makes it if it is told the size",
        _ => "",
    };
    option_failure(option, format!("{error}{help}"))
}

impl Devices {
    /// Creates the NVRAM, or opens an existing one if `bytes` gives no size.
    pub fn create_nvram(&self, bytes: Option<u64>, existing: Existing) -> Result<MappedNvram, Failure> {
        let created =
            MappedNvram::create_set(&self.nvram, bytes, existing, self.persist.into(), random_id()?);
        created.map_err(|error| create_failure("--nvram", &error))
    }

    /// Opens the NVRAM.
    pub fn open_nvram(&self) -> Result<MappedNvram, Failure> {
        let opened = MappedNvram::open_set(&self.nvram, self.persist.into());
        opened.map_err(|error| create_failure("--nvram", &error))
    }

    /// Creates the SSD, or opens an existing one if `bytes` gives no size.
    pub fn create_ssd(&self, bytes: Option<u64>, existing: Existing) -> Result<AnySsd, Failure> {
        if let Some(scenario) = self.scenario()? {
            if bytes.is_some() {
                let problem = "--ssd-size: the scenario says how large its drive is; leave the option away";
                return Err(Failure::usage(problem));
            }
            let ssd = StackSsd::with_file(self.content(), &scenario)
                .map_err(|error| option_failure("--ssd", error))?;
            return Ok(Box::new(ssd));
        }
        let created = match bytes {
            Some(bytes) => FileSsd::create(&self.ssd, bytes, existing, self.caching()),
            None => FileSsd::open(&self.ssd, self.caching()),
        };
        Ok(Box::new(created.map_err(|error| create_failure("--ssd", &error))?))
    }

    /// Opens the SSD. The simulated drive of a scenario is first filled with the pages that have content.
    pub fn open_ssd(&self) -> Result<AnySsd, Failure> {
        let Some(scenario) = self.scenario()? else { return self.create_ssd(None, Existing::Refuse) };
        let content = self.content();
        let written = written_blocks(&content).map_err(|error| option_failure("--ssd", error))?;
        let ssd = StackSsd::with_file(&content, &scenario).map_err(|error| option_failure("--ssd", error))?;
        let blocks = ssd.blocks();
        let within = written.into_iter().map(|range| range.start.min(blocks)..range.end.min(blocks));
        ssd.precondition(within).map_err(|error| option_failure("--ssd", error))?;
        Ok(Box::new(ssd))
    }

    /// Opens both devices for reading only: stores to this NVRAM go to a private copy.
    pub fn open_to_read(&self) -> Result<(MappedNvram, FileSsd), Failure> {
        open_to_read(&self.nvram, &self.ssd, self.caching())
    }

    fn caching(&self) -> Caching {
        if self.ssd_direct { Caching::Direct } else { Caching::Cached }
    }

    /// Returns the scenario, if the SSD is a simulated drive.
    fn scenario(&self) -> Result<Option<Scenario>, Failure> {
        if !is_scenario(&self.ssd) {
            return Ok(None);
        }
        Ok(Some(Draft::from_file(&self.ssd)?.scenario()?))
    }

    /// Returns the path of the statistics that a simulated drive left at its last unmount.
    pub fn record(&self) -> Option<PathBuf> {
        record(&self.ssd)
    }

    /// Returns the files of both devices.
    pub fn files(&self) -> Vec<PathBuf> {
        let ssd = if is_scenario(&self.ssd) { self.content() } else { self.ssd.clone() };
        self.nvram.iter().cloned().chain([ssd]).collect()
    }

    fn content(&self) -> PathBuf {
        content(&self.ssd)
    }
}

/// Opens NVRAM and SSD for reading only. Of a simulated drive, only the contents are opened.
pub fn open_to_read(
    nvram: &[PathBuf],
    ssd: &Path,
    caching: Caching,
) -> Result<(MappedNvram, FileSsd), Failure> {
    let nvram = MappedNvram::open_set_private(nvram).map_err(|error| create_failure("--nvram", &error))?;
    let (ssd, caching) =
        if is_scenario(ssd) { (content(ssd), Caching::Cached) } else { (ssd.to_owned(), caching) };
    let ssd = FileSsd::open_read_only(ssd, caching).map_err(|error| create_failure("--ssd", &error))?;
    Ok((nvram, ssd))
}

/// Returns a random, unique id.
pub fn random_id() -> Result<u128, Failure> {
    Ok(u128::from(random()?) << 64 | u128::from(random()?))
}

/// Returns a random number.
pub fn random() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| option_failure("/dev/urandom", error))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Returns the time in ns since 1970.
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64
}

/// True if the SSD is a simulated drive, given by a scenario.
fn is_scenario(ssd: &Path) -> bool {
    matches!(ssd.extension().and_then(|ending| ending.to_str()), Some("toml" | "json"))
}

/// Returns the path of the statistics that a simulated drive left at its last unmount.
pub fn record(ssd: &Path) -> Option<PathBuf> {
    is_scenario(ssd).then(|| sibling(ssd, ".stats.json"))
}

/// Returns the path of the contents of a simulated drive.
fn content(ssd: &Path) -> PathBuf {
    sibling(ssd, ".content")
}

fn sibling(ssd: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(ssd);
    name.push(ending);
    name.into()
}

/// Returns the blocks of a sparse file that are not holes.
fn written_blocks(path: &Path) -> std::io::Result<Vec<Range<u64>>> {
    use rustix::fs::{SeekFrom, seek};
    let file = File::open(path)?;
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let begin = match seek(&file, SeekFrom::Data(at)) {
            Ok(begin) => begin,
            // The rest of the file is a hole.
            Err(rustix::io::Errno::NXIO) => return Ok(found),
            Err(error) => return Err(error.into()),
        };
        at = seek(&file, SeekFrom::Hole(begin))?;
        let block = BLOCK_BYTES as u64;
        found.push(begin / block..at.div_ceil(block));
    }
}
