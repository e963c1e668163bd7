//! An index in flash: its entries are distributed over pages by hash, and RAM caches the pages used last.
//!
//! The index itself holds the content of the pages; this module only tracks which pages are cached, and the reads and
//! writes of flash.

use super::lru::Lru;

const RESIDENT: u8 = 1;
const DIRTY: u8 = 2;
/// The page was written to flash, so that it must be read before it is used again.
const STORED: u8 = 4;
/// A write of the page is pending.
const QUEUED: u8 = 8;

/// One flash access that the index needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexAccess {
    pub page: u32,
    pub is_write: bool,
}

/// Cache of index pages.
pub(super) struct PageCache {
    states: Vec<u8>,
    recent: Lru,
    /// Maximum number of pages in RAM.
    capacity: u32,
    resident: u32,
    page_bytes: u64,
    /// Pending reads and writes, in order. They are deferred because lookups also happen during cleaning, when the
    /// index must not write.
    pending: Vec<IndexAccess>,
}

impl PageCache {
    /// Creates a cache with none of the `pages` in RAM or on flash.
    pub fn new(pages: u32, capacity: u32, page_bytes: u64) -> Self {
        let states = vec![0; pages as usize];
        PageCache { states, recent: Lru::new(pages), capacity, resident: 0, page_bytes, pending: Vec::new() }
    }

    pub fn pages(&self) -> u32 {
        self.states.len() as u32
    }

    /// Returns the RAM of the cached pages, bytes.
    pub fn resident_bytes(&self) -> u64 {
        u64::from(self.resident) * self.page_bytes
    }

    /// Returns the number of pages on flash.
    pub fn stored_pages(&self) -> u64 {
        self.states.iter().filter(|state| **state & STORED != 0).count() as u64
    }

    /// Uses the page of this hash, and marks it as changed if `changes`.
    pub fn touch(&mut self, hash: u64, changes: bool) {
        let page = (hash % self.states.len() as u64) as u32;
        if self.states[page as usize] & RESIDENT == 0 {
            self.load(page);
        } else {
            self.recent.touch(page);
        }
        self.states[page as usize] |= if changes { DIRTY } else { 0 };
    }

    fn load(&mut self, page: u32) {
        if self.resident == self.capacity {
            let oldest = self.recent.oldest().expect("the cache holds pages");
            self.recent.remove(oldest);
            let state = &mut self.states[oldest as usize];
            // A page whose write is pending is written once, with its content at that time.
            if *state & (DIRTY | QUEUED) == DIRTY {
                self.pending.push(IndexAccess { page: oldest, is_write: true });
                *state |= QUEUED;
            }
            *state &= !(RESIDENT | DIRTY);
        } else {
            self.resident += 1;
        }
        let state = &mut self.states[page as usize];
        if *state & (STORED | QUEUED) == STORED {
            self.pending.push(IndexAccess { page, is_write: false });
        }
        *state |= RESIDENT;
        self.recent.insert(page);
    }

    /// Moves the pending accesses to `out`, in order.
    pub fn take_pending(&mut self, out: &mut Vec<IndexAccess>) {
        out.clear();
        std::mem::swap(out, &mut self.pending);
        for access in out.iter().filter(|access| access.is_write) {
            let state = &mut self.states[access.page as usize];
            *state = *state & !QUEUED | STORED;
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.states.len() + self.recent.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_read_only_if_stored_and_written_only_if_changed() {
        let mut cache = PageCache::new(4, 2, 4096);
        let mut due = Vec::new();
        let mut step = |page: u64, changes: bool| {
            cache.touch(page, changes);
            cache.take_pending(&mut due);
            due.iter().map(|access| (access.page, access.is_write)).collect::<Vec<_>>()
        };
        assert_eq!(step(0, true), []);
        assert_eq!(step(1, false), []);
        assert_eq!(step(0, false), []);
        assert_eq!(step(2, false), [], "page 1 was not changed");
        assert_eq!(step(3, false), [(0, true)]);
        assert_eq!(step(0, false), [(0, false)], "page 2 leaves, page 0 comes back");
        assert_eq!(step(3, true), []);
        assert_eq!(step(1, false), [], "page 0 leaves as it was read");
    }
}
