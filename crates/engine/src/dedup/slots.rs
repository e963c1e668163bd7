//! State of each slot, stored in one structure because its fields are used together.

use crate::layer::ContentId;
use crate::table::{filled, prefetch};

/// Reference counts from this value on are counted together.
pub(super) const MANY: u32 = 4;
/// Bits of a slot's flags that hold its highest reference count so far, up to [`MANY`].
const PEAK: u8 = 7;
/// Set while the slot's page is being read.
const BEING_READ: u8 = 0x20;
/// Set if a page left the slot by a record of the map log that is not on flash yet: the content must be kept until the
/// record is durable.
const RETAINED: u8 = 0x40;
/// Set if the slot's page was written to the cold region.
const COLD: u8 = 0x80;

#[derive(Clone, Copy)]
struct Slot {
    /// Content, if it is in the index.
    content: ContentId,
    /// Reference count, including references planned by the current write.
    references: u32,
    mark: u8,
}

/// All slots.
///
/// Memory: 16 bytes per slot.
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// Number of slots with 0, 1, 2, 3 and more references.
    by_references: [u64; MANY as usize + 1],
}

impl Slots {
    /// Creates empty slots.
    pub fn new(slots: u32) -> Self {
        let empty = Slot { content: ContentId::UNKNOWN, references: 0, mark: 0 };
        Slots { slots: filled(slots as usize, empty), by_references: [u64::from(slots), 0, 0, 0, 0] }
    }

    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Prefetches the slot's cache line. Does not affect any result.
    #[inline(always)]
    pub fn prefetch(&self, slot: u32) {
        prefetch(self.slots.as_ptr().wrapping_add(slot as usize));
    }

    /// Returns the content of the slot, as far as the index knows it.
    #[inline(always)]
    pub fn content(&self, slot: u32) -> ContentId {
        self.slots[slot as usize].content
    }

    /// Sets the content; only for the index.
    #[inline(always)]
    pub fn set_content(&mut self, slot: u32, content: ContentId) {
        self.slots[slot as usize].content = content;
    }

    #[inline(always)]
    pub fn references(&self, slot: u32) -> u32 {
        self.slots[slot as usize].references
    }

    #[inline(always)]
    pub fn set_references(&mut self, slot: u32, references: u32) {
        let before = std::mem::replace(&mut self.slots[slot as usize].references, references);
        self.by_references[before.min(MANY) as usize] -= 1;
        self.by_references[references.min(MANY) as usize] += 1;
    }

    pub fn is_cold(&self, slot: u32) -> bool {
        self.slots[slot as usize].mark & COLD != 0
    }

    pub fn set_cold(&mut self, slot: u32, cold: bool) {
        let mark = &mut self.slots[slot as usize].mark;
        *mark = *mark & !COLD | if cold { COLD } else { 0 };
    }

    pub fn is_retained(&self, slot: u32) -> bool {
        self.slots[slot as usize].mark & RETAINED != 0
    }

    pub fn set_retained(&mut self, slot: u32, retained: bool) {
        let mark = &mut self.slots[slot as usize].mark;
        *mark = *mark & !RETAINED | if retained { RETAINED } else { 0 };
    }

    pub fn is_being_read(&self, slot: u32) -> bool {
        self.slots[slot as usize].mark & BEING_READ != 0
    }

    pub fn set_being_read(&mut self, slot: u32, being_read: bool) {
        let mark = &mut self.slots[slot as usize].mark;
        *mark = *mark & !BEING_READ | if being_read { BEING_READ } else { 0 };
    }

    /// Updates the highest reference count of the slot.
    pub fn update_peak(&mut self, slot: u32) {
        let Slot { references, mark, .. } = &mut self.slots[slot as usize];
        *mark = *mark & !PEAK | (*mark & PEAK).max((*references).min(MANY) as u8);
    }

    /// Returns the highest reference count that the content ever had, 1 to [`MANY`].
    pub fn peak(&self, slot: u32) -> usize {
        usize::from((self.slots[slot as usize].mark & PEAK).max(1))
    }

    /// Clears the flags of a slot with new or no content.
    pub fn clear_marks(&mut self, slot: u32) {
        self.slots[slot as usize].mark = 0;
    }

    /// Returns the number of stored contents by reference count: 1, 2, 3, more.
    pub fn live_by_references(&self) -> [u64; MANY as usize] {
        let [_, live @ ..] = self.by_references;
        live
    }

    /// Returns the memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// Recounts the slots by reference count; an error is a bug.
    pub fn check(&self) -> Result<(), String> {
        let mut found = [0; MANY as usize + 1];
        self.slots.iter().for_each(|slot| found[slot.references.min(MANY) as usize] += 1);
        if found != self.by_references {
            return Err(format!("slots by references: {found:?} found, {:?} counted", self.by_references));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
