//! What the answers to the kernel have in common, whatever the files are.

use crate::error::DeviceError;
use crate::shared::SharedDevice;
use fuser::{Errno, FileAttr, FileType, INodeNo, KernelConfig, ReplyAttr, ReplyData, ReplyEmpty};
use std::cell::RefCell;
use std::io;
use std::time::{Duration, SystemTime};
use wearwell_engine::layer::LayerError;

/// Longest write that the kernel sends, bytes.
const MOST_WRITE_BYTES: u32 = 1 << 20;
/// Requests that the kernel has under way.
const MOST_REQUESTS: u16 = 64;

thread_local! {
    /// What a thread reads goes through here; kept, so that not every request clears a new one.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Whose the files are: the user's who serves them, from now on.
pub struct Owner {
    began: SystemTime,
    uid: u32,
    gid: u32,
}

impl Default for Owner {
    fn default() -> Self {
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Owner { began: SystemTime::now(), uid, gid }
    }
}

impl Owner {
    /// Attributes of a file with its kind, permissions and names, of so many bytes, of which so many take room.
    pub fn attributes(
        &self,
        of: INodeNo,
        (kind, perm, nlink): (FileType, u16, u32),
        (size, held): (u64, u64),
        page_bytes: u32,
    ) -> FileAttr {
        FileAttr {
            ino: of,
            size,
            // The kernel counts in sectors of 512 bytes.
            blocks: held / 512,
            atime: self.began,
            mtime: self.began,
            ctime: self.began,
            crtime: self.began,
            kind,
            perm,
            nlink,
            uid: self.uid,
            gid: self.gid,
            rdev: 0,
            blksize: page_bytes,
            flags: 0,
        }
    }
}

/// Has the kernel send long requests, and many at a time.
pub fn ask_for_long_requests(config: &mut KernelConfig) {
    // Refused values come back as the nearest that is not, which older kernels have as default.
    let _ = config.set_max_write(MOST_WRITE_BYTES);
    let _ = config.set_max_background(MOST_REQUESTS);
}

/// Answers with so many bytes of the device.
pub fn read(device: &SharedDevice, offset: u64, length: usize, reply: ReplyData) {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let out = &mut buffer[..length];
        match device.with(|device| device.read(offset, out)) {
            Ok(()) => reply.data(out),
            Err(error) => reply.error(errno(error)),
        }
    });
}

/// The number that the kernel understands.
pub fn errno(error: DeviceError) -> Errno {
    match error {
        DeviceError::OutOfRange { .. } => Errno::EINVAL,
        // As zonefs has them.
        DeviceError::Layer(LayerError::NotSequential { .. } | LayerError::PartialReset { .. }) => {
            Errno::EINVAL
        }
        DeviceError::Layer(LayerError::TooManyOpenZones { .. }) => Errno::EBUSY,
        DeviceError::Content(problem) if problem.kind() == io::ErrorKind::Unsupported => Errno::EOPNOTSUPP,
        error if error.is_full() => Errno::ENOSPC,
        _ => Errno::EIO,
    }
}

pub fn done(reply: ReplyEmpty, answer: Result<(), Errno>) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

pub fn attr(reply: ReplyAttr, keep: Duration, answer: Result<FileAttr, Errno>) {
    match answer {
        Ok(attributes) => reply.attr(&keep, &attributes),
        Err(error) => reply.error(error),
    }
}
