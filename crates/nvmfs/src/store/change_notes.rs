//! Units, which are the parts of the metadata with one checksum each, and notes of units that are being changed and
//! have no valid checksum meanwhile.

use crate::api::Ino;
use crate::layout::{Areas, ChangeNoteWords, INODES, PageId};
use std::collections::{BTreeSet, VecDeque};

/// Number of [`INODES`] as a unit: larger than the numbers of all other units.
const INODE_FILE_NUMBER: u64 = 1 << 33;

/// Part of the metadata that one checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unit {
    /// An inode.
    #[error("inode {}", .0.0)]
    Inode(Ino),
    /// A metadata page.
    #[error("page {} of metadata", .0.0)]
    Page(PageId),
}

impl Unit {
    /// Returns the unique number of the unit; never 0.
    pub(super) fn number(self) -> u64 {
        match self {
            Unit::Inode(INODES) => INODE_FILE_NUMBER,
            Unit::Inode(ino) => u64::from(ino.0) << 1,
            Unit::Page(page) => u64::from(page.0) << 1 | 1,
        }
    }

    pub(super) fn from_number(number: u64, areas: &Areas) -> Option<Unit> {
        if number == INODE_FILE_NUMBER {
            return Some(Unit::Inode(INODES));
        }
        let index = u32::try_from(number >> 1).ok()?;
        match number & 1 {
            0 => (index > 0 && index < areas.inode_number_limit()).then_some(Unit::Inode(Ino(index))),
            _ => (index < areas.pages).then_some(Unit::Page(PageId(index))),
        }
    }
}

/// Units that are noted as changing.
#[derive(Default)]
pub(super) struct ChangeNotes {
    /// True if metadata has checksums.
    pub is_checked: bool,
    /// One bit per unit, set if the unit is noted; inodes and pages have separate bitmaps.
    bits: [Vec<u64>; 2],
    /// Offsets on NVRAM of the unused words for notes.
    pub free: Vec<usize>,
    /// Used words for notes with their units, oldest first.
    pub used: VecDeque<(usize, Unit)>,
    /// True if a note may not be durable yet.
    pub is_unsafe: bool,
    /// Units with a wrong checksum; these checksums are never updated.
    pub damaged: BTreeSet<Unit>,
}

impl ChangeNotes {
    /// Creates a state without notes.
    pub fn new(areas: &Areas, is_checked: bool) -> Self {
        let bits = |count: u32| if is_checked { vec![0; count.div_ceil(64) as usize] } else { Vec::new() };
        ChangeNotes {
            is_checked,
            bits: [bits(areas.inodes), bits(areas.pages)],
            free: (0..ChangeNoteWords::COUNT).rev().collect(),
            ..ChangeNotes::default()
        }
    }

    fn bit_of(unit: Unit) -> (usize, usize, u64) {
        let (which, index) = match unit {
            Unit::Inode(ino) => (0, ino.0),
            Unit::Page(page) => (1, page.0),
        };
        (which, (index / 64) as usize, 1 << (index % 64))
    }

    /// True if a unit is noted.
    pub fn has(&self, unit: Unit) -> bool {
        let (which, word, bit) = ChangeNotes::bit_of(unit);
        self.bits[which].get(word).is_some_and(|word| word & bit != 0)
    }

    /// Sets or clears the note of a unit.
    pub fn set(&mut self, unit: Unit, is_noted: bool) {
        let (which, word, bit) = ChangeNotes::bit_of(unit);
        if word >= self.bits[which].len() {
            // Inodes were added after the bitmap was allocated.
            self.bits[which].resize(word + 1, 0);
        }
        let word = &mut self.bits[which][word];
        *word = if is_noted { *word | bit } else { *word & !bit };
    }

    /// Records that all notes are durable.
    pub fn mark_fenced(&mut self) {
        self.is_unsafe = false;
    }
}
