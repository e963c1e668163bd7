//! What a walk through everything finds wrong, in words.

use crate::api::Ino;
use crate::layout::KEPT_INODES;

/// Problems told; of more only the number.
const MOST_TOLD: usize = 1000;

/// A part of a file that has a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Part {
    /// The inode.
    #[error("inode")]
    Inode,
    /// A block of pointers, above this block first.
    #[error("pointers to block {0} and others")]
    Pointers(u64),
    /// A block of a directory, or of a link's target.
    #[error("block {0}, on NVRAM")]
    Block(u64),
    /// The page of extended attributes.
    #[error("extended attributes")]
    Xattrs,
    /// A block of data, on NVRAM.
    #[error("data of block {0}, on NVRAM")]
    NvramData(u64),
    /// A block of data, on the SSD.
    #[error("data of block {0}, on the SSD")]
    SsdData(u64),
}

/// What is wrong with an inode or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Something in it was changed by nobody; which, cannot be told.
    #[error("the checksum of its {0} is wrong")]
    Checksum(Part),
    /// The number of its blocks was changed by nobody.
    #[error("it says another number of blocks than it has")]
    Blocks,
    /// The mode names no kind of file.
    #[error("its mode names no kind of file")]
    Mode,
    /// Larger than a file can be, or a directory that ends before its last block.
    #[error("its size is not that of what it has")]
    Size,
    /// A pointer to no place, or to one that such a file cannot use.
    #[error("the pointer to block {block} leads nowhere")]
    Pointer {
        /// Block of the file.
        block: u64,
    },
    /// A place that another pointer leads to as well.
    #[error("block {block} lies where another block lies")]
    Shared {
        /// Block of the file.
        block: u64,
    },
    /// The word that tells of a page with records of snapshots.
    #[error("what says where snapshots are recorded is damaged")]
    Records,
    /// The record of a snapshot makes no sense.
    #[error("the record of a snapshot makes no sense")]
    Record,
    /// Its extended attributes are nowhere.
    #[error("the pointer to its extended attributes leads nowhere")]
    Xattrs,
}

/// Something wrong, and how it is put right: a word is cleared. What has a wrong checksum is taken as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", told_of(*.ino))]
pub struct Problem {
    /// The inode.
    pub ino: Ino,
    /// What is wrong.
    pub what: Wrong,
    /// The word of 8 bytes that is set, and what to; none of a checksum.
    pub word: Option<(usize, u64)>,
}

/// An inode by what it is.
fn told_of(ino: Ino) -> String {
    match ino.0.checked_sub(KEPT_INODES) {
        None => format!("inode {}", ino.0),
        Some(number) => format!("snapshots, number {number}"),
    }
}

/// What is wrong with what belongs to no file. Nothing depends on any of these alone: opening works out anew what they tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongArea {
    /// The number of the update in hand.
    #[error("the log of updates does not say which it is of")]
    Log,
    /// The word that says whether it was closed.
    #[error("the word that says whether it was closed says neither")]
    Closed,
    /// The page table of a file system that was closed.
    #[error("the checksum of the lists of pages is wrong")]
    Lists,
    /// What was changing.
    #[error("what says which metadata was changing makes no sense")]
    Changing,
    /// One of two places that say of which mount the NVRAM is.
    #[error("one of two places does not say of which mount it is")]
    Epoch,
}

/// What a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// What is wrong with areas of the NVRAM, which opening put right.
    pub areas: Vec<WrongArea>,
    /// Problems of files, the first thousand.
    pub problems: Vec<Problem>,
    /// All problems.
    pub problem_count: u64,
    /// Inodes in use.
    pub inodes: u32,
    /// Inodes in use that have no links: they were being removed, or were open, when power went.
    pub orphans: Vec<Ino>,
    /// Files with blocks beyond their end, which were being cut or extended, and their first such block.
    pub too_long: Vec<(Ino, u64)>,
}

impl Scan {
    /// All that is wrong, in words.
    pub fn told(&self) -> Vec<String> {
        let areas = self.areas.iter().map(ToString::to_string);
        areas.chain(self.problems.iter().map(ToString::to_string)).collect()
    }

    /// With what was seen before.
    pub(super) fn after(mut self, before: Scan) -> Scan {
        self.problem_count += before.problem_count;
        self.areas = before.areas;
        self.problems.splice(..0, before.problems);
        self.problems.truncate(MOST_TOLD);
        self
    }

    /// One more thing is wrong with a file.
    pub(super) fn complain(&mut self, problem: Problem) {
        self.problem_count += 1;
        if self.problems.len() < MOST_TOLD {
            self.problems.push(problem);
        }
    }
}
