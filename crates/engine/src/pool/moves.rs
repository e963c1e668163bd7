//! Which pages cleaning moves: whose they are, on whose account, and how often.

use crate::counters::Cause;
use crate::layer::Answer;
use crate::units::{Lpn, Slot, ends, run_length};
use crate::validity::RamBitmap;

/// Pages from which on a list is looked at as a whole.
const LONG_RUN: usize = 8;

/// The page's place among the bits.
#[inline(always)]
fn place(page: Lpn) -> Slot {
    Slot(page.0)
}

/// What a store knows of the pages that it moved. Nothing, until it is told to tell users apart or to count.
#[derive(Debug, Default)]
pub struct Moves {
    attribution: Option<Box<Attribution>>,
    /// Which logical pages were not moved since they were written, where that is counted.
    unmoved: RamBitmap,
    /// Pages for which it is.
    counted: u32,
    /// Pages moved that had been moved before.
    again_pages: u64,
}

impl Moves {
    /// From now on tells partitions apart, of which number `k` ends before page `ends[k]`. What lies beyond the last of them, a store's
    /// own pages among it, is nobody's, but has a place in the table.
    pub fn divide(&mut self, ends: &[u32]) {
        self.attribution = Some(Box::new(Attribution::new(ends)));
    }

    /// From now on counts the moves of each of `pages` pages.
    pub fn count(&mut self, pages: u32) {
        if self.counted == 0 {
            self.counted = pages;
            self.unmoved = RamBitmap::new(pages, 1);
        }
    }

    /// A write begins, all of whose pages are of one partition: what it brings about is charged to that.
    #[inline]
    pub fn begin(&mut self, pages: &[Lpn]) {
        if let (Some(attribution), Some(&first)) = (&mut self.attribution, pages.first()) {
            attribution.begin(first);
        }
    }

    /// Whether anything is to be noted at all.
    #[inline(always)]
    pub fn notes(&self) -> bool {
        self.attribution.is_some() || self.counted > 0
    }

    /// `owners` were programmed because of `cause`. Translation and validity pages have numbers of their own kind.
    pub fn programmed(&mut self, owners: &[Lpn], cause: Cause) {
        match cause {
            Cause::Translation | Cause::Validity => {}
            Cause::Cleaning => self.cleaned(owners),
            Cause::WearLevelling => self.moved(owners),
            _ => self.written(owners),
        }
    }

    /// The pages are kept no more.
    #[inline]
    pub fn trimmed(&mut self, pages: &[Lpn]) {
        self.written(pages);
    }

    /// The pages were written.
    #[inline(always)]
    pub fn written(&mut self, pages: &[Lpn]) {
        let Some(first) = pages.first().filter(|_| self.counted > 0) else { return };
        // Padding has the last of all numbers, which page 0 seems to follow: a run with it goes beyond the table.
        let end = first.index() + pages.len();
        if pages.len() >= LONG_RUN && end <= self.counted as usize && run_length(pages) == pages.len() {
            return self.run_written(*first, pages.len());
        }
        for page in pages {
            if page.0 < self.counted {
                self.unmoved.set(place(*page));
            }
        }
    }

    /// The same of `pages` consecutive pages of the store's user, from `first` on.
    #[inline]
    pub fn run_written(&mut self, first: Lpn, pages: usize) {
        if self.counted > 0 && pages > 0 {
            self.unmoved.set_run(first.index(), pages);
        }
    }

    /// Cleaning wrote the pages to their new place.
    pub fn cleaned(&mut self, pages: &[Lpn]) {
        self.charge(pages);
        self.moved(pages);
    }

    /// Cleaning wrote these, some of which may be no longer what their pages hold.
    pub fn charge(&mut self, pages: &[Lpn]) {
        if let Some(attribution) = &mut self.attribution {
            attribution.moved(pages);
        }
    }

    /// The pages were moved, by cleaning or for the sake of wear.
    pub fn moved(&mut self, pages: &[Lpn]) {
        for page in pages {
            if page.0 < self.counted {
                self.again_pages += u64::from(!self.unmoved.is_set(place(*page)));
                self.unmoved.clear(place(*page));
            }
        }
    }

    /// How many of `pages` were moved since they were written; `None` where that is not counted.
    fn among(&self, pages: &[Lpn]) -> Option<u64> {
        // Mostly pages of one segment, none of which was moved.
        if let Some((first, last)) = ends(pages).filter(|(_, last)| last.0 < self.counted)
            && self.unmoved.are_set_around(place(first), place(last), pages.len())
        {
            return Some(0);
        }
        let moved = |page: &&Lpn| page.0 < self.counted && !self.unmoved.is_set(place(**page));
        (self.counted > 0).then(|| pages.iter().filter(moved).count() as u64)
    }

    /// The same as the answer of a layer.
    pub fn answer(&self, pages: &[Lpn]) -> Answer {
        self.among(pages).map_or(Answer::Nothing, Answer::Pages)
    }

    /// Pages moved that had been moved before.
    pub fn again_pages(&self) -> u64 {
        self.again_pages
    }

