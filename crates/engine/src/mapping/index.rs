//! Map from a logical page to the node of its entry: a hash table of fixed size.

use crate::table::{filled, prefetch};

/// Marker of an empty entry: no page has this number, since a drive has fewer than 2^32 pages.
const EMPTY: u32 = u32::MAX;
/// Number of entries in a cache line.
const LINE_ENTRIES: usize = 8;

/// A cache line, which is searched as a whole.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    pages: [u32; LINE_ENTRIES],
    nodes: [u32; LINE_ENTRIES],
}

impl Line {
    const EMPTY: Line = Line { pages: [EMPTY; LINE_ENTRIES], nodes: [0; LINE_ENTRIES] };

    /// Returns the places that contain `page`, as a bit mask. A search that stops at the first match would be
    /// mispredicted, which costs more than comparing all places.
    #[inline(always)]
    fn matches_of(&self, page: u32) -> u32 {
        let bits = self.pages.iter().zip(0..).map(|(&other, place)| u32::from(other == page) << place);
        bits.fold(0, |all, bit| all | bit)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.matches_of(EMPTY) == 0
    }

    #[inline(always)]
    fn set(&mut self, index: usize, page: u32, node: u32) {
        (self.pages[index], self.nodes[index]) = (page, node);
    }
}

/// Hash table of cache lines. Each page is in the first line with a free entry, starting from its home line. The table
/// is at most half full, and removals leave no tombstones.
///
/// Page numbers are stored in the line itself, so a search reads one cache line and no node. A general hash table would
/// read three cache lines and could not be prefetched. If lines are half full on average, one in fifty is full and
/// continues the search in the next line.
pub(super) struct Index {
    lines: Vec<Line>,
    /// 64 minus the number of bits of a line number; the top bits of a hash are the number of the home line.
    shift: u32,
}

impl Index {
    /// Creates an index with capacity for `entries` entries.
    pub fn new(entries: u32) -> Self {
        let lines = (2 * entries as usize).next_power_of_two().div_ceil(LINE_ENTRIES).max(2);
        Index { lines: filled(lines, Line::EMPTY), shift: 64 - lines.trailing_zeros() }
    }

