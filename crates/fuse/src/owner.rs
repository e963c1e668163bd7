//! Attributes of files.

use fuser::{FileAttr, FileType, INodeNo};
use std::time::SystemTime;

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
