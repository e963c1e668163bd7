//! The hot filter: finds pages that are rewritten before a block of hot pages is reclaimed.

/// Highest value of a page's counter; a page with this value is hot.
pub(super) const HOT_COUNTER: u8 = 3;
/// Number of windows over which traffic, size and valid fraction are averaged.
const WINDOWS: usize = 10;

/// Statistics of the hot blocks in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HotStatistics {
    /// Fraction of the host's pages that went to hot blocks.
    pub(super) traffic: f64,
    /// Fraction of valid pages in reclaimed hot blocks.
    pub(super) valid: f64,
    /// Number of hot blocks.
    pub(super) blocks: f64,
}

/// The hot filter: a two-bit counter per page. The counter rises when the page is rewritten in the first group of the
/// chain at an age that hot blocks reach. It falls when the page is rewritten at a higher age, or moved.
///
/// The age of hot blocks is learnt from reclaimed blocks. A window lasts as many host pages as the current age. After
/// each window, the age becomes the mean of its old value and of the mean age in the window.
pub(super) struct HotFilter {
    /// Remaining host pages of the first drive write, which fills the drive and is not counted.
    warm_up_left: u64,
    /// Largest age at which a rewrite makes a page hotter, and length of a window, host pages.
    age: f64,
    /// Number of host pages in this window.
    written: u64,
    /// Number of host pages in this window that went to hot blocks.
    hot_written: u64,
    /// Hot blocks reclaimed in this window, with the sums of their ages and of their fractions of valid pages.
    reclaimed: u64,
    ages: u64,
    valid: f64,
    statistics: [HotStatistics; WINDOWS],
    next: usize,
}

impl HotFilter {
    /// Creates a filter for a drive of `pages` pages, none of them hot.
    pub(super) fn new(pages: u32) -> Self {
        HotFilter {
            warm_up_left: pages.into(),
            age: f64::from(pages),
            written: 0,
            hot_written: 0,
            reclaimed: 0,
            ages: 0,
            valid: 0.0,
            statistics: [HotStatistics::default(); WINDOWS],
            next: 0,
        }
    }

    /// Counts a page that the host writes, to a hot block or not; `blocks` is the current number of hot blocks.
    pub(super) fn written(&mut self, is_hot: bool, blocks: f64) {
        if self.warm_up_left > 0 {
            self.warm_up_left -= 1;
            return;
        }
        self.written += 1;
        self.hot_written += u64::from(is_hot);
        if self.written as f64 >= self.age && self.reclaimed > 0 {
            self.end_window(blocks);
        }
    }

    fn end_window(&mut self, blocks: f64) {
        let reclaimed = self.reclaimed as f64;
        if self.hot_written > 0 {
            let traffic = self.hot_written as f64 / self.written as f64;
            self.statistics[self.next] = HotStatistics { traffic, valid: self.valid / reclaimed, blocks };
            self.next = (self.next + 1) % WINDOWS;
        }
        self.age = f64::midpoint(self.age, self.ages as f64 / reclaimed).max(1.0);
        (self.written, self.hot_written, self.reclaimed, self.ages, self.valid) = (0, 0, 0, 0, 0.0);
    }

    /// Returns the new counter of a page that the host rewrote at age `age` in the first group of the chain.
    pub(super) fn rewritten(&self, counter: u8, age: u64) -> u8 {
        if self.warm_up_left > 0 {
            return counter;
        }
        if age as f64 <= self.age { (counter + 1).min(HOT_COUNTER) } else { counter.saturating_sub(1) }
    }

    /// Counts a reclaimed hot block with its age and its fraction of valid pages.
    pub(super) fn reclaimed(&mut self, age: u64, valid: f64) {
        self.reclaimed += 1;
        self.ages += age;
        self.valid += valid;
    }

    /// Returns the mean of the last windows, or `None` if no window is complete.
    pub(super) fn mean_statistics(&self) -> Option<HotStatistics> {
        let complete = self.statistics.iter().filter(|shape| shape.traffic > 0.0);
        let count = complete.clone().count() as f64;
        let mean = |of: fn(&HotStatistics) -> f64| complete.clone().map(of).sum::<f64>() / count;
        (count > 0.0).then(|| HotStatistics {
            traffic: mean(|shape| shape.traffic),
            valid: mean(|shape| shape.valid),
            blocks: mean(|shape| shape.blocks),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_follow_the_age_of_hot_blocks() {
        let mut filter = HotFilter::new(100);
        assert_eq!(filter.rewritten(1, 5), 1, "nothing counts in the first drive write");
        (0..100).for_each(|_| filter.written(false, 0.0));
        // At first, hot blocks are assumed to become as old as a drive write.
        assert_eq!([filter.rewritten(0, 100), filter.rewritten(3, 100), filter.rewritten(2, 101)], [1, 3, 1]);
        assert_eq!(filter.rewritten(0, 101), 0);
        // Two hot blocks were reclaimed at ages of 20 and 40 pages: the mean of 100 and 30 is 65.
        filter.reclaimed(20, 0.5);
        filter.reclaimed(40, 0.0);
        (0..99).for_each(|at| filter.written(at % 3 == 0, 2.0));
        assert_eq!(filter.mean_statistics(), None, "the window is not over");
        filter.written(false, 4.0);
        assert_eq!(filter.mean_statistics(), Some(HotStatistics { traffic: 0.33, valid: 0.25, blocks: 4.0 }));
        assert_eq!([filter.rewritten(0, 65), filter.rewritten(1, 66)], [1, 0]);
        // The next window, of 65 pages, continues until a hot block is reclaimed.
        (0..80).for_each(|_| filter.written(true, 2.0));
        filter.reclaimed(65, 0.75);
        filter.written(true, 2.0);
        let mean = filter.mean_statistics().unwrap();
        assert!((mean.traffic - 0.665).abs() < 1e-9 && (mean.valid - 0.5).abs() < 1e-9, "{mean:?}");
    }
}
