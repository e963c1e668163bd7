//! The index compared with a plain list, and edge cases by hand.

use super::super::config::Paged;
use super::super::pages::IndexAccess;
use super::*;
use crate::seed::{Seed, random_below};

fn settings(entries: Option<u32>, fingerprint_bits: u32) -> IndexSettings {
    IndexSettings { entries, fingerprint_bits, ..IndexSettings::default() }
}

/// An index, and the slots that hold its contents.
struct IndexWithSlots {
    index: Index,
    slots: Slots,
}

impl IndexWithSlots {
    fn new(settings: &IndexSettings, slots: u32, weak_bits: Option<u32>) -> Self {
        IndexWithSlots { index: Index::new(settings, slots, weak_bits), slots: Slots::new(slots) }
    }

    fn find(&mut self, content: u64) -> Option<u32> {
        self.index.find(&self.slots, ContentId(content))
    }

    /// Stores the content in the slot with one reference, and adds it to the index.
    fn insert(&mut self, slot: u32, content: u64) {
        self.slots.set_references(slot, 1);
        self.index.insert(&mut self.slots, slot, ContentId(content));
    }

    fn remove(&mut self, slot: u32) {
        self.index.remove(&mut self.slots, slot);
    }

    fn check(&self) -> Result<(), String> {
        self.index.check(&self.slots)
    }

    /// Returns the flash accesses that the index needs since the last call.
    fn take_pending(&mut self) -> Vec<IndexAccess> {
        let mut pending = Vec::new();
        self.index.cache.as_mut().unwrap().take_pending(&mut pending);
        pending
    }
}

/// Reference values of the MurmurHash3 finaliser, computed elsewhere.
#[test]
fn mix_matches_published_values() {
    for (name, mixed) in [
        (0, 0),
        (1, 0xb456_bcfc_34c2_cb2c),
        (2, 0x3abf_2a20_6506_83e7),
        (0xdead_beef, 0xd24b_d59f_862a_1dac),
        (u64::MAX, 0x64b5_720b_4b82_5f21),
    ] {
        assert_eq!(mix(name), mixed, "{name:#x}");
    }
}

#[test]
fn weak_hash_matches_reference_values() {
    assert_eq!([1, 2, 3, 7].map(|name| weak_hash(ContentId(name), 1)), [0, 1, 1, 0]);
    assert_eq!([1, 2, 3, 9].map(|name| weak_hash(ContentId(name), 8)), [37, 248, 229, 18]);
    assert_eq!([1, 2].map(|name| weak_hash(ContentId(name), 32)), [632_780_282, 4_176_962_387]);
}

#[test]
fn fingerprint_consists_of_the_upper_bits() {
    let of = |bits: u32| {
        let index = Index::new(&settings(None, bits), 4, None);
        [1, 14, 2].map(|name| index.fingerprint(ContentId(name)))
    };
    assert_eq!(of(64), [1, 14, 2].map(mix));
    assert_eq!(of(4), [0xb, 0xb, 0x3], "1 and 14 are equal in their upper 4 bits");
    assert_eq!(of(1), [1, 1, 0]);
}

#[test]
fn each_fingerprint_and_slot_is_indexed_at_most_once() {
    let mut pair = IndexWithSlots::new(&settings(None, 4), 4, None);
    assert_eq!((pair.find(1), pair.index.len()), (None, 0));
    pair.insert(2, 1);
    assert_eq!(pair.find(1), Some(2));
    assert_eq!(pair.find(14), Some(2), "its fingerprint is the same");
    assert_eq!(pair.find(2), None);
    // Of two contents with equal fingerprints, the first stays in the index and the second is not added.
    pair.insert(3, 14);
    assert_eq!((pair.find(14), pair.index.len()), (Some(2), 1));
    assert_eq!(pair.slots.content(3), ContentId::UNKNOWN);
    // Removing a slot that is not in the index has no effect.
    pair.remove(3);
    assert_eq!((pair.find(1), pair.index.len()), (Some(2), 1));
    pair.check().unwrap();
    pair.remove(2);
    assert_eq!((pair.find(1), pair.index.len()), (None, 0));
    assert_eq!(pair.slots.content(2), ContentId::UNKNOWN);
    pair.check().unwrap();
}

#[test]
fn unknown_content_is_never_indexed() {
    let mut pair = IndexWithSlots::new(&settings(Some(1), 64), 3, Some(8));
    pair.insert(0, 5);
    pair.insert(1, 0);
    assert_eq!((pair.index.len(), pair.index.evictions), (1, 0), "nothing had to make room for it");
    assert_eq!(pair.find(5), Some(0));
    assert!(!pair.index.may_contain(ContentId::UNKNOWN));
    pair.check().unwrap();
}

