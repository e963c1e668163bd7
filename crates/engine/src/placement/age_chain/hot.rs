//! Which pages are rewritten before a block of hot pages is reclaimed.

/// Highest value of a page's counter, from which the page is hot.
pub(super) const HOT_FROM: u8 = 3;
/// Windows over which traffic, size and valid share are averaged.
const WINDOWS: usize = 10;

/// What hot blocks were like in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HotShape {
    /// Share of the host's pages that went to hot blocks.
    pub(super) traffic: f64,
    /// Share of valid pages in hot blocks that were reclaimed.
    pub(super) valid: f64,
    /// Hot blocks.
    pub(super) blocks: f64,
}

/// The hot filter: a counter of two bits a page, raised when the page is rewritten in the first group of the chain
/// while it is younger than hot blocks become, lowered when it is older, or moved.
///
/// How old hot blocks become is learnt from those that are reclaimed: after each window, which is as long in host
/// pages as that age, it becomes the mean of what it was and of the mean age in the window.
pub(super) struct HotFilter {
    /// Host pages before which nothing is counted, for the first drive write fills the drive.
    cold: u64,
    /// Age up to which a rewrite is that of a hot page, and length of a window, host pages.
    age: f64,
    /// Host pages in this window, and those that went to hot blocks.
    written: u64,
    hot_written: u64,
    /// Hot blocks reclaimed in this window, their ages and shares of valid pages.
    reclaimed: u64,
    ages: u64,
    valid: f64,
    shapes: [HotShape; WINDOWS],
    next: usize,
}

impl HotFilter {
    /// A filter for a drive of so many pages, of which none is hot yet.
    pub(super) fn new(pages: u32) -> Self {
        HotFilter {
            cold: pages.into(),
            age: f64::from(pages),
            written: 0,
            hot_written: 0,
            reclaimed: 0,
            ages: 0,
            valid: 0.0,
            shapes: [HotShape::default(); WINDOWS],
            next: 0,
        }
    }

    /// The host writes a page, to a hot block or not; `blocks` hot blocks there are.
    pub(super) fn written(&mut self, is_hot: bool, blocks: f64) {
        if self.cold > 0 {
            self.cold -= 1;
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
            self.shapes[self.next] = HotShape { traffic, valid: self.valid / reclaimed, blocks };
            self.next = (self.next + 1) % WINDOWS;
        }
        self.age = f64::midpoint(self.age, self.ages as f64 / reclaimed).max(1.0);
        (self.written, self.hot_written, self.reclaimed, self.ages, self.valid) = (0, 0, 0, 0, 0.0);
    }

    /// The counter of a page that the host wrote again at such an age in the first group of the chain.
    pub(super) fn rewritten(&self, counter: u8, age: u64) -> u8 {
        if self.cold > 0 {
            return counter;
        }
        if age as f64 <= self.age { (counter + 1).min(HOT_FROM) } else { counter.saturating_sub(1) }
    }

    /// A hot block was reclaimed, so old and with this share of valid pages.
    pub(super) fn reclaimed(&mut self, age: u64, valid: f64) {
        self.reclaimed += 1;
        self.ages += age;
        self.valid += valid;
    }

    /// The mean of the last windows; `None` if none is over.
    pub(super) fn shape(&self) -> Option<HotShape> {
        let known = self.shapes.iter().filter(|shape| shape.traffic > 0.0);
        let count = known.clone().count() as f64;
        let mean = |of: fn(&HotShape) -> f64| known.clone().map(of).sum::<f64>() / count;
        (count > 0.0).then(|| HotShape {
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
        // Hot blocks are taken to become as old as a drive write.
        assert_eq!([filter.rewritten(0, 100), filter.rewritten(3, 100), filter.rewritten(2, 101)], [1, 3, 1]);
        assert_eq!(filter.rewritten(0, 101), 0);
        // Two became 20 and 40 pages old: 100 and 30 make 65.
        filter.reclaimed(20, 0.5);
        filter.reclaimed(40, 0.0);
        (0..99).for_each(|at| filter.written(at % 3 == 0, 2.0));
        assert_eq!(filter.shape(), None, "the window is not over");
        filter.written(false, 4.0);
        assert_eq!(filter.shape(), Some(HotShape { traffic: 0.33, valid: 0.25, blocks: 4.0 }));
        assert_eq!([filter.rewritten(0, 65), filter.rewritten(1, 66)], [1, 0]);
        // The next window, of 65 pages, goes on until a hot block is reclaimed.
        (0..80).for_each(|_| filter.written(true, 2.0));
        filter.reclaimed(65, 0.75);
        filter.written(true, 2.0);
        let shape = filter.shape().unwrap();
        assert!((shape.traffic - 0.665).abs() < 1e-9 && (shape.valid - 0.5).abs() < 1e-9, "{shape:?}");
    }
}
