//! Linked lists in tables, compared with plain vectors: sharers, order of use, and cached pages.

use super::super::lru::Lru;
use super::super::pages::{IndexAccess, PageCache};
use super::super::sharers::Sharers;
use super::super::slots::Slots;
use crate::seed::{Seed, random_below};
use std::collections::VecDeque;

#[test]
fn order_of_use_matches_a_queue() {
    for bound in [1, 2, 9] {
        let (mut lru, mut queue) = (Lru::new(bound), VecDeque::new());
        let mut random = Seed(u64::from(bound)).random();
        for _ in 0..2000 {
            let number = random_below(&mut random, u64::from(bound)) as u32;
            let at = queue.iter().position(|other| *other == number);
            match (at, random_below(&mut random, 3)) {
                (None, _) => {
                    lru.insert(number);
                    queue.push_back(number);
                }
                (Some(at), 0) => {
                    lru.remove(number);
                    queue.remove(at);
                }
                (Some(at), _) => {
                    lru.touch(number);
                    queue.remove(at);
                    queue.push_back(number);
                }
            }
            assert_eq!(lru.oldest(), queue.front().copied());
        }
        while let Some(oldest) = queue.pop_front() {
            assert_eq!(lru.oldest(), Some(oldest));
            lru.remove(oldest);
        }
        assert_eq!(lru.oldest(), None);
        // Two tables of 4 bytes per number, with one extra entry for the end.
        assert_eq!(lru.memory_bytes(), 2 * 4 * (bound as usize + 1));
    }
}

/// Returns the pages of a slot, from the first.
fn pages_of(sharers: &mut Sharers, slot: u32) -> Vec<u32> {
    let mut pages = Vec::new();
    while let Some(page) = sharers.first(slot) {
        sharers.remove(slot, page);
        pages.push(page);
    }
    pages.iter().rev().for_each(|&page| sharers.insert(slot, page));
    pages
}

const NOTHING: u32 = u32::MAX;

#[test]
fn sharers_agree_with_lists() {
    const PAGES: u32 = 20;
    const SLOTS: u32 = 5;
    let mut sharers = Sharers::new(PAGES, SLOTS);
    let mut slots = Slots::new(SLOTS);
    let mut map = vec![NOTHING; PAGES as usize];
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); SLOTS as usize];
    let mut random = Seed(5).random();
    // 8 bytes per page and 4 per slot.
    assert_eq!(sharers.memory_bytes(), 8 * 20 + 4 * 5);
    for step in 0..3000 {
        let (page, slot) =
            (random_below(&mut random, PAGES.into()) as u32, random_below(&mut random, SLOTS.into()) as u32);
        let into = (slot + 1 + random_below(&mut random, u64::from(SLOTS) - 1) as u32) % SLOTS;
        match map[page as usize] {
            _ if step % 50 == 0 => {
                let mut moved = Vec::new();
                sharers.move_all(slot, into, |page| moved.push(page));
                let list = std::mem::take(&mut lists[slot as usize]);
                assert_eq!(moved, list, "each page is named once, from the first on");
                for page in list {
                    map[page as usize] = into;
                    lists[into as usize].insert(0, page);
                }
            }
            NOTHING => {
                sharers.insert(slot, page);
                lists[slot as usize].insert(0, page);
                map[page as usize] = slot;
            }
            current => {
                sharers.remove(current, page);
                lists[current as usize].retain(|other| *other != page);
                map[page as usize] = NOTHING;
            }
        }
        for (slot, list) in (0..).zip(&lists) {
            assert_eq!(sharers.first(slot), list.first().copied());
            assert_eq!(&pages_of(&mut sharers, slot), list);
            slots.set_references(slot, list.len() as u32);
        }
        sharers.check(&map, &slots).unwrap();
    }
}

