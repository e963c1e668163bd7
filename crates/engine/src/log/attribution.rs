//! Whose pages cleaning moves, and on whose account, in a store that several users share.

use crate::units::Lpn;

/// Counts moved pages by the partition whose write ran the cleaning and the partition that owns them.
#[derive(Debug)]
pub(super) struct Attribution {
    /// One past the last page of each partition, rising from the first one; the last is the store's end.
    ends: Vec<u32>,
    /// The partition whose write is in hand.
    writer: usize,
    /// `moved[cause * ends.len() + owner]`, pages.
    moved: Vec<u64>,
}

impl Attribution {
    pub fn new(ends: &[u32]) -> Self {
        Attribution { ends: ends.to_vec(), writer: 0, moved: vec![0; ends.len() * ends.len()] }
    }

    fn partition_of(&self, page: Lpn) -> usize {
        self.ends.partition_point(|&end| end <= page.0)
    }

    /// A write begins, all of whose pages are in the partition of `page`.
    pub fn begin(&mut self, page: Lpn) {
        self.writer = self.partition_of(page);
    }

    /// Cleaning wrote `pages` to their new place.
    pub fn moved(&mut self, pages: &[Lpn]) {
        let row = self.writer * self.ends.len();
        for &page in pages {
            let owner = self.partition_of(page);
            self.moved[row + owner] += 1;
        }
    }

    /// `[cause][owner]`, pages.
    pub fn matrix(&self) -> Vec<Vec<u64>> {
        self.moved.chunks(self.ends.len()).map(<[u64]>::to_vec).collect()
    }
}
