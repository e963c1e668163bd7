//! Statistics of moved pages: numbers by the partition of the pages and the partition that caused the moves, and the
//! number of repeated moves.

use crate::counters::Cause;
use crate::layer::Answer;
use crate::units::{Lpn, Slot, bounds, run_length};
use crate::validity::RamBitmap;

/// Minimum length of a list for which the code tests if the pages are consecutive.
const LONG_RUN: usize = 8;

/// Returns the index of the page's bit.
#[inline(always)]
fn bit_of(page: Lpn) -> Slot {
    Slot(page.0)
}

/// Statistics of the pages that a store moved; empty until attribution or counting is enabled.
#[derive(Debug, Default)]
pub struct Moves {
    attribution: Option<Box<Attribution>>,
    /// One bit per logical page, set if the page was not moved since its last write; empty if moves are not counted.
    unmoved: RamBitmap,
    /// Number of logical pages whose moves are counted.
    counted_pages: u32,
    /// Number of moves of pages that had been moved before.
    repeated_moves: u64,
}

impl Moves {
    /// Enables attribution to partitions; partition `k` ends before page `ends[k]`. Pages after the last partition,
    /// such as the store's metadata pages, count as one more partition.
    pub fn set_partitions(&mut self, ends: &[u32]) {
        self.attribution = Some(Box::new(Attribution::new(ends)));
    }

    /// Enables counting of moves for the first `pages` logical pages.
    pub fn count(&mut self, pages: u32) {
        if self.counted_pages == 0 {
            self.counted_pages = pages;
            self.unmoved = RamBitmap::new(pages, 1);
        }
    }

    /// Begins a write, whose pages are all of one partition: moves that it causes are attributed to that partition.
    #[inline]
    pub fn begin(&mut self, pages: &[Lpn]) {
        if let (Some(attribution), Some(&first)) = (&mut self.attribution, pages.first()) {
            attribution.begin(first);
        }
    }

    /// True if attribution or counting is enabled.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        self.attribution.is_some() || self.counted_pages > 0
    }

    /// Records that `owners` were programmed because of `cause`. Translation and validity pages are ignored, because
    /// they are numbered separately.
    pub fn programmed(&mut self, owners: &[Lpn], cause: Cause) {
        match cause {
            Cause::Translation | Cause::Validity => {}
            Cause::Cleaning => self.cleaned(owners),
            Cause::WearLevelling => self.moved(owners),
            _ => self.written(owners),
        }
    }

    /// Records that the pages were trimmed.
    #[inline]
    pub fn trimmed(&mut self, pages: &[Lpn]) {
        self.written(pages);
    }

    /// Records that the pages were written.
    #[inline(always)]
    pub fn written(&mut self, pages: &[Lpn]) {
        let Some(first) = pages.first().filter(|_| self.counted_pages > 0) else { return };
        // The number of a padding page is the highest page number, so page 0 seems to follow it: such a run exceeds the
        // table.
        let end = first.index() + pages.len();
        if pages.len() >= LONG_RUN && end <= self.counted_pages as usize && run_length(pages) == pages.len() {
            return self.run_written(*first, pages.len());
        }
        for page in pages {
            if page.0 < self.counted_pages {
                self.unmoved.set(bit_of(*page));
            }
        }
    }

    /// Records that `pages` consecutive pages from `first` were written by the store's user.
    #[inline]
    pub fn run_written(&mut self, first: Lpn, pages: usize) {
        if self.counted_pages > 0 && pages > 0 {
            self.unmoved.set_run(first.index(), pages);
        }
    }

    /// Records that cleaning moved the pages.
    pub fn cleaned(&mut self, pages: &[Lpn]) {
        self.attribute(pages);
        self.moved(pages);
    }

    /// Attributes pages that cleaning wrote, even if some of these copies are outdated already.
    pub fn attribute(&mut self, pages: &[Lpn]) {
        if let Some(attribution) = &mut self.attribution {
            attribution.moved(pages);
        }
    }

    /// Records that the pages were moved, by cleaning or wear levelling.
    pub fn moved(&mut self, pages: &[Lpn]) {
        for page in pages {
            if page.0 < self.counted_pages {
                self.repeated_moves += u64::from(!self.unmoved.is_set(bit_of(*page)));
                self.unmoved.clear(bit_of(*page));
            }
        }
    }

    /// Returns the number of those `pages` that were moved since they were written; `None` if moves are not counted.
    fn count_moved(&self, pages: &[Lpn]) -> Option<u64> {
        // Most lists are pages of one segment, none of which was moved.
        if let Some((first, last)) = bounds(pages).filter(|(_, last)| last.0 < self.counted_pages)
            && self.unmoved.are_set_around(bit_of(first), bit_of(last), pages.len())
        {
            return Some(0);
        }
        let moved = |page: &&Lpn| page.0 < self.counted_pages && !self.unmoved.is_set(bit_of(**page));
        (self.counted_pages > 0).then(|| pages.iter().filter(moved).count() as u64)
    }

    /// Returns the answer to a query for the number of those `pages` that were moved since they were written.
    pub fn answer(&self, pages: &[Lpn]) -> Answer {
        self.count_moved(pages).map_or(Answer::Nothing, Answer::Pages)
    }

    /// Returns the number of moves of pages that had been moved before.
    pub fn repeated_moves(&self) -> u64 {
        self.repeated_moves
    }

    /// Returns the number of pages moved by cleaning, by causing and owning partition: `[cause][owner]`; empty without
    /// attribution.
    pub fn matrix(&self) -> Vec<Vec<u64>> {
        self.attribution.as_ref().map_or_else(Vec::new, |attribution| attribution.matrix())
    }
}

