//! Workloads of file operations, and players that execute them.
//!
//! [`FileWorkloadConfig`] describes a workload, [`FileWorkloadConfig::build`] creates it, and [`FILE_WORKLOADS`] lists
//! the available workloads: the four workloads of the paper's evaluation (section IV-A). Workloads identify files and
//! directories by number and not by path, so the same operations can run on any file system. [`play`] has a player for
//! file systems of this crate, and a player for a mounted directory.

mod config;
mod fileserver;
mod fio;
mod iozone;
mod kind;
mod order;
pub mod play;
mod population;
mod postmark;
mod size;
mod stream;
#[cfg(test)]
mod tests;

pub use config::{FILE_WORKLOADS, FileWorkloadConfig};
pub use fileserver::Fileserver;
pub use fio::Fio;
pub use iozone::Iozone;
pub use order::Order;
pub use postmark::Postmark;

/// Directory of a workload; numbered from 0 in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryId(pub u32);

/// File of a workload. The number of a deleted file may be reused by a new file in any directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Operation on files.
///
/// An operation covers everything between opening and closing a file; a player splits reads and writes into
/// requests of [`FileWorkload::request_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileOp {
    /// Creates a directory.
    MakeDirectory {
        /// Number assigned to the new directory.
        directory: DirectoryId,
        /// Parent directory; `None` is the root of the workload, which exists.
        parent: Option<DirectoryId>,
    },
    /// Creates an empty file.
    Create {
        /// Number assigned to the new file.
        file: FileId,
        /// Parent directory; `None` is the root of the workload.
        directory: Option<DirectoryId>,
    },
    /// Writes within the file or beyond its end.
    Write {
        /// The file.
        file: FileId,
        /// Offset of the first byte.
        offset_bytes: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Writes at the end of the file.
    Append {
        /// The file.
        file: FileId,
        /// Number of bytes.
        bytes: u64,
    },
    /// Reads a part of the file.
    Read {
        /// The file.
        file: FileId,
        /// Offset of the first byte.
        offset_bytes: u64,
        /// Number of bytes, all within the file.
        bytes: u64,
    },
    /// Reads the entire file.
    ReadWhole {
        /// The file.
        file: FileId,
    },
    /// Removes the file.
    Delete {
        /// The file.
        file: FileId,
    },
    /// Reads the file's attributes.
    Stat {
        /// The file.
        file: FileId,
    },
}

/// Source of file operations: first the set-up, which creates the files, then the main phase.
///
/// Equal configurations, capacities and seeds give equal operations. Operations refer only to files that exist.
pub trait FileWorkload: Send {
    /// Returns the next operation; `None` after the last operation of a limited main phase.
    fn next(&mut self) -> Option<FileOp>;

    /// True if the set-up is complete, so the next operation belongs to the main phase.
    fn is_set_up(&self) -> bool;

    /// Returns the maximum number of bytes of a request; reads and writes are split into requests of at most this size.
    fn request_bytes(&self) -> u32;
}
