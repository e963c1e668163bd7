//! Checksums of metadata: each inode has a checksum, and so has each page of pointers, directory entries, attributes or
//! a link's target.
//!
//! An atomic update changes checksums together with the content. All other changes of metadata are made word by word:
//! a note on NVRAM first marks the unit as changing, and checksums are computed later, for many units together. After
//! a power cut, units with a note get the checksum of their current content.

use super::change_notes::{ChangeNotes, Unit};
use super::pages::{State, state_of};
use super::region::Region;
use crate::api::{BLOCK_BYTES, Ino};
use crate::layout::{
    Areas, ChangeNoteWords, Field, INODE_BYTES, INODES, Inode, PageId, SUM_BYTES, checked_number,
    checked_word,
};
use crate::nvram::Nvram;

/// Minimum number of units whose checksums are computed together, so that one fence serves all of them.
const MIN_SUMMED_UNITS: usize = ChangeNoteWords::COUNT / 2;

fn word_at(slot: usize) -> usize {
    ChangeNoteWords::AT + 8 * slot
}

impl<N: Nvram> Region<N> {
    /// True if metadata has checksums.
    pub fn is_checked(&self) -> bool {
        self.notes.is_checked
    }

    /// True if the checksum of a unit is valid, or if the unit is noted as changing and has no checksum.
    pub fn has_valid_checksum(&self, unit: Unit) -> bool {
        if !self.notes.is_checked {
            return true;
        }
        if !self.notes.damaged.is_empty() && self.notes.damaged.contains(&unit) {
            return false;
        }
        self.notes.has(unit) || self.half(self.sum_at(unit)) == self.sum_of(unit)
    }

    /// Marks a unit as damaged, so that its wrong checksum is not updated; returns true if the unit was not marked
    /// before.
    pub(super) fn set_damaged(&mut self, unit: Unit) -> bool {
        self.notes.set(unit, true);
        self.notes.damaged.insert(unit)
    }

    /// Notes that metadata at `at` will be changed word by word; the note is durable after the next fence.
    pub fn note_changing(&mut self, at: usize) {
        if self.notes.is_checked
            && let Some(unit) = self.unit_of(at)
            && !self.notes.has(unit)
        {
            if self.has_valid_checksum(unit) {
                self.note_unit(unit);
            } else {
                // The wrong checksum is not updated.
                self.set_damaged(unit);
            }
        }
    }

    /// Does what [`Region::note_changing`] does, for a page to which no pointer leads; its old content does not
    /// matter.
    pub fn note_new_page(&mut self, page: PageId) {
        let unit = Unit::Page(page);
        if !self.notes.is_checked {
            return;
        }
        if self.notes.damaged.remove(&unit) {
            self.notes.set(unit, false);
        }
        if !self.notes.has(unit) {
            self.note_unit(unit);
        }
    }

    fn note_unit(&mut self, unit: Unit) {
        if self.notes.free.is_empty() {
            self.update_checksums(MIN_SUMMED_UNITS);
        }
        let slot = self.notes.free.pop().expect("some were made free");
        self.patch_word(word_at(slot), checked_word(unit.number()));
        self.notes.set(unit, true);
        self.notes.used.push_back((slot, unit));
        self.notes.is_unsafe = true;
    }

    /// Ensures that `count` more units can be noted without computing checksums in between.
    pub(super) fn make_room_for_notes(&mut self, count: usize) {
        assert!(count <= ChangeNoteWords::COUNT, "an update changes more than can be noted");
        if self.notes.is_checked && self.notes.free.len() < count {
            self.update_checksums(count.max(MIN_SUMMED_UNITS));
        }
    }

    /// Called before a word of metadata is changed, because its note must be durable first.
    pub(super) fn before_change(&mut self, at: usize) {
        self.note_changing(at);
        if self.notes.is_unsafe {
            self.fence();
        }
    }

    /// Computes the checksums of the `count` units that were noted first, and removes their notes.
    fn update_checksums(&mut self, count: usize) {
        let count = count.min(self.notes.used.len());
        let summed: Vec<(usize, Unit)> = self.notes.used.drain(..count).collect();
        for (_, unit) in &summed {
            self.set_sum(*unit);
        }
        // The checksums must be durable before the notes are removed.
        self.fence();
        for (slot, unit) in summed {
            self.patch_word(word_at(slot), 0);
            self.notes.set(unit, false);
            self.notes.free.push(slot);
        }
    }

