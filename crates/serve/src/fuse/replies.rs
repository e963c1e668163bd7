//! Replies to the kernel, used for the file of a disk and for the files of zones.

use crate::error::DeviceError;
use fuser::{Errno, FileAttr, FileType, INodeNo};
use std::io;
use std::time::SystemTime;
use wearwell_engine::layer::LayerError;

/// Owner of the files (the user that runs the server) and their creation time.
pub struct Owner {
    started: SystemTime,
    uid: u32,
    gid: u32,
}

impl Default for Owner {
    fn default() -> Self {
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Owner { started: SystemTime::now(), uid, gid }
    }
}

impl Owner {
    /// Returns the attributes of a file. `kind` is its file type, permissions and link count; the sizes are its
    /// length and its allocated bytes.
    pub fn attributes(
        &self,
        node_id: INodeNo,
        (kind, perm, nlink): (FileType, u16, u32),
        (size, content_bytes): (u64, u64),
        page_bytes: u32,
    ) -> FileAttr {
        FileAttr {
            ino: node_id,
            size,
            // The kernel counts sectors of 512 bytes.
            blocks: content_bytes / 512,
            atime: self.started,
            mtime: self.started,
            ctime: self.started,
            crtime: self.started,
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

/// Returns the errno of a device error.
pub fn errno(error: DeviceError) -> Errno {
    match error {
        DeviceError::OutOfRange { .. } => Errno::EINVAL,
        // zonefs returns the same error codes.
        DeviceError::Layer(LayerError::NotSequential { .. } | LayerError::PartialReset { .. }) => {
            Errno::EINVAL
        }
        DeviceError::Layer(LayerError::TooManyOpenZones { .. }) => Errno::EBUSY,
        DeviceError::Content(problem) if problem.kind() == io::ErrorKind::Unsupported => Errno::EOPNOTSUPP,
        error if error.is_full() => Errno::ENOSPC,
        _ => Errno::EIO,
    }
}
