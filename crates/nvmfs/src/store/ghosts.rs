//! Which blocks left a list lately.
//!
//! A hash table of fingerprints, each with the number of its departure, by which it grows too old without anybody removing it;
//! as in Yang et al., "FIFO queues are all you need for cache eviction" (SOSP 2023). In memory alone.

use crate::api::Ino;

/// Ghosts that share a bucket; a new one takes the place of the oldest.
const BUCKET: usize = 8;
/// Ghosts a bucket for which the table is made: of more than eight by chance, 2 in 100 are forgotten early.
const USUAL: usize = 5;

/// The blocks that left a list last.
pub(super) struct Ghosts {
    /// Fingerprint above, number of the departure below; 0 where there is none.
    table: Vec<u64>,
    /// Departures so far; counts anew after 2^32.
    departures: u32,
    /// Those that may still be there: `departures`, or as many as there were before it counted anew.
    most: u32,
}

impl Ghosts {
    /// None yet, of `most` blocks at a time. Takes 13 bytes for each; the system gives them when they are written to.
    pub fn new(most: u32) -> Self {
        Ghosts { table: vec![0; (most as usize).div_ceil(USUAL) * BUCKET], departures: 0, most: 0 }
    }

    /// A block left the list.
    pub fn insert(&mut self, ino: Ino, block: u32) {
        let Some((print, at)) = self.find(ino, block) else { return };
        self.departures = self.departures.wrapping_add(1);
        self.most = self.most.saturating_add(1);
        let departures = self.departures;
        let bucket = &mut self.table[at..at + BUCKET];
        let oldest = |entry: &u64| match *entry {
            // The same block, or nothing, before anything else.
            entry if entry == 0 || (entry >> 32) as u32 == print => u32::MAX,
            entry => departures.wrapping_sub(entry as u32),
        };
        let place = bucket.iter_mut().max_by_key(|entry| oldest(entry)).expect("a bucket has entries");
        *place = u64::from(print) << 32 | u64::from(departures);
    }

    /// Whether a block is among the last `reach` that left; it is then no longer.
    pub fn take(&mut self, ino: Ino, block: u32, reach: u32) -> bool {
        let Some((print, at)) = self.find(ino, block) else { return false };
        let departures = self.departures;
        let is_it = |entry: &&mut u64| **entry != 0 && (**entry >> 32) as u32 == print;
        let Some(entry) = self.table[at..at + BUCKET].iter_mut().find(is_it) else { return false };
        let age = departures.wrapping_sub(*entry as u32);
        *entry = 0;
        age < reach
    }

    /// How many there are of the last `reach` that left; those that were taken count.
    pub fn count(&self, reach: u32) -> u32 {
        self.most.min(reach)
    }

    /// A block's fingerprint, which is not 0, and where its bucket begins; nothing in a table without buckets.
    fn find(&self, ino: Ino, block: u32) -> Option<(u32, usize)> {
        let hash = mix(u64::from(ino.0) << 32 | u64::from(block));
        let buckets = (self.table.len() / BUCKET) as u64;
        let bucket = ((hash >> 32) * buckets) >> 32;
        (buckets > 0).then_some((hash as u32 | 1, bucket as usize * BUCKET))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ghosts_are_found_once_and_grow_too_old() {
        let mut ghosts = Ghosts::new(10);
        (0..4).for_each(|block| ghosts.insert(Ino(1), block));
        assert!(!ghosts.take(Ino(2), 3, 10), "of another file");
        assert!(ghosts.take(Ino(1), 3, 1), "the last one");
        assert!(!ghosts.take(Ino(1), 3, 10), "it was taken");
        assert!(!ghosts.take(Ino(1), 0, 3), "three left after it, or were the last");
        assert_eq!((ghosts.count(10), ghosts.count(3)), (4, 3));
    }

    #[test]
    fn a_block_that_leaves_again_is_young_again_and_there_once() {
        let mut ghosts = Ghosts::new(10);
        (0..4).for_each(|block| ghosts.insert(Ino(1), block));
        ghosts.insert(Ino(1), 0);
        assert!(ghosts.take(Ino(1), 0, 1));
        assert!(!ghosts.take(Ino(1), 0, 10));
    }

    #[test]
    fn the_table_keeps_nearly_all_and_no_more_than_it_has_room_for() {
        let mut ghosts = Ghosts::new(10_000);
        (0..50_000).for_each(|block| ghosts.insert(Ino(1), block));
        let kept = (40_000..50_000).filter(|block| ghosts.take(Ino(1), *block, 10_000)).count();
        assert!((9_600..=10_000).contains(&kept), "{kept}");
        assert!((0..40_000).all(|block| !ghosts.take(Ino(1), block, 10_000)));
        assert_eq!(ghosts.table.len(), 16_000);
    }

    #[test]
    fn departures_count_anew_after_the_last_number() {
        let mut ghosts = Ghosts::new(10);
        ghosts.departures = u32::MAX - 1;
        (0..4).for_each(|block| ghosts.insert(Ino(1), block));
        assert!(ghosts.take(Ino(1), 0, 4));
        assert!(!ghosts.take(Ino(1), 1, 2));
    }
}
