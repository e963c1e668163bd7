//! Checksums of metadata: of each inode, and of each page of pointers, of a directory, of attributes and of a link's target.
//!
//! An update that is whole or not at all changes them with what they cover. All else that changes metadata does so word by word;
//! what is about to be changed so is noted on NVRAM first, and gets its checksum later, many at once. After a power
//! cut, what is noted gets the checksum of what it is.

use super::noted::{Noted, Unit};
use super::pages::{State, state_of};
use super::region::Region;
use crate::api::{BLOCK_BYTES, Ino};
use crate::layout::{
    Areas, Changing, Field, INODES, Inode, PageId, SIZE_OF_INODE, SUM_BYTES, checked_number, checked_word,
};
use crate::nvram::Nvram;

/// Units that get their checksums at once, so that one fence serves all.
const SUMMED_AT_ONCE: usize = Changing::COUNT / 2;

fn word_at(slot: usize) -> usize {
    Changing::AT + 8 * slot
}

impl<N: Nvram> Region<N> {
    /// Whether metadata has checksums.
    pub fn is_checked(&self) -> bool {
        self.noted.is_checked
    }

    /// Whether the checksum of something is right, or something is changing, so that it has none.
    pub fn is_sound(&self, unit: Unit) -> bool {
        if !self.noted.is_checked {
            return true;
        }
        if !self.noted.damaged.is_empty() && self.noted.damaged.contains(&unit) {
            return false;
        }
        self.noted.has(unit) || self.half(self.sum_at(unit)) == self.sum_of(unit)
    }

    /// Something has a wrong checksum, and keeps it; whether that is news.
    pub(super) fn set_damaged(&mut self, unit: Unit) -> bool {
        self.noted.set(unit, true);
        self.noted.damaged.insert(unit)
    }

    /// Metadata at `at` is going to change word by word, after the next fence.
    pub fn announce(&mut self, at: usize) {
        if self.noted.is_checked
            && let Some(unit) = self.unit_of(at)
            && !self.noted.has(unit)
        {
            if self.is_sound(unit) {
                self.note_changing(unit);
            } else {
                // Whatever becomes of it.
                self.set_damaged(unit);
            }
        }
    }

    /// The same of a page to which nothing points, whatever was in it.
    pub fn announce_fresh(&mut self, page: PageId) {
        let unit = Unit::Page(page);
        if !self.noted.is_checked {
            return;
        }
        if self.noted.damaged.remove(&unit) {
            self.noted.set(unit, false);
        }
        if !self.noted.has(unit) {
            self.note_changing(unit);
        }
    }

    fn note_changing(&mut self, unit: Unit) {
        if self.noted.free.is_empty() {
            self.sum_up(SUMMED_AT_ONCE);
        }
        let slot = self.noted.free.pop().expect("some were made free");
        self.patch_word(word_at(slot), checked_word(unit.number()));
        self.noted.set(unit, true);
        self.noted.used.push_back((slot, unit));
        self.noted.is_unsafe = true;
    }

    /// Sees to it that so many more can be noted, without any of them being summed up.
    pub(super) fn make_room_for_notes(&mut self, count: usize) {
        assert!(count <= Changing::COUNT, "an update changes more than can be noted");
        if self.noted.is_checked && self.noted.free.len() < count {
            self.sum_up(count.max(SUMMED_AT_ONCE));
        }
    }

    /// Before a word of metadata changes: what is noted of it has to be safe.
    pub(super) fn before_change(&mut self, at: usize) {
        self.announce(at);
        if self.noted.is_unsafe {
            self.fence();
        }
    }

    /// The longest noted get checksums, and are changing no more.
    fn sum_up(&mut self, count: usize) {
        let count = count.min(self.noted.used.len());
        let summed: Vec<(usize, Unit)> = self.noted.used.drain(..count).collect();
        for (_, unit) in &summed {
            self.set_sum(*unit);
        }
        // Before they are no longer noted.
        self.fence();
        for (slot, unit) in summed {
            self.patch_word(word_at(slot), 0);
            self.noted.set(unit, false);
            self.noted.free.push(slot);
        }
    }

    /// All that is noted gets checksums; they are safe.
    pub(super) fn sum_up_all(&mut self) {
        if self.noted.is_checked {
            self.sum_up(usize::MAX);
            self.fence();
        }
    }

    /// Where its checksum stands.
    fn sum_at(&self, unit: Unit) -> usize {
        match unit {
            Unit::Inode(ino) => self.inode_at(ino).expect("it is there") + Field::Sum as usize,
            Unit::Page(page) => self.areas.page_sum(page),
        }
    }

    /// What its checksum should be.
    fn sum_of(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Inode(ino) => {
                let at = self.inode_at(ino).expect("it is there");
                Inode::sum(self.bytes()[at..at + SIZE_OF_INODE].try_into().expect("an inode"))
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

    /// All metadata gets the checksum of what it is now.
    pub fn sum_anew(&mut self) {
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

    /// Nothing is noted any more.
    fn forget_notes(&mut self) {
        self.store(Changing::AT, &[0; 8 * Changing::COUNT]);
        self.fence();
        self.noted = Noted::new(&self.areas, self.noted.is_checked);
    }

    /// Metadata has checksums from now on.
    pub(super) fn begin_to_check(&mut self) {
        self.noted.is_checked = true;
        self.sum_anew();
    }

    /// After a power cut: what was changing gets the checksum of what it is.
    pub(super) fn sum_what_was_changing(&mut self) {
        if is_nothing_noted(self.bytes()) {
            return;
        }
        let words = (0..Changing::COUNT).map(|slot| self.word(word_at(slot)));
        let units = words.filter_map(|word| Unit::of_number(checked_number(word)?, &self.areas));
        for unit in units.collect::<Vec<_>>() {
            if let Unit::Inode(ino) = unit {
                self.find_inode_page(ino);
            }
            if self.is_there(unit) {
                self.set_sum(unit);
            }
        }
        self.fence();
        self.forget_notes();
    }
}

/// Whether all that tells what is changing makes sense.
pub(super) fn are_notes_sound(bytes: &[u8], areas: &Areas) -> bool {
    let (words, _) = bytes[Changing::AT..Changing::AT + 8 * Changing::COUNT].as_chunks::<8>();
    words.iter().all(|word| {
        let number = checked_number(u64::from_le_bytes(*word));
        number.is_some_and(|number| number == 0 || Unit::of_number(number, areas).is_some())
    })
}

/// Whether nothing is noted as changing.
pub(super) fn is_nothing_noted(bytes: &[u8]) -> bool {
    bytes[Changing::AT..Changing::AT + 8 * Changing::COUNT].iter().all(|byte| *byte == 0)
}

/// The checksum of a block of data, which tells one of another file, or of another place in it, from it.
pub fn data_sum(ino: Ino, block: u32, content: &[u8]) -> u32 {
    let owner = u64::from(ino.0) | u64::from(block) << 32;
    let mut hasher = crc32fast::Hasher::new_with_initial(crc32fast::hash(&owner.to_le_bytes()));
    hasher.update(content);
    hasher.finalize()
}

const _: () = assert!(Changing::AT + 8 * Changing::COUNT <= BLOCK_BYTES && SUM_BYTES == 4);
