//! How hot each page of a workload is.

use super::place::Places;
use wearwell_base::temperature::Temperature;
use wearwell_base::units::Lpn;

/// Classes that are ranges of rank or, where nothing is shifted or scattered, of the space itself.
pub(super) struct RankClasses {
    /// First rank of each range but the first, rising.
    pub bounds: Vec<u32>,
    /// The class of each range; one more than there are bounds.
    pub classes: Vec<u8>,
    /// Where ranks lie.
    pub places: Option<Places>,
}

impl Temperature for RankClasses {
    fn classes(&self) -> u8 {
        self.classes.iter().max().map_or(1, |&coldest| coldest + 1)
    }

    #[inline]
    fn class_of(&self, page: Lpn) -> u8 {
        let rank = self.places.as_ref().map_or(page.0, |places| places.rank(page));
        // Counting a handful of bounds beats a search, whose every step is a branch nobody can predict.
        self.classes[self.bounds.iter().filter(|&&bound| bound <= rank).count()]
    }
}
