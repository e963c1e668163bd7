//! Files and devices that hold the content of an NVRAM or an SSD; each has at most one writer at a time.

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Treatment of an existing file when a new one is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keeps the existing file and returns an error.
    Refuse,
    /// Discards the content of the existing file. Returns an error if the file is in use.
    Overwrite,
}

/// Access mode of an open file or device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Read-only, shared with other readers.
    Read,
    /// Read and write, exclusive.
    Write,
}

/// Open file or device with a lock: until this value is dropped, no other process can open it for writing.
pub(crate) struct Backing {
    pub(crate) file: File,
    pub(crate) bytes: u64,
    pub(crate) is_block_device: bool,
    pub(crate) is_character_device: bool,
}

impl Backing {
    /// Returns a second handle of the same open file, under the same lock.
    pub(crate) fn try_clone(&self) -> io::Result<Backing> {
        Ok(Backing { file: self.file.try_clone()?, ..*self })
    }
}

/// Returns an error whose message begins with the path.
pub(crate) fn at_path(path: &Path, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// True if `first` is all zeros. The file that begins with these bytes is then blank, and overwriting it loses
/// nothing.
pub fn is_blank(first: &[u8]) -> bool {
    first.iter().all(|byte| *byte == 0)
}

/// Returns an error of the given kind about a path.
pub(crate) fn refusal(path: &Path, kind: io::ErrorKind, problem: &str) -> io::Error {
    io::Error::new(kind, format!("{}: {problem}", path.display()))
}

/// Creates a file of `bytes` zeros; `flags` are additional flags of open(2).
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
    // `open` does not truncate, because another process might use the file; the lock is taken first.
    file.set_len(0).and_then(|()| file.set_len(bytes)).map_err(|error| at_path(path, error))?;
    Ok(Backing { file, bytes, is_block_device: false, is_character_device: false })
}

/// Opens a file or device exclusively for reading and writing.
pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<Backing> {
    open_for(Access::Write, path, flags)
}

/// Opens a file or device read-only, shared with other readers.
pub(crate) fn open_read_only(path: &Path, flags: OFlags) -> io::Result<Backing> {
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
    // With O_EXCL, opening a mounted block device fails.
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

/// Time to wait for a lock: `umount` returns before the server of the mount has written its last data and
/// exited.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval between two attempts to take the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Locks the file: if another process used the file while this one writes to it, the cached state of both would
/// become invalid.
fn lock(path: &Path, file: &File, access: Access) -> io::Result<()> {
    let operation = match access {
        Access::Read => FlockOperation::NonBlockingLockShared,
        Access::Write => FlockOperation::NonBlockingLockExclusive,
    };
    let begin = Instant::now();
    loop {
        match flock(file, operation) {
            Err(Errno::WOULDBLOCK) if begin.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_RETRY_INTERVAL)
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(refusal(path, io::ErrorKind::ResourceBusy, "is in use by another process"));
            }
            outcome => return outcome.map_err(|error| at_path(path, error)),
        }
    }
}

/// True if a process has the file or device open as an NVRAM or an SSD; false if the file does not exist.
///
/// # Errors
/// The file cannot be opened.
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

/// Returns the size of a DAX device, which does not support seeking.
fn character_device_bytes(file: &File) -> io::Result<u64> {
    let number = file.metadata()?.rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let size = std::fs::read_to_string(format!("/sys/dev/char/{major}:{minor}/size"))?;
    size.trim().parse().map_err(io::Error::other)
}
