//! Problems that a walk over all metadata finds, and their descriptions.

use crate::api::Ino;
use crate::layout::FIRST_KEPT_INODE;

/// Maximum number of problems that are reported; further problems are only counted.
const MAX_REPORTED: usize = 1000;

/// Part of a file that has a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChecksummedPart {
    /// The inode.
    #[error("inode")]
    Inode,
    /// A pointer block, identified by the number of the first file block below it.
    #[error("pointers to block {0} and others")]
    Pointers(u64),
    /// A block of a directory, or of a link's target, with this number.
    #[error("block {0}, on NVRAM")]
    Block(u64),
    /// The page of extended attributes.
    #[error("extended attributes")]
    Xattrs,
    /// A data block on NVRAM with this number.
    #[error("data of block {0}, on NVRAM")]
    NvramData(u64),
    /// A data block on the SSD with this number.
    #[error("data of block {0}, on the SSD")]
    SsdData(u64),
}

/// Problem with an inode or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// The checksum does not match; the damaged part is unknown.
    #[error("the checksum of its {0} is wrong")]
    Checksum(ChecksummedPart),
    /// The block count is wrong.
    #[error("it says another number of blocks than it has")]
    Blocks,
    /// The mode has no valid file type.
    #[error("its mode names no kind of file")]
    Mode,
    /// The file is larger than allowed, or a directory ends before its last block.
    #[error("its size is not that of what it has")]
    Size,
    /// A pointer is invalid, or leads to a location that this type of file cannot use.
    #[error("the pointer to block {block} leads nowhere")]
    Pointer {
        /// Number of the block within the file.
        block: u64,
    },
    /// The location of a block is already used by another pointer.
    #[error("block {block} lies where another block lies")]
    Shared {
        /// Number of the block within the file.
        block: u64,
    },
    /// A word that locates a page of snapshot records is damaged.
    #[error("what says where snapshots are recorded is damaged")]
    Records,
    /// The record of a snapshot is malformed.
    #[error("the record of a snapshot makes no sense")]
    Record,
    /// The pointer to the extended attributes is invalid.
    #[error("the pointer to its extended attributes leads nowhere")]
    Xattrs,
}

/// A problem and its repair, which clears one word. If only a checksum is wrong, the repair accepts the current
/// content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {kind}", describe_inode(*.ino))]
pub struct Problem {
    /// Inode number.
    pub ino: Ino,
    /// Kind of problem.
    pub kind: ProblemKind,
    /// Offset and new value of the 8-byte word whose change repairs the problem; `None` for a wrong checksum.
    pub word: Option<(usize, u64)>,
}

/// Describes an inode of the live file system, or an inode that a snapshot keeps.
fn describe_inode(ino: Ino) -> String {
    match ino.0.checked_sub(FIRST_KEPT_INODE) {
        None => format!("inode {}", ino.0),
        Some(number) => format!("snapshots, number {number}"),
    }
}

/// Area that belongs to no file and has a problem. Such areas are not authoritative: opening the file system
/// recomputes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamagedArea {
    /// The number of the current update is damaged.
    #[error("the log of updates does not say which it is of")]
    Log,
    /// The word that marks a clean close is damaged.
    #[error("the word that says whether it was closed says neither")]
    Closed,
    /// The page table of a closed file system is damaged.
    #[error("the checksum of the lists of pages is wrong")]
    Lists,
    /// The notes of changing metadata are damaged.
    #[error("what says which metadata was changing makes no sense")]
    ChangeNotes,
    /// One of the two copies of the epoch is damaged.
    #[error("one of two places does not say of which mount it is")]
    Epoch,
}

/// Result of a walk over all metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Areas of the NVRAM that had problems; opening has repaired these areas.
    pub areas: Vec<DamagedArea>,
    /// Problems with files, at most 1,000.
    pub problems: Vec<Problem>,
    /// Number of all problems.
    pub problem_count: u64,
    /// Number of inodes in use.
    pub inodes: u32,
    /// Inodes in use without links: they were open, or being removed, at the power cut.
    pub orphans: Vec<Ino>,
    /// Files with blocks beyond their end, left by an interrupted truncation or extension, each with the number of
    /// the first such block.
    pub too_long: Vec<(Ino, u64)>,
}

impl Scan {
    /// Returns descriptions of all problems.
    pub fn descriptions(&self) -> Vec<String> {
        let areas = self.areas.iter().map(ToString::to_string);
        areas.chain(self.problems.iter().map(ToString::to_string)).collect()
    }

    /// Adds the results of an earlier walk.
    pub(super) fn combine_with(mut self, before: Scan) -> Scan {
        self.problem_count += before.problem_count;
        self.areas = before.areas;
        self.problems.splice(..0, before.problems);
        self.problems.truncate(MAX_REPORTED);
        self
    }

    /// Adds a problem.
    pub(super) fn report(&mut self, problem: Problem) {
        self.problem_count += 1;
        if self.problems.len() < MAX_REPORTED {
            self.problems.push(problem);
        }
    }
}
