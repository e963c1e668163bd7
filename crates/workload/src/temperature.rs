//! Temperature of the pages of a workload.

use super::place::Places;
use wearwell_base::temperature::Temperature;
use wearwell_base::units::Lpn;

/// Temperature classes that are ranges of ranks or, without shift and scatter, of pages.
pub(super) struct RankClasses {
    /// First rank of each range but the first, in rising order.
    pub bounds: Vec<u32>,
    /// Class of each range; one more than there are bounds.
    pub classes: Vec<u8>,
    /// Map from ranks to pages.
    pub places: Option<Places>,
}

impl Temperature for RankClasses {
    fn classes(&self) -> u8 {
        self.classes.iter().max().map_or(1, |&coldest| coldest + 1)
    }

    #[inline]
    fn class_of(&self, page: Lpn) -> u8 {
        let rank = self.places.as_ref().map_or(page.0, |places| places.rank(page));
        // Counting a few bounds is faster than a binary search, whose branches are unpredictable.
        self.classes[self.bounds.iter().filter(|&&bound| bound <= rank).count()]
    }
}
