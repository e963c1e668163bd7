//! A hash table of numbers with predictable cache lines.
//!
//! In a table of gigabytes, each lookup costs a cache miss unless the data are prefetched. Here a lookup reads one
//! line of 64 bytes, which [`Buckets::prefetch`] loads; tags of 16 bits select the entries to compare.

use crate::table::{filled, prefetch};

/// Number of entries in a bucket: with tags and counter, they fill a cache line.
const WAYS: usize = 10;
/// Maximum mean number of entries per bucket; at this load, one in twelve buckets is full.
const MAX_MEAN_LOAD: usize = 8;
/// Marker of an empty entry.
const NONE: u32 = u32::MAX;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Bucket {
    numbers: [u32; WAYS],
    tags: [u16; WAYS],
    /// Number of entries that did not fit into this bucket and were stored in later ones. While the number is above 0,
    /// a lookup must continue to the next bucket. Entries can thus be removed without tombstones.
    overflowed: u32,
}

const EMPTY: Bucket = Bucket { numbers: [NONE; WAYS], tags: [0; WAYS], overflowed: 0 };

/// A set of numbers, each stored under a hash of 64 evenly distributed bits.
///
/// Memory: 8 bytes per entry of its capacity.
pub(super) struct Buckets {
    buckets: Vec<Bucket>,
    len: usize,
}

impl Buckets {
    /// Creates an empty set for up to `limit` numbers.
    pub fn new(limit: usize) -> Self {
        Buckets { buckets: filled(limit / MAX_MEAN_LOAD + 1, EMPTY), len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.buckets[..])
    }

    /// Returns the bucket of a hash, selected by its upper bits; tags are the lower bits.
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }

    #[inline(always)]
    fn next_bucket(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    /// Prefetches the cache line that a lookup reads. Does not affect any result.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.buckets.as_ptr().wrapping_add(self.home(hash)));
    }

    /// Returns a bit mask of the entries of the bucket with the tag of `hash`.
    #[inline(always)]
    fn matches(bucket: &Bucket, hash: u64) -> u32 {
        let mut mask = 0;
        for (way, (&tag, &number)) in bucket.tags.iter().zip(&bucket.numbers).enumerate() {
            mask |= u32::from(tag == hash as u16 && number != NONE) << way;
        }
        mask
    }

    /// Returns a number that may be stored under the hash, predicted from the home bucket only.
    #[inline(always)]
    pub fn likely_number(&self, hash: u64) -> Option<u32> {
        let bucket = &self.buckets[self.home(hash)];
        let mask = Self::matches(bucket, hash);
        (mask != 0).then(|| bucket.numbers[mask.trailing_zeros() as usize])
    }

    #[inline]
    fn locate(&self, hash: u64, equal: impl Fn(u32) -> bool) -> Option<(usize, usize)> {
        let mut at = self.home(hash);
        for _ in 0..self.buckets.len() {
            let bucket = &self.buckets[at];
            let mut mask = Self::matches(bucket, hash);
            while mask != 0 {
                let way = mask.trailing_zeros() as usize;
                if equal(bucket.numbers[way]) {
                    return Some((at, way));
                }
                mask &= mask - 1;
            }
            if bucket.overflowed == 0 {
                break;
            }
            at = self.next_bucket(at);
        }
        None
    }

    /// Returns the number under the hash for which `equal` is true.
    #[inline]
    pub fn find(&self, hash: u64, equal: impl Fn(u32) -> bool) -> Option<u32> {
        self.locate(hash, equal).map(|(at, way)| self.buckets[at].numbers[way])
    }

    /// Inserts a number that is not in the set; the set must not be full.
    pub fn insert(&mut self, hash: u64, number: u32) {
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(way) = bucket.numbers.iter().position(|number| *number == NONE) {
                bucket.numbers[way] = number;
                bucket.tags[way] = hash as u16;
                self.len += 1;
                return;
            }
            bucket.overflowed += 1;
            at = self.next_bucket(at);
        }
    }

    /// Removes a number that is stored under the hash.
    pub fn remove(&mut self, hash: u64, number: u32) {
        let location = self.locate(hash, |other| other == number);
        let (end, way) = location.expect("it is there");
        self.buckets[end].numbers[way] = NONE;
        self.len -= 1;
        let mut at = self.home(hash);
        while at != end {
            self.buckets[at].overflowed -= 1;
            at = self.next_bucket(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, random_below};
    use std::collections::BTreeMap;

    /// There are few different hashes, so that most numbers are not in their home bucket.
    #[test]
    fn set_contains_exactly_the_inserted_numbers_not_removed() {
        for (limit, hashes) in [(1, 1), (7, 2), (60, 3), (100, 40), (500, 1 << 40)] {
            let (mut table, mut model) = (Buckets::new(limit), BTreeMap::new());
            let mut random = Seed(limit as u64).random();
            let spread = |hash: u64| hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for _ in 0..20_000 {
                let number = random_below(&mut random, 2 * limit as u64) as u32;
                if let Some(hash) = model.remove(&number) {
                    table.remove(hash, number);
                } else if model.len() < limit {
                    let hash = spread(random_below(&mut random, hashes));
                    model.insert(number, hash);
                    table.insert(hash, number);
                }
                let (number, hash) = (
                    random_below(&mut random, 2 * limit as u64) as u32,
                    spread(random_below(&mut random, hashes)),
                );
                let hash = model.get(&number).copied().unwrap_or(hash);
                let expected = model.contains_key(&number).then_some(number);
                assert_eq!(table.find(hash, |other| other == number), expected);
                assert_eq!(table.len(), model.len());
            }
            model.iter().for_each(|(&number, &hash)| table.remove(hash, number));
            assert!(
                table.buckets.iter().all(|bucket| bucket.overflowed == 0 && bucket.numbers == [NONE; WAYS])
            );
        }
    }

    #[test]
    fn bucket_fills_one_cache_line() {
        assert_eq!(size_of::<Bucket>(), 64);
    }
}