    /// Computes the checksums of all noted units and makes them durable.
    pub(super) fn update_all_checksums(&mut self) {
        if self.notes.is_checked {
            self.update_checksums(usize::MAX);
            self.fence();
        }
    }

    /// Returns the offset of the checksum of a unit.
    fn sum_at(&self, unit: Unit) -> usize {
        match unit {
            Unit::Inode(ino) => self.inode_at(ino).expect("it is there") + Field::Sum as usize,
            Unit::Page(page) => self.areas.page_sum(page),
        }
    }

    /// Computes the checksum of a unit.
    fn sum_of(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Inode(ino) => {
                let at = self.inode_at(ino).expect("it is there");
                Inode::sum(self.bytes()[at..at + INODE_BYTES].try_into().expect("an inode"))
            }
            Unit::Page(page) => crc32fast::hash(self.page(page)),
        }
    }

    fn set_sum(&mut self, unit: Unit) {
        let (at, sum) = (self.sum_at(unit), self.sum_of(unit));
        if self.half(at) != sum {
            self.store(at, &sum.to_le_bytes());
        }
    }

    /// Recomputes the checksums of all metadata.
    pub fn recompute_checksums(&mut self) {
        for ino in std::iter::once(INODES).chain(self.inos()) {
            self.set_sum(Unit::Inode(ino));
        }
        for page in (0..self.areas.pages).map(PageId) {
            if state_of(self, page) == State::Metadata {
                self.set_sum(Unit::Page(page));
            }
        }
        self.fence();
        self.forget_notes();
    }

    /// Removes all notes.
    fn forget_notes(&mut self) {
        self.store(ChangeNoteWords::AT, &[0; 8 * ChangeNoteWords::COUNT]);
        self.fence();
        self.notes = ChangeNotes::new(&self.areas, self.notes.is_checked);
    }

    /// Enables checksums of metadata.
    pub(super) fn enable_checksums(&mut self) {
        self.notes.is_checked = true;
        self.recompute_checksums();
    }

    /// Recomputes the checksums of noted units after a power cut.
    pub(super) fn recompute_noted_checksums(&mut self) {
        if has_no_notes(self.bytes()) {
            return;
        }
        let words = (0..ChangeNoteWords::COUNT).map(|slot| self.word(word_at(slot)));
        let units = words.filter_map(|word| Unit::from_number(checked_number(word)?, &self.areas));
        for unit in units.collect::<Vec<_>>() {
            if let Unit::Inode(ino) = unit {
                self.find_inode_page(ino);
            }
            if self.exists(unit) {
                self.set_sum(unit);
            }
        }
        self.fence();
        self.forget_notes();
    }
}

/// True if all notes are valid.
pub(super) fn are_notes_valid(bytes: &[u8], areas: &Areas) -> bool {
    let (words, _) =
        bytes[ChangeNoteWords::AT..ChangeNoteWords::AT + 8 * ChangeNoteWords::COUNT].as_chunks::<8>();
    words.iter().all(|word| {
        let number = checked_number(u64::from_le_bytes(*word));
        number.is_some_and(|number| number == 0 || Unit::from_number(number, areas).is_some())
    })
}

/// True if no unit is noted.
pub(super) fn has_no_notes(bytes: &[u8]) -> bool {
    bytes[ChangeNoteWords::AT..ChangeNoteWords::AT + 8 * ChangeNoteWords::COUNT].iter().all(|byte| *byte == 0)
}

/// Returns the checksum of a data block. It covers the file and the block number, so a block of another file or with
/// another number does not match.
pub fn data_sum(ino: Ino, block: u32, content: &[u8]) -> u32 {
    let owner = u64::from(ino.0) | u64::from(block) << 32;
    let mut hasher = crc32fast::Hasher::new_with_initial(crc32fast::hash(&owner.to_le_bytes()));
    hasher.update(content);
    hasher.finalize()
}

const _: () = assert!(ChangeNoteWords::AT + 8 * ChangeNoteWords::COUNT <= BLOCK_BYTES && SUM_BYTES == 4);