    /// `[cause][owner]`, pages moved by cleaning; empty where users are not told apart.
    pub fn matrix(&self) -> Vec<Vec<u64>> {
        self.attribution.as_ref().map_or_else(Vec::new, |attribution| attribution.matrix())
    }
}

/// Counts moved pages by the partition whose write ran the cleaning and the partition that owns them.
#[derive(Debug)]
struct Attribution {
    /// One past the last page of each partition, rising from the first one; the last is the rest's.
    ends: Vec<u32>,
    /// The partition whose write is in hand.
    writer: usize,
    /// `moved[cause * ends.len() + owner]`, pages.
    moved: Vec<u64>,
}

impl Attribution {
    fn new(ends: &[u32]) -> Self {
        let ends = [ends, &[u32::MAX]].concat();
        Attribution { writer: 0, moved: vec![0; ends.len() * ends.len()], ends }
    }

    /// A name beyond all pages, such as that of padding, is of the rest.
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
        /// Beside a set: pages one by one and in runs, some beyond those that are counted.
        #[test]
        fn what_was_moved_agrees_with_a_set(
            steps in prop::collection::vec((any::<bool>(), 0u32..300, 1u32..200), 1..60),
            asked in prop::collection::vec(0u32..300, 0..40),
        ) {
            const COUNTED: u32 = 250;
            let (mut moves, mut model, mut again) = (Moves::default(), BTreeSet::new(), 0);
            moves.count(COUNTED);
            for (is_moved, first, length) in steps {
                let pages: Vec<Lpn> = (first..first + length).map(Lpn).collect();
                if is_moved {
                    moves.moved(&pages);
                    let counted = pages.iter().filter(|page| page.0 < COUNTED);
                    again += counted.filter(|page| !model.insert(page.0)).count() as u64;
                } else {
                    moves.written(&pages);
                    pages.iter().for_each(|page| {
                        model.remove(&page.0);
                    });
                }
            }
            let pages: Vec<Lpn> = asked.iter().map(|&page| Lpn(page)).collect();
            let known = asked.iter().filter(|page| model.contains(page)).count() as u64;
            prop_assert_eq!(moves.among(&pages), Some(known));
            prop_assert_eq!(moves.again_pages(), again);
        }
    }

    #[test]
    fn moves_are_charged_to_cause_and_owner() {
        let mut moves = Moves::default();
        moves.cleaned(&[Lpn(1)]);
        assert!(moves.matrix().is_empty());
        moves.divide(&[10, 30]);
        moves.begin(&[Lpn(12), Lpn(13)]);
        moves.cleaned(&[Lpn(1), Lpn(29), Lpn(30), Lpn(u32::MAX)]);
        moves.begin(&[]);
        moves.moved(&[Lpn(1)]);
        assert_eq!(moves.matrix(), [[0, 0, 0], [1, 1, 2], [0, 0, 0]]);
    }

    #[test]
    fn a_page_counts_as_moved_until_it_is_written() {
        let mut moves = Moves::default();
        moves.moved(&[Lpn(1)]);
        assert_eq!(moves.among(&[Lpn(1)]), None);
        moves.count(4);
        moves.cleaned(&[Lpn(1), Lpn(2), Lpn(9)]);
        moves.moved(&[Lpn(2)]);
        assert_eq!((moves.among(&[Lpn(0), Lpn(1), Lpn(2)]), moves.again_pages()), (Some(2), 1));
        moves.written(&[Lpn(u32::MAX), Lpn(2), Lpn(3), Lpn(4), Lpn(5)]);
        assert_eq!(moves.among(&[Lpn(0), Lpn(1), Lpn(2)]), Some(1));
        moves.moved(&[Lpn(0), Lpn(1)]);
        moves.written(&[Lpn(u32::MAX), Lpn(0)]);
        assert_eq!(moves.among(&[Lpn(0), Lpn(1)]), Some(1));
    }

    /// Cleaning moves a page and is charged for it, wear levelling moves it, and whatever else names a logical page writes it.
    #[test]
    fn what_was_programmed_is_moved_or_written_by_its_cause() {
        for cause in Cause::ALL {
            let mut moves = Moves::default();
            moves.divide(&[10]);
            moves.count(4);
            assert!(moves.notes());
            moves.moved(&[Lpn(1)]);
            moves.programmed(&[Lpn(1)], cause);
            let (is_moved, again, charged) = match cause {
                Cause::Translation | Cause::Validity => (1, 0, 0),
                Cause::Cleaning => (1, 1, 1),
                Cause::WearLevelling => (1, 1, 0),
                Cause::Host | Cause::LogMetadata | Cause::Dedup => (0, 0, 0),
            };
            let found = (moves.answer(&[Lpn(1)]), moves.again_pages(), moves.matrix()[0][0]);
            assert_eq!(found, (Answer::Pages(is_moved), again, charged), "{cause:?}");
        }
        assert!(!Moves::default().notes() && Moves::default().answer(&[Lpn(1)]) == Answer::Nothing);
    }
}
