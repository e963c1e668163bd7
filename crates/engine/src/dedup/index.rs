//! The fingerprint index, from fingerprints to slots.

use super::buckets::Buckets;
use super::config::{ENTRY_BYTES, IndexSettings};
use super::lru::Lru;
use super::pages::PageCache;
use super::slots::Slots;
use crate::layer::ContentId;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, hash_map};

/// Distributes a number over all 64 bits, one to one (the finaliser of MurmurHash3, Appleby).
#[inline(always)]
pub(super) fn mix(name: u64) -> u64 {
    let mut mixed = name ^ (name >> 33);
    mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^= mixed >> 33;
    mixed = mixed.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

/// Returns the weak hash of content, which is independent of its fingerprint.
fn weak_hash(content: ContentId, bits: u32) -> u32 {
    (mix(content.0 ^ 0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as u32
}

/// Weak hashes of the index entries, with their numbers of occurrences. Never iterated.
struct WeakHashes {
    bits: u32,
    counts: HashMap<u32, u32, FixedState>,
}

/// Map from fingerprints to slots; each fingerprint and each slot occurs at most once. The contents of slots are in
/// [`Slots`], together with other data needed after a lookup.
///
/// Memory: 8 bytes per entry of its capacity, and 8 more per slot if the capacity is limited.
pub(super) struct Index {
    /// Slots by fingerprint.
    table: Buckets,
    /// Number of bits of a mixed name that the fingerprint omits.
    omitted_bits: u32,
    /// Maximum number of entries.
    limit: usize,
    /// Order of last use, if the limit is below the number of slots.
    recent: Option<Lru>,
    weak: Option<WeakHashes>,
    pub cache: Option<PageCache>,
    pub evictions: u64,
}

impl Index {
    /// Creates an empty index, with a weak hash of `weak_bits` bits for each entry, if given.
    pub fn new(settings: &IndexSettings, slots: u32, weak_bits: Option<u32>) -> Self {
        let limit = settings.entries.unwrap_or(slots).min(slots);
        let counts = || HashMap::with_capacity_and_hasher(limit as usize, FixedState::with_seed(0));
        Index {
            table: Buckets::new(limit as usize),
            omitted_bits: 64 - settings.fingerprint_bits,
            limit: limit as usize,
            recent: (limit < slots).then(|| Lru::new(slots)),
            weak: weak_bits.map(|bits| WeakHashes { bits, counts: counts() }),
            cache: settings.paged.as_ref().map(|paged| {
                let page_bytes = ENTRY_BYTES * u64::from(paged.page_entries);
                PageCache::new(settings.pages(slots), paged.cached_pages, page_bytes)
            }),
            evictions: 0,
        }
    }

    #[inline(always)]
    fn fingerprint(&self, content: ContentId) -> u64 {
        mix(content.0) >> self.omitted_bits
    }

    /// Returns the table hash of a fingerprint, which is mixed again because fingerprints may have few bits.
    #[inline(always)]
    fn hash(fingerprint: u64) -> u64 {
        mix(fingerprint)
    }

    #[inline(always)]
    fn hash_of(&self, content: ContentId) -> u64 {
        Self::hash(self.fingerprint(content))
    }

    /// Prefetches the index line that a lookup of `content` reads. Does not affect any result.
    #[inline(always)]
    pub fn prefetch(&self, content: ContentId) {
        self.table.prefetch(self.hash_of(content));
    }

    /// Returns the slot that a lookup of `content` will examine, predicted from one cache line of the index.
    #[inline(always)]
    pub fn likely_slot(&self, content: ContentId) -> Option<u32> {
        self.table.likely_number(self.hash_of(content))
    }

    /// Returns the slot with the fingerprint of `content`.
    pub fn find(&mut self, slots: &Slots, content: ContentId) -> Option<u32> {
        let fingerprint = self.fingerprint(content);
        let hash = Self::hash(fingerprint);
        if let Some(cache) = &mut self.cache {
            cache.touch(hash, false);
        }
        let omitted_bits = self.omitted_bits;
        let found = self.table.find(hash, |slot| mix(slots.content(slot).0) >> omitted_bits == fingerprint);
        if let (Some(recent), Some(slot)) = (&mut self.recent, found) {
            recent.touch(slot);
        }
        found
    }

    /// Marks the slot, which is in the index, as used.
    pub fn touch(&mut self, slots: &Slots, slot: u32) {
        let hash = self.hash_of(slots.content(slot));
        if let Some(cache) = &mut self.cache {
            cache.touch(hash, false);
        }
        if let Some(recent) = &mut self.recent {
            recent.touch(slot);
        }
    }

    /// True if an index entry may have the content: the weak hash of the content is present, or the index stores no
    /// weak hashes.
    pub fn may_contain(&self, content: ContentId) -> bool {
        let Some(weak) = &self.weak else { return true };
        weak.counts.contains_key(&weak_hash(content, weak.bits))
    }

    /// Adds the slot, which is not in the index, with `content`. Unknown content, and content whose fingerprint is
    /// present already, is not added. A full index evicts the least recently used entry.
    pub fn insert(&mut self, slots: &mut Slots, slot: u32, content: ContentId) {
        if content == ContentId::UNKNOWN {
            return;
        }
        let (fingerprint, omitted_bits) = (self.fingerprint(content), self.omitted_bits);
        let hash = Self::hash(fingerprint);
        let full = self.table.len() == self.limit;
        if let Some(oldest) = self.recent.as_ref().and_then(Lru::oldest).filter(|_| full) {
            self.remove(slots, oldest);
            self.evictions += 1;
        }
        let equal = |slot: u32| mix(slots.content(slot).0) >> omitted_bits == fingerprint;
        if self.table.find(hash, equal).is_some() {
            return;
        }
        self.table.insert(hash, slot);
        slots.set_content(slot, content);
        if let Some(recent) = &mut self.recent {
            recent.insert(slot);
        }
        if let Some(weak) = &mut self.weak {
            *weak.counts.entry(weak_hash(content, weak.bits)).or_insert(0) += 1;
        }
        if let Some(cache) = &mut self.cache {
            cache.touch(hash, true);
        }
    }

    /// Removes the slot from the index, if present.
    pub fn remove(&mut self, slots: &mut Slots, slot: u32) {
        let content = slots.content(slot);
        if content == ContentId::UNKNOWN {
            return;
        }
        let hash = self.hash_of(content);
        self.table.remove(hash, slot);
        slots.set_content(slot, ContentId::UNKNOWN);
        if let Some(recent) = &mut self.recent {
            recent.remove(slot);
        }
        if let Some(WeakHashes { bits, counts }) = &mut self.weak
            && let hash_map::Entry::Occupied(mut entry) = counts.entry(weak_hash(content, *bits))
        {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
        if let Some(cache) = &mut self.cache {
            cache.touch(hash, true);
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns the bytes of memory that the simulation uses for the index.
    pub fn memory_bytes(&self) -> usize {
        let weak = self.weak.as_ref().map_or(0, |weak| weak.counts.allocation_size());
        let recent = self.recent.as_ref().map_or(0, Lru::memory_bytes);
        let cache = self.cache.as_ref().map_or(0, PageCache::memory_bytes);
        self.table.memory_bytes() + weak + recent + cache
    }

    /// Recounts the entries; an error is a bug.
    pub fn check(&self, slots: &Slots) -> Result<(), String> {
        let mut count = 0;
        for slot in (0..slots.len()).filter(|&slot| slots.content(slot) != ContentId::UNKNOWN) {
            count += 1;
            let fingerprint = self.fingerprint(slots.content(slot));
            let equal = |other: u32| self.fingerprint(slots.content(other)) == fingerprint;
            if slots.references(slot) == 0 || self.table.find(Self::hash(fingerprint), equal) != Some(slot) {
                return Err(format!("slot {slot} is in the index, but dead or not to be found there"));
            }
        }
        let weak: Option<u64> =
            self.weak.as_ref().map(|weak| weak.counts.values().map(|&count| u64::from(count)).sum());
        if count != self.len() || count > self.limit || weak.is_some_and(|weak| weak != count as u64) {
            return Err(format!("{count} slots have names, {} entries, {weak:?} weak hashes", self.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
