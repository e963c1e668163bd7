//! What is known of the operations to come, collected until there is enough of it to be worth while.

use crate::units::Lpn;

/// Removals from the cache, and pages, for which a step is taken at a time.
pub const CLUMP: usize = 16;
/// Clumps of pages that are remembered: more than one removal can add to the last.
const CLUMPS: usize = 4;

/// Pages of the user whose entries in translation pages will be replaced soon, in the order in which they were found; and how many
/// entries were removed from the cache.
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
    /// A page was found.
    #[inline(always)]
    pub fn find(&mut self, page: Lpn) {
        self.pages[self.found % self.pages.len()] = page;
        self.found += 1;
    }

    /// Clumps found so far.
    #[inline(always)]
    pub fn clumps(&self) -> usize {
        self.found / CLUMP
    }

    /// The pages of the clump that was found so many clumps ago; 1 is the last.
    pub fn clump(&self, back: usize) -> &[Lpn] {
        let number = (self.clumps() + CLUMPS - back) % CLUMPS;
        &self.pages[number * CLUMP..][..CLUMP]
    }

    /// An entry is removed; whether a clump of them was.
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
    fn the_last_clumps_are_told_in_their_order() {
        let mut foreseen = Foreseen::default();
        (0..2 * CLUMP as u32 + 3).for_each(|page| foreseen.find(Lpn(page)));
        assert_eq!(foreseen.clumps(), 2);
        assert_eq!([foreseen.clump(1)[0], foreseen.clump(2)[1]], [Lpn(CLUMP as u32), Lpn(1)]);
        assert_eq!((0..3 * CLUMP).filter(|_| foreseen.remove()).count(), 3);
    }
}
