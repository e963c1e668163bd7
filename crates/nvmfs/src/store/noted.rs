//! What has a checksum of its own, and which of it is changing, so that it has none at the moment.

use crate::api::{BLOCK_BYTES, Ino};
use crate::layout::{Areas, Changing, Field, Inode, PageId, SIZE_OF_INODE};
use std::collections::{BTreeSet, VecDeque};

/// What has a checksum of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unit {
    /// An inode.
    #[error("inode {}", .0.0)]
    Inode(Ino),
    /// A page of metadata.
    #[error("page {} of metadata", .0.0)]
    Page(PageId),
}

impl Unit {
    /// What the byte at `at` is part of.
    pub fn of(at: usize, areas: &Areas) -> Option<Unit> {
        if at >= areas.data {
            let page = (at - areas.data) / BLOCK_BYTES;
            return (page < areas.pages as usize).then_some(Unit::Page(PageId(page as u32)));
        }
        let ino = at.checked_sub(areas.inode_table)? / SIZE_OF_INODE;
        (ino < areas.inodes as usize).then_some(Unit::Inode(Ino(ino as u32)))
    }

    /// A number that no other has; never 0, as there is no inode 0.
    pub(super) fn number(self) -> u64 {
        match self {
            Unit::Inode(ino) => u64::from(ino.0) << 1,
            Unit::Page(page) => u64::from(page.0) << 1 | 1,
        }
    }

    pub(super) fn of_number(number: u64, areas: &Areas) -> Option<Unit> {
        let index = u32::try_from(number >> 1).ok()?;
        match number & 1 {
            0 => (index > 0 && index < areas.inodes).then_some(Unit::Inode(Ino(index))),
            _ => (index < areas.pages).then_some(Unit::Page(PageId(index))),
        }
    }

    pub(super) fn sum_at(self, areas: &Areas) -> usize {
        match self {
            Unit::Inode(ino) => areas.inode_table + ino.0 as usize * SIZE_OF_INODE + Field::Sum as usize,
            Unit::Page(page) => areas.page_sum(page),
        }
    }

    /// What its checksum should be.
    pub(super) fn sum(self, bytes: &[u8], areas: &Areas) -> u32 {
        match self {
            Unit::Inode(ino) => {
                let at = areas.inode_table + ino.0 as usize * SIZE_OF_INODE;
                Inode::sum(bytes[at..at + SIZE_OF_INODE].try_into().expect("an inode"))
            }
            Unit::Page(page) => {
                let at = areas.page(page);
                crc32fast::hash(&bytes[at..at + BLOCK_BYTES])
            }
        }
    }
}

/// What is noted as changing.
#[derive(Default)]
pub(super) struct Noted {
    /// Whether there are checksums at all.
    pub is_checked: bool,
    /// By unit, a bit.
    bits: [Vec<u64>; 2],
    /// Words on NVRAM that note nothing.
    pub free: Vec<usize>,
    /// Those that note something, the oldest first.
    pub used: VecDeque<(usize, Unit)>,
    /// Whether a note may not be safe yet.
    pub is_unsafe: bool,
    /// What was found to have a wrong checksum; it keeps it.
    pub damaged: BTreeSet<Unit>,
}

impl Noted {
    /// Nothing is.
    pub fn new(areas: &Areas, is_checked: bool) -> Self {
        let bits = |count: u32| if is_checked { vec![0; count.div_ceil(64) as usize] } else { Vec::new() };
        Noted {
            is_checked,
            bits: [bits(areas.inodes), bits(areas.pages)],
            free: (0..Changing::COUNT).rev().collect(),
            ..Noted::default()
        }
    }

    fn place(unit: Unit) -> (usize, usize, u64) {
        let (which, index) = match unit {
            Unit::Inode(ino) => (0, ino.0),
            Unit::Page(page) => (1, page.0),
        };
        (which, (index / 64) as usize, 1 << (index % 64))
    }

    /// Whether something is noted.
    pub fn has(&self, unit: Unit) -> bool {
        let (which, word, bit) = Noted::place(unit);
        self.bits[which][word] & bit != 0
    }

    /// It is, or is not.
    pub fn set(&mut self, unit: Unit, is_noted: bool) {
        let (which, word, bit) = Noted::place(unit);
        let word = &mut self.bits[which][word];
        *word = if is_noted { *word | bit } else { *word & !bit };
    }

    /// What was noted before is safe now.
    pub fn fenced(&mut self) {
        self.is_unsafe = false;
    }
}
