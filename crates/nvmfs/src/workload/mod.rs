//! Workloads of file operations, and players that carry them out.
//!
//! [`FileWorkloadConfig`] describes one, [`FileWorkloadConfig::build`] makes it, and [`FILE_WORKLOADS`] lists what there is:
//! the four of the paper's evaluation (section IV-A). They name files and directories by number and know nothing of paths,
//! so that the very same operations go to any file system: [`play`] has a player for ours and one for a mounted directory.

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

/// A directory of a workload, numbered from 0 in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryId(pub u32);

/// A file of a workload. The number of a deleted file may be given to a new one, in any directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// One operation on files.
///
/// Each is what a program does between opening a file and closing it; a player cuts reads and writes into requests of
/// [`FileWorkload::request_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileOp {
    /// Makes a directory.
    MakeDirectory {
        /// The new one.
        directory: DirectoryId,
        /// Where it is made; `None` is the workload's own root, which is there.
        parent: Option<DirectoryId>,
    },
    /// Makes an empty file.
    Create {
        /// The new one.
        file: FileId,
        /// Where it is made; `None` is the workload's own root.
        directory: Option<DirectoryId>,
    },
    /// Writes within the file or beyond its end.
    Write {
        /// The file.
        file: FileId,
        /// First byte.
        offset_bytes: u64,
        /// How many.
        bytes: u64,
    },
    /// Writes at the end of the file.
    Append {
        /// The file.
        file: FileId,
        /// How many bytes.
        bytes: u64,
    },
    /// Reads a part of the file.
    Read {
        /// The file.
        file: FileId,
        /// First byte.
        offset_bytes: u64,
        /// How many, all within the file.
        bytes: u64,
    },
    /// Reads the file from beginning to end.
    ReadWhole {
        /// The file.
        file: FileId,
    },
    /// Removes the file.
    Delete {
        /// The file.
        file: FileId,
    },
    /// Asks for the file's attributes.
    Stat {
        /// The file.
        file: FileId,
    },
    /// What was written to the file is to survive a power cut.
    Sync {
        /// The file.
        file: FileId,
    },
}

/// A source of file operations: first the set-up, which makes the files, then the main phase.
///
/// Equal configurations, capacities and seeds give equal operations. No operation names a file that is not there.
pub trait FileWorkload: Send {
    /// The next operation; `None` after the last of a counted main phase.
    fn next(&mut self) -> Option<FileOp>;

    /// Whether the files are made, so that the next operation is of the main phase.
    fn is_set_up(&self) -> bool;

    /// Bytes of the requests that reads and writes are cut into.
    fn request_bytes(&self) -> u32;
}
