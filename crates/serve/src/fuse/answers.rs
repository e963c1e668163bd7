//! What the answers to the kernel have in common, whatever the files are.

use crate::error::DeviceError;
use fuser::{Errno, FileAttr, FileType, INodeNo};
use std::io;
use std::time::SystemTime;
use wearwell_engine::layer::LayerError;

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