#[test]
fn full_index_evicts_the_least_recently_used_entry() {
    let mut pair = IndexWithSlots::new(&settings(Some(3), 64), 8, None);
    (0..3).for_each(|slot| pair.insert(slot, 10 + u64::from(slot)));
    assert_eq!((pair.index.len(), pair.index.evictions), (3, 0), "3 of 3 fit");
    // Slot 0 is found and slot 1 touched: slot 2 is the oldest, then slot 0.
    assert_eq!(pair.find(10), Some(0));
    pair.index.touch(&pair.slots, 1);
    pair.insert(3, 13);
    assert_eq!((pair.find(12), pair.index.evictions), (None, 1));
    assert_eq!(pair.slots.content(2), ContentId::UNKNOWN);
    pair.insert(4, 14);
    assert_eq!((pair.find(10), pair.index.evictions), (None, 2));
    assert_eq!([11, 13, 14].map(|content| pair.find(content)), [Some(1), Some(3), Some(4)]);
    // The index has a free entry again, so no entry is evicted.
    pair.remove(3);
    pair.insert(5, 15);
    assert_eq!((pair.index.len(), pair.index.evictions), (3, 2));
    pair.check().unwrap();
}

#[test]
fn index_for_all_slots_evicts_nothing() {
    for entries in [None, Some(4), Some(5)] {
        let mut pair = IndexWithSlots::new(&settings(entries, 64), 4, None);
        (0..4).for_each(|slot| pair.insert(slot, 1 + u64::from(slot)));
        assert_eq!((pair.index.len(), pair.index.evictions), (4, 0));
        // No order of use is kept; there are 4 / 8 + 1 buckets of 64 bytes.
        assert_eq!(pair.index.memory_bytes(), 64);
        assert!((0..4).all(|slot| pair.find(1 + u64::from(slot)) == Some(slot)));
    }
}

#[test]
fn memory_is_the_sum_of_the_parts() {
    let bounded = Index::new(&settings(Some(7), 64), 100, None);
    // One bucket, and two tables of 101 numbers.
    assert_eq!(bounded.memory_bytes(), 64 + 2 * 4 * 101);
    let paged = Paged { page_entries: 4, cached_pages: 1 };
    let paged = Index::new(&IndexSettings { paged: Some(paged), ..settings(None, 64) }, 12, None);
    // 2 buckets; 12 entries are 4 pages of 4, three quarters full: one state per page, and two tables of 5 numbers.
    assert_eq!(paged.memory_bytes(), 2 * 64 + 4 + 2 * 4 * 5);
    let weak = Index::new(&settings(None, 64), 12, Some(8));
    let counts = weak.weak.as_ref().unwrap().counts.allocation_size();
    assert!(counts >= 12 * 8, "{counts}");
    assert_eq!(weak.memory_bytes(), 2 * 64 + counts);
}

#[test]
fn weak_hash_remains_until_last_entry_is_removed() {
    let mut pair = IndexWithSlots::new(&settings(None, 64), 8, Some(1));
    let holds = |pair: &IndexWithSlots| [1, 2].map(|name| pair.index.may_contain(ContentId(name)));
    assert_eq!(holds(&pair), [false, false]);
    // Contents 2 and 3 have the weak hash 1; contents 1 and 7 have the weak hash 0.
    pair.insert(0, 2);
    pair.insert(1, 3);
    assert_eq!(holds(&pair), [false, true]);
    pair.insert(2, 7);
    assert_eq!(holds(&pair), [true, true]);
    pair.check().unwrap();
    pair.remove(0);
    assert_eq!(holds(&pair), [true, true]);
    pair.remove(2);
    assert_eq!(holds(&pair), [false, true]);
    pair.remove(1);
    assert_eq!(holds(&pair), [false, false]);
    pair.check().unwrap();
    let plain = IndexWithSlots::new(&settings(None, 64), 8, None);
    assert_eq!(holds(&plain), [true, true], "nobody can say no without weak hashes");
}

/// Two pages of the index, one of them in RAM.
#[test]
fn index_in_flash_uses_the_page_of_the_hash() {
    let paged = Some(Paged { page_entries: 4, cached_pages: 1 });
    let mut pair = IndexWithSlots::new(&IndexSettings { paged, ..settings(None, 64) }, 6, None);
    assert_eq!(pair.index.cache.as_ref().unwrap().pages(), 2);
    let page = |content: u64| (mix(mix(content)) % 2) as u32;
    let content_on_page = |wanted: u32| (1..).find(|content| page(*content) == wanted).unwrap();
    let (even, odd) = (content_on_page(0), content_on_page(1));
    let read = |page: u32| IndexAccess { page, is_write: false };
    let write = |page: u32| IndexAccess { page, is_write: true };
    // Lookups of new pages read and write nothing.
    assert_eq!((pair.find(even), pair.find(odd), pair.take_pending()), (None, None, vec![]));
    // A new entry changes its page, which is written when the other page is needed.
    pair.insert(0, even);
    assert_eq!((pair.find(odd), pair.take_pending()), (None, vec![write(0)]));
    assert_eq!((pair.find(even), pair.take_pending()), (Some(0), vec![read(0)]));
    assert_eq!((pair.find(odd), pair.take_pending()), (None, vec![]));
    // `touch` also uses the page, without a change.
    pair.index.touch(&pair.slots, 0);
    assert_eq!((pair.find(odd), pair.take_pending()), (None, vec![read(0)]));
    // Removing an entry also changes the page.
    pair.remove(0);
    assert_eq!((pair.find(odd), pair.take_pending()), (None, vec![read(0), write(0)]));
    // Removing a slot without an entry uses no page.
    pair.remove(0);
    pair.insert(1, 0);
    assert_eq!(pair.take_pending(), vec![]);
}

