//! From a logical page to the number of the node that holds its entry: a hash table that never grows.

use crate::table::{filled, prefetch};

/// Marks an empty bucket.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Bucket {
    page: u32,
    node: u32,
}

/// Open addressing with linear probing, at most half full; what is removed leaves no mark behind.
///
/// The page stands in the bucket itself, so that a search reads one line of memory and no node; a general hash table would
/// read three and could not be prefetched.
pub(super) struct Index {
    buckets: Vec<Bucket>,
    /// Bits of the hash that number the buckets are its top ones: 64 less those.
    shift: u32,
}

impl Index {
    /// Room for `entries` of them.
    pub fn new(entries: u32) -> Self {
        let buckets = (2 * entries as usize).next_power_of_two().max(2);
        Index {
            buckets: filled(buckets, Bucket { page: 0, node: NONE }),
            shift: 64 - buckets.trailing_zeros(),
        }
    }

    /// The bucket where the search for `page` begins: multiplication by 2^64 over the golden ratio (Knuth, volume 3, section
    /// 6.4) spreads runs of pages evenly.
    #[inline(always)]
    fn home(&self, page: u32) -> usize {
        (u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.buckets.len() - 1)
    }

    /// The bucket of `page`, or the empty one where it would go.
    #[inline(always)]
    fn seek(&self, page: u32) -> usize {
        let mut at = self.home(page);
        while self.buckets[at].node != NONE && self.buckets[at].page != page {
            at = self.after(at);
        }
        at
    }

    /// The node of `page`.
    #[inline(always)]
    pub fn find(&self, page: u32) -> Option<u32> {
        let found = self.buckets[self.seek(page)].node;
        (found != NONE).then_some(found)
    }

    /// Adds `page`; false if it is there already, and nothing is changed.
    #[inline(always)]
    pub fn insert(&mut self, page: u32, node: u32) -> bool {
        let at = self.seek(page);
        let is_new = self.buckets[at].node == NONE;
        if is_new {
            self.buckets[at] = Bucket { page, node };
        }
        is_new
    }

    /// Removes `page`, which must be there, and moves up those that had to make way (Knuth's algorithm R).
    #[inline(always)]
    pub fn remove(&mut self, page: u32) {
        let mut hole = self.seek(page);
        debug_assert_ne!(self.buckets[hole].node, NONE, "page {page} is not in the index");
        let mask = self.buckets.len() - 1;
        let mut at = self.after(hole);
        while self.buckets[at].node != NONE {
            // Its distance from home says whether the hole lies on its way.
            let home = self.home(self.buckets[at].page);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.buckets[hole] = self.buckets[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.buckets[hole].node = NONE;
    }

    /// Brings what a search for `page` reads into the cache. A hint: no effect on any result.
    #[inline(always)]
    pub fn prefetch(&self, page: u32) {
        prefetch(self.buckets.as_ptr().wrapping_add(self.home(page)));
    }

    /// Entries in it, counted.
    pub fn count(&self) -> usize {
        self.buckets.iter().filter(|bucket| bucket.node != NONE).count()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Bucket>() * self.buckets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_of_pages_are_spread_over_the_buckets() {
        let index = Index::new(1 << 10);
        for first in [0, 1000, 1 << 31] {
            let homes: BTreeSet<usize> = (first..first + (1 << 10)).map(|page| index.home(page)).collect();
            assert!(homes.len() > 900 && homes.last() < Some(&(1 << 11)), "{} from {first}", homes.len());
        }
    }
}
