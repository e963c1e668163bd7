//! Map from the ranks of a distribution to logical pages.

use super::permutation::Permutation;
use wearwell_base::seed::Seed;
use wearwell_base::units::Lpn;

/// The logical space on which a workload runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// Number of pages; addresses start at 0.
    pub logical_pages: u32,
    /// Seed of the scattering. All phases of a workload have the same seed, so that hot pages stay hot from phase to
    /// phase, unless a `shift` moves the hot range.
    pub scatter: Seed,
}

/// Map from rank (rank 0 is the hottest page, at the start of the distribution) to page: first a shift, then a
/// permutation.
#[derive(Clone, Debug)]
pub(super) struct RankMap {
    logical_pages: u32,
    shift: u32,
    permutation: Option<Permutation>,
}

impl RankMap {
    /// Returns a map that shifts ranks by `shift`, a share of the space below 1, and then scatters them if `scatter` is
    /// true.
    pub fn new(space: &Space, shift: f64, scatter: bool) -> Self {
        let logical_pages = space.logical_pages;
        let shift = ((f64::from(logical_pages) * shift).round() as u32).min(logical_pages - 1);
        let permutation = scatter.then(|| Permutation::new(logical_pages, space.scatter));
        RankMap { logical_pages, shift, permutation }
    }

    /// True if every page number equals its rank.
    pub fn is_identity(&self) -> bool {
        self.shift == 0 && self.permutation.is_none()
    }

    /// Returns the page of a popularity rank (0 is the most popular).
    #[inline(always)]
    pub fn page(&self, rank: u32) -> u32 {
        // This form avoids the sum of two 32-bit numbers, which could overflow.
        let unshifted = self.logical_pages - self.shift;
        let shifted = if rank < unshifted { rank + self.shift } else { rank - unshifted };
        match &self.permutation {
            None => shifted,
            Some(permutation) => permutation.forward(shifted),
        }
    }

    /// Returns the popularity rank of a page.
    pub fn rank(&self, page: Lpn) -> u32 {
        let shifted = match &self.permutation {
            None => page.0,
            Some(permutation) => permutation.backward(page.0),
        };
        if shifted >= self.shift { shifted - self.shift } else { shifted + (self.logical_pages - self.shift) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_inverts_page() {
        for logical_pages in [1, 2, 7, 100] {
            for (shift, scatter) in [(0.0, false), (0.3, false), (0.99, true), (0.0, true)] {
                let space = Space { logical_pages, scatter: Seed(3) };
                let rank_map = RankMap::new(&space, shift, scatter);
                assert!((0..logical_pages).all(|rank| rank_map.rank(Lpn(rank_map.page(rank))) == rank));
            }
        }
    }
}
