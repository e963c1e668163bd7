//! Who refers to a slot: lists through tables, so that merging two slots allocates nothing.

use crate::table::filled;

const NONE: u32 = u32::MAX;

/// For each slot a list of the logical pages that point to it.
///
/// Cost: 8 bytes a logical page and 4 a slot.
pub(super) struct Sharers {
    /// The first page of each slot.
    first: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Sharers {
    /// Nobody refers to anything.
    pub fn new(logical_pages: u32, slots: u32) -> Self {
        Sharers {
            first: filled(slots as usize, NONE),
            next: filled(logical_pages as usize, NONE),
            previous: filled(logical_pages as usize, NONE),
        }
    }

    /// The page, which is in no list, refers to the slot.
    pub fn insert(&mut self, slot: u32, page: u32) {
        let next = std::mem::replace(&mut self.first[slot as usize], page);
        self.next[page as usize] = next;
        self.previous[page as usize] = NONE;
        if next != NONE {
            self.previous[next as usize] = page;
        }
    }

    /// The page no longer refers to the slot.
    pub fn remove(&mut self, slot: u32, page: u32) {
        let (next, previous) = (self.next[page as usize], self.previous[page as usize]);
        match previous {
            NONE => self.first[slot as usize] = next,
            _ => self.next[previous as usize] = next,
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }

    /// All pages of `from` refer to `into`; tells of each.
    pub fn hand_over(&mut self, from: u32, into: u32, mut each: impl FnMut(u32)) {
        let mut page = std::mem::replace(&mut self.first[from as usize], NONE);
        while page != NONE {
            each(page);
            let next = self.next[page as usize];
            self.insert(into, page);
            page = next;
        }
    }

    pub fn memory_bytes(&self) -> usize {
        4 * (self.first.len() + self.next.len() + self.previous.len())
    }

    /// Compares the lists with the map of pages to slots and the counts of its entries.
    pub fn check(&self, map: &[u32], counts: &[u32]) -> Result<(), String> {
        for (slot, &count) in counts.iter().enumerate() {
            let (mut found, mut page, mut previous) = (0, self.first[slot], NONE);
            while page != NONE && found <= count {
                if map[page as usize] != slot as u32 || self.previous[page as usize] != previous {
                    return Err(format!("page {page} is in the list of slot {slot}, which is not its own"));
                }
                found += 1;
                (previous, page) = (page, self.next[page as usize]);
            }
            if found != count {
                return Err(format!("slot {slot}: {count} references, {found} or more in its list"));
            }
        }
        Ok(())
    }
}
