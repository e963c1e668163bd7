//! Files and devices that hold the content of NVRAM or an SSD: opened once at a time.

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// What becomes of a file that exists already where a new one is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays as it is, with an error.
    Refuse,
    /// Its content is lost. A file in use is refused all the same.
    Overwrite,
}

/// What a file or device is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Reading, with others who read.
    Read,
    /// Reading and writing, alone.
    Write,
}

/// An opened file or device, which nobody else can open for writing before it is dropped.
pub(crate) struct Backing {
    pub(crate) file: File,
    pub(crate) bytes: u64,
    pub(crate) is_block_device: bool,
    pub(crate) is_character_device: bool,
}

impl Backing {
    /// The same, under the same lock.
    pub(crate) fn again(&self) -> io::Result<Backing> {
        Ok(Backing { file: self.file.try_clone()?, ..*self })
    }
}

/// `error`, told with the path that it is about.
pub(crate) fn at_path(path: &Path, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Whether what begins so holds nothing, so that nobody loses anything by its being overwritten.
pub fn is_blank(first: &[u8]) -> bool {
    first.iter().all(|byte| *byte == 0)
}

/// An error of the given kind about a path.
pub(crate) fn refusal(path: &Path, kind: io::ErrorKind, problem: &str) -> io::Error {
    io::Error::new(kind, format!("{}: {problem}", path.display()))
}

/// Makes a file of `bytes` zeros; `flags` are further ones of open(2).
pub(crate) fn create(path: &Path, bytes: u64, existing: Existing, flags: OFlags) -> io::Result<Backing> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let problem = "is not a file; a device is not created but opened";
        return Err(refusal(path, io::ErrorKind::InvalidInput, problem));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits() as i32);
    match existing {
        Existing::Refuse => options.create_new(true),
        Existing::Overwrite => options.create(true).truncate(false),
    };
    let file = options.open(path).map_err(|error| at_path(path, error))?;
    lock(path, &file, Access::Write)?;
    // Not truncated when opened: it might have been in use.
    file.set_len(0).and_then(|()| file.set_len(bytes)).map_err(|error| at_path(path, error))?;
    Ok(Backing { file, bytes, is_block_device: false, is_character_device: false })
}

/// Opens a file or device for reading and writing, alone.
pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<Backing> {
    open_for(Access::Write, path, flags)
}

/// Opens a file or device for reading only, together with others who do.
pub(crate) fn open_to_read(path: &Path, flags: OFlags) -> io::Result<Backing> {
    open_for(Access::Read, path, flags)
}

fn open_for(access: Access, path: &Path, flags: OFlags) -> io::Result<Backing> {
    let with_path = |error: io::Error| at_path(path, error);
    let file_type = path.metadata().map_err(with_path)?.file_type();
    let (is_block_device, is_character_device) = (file_type.is_block_device(), file_type.is_char_device());
    if !file_type.is_file() && !is_block_device && !is_character_device {
        let problem = "is neither a file nor a device";
        return Err(refusal(path, io::ErrorKind::InvalidInput, problem));
    }
    // A block device that is mounted refuses to be opened so.
    let exclusive = if is_block_device { OFlags::EXCL } else { OFlags::empty() };
    let mut options = OpenOptions::new();
    options.read(true).write(access == Access::Write).custom_flags((flags | exclusive).bits() as i32);
    let mut file = options.open(path).map_err(with_path)?;
    lock(path, &file, access)?;
    let bytes = match is_character_device {
        true => character_device_bytes(&file),
        false => file.seek(SeekFrom::End(0)),
    };
    Ok(Backing { bytes: bytes.map_err(with_path)?, file, is_block_device, is_character_device })
}

/// How long a lock is waited for: `umount` returns before the server of the mount, which writes the last of it, has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is asked for meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// Two users, of whom one writes, would each spoil what the other keeps in memory.
fn lock(path: &Path, file: &File, access: Access) -> io::Result<()> {
    let operation = match access {
        Access::Read => FlockOperation::NonBlockingLockShared,
        Access::Write => FlockOperation::NonBlockingLockExclusive,
    };
    let begin = Instant::now();
    loop {
        match flock(file, operation) {
            Err(Errno::WOULDBLOCK) if begin.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => {
                return Err(refusal(path, io::ErrorKind::ResourceBusy, "is in use by another process"));
            }
            outcome => return outcome.map_err(|error| at_path(path, error)),
        }
    }
}

/// Whether somebody has a file or device open as NVRAM or SSD; one that is not there is in nobody's use.
///
/// # Errors
/// It cannot be opened.
pub fn is_in_use(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file.map_err(|error| at_path(path, error))?,
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Ok(true),
        outcome => outcome.map(|()| false).map_err(|error| at_path(path, error)),
    }
}

/// Bytes of a DAX device, which cannot seek.
fn character_device_bytes(file: &File) -> io::Result<u64> {
    let number = file.metadata()?.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let size = std::fs::read_to_string(format!("/sys/dev/char/{major}:{minor}/size"))?;
    size.trim().parse().map_err(io::Error::other)
}
