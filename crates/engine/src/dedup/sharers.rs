//! The logical pages that refer to each slot: linked lists in tables, so that merging two slots allocates nothing.

use super::slots::Slots;
use crate::table::{filled, prefetch};

const NONE: u32 = u32::MAX;

/// Neighbours of a page in its list.
#[derive(Clone, Copy)]
struct Link {
    next: u32,
    previous: u32,
}

/// A list of the logical pages of each slot.
///
/// Memory: 8 bytes per logical page and 4 per slot.
pub(super) struct Sharers {
    /// First page of each slot.
    first: Vec<u32>,
    links: Vec<Link>,
}

impl Sharers {
    /// Creates empty lists.
    pub fn new(logical_pages: u32, slots: u32) -> Self {
        Sharers {
            first: filled(slots as usize, NONE),
            links: filled(logical_pages as usize, Link { next: NONE, previous: NONE }),
        }
    }

    /// Prefetches the data that change when `page` leaves or joins a list. Does not affect any result.
    #[inline(always)]
    pub fn prefetch_page(&self, page: u32) {
        prefetch(self.links.as_ptr().wrapping_add(page as usize));
    }

    /// Prefetches the list head of `slot`. Does not affect any result.
    #[inline(always)]
    pub fn prefetch_slot(&self, slot: u32) {
        prefetch(self.first.as_ptr().wrapping_add(slot as usize));
    }

    /// Returns the first page that refers to the slot, if any.
    #[inline(always)]
    pub fn first(&self, slot: u32) -> Option<u32> {
        Some(self.first[slot as usize]).filter(|page| *page != NONE)
    }

    /// Adds the page, which is in no list, to the list of the slot.
    pub fn insert(&mut self, slot: u32, page: u32) {
        let next = std::mem::replace(&mut self.first[slot as usize], page);
        self.links[page as usize] = Link { next, previous: NONE };
        if next != NONE {
            self.links[next as usize].previous = page;
        }
    }

    /// Removes the page from the list of the slot.
    pub fn remove(&mut self, slot: u32, page: u32) {
        let Link { next, previous } = self.links[page as usize];
        match previous {
            NONE => self.first[slot as usize] = next,
            _ => self.links[previous as usize].next = next,
        }
        if next != NONE {
            self.links[next as usize].previous = previous;
        }
    }

    /// Moves all pages of `from` to the list of `into`, and calls `on_move` for each.
    pub fn move_all(&mut self, from: u32, into: u32, mut on_move: impl FnMut(u32)) {
        let mut page = std::mem::replace(&mut self.first[from as usize], NONE);
        while page != NONE {
            on_move(page);
            let next = self.links[page as usize].next;
            self.insert(into, page);
            page = next;
        }
    }

    pub fn memory_bytes(&self) -> usize {
        4 * self.first.len() + size_of_val(&self.links[..])
    }

    /// Compares the lists with the map of pages to slots and with the reference counts; an error is a bug.
    pub fn check(&self, map: &[u32], slots: &Slots) -> Result<(), String> {
        for slot in 0..slots.len() {
            let count = slots.references(slot);
            let (mut found, mut page, mut previous) = (0, self.first[slot as usize], NONE);
            while page != NONE && found <= count {
                if map[page as usize] != slot || self.links[page as usize].previous != previous {
                    return Err(format!("page {page} is in the list of slot {slot}, which is not its own"));
                }
                found += 1;
                (previous, page) = (page, self.links[page as usize].next);
            }
            if found != count {
                return Err(format!("slot {slot}: {count} references, {found} or more in its list"));
            }
        }
        Ok(())
    }
}
