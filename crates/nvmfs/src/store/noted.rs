//! What has a checksum of its own, and which of it is changing, so that it has none at the moment.

use crate::api::Ino;
use crate::layout::{Areas, Changing, INODES, PageId};
use std::collections::{BTreeSet, VecDeque};

/// The number of [`INODES`] among what has a checksum: above those of all others.
const NUMBER_OF_INODES: u64 = 1 << 33;

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
    /// A number that no other has; never 0.
    pub(super) fn number(self) -> u64 {
        match self {
            Unit::Inode(INODES) => NUMBER_OF_INODES,
            Unit::Inode(ino) => u64::from(ino.0) << 1,
            Unit::Page(page) => u64::from(page.0) << 1 | 1,
        }
    }

    pub(super) fn of_number(number: u64, areas: &Areas) -> Option<Unit> {
        if number == NUMBER_OF_INODES {
            return Some(Unit::Inode(INODES));
        }
        let index = u32::try_from(number >> 1).ok()?;
        match number & 1 {
            0 => (index > 0 && index < areas.most_inodes()).then_some(Unit::Inode(Ino(index))),
            _ => (index < areas.pages).then_some(Unit::Page(PageId(index))),
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
        self.bits[which].get(word).is_some_and(|word| word & bit != 0)
    }

    /// It is, or is not.
    pub fn set(&mut self, unit: Unit, is_noted: bool) {
        let (which, word, bit) = Noted::place(unit);
        if word >= self.bits[which].len() {
            // There are more inodes by now.
            self.bits[which].resize(word + 1, 0);
        }
        let word = &mut self.bits[which][word];
        *word = if is_noted { *word | bit } else { *word & !bit };
    }

    /// What was noted before is safe now.
    pub fn fenced(&mut self) {
        self.is_unsafe = false;
    }
}
