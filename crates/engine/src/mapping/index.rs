//! From a logical page to the number of the node that holds its entry: a hash table that never grows.

use crate::table::{filled, prefetch};

/// Marks an empty place: no page has this number, since a drive has fewer than 2^32 of them.
const EMPTY: u32 = u32::MAX;
/// Entries of a line of memory.
const PLACES: usize = 8;

/// A line of memory, which is searched as a whole.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    pages: [u32; PLACES],
    nodes: [u32; PLACES],
}

impl Line {
    const EMPTY: Line = Line { pages: [EMPTY; PLACES], nodes: [0; PLACES] };

    /// The places of `page`, a bit each. How far a search from place to place would go no processor foresees, and it would
    /// cost more than to compare them all.
    #[inline(always)]
    fn places_of(&self, page: u32) -> u32 {
        let bits = self.pages.iter().zip(0..).map(|(&other, place)| u32::from(other == page) << place);
        bits.fold(0, |all, bit| all | bit)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.places_of(EMPTY) == 0
    }

    #[inline(always)]
    fn put(&mut self, place: usize, page: u32, node: u32) {
        (self.pages[place], self.nodes[place]) = (page, node);
    }
}

/// Lines of places, each page in the first line from its own on that had room; at most half full, and what is removed leaves no mark
/// behind.
///
/// The page stands in the line itself, so that a search reads one line of memory and no node; a general hash table would
/// read three and could not be prefetched. Of lines that are half full one in fifty is full, and sends a search to the next.
pub(super) struct Index {
    lines: Vec<Line>,
    /// Bits of the hash that number the lines are its top ones: 64 less those.
    shift: u32,
}

impl Index {
    /// Room for `entries` of them.
    pub fn new(entries: u32) -> Self {
        let lines = (2 * entries as usize).next_power_of_two().div_ceil(PLACES).max(2);
        Index { lines: filled(lines, Line::EMPTY), shift: 64 - lines.trailing_zeros() }
    }

    /// The line where the search for `page` begins: multiplication by 2^64 over the golden ratio (Knuth, volume 3, section
    /// 6.4) spreads runs of pages evenly.
    #[inline(always)]
    fn home(&self, page: u32) -> usize {
        (u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline(always)]
    fn after(&self, line: usize) -> usize {
        (line + 1) & (self.lines.len() - 1)
    }

    /// Lines from `from` on to `line`.
    #[inline(always)]
    fn distance(&self, from: usize, line: usize) -> usize {
        line.wrapping_sub(from) & (self.lines.len() - 1)
    }

    /// The line and the place in it of `page`.
    #[inline(always)]
    fn seek(&self, page: u32) -> Option<(usize, usize)> {
        let mut at = self.home(page);
        loop {
            let places = self.lines[at].places_of(page);
            if places != 0 {
                return Some((at, places.trailing_zeros() as usize));
            }
            if !self.lines[at].is_full() {
                return None;
            }
            at = self.after(at);
        }
    }

    /// The node of `page`.
    #[inline(always)]
    pub fn find(&self, page: u32) -> Option<u32> {
        self.seek(page).map(|(line, place)| self.lines[line].nodes[place])
    }

    /// The node of `page` if it is in its home line, else `other`; without a branch, for hints.
    #[inline(always)]
    pub fn find_at_home(&self, page: u32, other: u32) -> u32 {
        let line = &self.lines[self.home(page)];
        let places = line.places_of(page);
        let node = line.nodes[places.trailing_zeros() as usize % PLACES];
        if places == 0 { other } else { node }
    }

    /// Adds `page`; false if it is there already, and nothing is changed.
    #[inline(always)]
    pub fn insert(&mut self, page: u32, node: u32) -> bool {
        debug_assert_ne!(page, EMPTY);
        let mut at = self.home(page);
        loop {
            let line = &mut self.lines[at];
            if line.places_of(page) != 0 {
                return false;
            }
            let room = line.places_of(EMPTY);
            if room != 0 {
                line.put(room.trailing_zeros() as usize, page, node);
                return true;
            }
            at = self.after(at);
        }
    }

    /// The node of `page`, which must be there, has another number now.
    #[inline(always)]
    pub fn replace(&mut self, page: u32, node: u32) {
        let (line, place) = self.seek(page).expect("a page of the index");
        self.lines[line].nodes[place] = node;
    }

    /// Removes `page`, which must be there.
    #[inline(always)]
    pub fn remove(&mut self, page: u32) {
        let Some((line, place)) = self.seek(page) else {
            debug_assert!(false, "page {page} is not in the index");
            return;
        };
        if self.lines[line].is_full() {
            self.remove_from_full(line, place);
        } else {
            self.lines[line].pages[place] = EMPTY;
        }
    }

    /// Empties a place of a full line, and moves up one that had to go on to another line because of it, and so on (after Knuth's
    /// algorithm R).
    #[cold]
    fn remove_from_full(&mut self, mut hole: usize, mut place: usize) {
        let mut at = hole;
        let mut goes_on = true;
        while goes_on {
            at = self.after(at);
            let line = self.lines[at];
            goes_on = line.is_full();
            // Its distance from home says whether the line with the hole lies on its way.
            let passed_hole = |&place: &usize| {
                let page = line.pages[place];
                page != EMPTY && self.distance(self.home(page), at) >= self.distance(hole, at)
            };
            if let Some(from) = (0..PLACES).find(passed_hole) {
                self.lines[hole].put(place, line.pages[from], line.nodes[from]);
                (hole, place) = (at, from);
            }
        }
        self.lines[hole].pages[place] = EMPTY;
    }

    /// Brings what a search for `page` reads into the cache. A hint: no effect on any result.
    #[inline(always)]
    pub fn prefetch(&self, page: u32) {
        prefetch(self.lines.as_ptr().wrapping_add(self.home(page)));
    }

    /// The same of what a search reads besides, once the first line is there.
    #[inline(always)]
    pub fn prefetch_more(&self, page: u32) {
        let home = self.home(page);
        if self.lines[home].is_full() {
            prefetch(self.lines.as_ptr().wrapping_add(self.after(home)));
        }
    }

    /// Entries in it, counted.
    pub fn count(&self) -> usize {
        self.lines.iter().flat_map(|line| line.pages).filter(|&page| page != EMPTY).count()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Line>() * self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, below};
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn runs_of_pages_are_spread_over_the_lines() {
        let index = Index::new(1 << 13);
        for first in [0, 1000, 1 << 31] {
            let homes: BTreeSet<usize> = (first..first + (1 << 10)).map(|page| index.home(page)).collect();
            assert!(homes.len() > 900 && homes.last() < Some(&(1 << 11)), "{} from {first}", homes.len());
        }
    }

    /// Beside a map: pages that all begin at one of a few lines, so that most lines on their way are full.
    #[test]
    fn full_lines_send_pages_on_and_take_them_back() {
        let mut index = Index::new(64);
        let lines = index.lines.len();
        let crowded = |page: &u32| [lines - 2, lines - 1, 0].contains(&index.home(*page));
        let pages: Vec<u32> = (0..2000).filter(crowded).take(100).collect();
        let mut random = Seed(1).random();
        let mut model = BTreeMap::new();
        for node in 0..20_000 {
            let page = pages[below(&mut random, pages.len() as u64) as usize];
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
