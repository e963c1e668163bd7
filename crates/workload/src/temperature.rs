//! Temperature of the pages of a workload.

use super::rank_map::RankMap;
use wearwell_base::temperature::Temperature;
use wearwell_base::units::Lpn;

/// Temperature classes that are ranges of ranks or, without shift and scatter, of pages.
pub(super) struct RankTemperature {
    /// First rank of each range except the first range, in ascending order.
    pub bounds: Vec<u32>,
    /// Class of each range; the number of classes is one more than the number of bounds.
    pub classes: Vec<u8>,
    /// Map from ranks to pages.
    pub rank_map: Option<RankMap>,
}

impl Temperature for RankTemperature {
    fn classes(&self) -> u8 {
        self.classes.iter().max().map_or(1, |&coldest| coldest + 1)
    }

    #[inline]
    fn class_of(&self, page: Lpn) -> u8 {
        let rank = self.rank_map.as_ref().map_or(page.0, |rank_map| rank_map.rank(page));
        // Counting a few bounds is faster than a binary search, whose branches are unpredictable.
        self.classes[self.bounds.iter().filter(|&&bound| bound <= rank).count()]
    }
}
