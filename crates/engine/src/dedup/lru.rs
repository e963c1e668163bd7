//! Least-recently-used order of numbers: a linked list in two tables, without allocations after set-up.

use crate::table::filled;

const NONE: u32 = u32::MAX;

/// Numbers below a bound in the order of their last use.
pub(super) struct Lru {
    /// For each number, the next older number. The entry at the bound contains the newest number.
    older: Vec<u32>,
    newer: Vec<u32>,
    anchor: u32,
}

impl Lru {
    /// Creates an empty order of numbers below `bound`.
    pub fn new(bound: u32) -> Self {
        let mut older = filled(bound as usize + 1, NONE);
        let mut newer = filled(bound as usize + 1, NONE);
        older[bound as usize] = bound;
        newer[bound as usize] = bound;
        Lru { older, newer, anchor: bound }
    }

    /// Adds the number, which is not in the list, as the newest.
    pub fn insert(&mut self, number: u32) {
        let newest = self.older[self.anchor as usize];
        self.older[number as usize] = newest;
        self.newer[number as usize] = self.anchor;
        self.newer[newest as usize] = number;
        self.older[self.anchor as usize] = number;
    }

    /// Removes the number, which is in the list.
    pub fn remove(&mut self, number: u32) {
        let (older, newer) = (self.older[number as usize], self.newer[number as usize]);
        self.newer[older as usize] = newer;
        self.older[newer as usize] = older;
    }

    /// Makes the number, which is in the list, the newest.
    pub fn touch(&mut self, number: u32) {
        self.remove(number);
        self.insert(number);
    }

    /// Returns the least recently used number.
    pub fn oldest(&self) -> Option<u32> {
        Some(self.newer[self.anchor as usize]).filter(|oldest| *oldest != self.anchor)
    }

    pub fn memory_bytes(&self) -> usize {
        4 * (self.older.len() + self.newer.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Lru;

    #[test]
    fn oldest_is_the_least_recently_used() {
        let mut lru = Lru::new(5);
        assert_eq!(lru.oldest(), None);
        (0..4).for_each(|number| lru.insert(number));
        lru.touch(0);
        lru.remove(2);
        let mut order = Vec::new();
        while let Some(oldest) = lru.oldest() {
            order.push(oldest);
            lru.remove(oldest);
        }
        assert_eq!(order, [1, 3, 0]);
    }
}