/// Counts of moved pages, by the partition whose write caused the cleaning and the partition that owns the pages.
#[derive(Debug)]
struct Attribution {
    /// End page of each partition, ascending; the last entry is for all other pages.
    ends: Vec<u32>,
    /// Partition of the current write.
    writer: usize,
    /// Number of moved pages of partition `owner` because of partition `cause`, at index `cause * ends.len() + owner`.
    moved: Vec<u64>,
}

impl Attribution {
    fn new(ends: &[u32]) -> Self {
        let ends = [ends, &[u32::MAX]].concat();
        Attribution { writer: 0, moved: vec![0; ends.len() * ends.len()], ends }
    }

    /// Returns the partition of the page; page numbers beyond the logical pages, such as that of padding, belong to the
    /// last entry.
    fn partition_of(&self, page: Lpn) -> usize {
        self.ends.partition_point(|&end| end <= page.0).min(self.ends.len() - 1)
    }

    fn begin(&mut self, page: Lpn) {
        self.writer = self.partition_of(page);
    }

    fn moved(&mut self, pages: &[Lpn]) {
        let row = self.writer * self.ends.len();
        for &page in pages {
            let owner = self.partition_of(page);
            self.moved[row + owner] += 1;
        }
    }

    fn matrix(&self) -> Vec<Vec<u64>> {
        self.moved.chunks(self.ends.len()).map(<[u64]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compares the moved pages with a set; single pages and runs are written and moved, some of them beyond the
        /// counted pages.
        #[test]
        fn moved_pages_match_a_set(
            steps in prop::collection::vec((any::<bool>(), 0u32..300, 1u32..200), 1..60),
            queried in prop::collection::vec(0u32..300, 0..40),
        ) {
            const COUNTED: u32 = 250;
            let (mut moves, mut model, mut repeated) = (Moves::default(), BTreeSet::new(), 0);
            moves.count(COUNTED);
            for (is_moved, first, length) in steps {
                let pages: Vec<Lpn> = (first..first + length).map(Lpn).collect();
                if is_moved {
                    moves.moved(&pages);
                    let counted = pages.iter().filter(|page| page.0 < COUNTED);
                    repeated += counted.filter(|page| !model.insert(page.0)).count() as u64;
                } else {
                    moves.written(&pages);
                    pages.iter().for_each(|page| {
                        model.remove(&page.0);
                    });
                }
            }
            let pages: Vec<Lpn> = queried.iter().map(|&page| Lpn(page)).collect();
            let expected = queried.iter().filter(|page| model.contains(page)).count() as u64;
            prop_assert_eq!(moves.count_moved(&pages), Some(expected));
            prop_assert_eq!(moves.repeated_moves(), repeated);
        }
    }

    #[test]
    fn moves_are_attributed_to_cause_and_owner() {
        let mut moves = Moves::default();
        moves.cleaned(&[Lpn(1)]);
        assert!(moves.matrix().is_empty());
        moves.set_partitions(&[10, 30]);
        moves.begin(&[Lpn(12), Lpn(13)]);
        moves.cleaned(&[Lpn(1), Lpn(29), Lpn(30), Lpn(u32::MAX)]);
        moves.begin(&[]);
        moves.moved(&[Lpn(1)]);
        assert_eq!(moves.matrix(), [[0, 0, 0], [1, 1, 2], [0, 0, 0]]);
    }

    #[test]
    fn page_counts_as_moved_until_it_is_written() {
        let mut moves = Moves::default();
        moves.moved(&[Lpn(1)]);
        assert_eq!(moves.count_moved(&[Lpn(1)]), None);
        moves.count(4);
        moves.cleaned(&[Lpn(1), Lpn(2), Lpn(9)]);
        moves.moved(&[Lpn(2)]);
        assert_eq!((moves.count_moved(&[Lpn(0), Lpn(1), Lpn(2)]), moves.repeated_moves()), (Some(2), 1));
        moves.written(&[Lpn(u32::MAX), Lpn(2), Lpn(3), Lpn(4), Lpn(5)]);
        assert_eq!(moves.count_moved(&[Lpn(0), Lpn(1), Lpn(2)]), Some(1));
        moves.moved(&[Lpn(0), Lpn(1)]);
        moves.written(&[Lpn(u32::MAX), Lpn(0)]);
        assert_eq!(moves.count_moved(&[Lpn(0), Lpn(1)]), Some(1));
    }

    /// A page programmed by cleaning counts as moved and is attributed; by wear levelling, it counts as moved; by any
    /// other cause of logical pages, it counts as written.
    #[test]
    fn programmed_pages_are_moved_or_written_by_cause() {
        for cause in Cause::ALL {
            let mut moves = Moves::default();
            moves.set_partitions(&[10]);
            moves.count(4);
            assert!(moves.is_enabled());
            moves.moved(&[Lpn(1)]);
            moves.programmed(&[Lpn(1)], cause);
            let (is_moved, repeated, attributed) = match cause {
                Cause::Translation | Cause::Validity => (1, 0, 0),
                Cause::Cleaning => (1, 1, 1),
                Cause::WearLevelling => (1, 1, 0),
                Cause::Host | Cause::LogMetadata | Cause::Dedup => (0, 0, 0),
            };
            let found = (moves.answer(&[Lpn(1)]), moves.repeated_moves(), moves.matrix()[0][0]);
            assert_eq!(found, (Answer::Pages(is_moved), repeated, attributed), "{cause:?}");
        }
        assert!(!Moves::default().is_enabled() && Moves::default().answer(&[Lpn(1)]) == Answer::Nothing);
    }
}