    /// Returns the line where the search for `page` begins: multiplication by 2^64 divided by the golden ratio
    /// (Knuth, volume 3, section 6.4) distributes runs of pages evenly.
    #[inline(always)]
    fn home(&self, page: u32) -> usize {
        (u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline(always)]
    fn after(&self, line: usize) -> usize {
        (line + 1) & (self.lines.len() - 1)
    }

    /// Returns the number of lines from `from` to `line`, modulo the size of the table.
    #[inline(always)]
    fn distance(&self, from: usize, line: usize) -> usize {
        line.wrapping_sub(from) & (self.lines.len() - 1)
    }

    /// Returns the line of `page`, and the place in it.
    #[inline(always)]
    fn find_position(&self, page: u32) -> Option<(usize, usize)> {
        let mut at = self.home(page);
        loop {
            let matches = self.lines[at].matches_of(page);
            if matches != 0 {
                return Some((at, matches.trailing_zeros() as usize));
            }
            if !self.lines[at].is_full() {
                return None;
            }
            at = self.after(at);
        }
    }

    /// Returns the node of `page`.
    #[inline(always)]
    pub fn find(&self, page: u32) -> Option<u32> {
        self.find_position(page).map(|(line, index)| self.lines[line].nodes[index])
    }

    /// Returns the node of `page` if it is in its home line, otherwise `other`; has no branch, for prefetching.
    #[inline(always)]
    pub fn find_in_home_line(&self, page: u32, other: u32) -> u32 {
        let line = &self.lines[self.home(page)];
        let matches = line.matches_of(page);
        let node = line.nodes[matches.trailing_zeros() as usize % LINE_ENTRIES];
        if matches == 0 { other } else { node }
    }

    /// Adds `page`. Returns false, without a change, if it is already present.
    #[inline(always)]
    pub fn insert(&mut self, page: u32, node: u32) -> bool {
        debug_assert_ne!(page, EMPTY);
        let mut at = self.home(page);
        loop {
            let line = &mut self.lines[at];
            if line.matches_of(page) != 0 {
                return false;
            }
            let empty = line.matches_of(EMPTY);
            if empty != 0 {
                line.set(empty.trailing_zeros() as usize, page, node);
                return true;
            }
            at = self.after(at);
        }
    }

    /// Changes the node of `page`, which must be present.
    #[inline(always)]
    pub fn replace(&mut self, page: u32, node: u32) {
        let (line, index) = self.find_position(page).expect("a page of the index");
        self.lines[line].nodes[index] = node;
    }

    /// Removes `page`, which must be present.
    #[inline(always)]
    pub fn remove(&mut self, page: u32) {
        let Some((line, index)) = self.find_position(page) else {
            debug_assert!(false, "page {page} is not in the index");
            return;
        };
        if self.lines[line].is_full() {
            self.remove_from_full(line, index);
        } else {
            self.lines[line].pages[index] = EMPTY;
        }
    }

    /// Removes a place of a full line. Moves up an entry that was stored in a later line because this line was full,
    /// and repeats this for the freed entry (after Knuth's algorithm R).
    #[cold]
    fn remove_from_full(&mut self, mut hole: usize, mut index: usize) {
        let mut at = hole;
        let mut continues = true;
        while continues {
            at = self.after(at);
            let line = self.lines[at];
            continues = line.is_full();
            // Compares distances from home to see if the entry passed the line with the hole.
            let passed_hole = |&index: &usize| {
                let page = line.pages[index];
                page != EMPTY && self.distance(self.home(page), at) >= self.distance(hole, at)
            };
            if let Some(from) = (0..LINE_ENTRIES).find(passed_hole) {
                self.lines[hole].set(index, line.pages[from], line.nodes[from]);
                (hole, index) = (at, from);
            }
        }
        self.lines[hole].pages[index] = EMPTY;
    }

    /// Prefetches the line that a search for `page` reads first.
    #[inline(always)]
    pub fn prefetch(&self, page: u32) {
        prefetch(self.lines.as_ptr().wrapping_add(self.home(page)));
    }

    /// Prefetches the second line that a search for `page` reads, once the first one has arrived.
    #[inline(always)]
    pub fn prefetch_more(&self, page: u32) {
        let home = self.home(page);
        if self.lines[home].is_full() {
            prefetch(self.lines.as_ptr().wrapping_add(self.after(home)));
        }
    }

    /// Counts the entries.
    pub fn count(&self) -> usize {
        self.lines.iter().flat_map(|line| line.pages).filter(|&page| page != EMPTY).count()
    }

    /// Returns the memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Line>() * self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, random_below};
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn consecutive_pages_spread_over_lines() {
        let index = Index::new(1 << 13);
        for first in [0, 1000, 1 << 31] {
            let homes: BTreeSet<usize> = (first..first + (1 << 10)).map(|page| index.home(page)).collect();
            assert!(homes.len() > 900 && homes.last() < Some(&(1 << 11)), "{} from {first}", homes.len());
        }
    }

    /// Comparison with a map: all pages have one of a few home lines, so that most lines in their searches are full.
    #[test]
    fn full_lines_overflow_and_refill_like_model() {
        let mut index = Index::new(64);
        let lines = index.lines.len();
        let crowded = |page: &u32| [lines - 2, lines - 1, 0].contains(&index.home(*page));
        let pages: Vec<u32> = (0..2000).filter(crowded).take(100).collect();
        let mut random = Seed(1).random();
        let mut model = BTreeMap::new();
        for node in 0..20_000 {
            let page = pages[random_below(&mut random, pages.len() as u64) as usize];
            if model.contains_key(&page) {
                assert!(!index.insert(page, node));
                index.remove(page);
                model.remove(&page);
            } else if model.len() < 64 {
                assert!(index.insert(page, node));
                model.insert(page, node);
            }
            for page in &pages {
                assert_eq!(index.find(*page), model.get(page).copied(), "page {page}");
            }
            assert_eq!(index.count(), model.len());
        }
    }
}
