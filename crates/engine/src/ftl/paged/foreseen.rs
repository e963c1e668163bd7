//! Pages and evictions known in advance, collected in groups for prefetching.

use crate::units::Lpn;

/// Number of pages, or of evictions from the mapping cache, for which a prefetching step is done at a time.
pub const CLUMP: usize = 16;
/// Number of groups of pages that are remembered; more than one, because one eviction can add pages beyond the end of
/// a group.
const CLUMPS: usize = 4;

/// User pages whose translation entries will be replaced soon, in the order in which they were found, and the number
/// of entries evicted from the cache.
pub struct Foreseen {
    pages: [Lpn; CLUMPS * CLUMP],
    found: usize,
    removals: usize,
}

impl Default for Foreseen {
    fn default() -> Self {
        Foreseen { pages: [Lpn(0); CLUMPS * CLUMP], found: 0, removals: 0 }
    }
}

impl Foreseen {
    /// Adds a page.
    #[inline(always)]
    pub fn find(&mut self, page: Lpn) {
        self.pages[self.found % self.pages.len()] = page;
        self.found += 1;
    }

    /// Returns the number of complete groups.
    #[inline(always)]
    pub fn clumps(&self) -> usize {
        self.found / CLUMP
    }

    /// Returns the pages of a complete group: 1 for the last group, 2 for the one before.
    pub fn clump(&self, back: usize) -> &[Lpn] {
        let number = (self.clumps() + CLUMPS - back) % CLUMPS;
        &self.pages[number * CLUMP..][..CLUMP]
    }

    /// Counts an eviction. Returns true if it completes a group of evictions.
    #[inline(always)]
    pub fn remove(&mut self) -> bool {
        self.removals += 1;
        self.removals.is_multiple_of(CLUMP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clump_returns_last_groups_in_order() {
        let mut foreseen = Foreseen::default();
        (0..2 * CLUMP as u32 + 3).for_each(|page| foreseen.find(Lpn(page)));
        assert_eq!(foreseen.clumps(), 2);
        assert_eq!([foreseen.clump(1)[0], foreseen.clump(2)[1]], [Lpn(CLUMP as u32), Lpn(1)]);
        assert_eq!((0..3 * CLUMP).filter(|_| foreseen.remove()).count(), 3);
    }
}
