//! Ghost entries: blocks that recently left a list.
//!
//! They are stored in a hash table of fingerprints, each with the sequence number of the block's departure, so that
//! entries expire without being removed. See Yang et al., "FIFO queues are all you need for cache eviction" (SOSP
//! 2023). The table exists in memory only.

use crate::api::Ino;

/// Number of entries per bucket; a new entry replaces the oldest entry of its bucket.
const BUCKET_ENTRIES: usize = 8;
/// Average number of entries per bucket, from which the table size is computed. With this value, full buckets lose 2
/// % of the entries early.
const MEAN_BUCKET_ENTRIES: usize = 5;

/// Blocks that recently left a list.
pub(super) struct Ghosts {
    /// Entries: the fingerprint in the upper half, the sequence number of the departure in the lower half; 0 if
    /// empty.
    table: Vec<u64>,
    /// Number of departures; wraps around after 2^32.
    departures: u32,
    /// Number of departures, which saturates instead of wrapping around.
    max_departures: u32,
}

impl Ghosts {
    /// Creates an empty table for the last `capacity` blocks. It reserves 13 bytes per block; the memory is committed
    /// on first use.
    pub fn new(capacity: u32) -> Self {
        Ghosts {
            table: vec![0; (capacity as usize).div_ceil(MEAN_BUCKET_ENTRIES) * BUCKET_ENTRIES],
            departures: 0,
            max_departures: 0,
        }
    }

    /// Records that a block left the list.
    pub fn insert(&mut self, ino: Ino, block: u32) {
        let Some((print, at)) = self.find(ino, block) else { return };
        self.departures = self.departures.wrapping_add(1);
        self.max_departures = self.max_departures.saturating_add(1);
        let departures = self.departures;
        let bucket = &mut self.table[at..at + BUCKET_ENTRIES];
        let oldest = |entry: &u64| match *entry {
            // An entry of the same block, or an empty slot, is replaced first.
            entry if entry == 0 || (entry >> 32) as u32 == print => u32::MAX,
            entry => departures.wrapping_sub(entry as u32),
        };
        let location = bucket.iter_mut().max_by_key(|entry| oldest(entry)).expect("a bucket has entries");
        *location = u64::from(print) << 32 | u64::from(departures);
    }

    /// True if a block is among the last `window` blocks that left the list; its entry is removed.
    pub fn take(&mut self, ino: Ino, block: u32, window: u32) -> bool {
        let Some((print, at)) = self.find(ino, block) else { return false };
        let departures = self.departures;
        let is_it = |entry: &&mut u64| **entry != 0 && (**entry >> 32) as u32 == print;
        let Some(entry) = self.table[at..at + BUCKET_ENTRIES].iter_mut().find(is_it) else { return false };
        let age = departures.wrapping_sub(*entry as u32);
        *entry = 0;
        age < window
    }

    /// Returns the number of departures among the last `window`, including those whose entries were removed.
    pub fn count(&self, window: u32) -> u32 {
        self.max_departures.min(window)
    }

    /// Returns the fingerprint of a block, which is not 0, and the start of its bucket; `None` if the table
    /// is empty.
    fn find(&self, ino: Ino, block: u32) -> Option<(u32, usize)> {
        let hash = mix(u64::from(ino.0) << 32 | u64::from(block));
        let buckets = (self.table.len() / BUCKET_ENTRIES) as u64;
        let bucket = ((hash >> 32) * buckets) >> 32;
        (buckets > 0).then_some((hash as u32 | 1, bucket as usize * BUCKET_ENTRIES))
    }
}

/// Mixes the bits of a value by the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ghosts_are_found_once_and_expire() {
        let mut ghosts = Ghosts::new(10);
        (0..4).for_each(|block| ghosts.insert(Ino(1), block));
        assert!(!ghosts.take(Ino(2), 3, 10), "of another file");
        assert!(ghosts.take(Ino(1), 3, 1), "the last one");
        assert!(!ghosts.take(Ino(1), 3, 10), "it was taken");
        assert!(!ghosts.take(Ino(1), 0, 3), "three left after it, or were the last");
        assert_eq!((ghosts.count(10), ghosts.count(3)), (4, 3));
    }

    #[test]
    fn second_departure_of_block_replaces_the_first() {
        let mut ghosts = Ghosts::new(10);
        (0..4).for_each(|block| ghosts.insert(Ino(1), block));
        ghosts.insert(Ino(1), 0);
        assert!(ghosts.take(Ino(1), 0, 1));
        assert!(!ghosts.take(Ino(1), 0, 10));
    }

    #[test]
    fn table_keeps_nearly_all_entries_within_its_capacity() {
        let mut ghosts = Ghosts::new(10_000);
        (0..50_000).for_each(|block| ghosts.insert(Ino(1), block));
        let found = (40_000..50_000).filter(|block| ghosts.take(Ino(1), *block, 10_000)).count();
        assert!((9_600..=10_000).contains(&found), "{found}");
        assert!((0..40_000).all(|block| !ghosts.take(Ino(1), block, 10_000)));
        assert_eq!(ghosts.table.len(), 16_000);
    }

    #[test]
    fn departure_count_wraps_around() {
        let mut ghosts = Ghosts::new(10);
        ghosts.departures = u32::MAX - 1;
        (0..4).for_each(|block| ghosts.insert(Ino(1), block));
        assert!(ghosts.take(Ino(1), 0, 4));
        assert!(!ghosts.take(Ino(1), 1, 2));
    }
}