#[test]
fn check_detects_lists_that_disagree_with_map() {
    let mut sharers = Sharers::new(4, 2);
    (0..3).for_each(|page| sharers.insert(1, page));
    let counted = |references: u32| {
        let mut slots = Slots::new(2);
        slots.set_references(1, references);
        slots
    };
    sharers.check(&[1, 1, 1, NOTHING], &counted(3)).unwrap();
    for references in [0, 1, 2, 4] {
        let error = sharers.check(&[1, 1, 1, NOTHING], &counted(references)).unwrap_err();
        assert!(error.contains("slot 1"), "{error}");
    }
    for map in [[1, 0, 1, NOTHING], [1, 1, NOTHING, NOTHING], [0, 1, 1, NOTHING]] {
        assert!(sharers.check(&map, &counted(3)).unwrap_err().contains("not its own"));
    }
}

/// Naive page cache with lists.
struct NaiveCache {
    /// Pages in RAM, the most recently used last, with true if changed.
    resident: Vec<(u32, bool)>,
    stored: Vec<bool>,
    /// Pages that wait to be written.
    queued: Vec<u32>,
    capacity: usize,
}

impl NaiveCache {
    fn touch(&mut self, page: u32, changes: bool) -> Vec<IndexAccess> {
        let mut accesses = Vec::new();
        let changed = match self.resident.iter().position(|entry| entry.0 == page) {
            Some(at) => self.resident.remove(at).1,
            None => {
                if self.resident.len() == self.capacity {
                    let (oldest, changed) = self.resident.remove(0);
                    if changed && !self.queued.contains(&oldest) {
                        self.queued.push(oldest);
                        accesses.push(IndexAccess { page: oldest, is_write: true });
                    }
                }
                if self.stored[page as usize] && !self.queued.contains(&page) {
                    accesses.push(IndexAccess { page, is_write: false });
                }
                false
            }
        };
        self.resident.push((page, changed || changes));
        accesses
    }

    fn write_queued(&mut self) {
        self.queued.drain(..).for_each(|page| self.stored[page as usize] = true);
    }
}

#[test]
fn cached_pages_match_lists() {
    for capacity in [1, 2, 5] {
        let pages = 7;
        let mut cache = PageCache::new(pages, capacity, 100);
        let mut naive = NaiveCache {
            resident: Vec::new(),
            stored: vec![false; pages as usize],
            queued: Vec::new(),
            capacity: capacity as usize,
        };
        let mut random = Seed(3).random();
        let (mut expected, mut due) = (Vec::new(), Vec::new());
        for _ in 0..3000 {
            let (hash, changes) = (random_below(&mut random, 1 << 40), random_below(&mut random, 3) == 0);
            cache.touch(hash, changes);
            expected.extend(naive.touch((hash % u64::from(pages)) as u32, changes));
            assert_eq!(cache.resident_bytes(), 100 * naive.resident.len() as u64);
            // Several lookups may precede the next access to flash.
            if random_below(&mut random, 4) == 0 {
                cache.take_pending(&mut due);
                naive.write_queued();
                assert_eq!(due, std::mem::take(&mut expected));
                assert_eq!(
                    cache.stored_pages(),
                    naive.stored.iter().filter(|stored| **stored).count() as u64
                );
            }
        }
        assert_eq!((cache.pages(), cache.memory_bytes()), (7, 7 + 2 * 4 * 8));
    }
}

#[test]
fn page_with_a_pending_write_is_written_once_and_not_read() {
    let mut cache = PageCache::new(3, 1, 4096);
    let mut due = Vec::new();
    cache.touch(0, true);
    cache.touch(1, false);
    assert_eq!(cache.stored_pages(), 0, "page 0 waits");
    cache.touch(0, true);
    cache.touch(1, false);
    cache.take_pending(&mut due);
    assert_eq!(due, [IndexAccess { page: 0, is_write: true }]);
    assert_eq!((cache.stored_pages(), cache.resident_bytes()), (1, 4096));
    cache.take_pending(&mut due);
    assert_eq!(due, []);
    cache.touch(0, false);
    cache.take_pending(&mut due);
    assert_eq!(due, [IndexAccess { page: 0, is_write: false }]);
}