/// Naive index: a list of entries in the order of their last use.
struct Naive {
    omitted_bits: u32,
    limit: usize,
    entries: Vec<(u32, u64)>,
    evictions: u64,
}

impl Naive {
    fn position(&self, content: u64) -> Option<usize> {
        let fingerprint = |content: u64| mix(content) >> self.omitted_bits;
        self.entries.iter().position(|entry| fingerprint(entry.1) == fingerprint(content))
    }

    fn find(&mut self, content: u64) -> Option<u32> {
        let entry = self.entries.remove(self.position(content)?);
        self.entries.push(entry);
        Some(entry.0)
    }

    fn insert(&mut self, slot: u32, content: u64) {
        if content == 0 {
            return;
        }
        if self.entries.len() == self.limit {
            self.entries.remove(0);
            self.evictions += 1;
        }
        if self.position(content).is_none() {
            self.entries.push((slot, content));
        }
    }
}

#[test]
fn index_matches_a_list() {
    const SLOTS: u32 = 24;
    for (entries, bits, weak) in
        [(None, 64, None), (Some(5), 64, Some(6)), (Some(20), 5, Some(2)), (None, 3, None)]
    {
        let mut pair = IndexWithSlots::new(&settings(entries, bits), SLOTS, weak);
        let limit = entries.unwrap_or(SLOTS) as usize;
        let mut naive = Naive { omitted_bits: 64 - bits, limit, entries: Vec::new(), evictions: 0 };
        let mut random = Seed(7).random();
        for _ in 0..4000 {
            let slot = random_below(&mut random, u64::from(SLOTS)) as u32;
            let content = random_below(&mut random, 60);
            let at = naive.entries.iter().position(|entry| entry.0 == slot);
            match (random_below(&mut random, 3), at) {
                (0, _) => assert_eq!(pair.find(content), naive.find(content)),
                (1, None) => {
                    pair.insert(slot, content);
                    naive.insert(slot, content);
                }
                (1, Some(at)) => {
                    pair.index.touch(&pair.slots, slot);
                    let entry = naive.entries.remove(at);
                    naive.entries.push(entry);
                }
                _ => {
                    pair.remove(slot);
                    naive.entries.retain(|entry| entry.0 != slot);
                }
            }
            pair.check().unwrap();
            assert_eq!(pair.index.len(), naive.entries.len());
            assert_eq!(pair.index.evictions, naive.evictions);
            for slot in 0..SLOTS {
                let known = naive.entries.iter().find(|entry| entry.0 == slot).map_or(0, |entry| entry.1);
                assert_eq!(pair.slots.content(slot), ContentId(known));
            }
            if let Some(bits) = weak {
                let hash = |content: u64| weak_hash(ContentId(content), bits);
                let holds = naive.entries.iter().any(|entry| hash(entry.1) == hash(content));
                assert_eq!(pair.index.may_contain(ContentId(content)), holds);
            }
        }
    }
}

#[test]
fn inconsistent_indexes_are_detected() {
    let sound = || {
        let mut pair = IndexWithSlots::new(&settings(Some(3), 64), 4, Some(4));
        (0..3).for_each(|slot| pair.insert(slot, 1 + u64::from(slot)));
        pair.check().unwrap();
        pair
    };
    let mut dead = sound();
    dead.slots.set_references(1, 0);
    assert!(dead.check().unwrap_err().contains("slot 1"));
    let mut unknown = sound();
    unknown.slots.set_content(1, ContentId::UNKNOWN);
    assert!(unknown.check().is_err(), "an entry whose slot has no name");
    let mut renamed = sound();
    renamed.slots.set_content(1, ContentId(9));
    assert!(renamed.check().unwrap_err().contains("slot 1"));
    let mut twice = sound();
    twice.slots.set_references(3, 1);
    twice.slots.set_content(3, ContentId(1));
    assert!(twice.check().unwrap_err().contains("slot 3"), "slot 0 is found under its name");
    let mut weak = sound();
    *weak.index.weak.as_mut().unwrap().counts.values_mut().next().unwrap() += 1;
    assert!(weak.check().is_err());
    let mut full = sound();
    full.index.limit = 2;
    assert!(full.check().is_err(), "3 entries, 2 at most");
    full.index.limit = 3;
    full.check().unwrap();
}
