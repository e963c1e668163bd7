//! TRIM: rules for notifying the layer below of pages that are no longer needed.

use super::radix::sort;
use crate::layer::{Invalidation, TrimCounts};
use crate::units::{BlockId, Lpn, count_runs};
use std::collections::VecDeque;
use std::ops::Range;

/// Unit in which pages are trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrimUnit {
    /// A whole segment, when it is erased.
    #[default]
    Segment,
    /// A single page, as soon as it is invalidated; the remaining pages of its segment when the segment is erased.
    Page,
}

/// Rule by which a log trims the layer below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimRule {
    /// Unit in which pages are trimmed.
    pub unit: TrimUnit,
    /// Delay of trims: number of pages that must be written to the layer below before a trim is sent.
    pub delay_pages: u64,
    /// Batching of trims: number of trims that are collected and then sent together. At least 1.
    pub batch: u32,
    /// Alignment in pages: only the aligned part of a range is sent, like the rounding of a device with a coarse
    /// discard granularity. If 1, all pages are sent.
    pub align_pages: u32,
}

impl Default for TrimRule {
    /// Returns the default rule: a segment is trimmed immediately when it is erased.
    fn default() -> Self {
        TrimRule { unit: TrimUnit::Segment, delay_pages: 0, batch: 1, align_pages: 1 }
    }
}

/// A trim that is not yet sent.
#[derive(Clone, Copy, Debug)]
struct PendingTrim {
    block: BlockId,
    /// Number of times the segment had been opened: a trim must not affect data written after it was queued.
    generation: u32,
    first: u32,
    pages: u32,
    /// The trim may be sent when the total number of pages written to the layer below reaches this number.
    due: u64,
}

/// Trims queued for the layer below.
#[derive(Debug)]
pub(super) struct TrimQueue {
    rule: TrimRule,
    /// True if an invalidated page is trimmed individually, as soon as its replacement is written.
    trims_pages_immediately: bool,
    /// Invalidated pages of the layer below that are to be trimmed individually.
    invalidated: Vec<Lpn>,
    /// Scratch space for sorting `invalidated`.
    scratch: Vec<Lpn>,
    pending: VecDeque<PendingTrim>,
    /// Number of times each segment was opened.
    generations: Vec<u32>,
    /// Number of pages written to the layer below.
    written: u64,
    pub counts: TrimCounts,
}

impl TrimQueue {
    pub fn new(rule: TrimRule, segments: u32) -> Self {
        TrimQueue {
            rule,
            trims_pages_immediately: rule.delay_pages == 0 && rule.batch <= 1 && rule.align_pages == 1,
            invalidated: Vec::new(),
            scratch: Vec::new(),
            pending: VecDeque::new(),
            generations: vec![0; segments as usize],
            written: 0,
            counts: TrimCounts::default(),
        }
    }

    pub fn unit(&self) -> TrimUnit {
        self.rule.unit
    }

    /// True if trims become due between two writes of the log, so that the calls in which it writes decide when the
    /// layer below receives them. A segment is trimmed without delay when it is erased, between two calls.
    pub fn depends_on_calls(&self) -> bool {
        self.rule.unit == TrimUnit::Page || self.rule.delay_pages > 0
    }

    /// Cancels the queued trims of a segment that accepts new pages from now on. The `pages` pages of the segment on
    /// the layer below begin at `first`.
    pub fn on_reopen(&mut self, block: BlockId, first: u32, pages: u32) {
        self.generations[block.index()] += 1;
        if !self.invalidated.is_empty() {
            let queued = self.invalidated.len();
            self.invalidated.retain(|page| page.0.wrapping_sub(first) >= pages);
            self.counts.overtaken_pages += (queued - self.invalidated.len()) as u64;
        }
    }

    /// Adds `pages` to the count of pages written to the layer below.
    pub fn count_written(&mut self, pages: u64) {
        self.written += pages;
    }

    /// Queues trims of invalidated pages; `page_below` returns the page of the layer below for each.
    #[inline]
    pub fn queue_pages(&mut self, invalidations: &[Invalidation], page_below: impl Fn(&Invalidation) -> u32) {
        if self.trims_pages_immediately {
            self.invalidated.extend(invalidations.iter().map(|invalidation| Lpn(page_below(invalidation))));
        } else {
            invalidations
                .iter()
                .for_each(|invalidation| self.queue_range(invalidation.block, page_below(invalidation), 1));
        }
    }

    /// Queues a trim of the `pages` pages of the layer below from `first` on, which are in segment `block`.
    pub fn queue_range(&mut self, block: BlockId, first: u32, pages: u32) {
        let (generation, due) = (self.generations[block.index()], self.written + self.rule.delay_pages);
        self.pending.push_back(PendingTrim { block, generation, first, pages, due });
    }

    /// Sets `pages` to the invalidated pages if no other trims are queued. Equivalent to [`TrimQueue::take_ranges`],
    /// but without building ranges.
    #[inline]
    pub fn take_invalidated(&mut self, pages: &mut Vec<Lpn>) {
        pages.clear();
        if self.invalidated.is_empty() || !self.trims_pages_immediately || !self.pending.is_empty() {
            return;
        }
        std::mem::swap(pages, &mut self.invalidated);
        sort(pages, &mut self.scratch);
        // A page that occurs twice in one run was reported twice.
        pages.dedup();
        self.counts.sent_pages += pages.len() as u64;
        self.counts.sent_ranges += count_runs(pages) as u64;
    }

    /// Returns the ranges of pages to trim now, in order; usually none.
    #[inline]
    pub fn take_ranges(&mut self) -> Vec<Range<u32>> {
        let batch = self.rule.batch as usize;
        if self.pending.len() < batch || self.pending[batch - 1].due > self.written {
            return Vec::new();
        }
        self.take_pending()
    }

    fn take_pending(&mut self) -> Vec<Range<u32>> {
        let due = self.pending.partition_point(|trim| trim.due <= self.written);
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(due + self.invalidated.len());
        ranges.extend(self.invalidated.drain(..).map(|page| (page.0, page.0 + 1)));
        for trim in self.pending.drain(..due) {
            if self.generations[trim.block.index()] == trim.generation {
                ranges.push((trim.first, trim.first + trim.pages));
            } else {
                self.counts.overtaken_pages += u64::from(trim.pages);
            }
        }
        ranges.sort_unstable();
        let mut due = merge_ranges(&ranges);
        due.retain_mut(|range| {
            let align = self.rule.align_pages;
            let (from, to) = (range.start.next_multiple_of(align), range.end / align * align);
            let sent = u64::from(to.saturating_sub(from));
            self.counts.unaligned_pages += u64::from(range.end - range.start) - sent;
            self.counts.sent_pages += sent;
            self.counts.sent_ranges += u64::from(sent > 0);
            *range = from..to;
            sent > 0
        });
        due
    }
}

/// Merges sorted ranges that touch or overlap.
fn merge_ranges(ranges: &[(u32, u32)]) -> Vec<Range<u32>> {
    let mut merged: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for &(first, end) in ranges {
        match merged.last_mut() {
            Some(last) if first <= last.end => last.end = last.end.max(end),
            _ => merged.push(first..end),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_due(trims: &mut TrimQueue) -> Vec<u32> {
        let mut pages = Vec::new();
        trims.take_invalidated(&mut pages);
        let ranges = trims.take_ranges().into_iter().flatten();
        pages.iter().map(|page| page.0).chain(ranges).collect()
    }

    fn trims(rule: TrimRule) -> TrimQueue {
        TrimQueue::new(rule, 8)
    }

    #[test]
    fn only_trims_of_pages_and_delayed_trims_depend_on_calls() {
        let depends_on_calls = |rule: TrimRule| trims(rule).depends_on_calls();
        let default = TrimRule::default();
        assert!(!depends_on_calls(default));
        assert!(!depends_on_calls(TrimRule { batch: 3, align_pages: 8, ..default }));
        assert!(depends_on_calls(TrimRule { unit: TrimUnit::Page, ..default }));
        assert!(depends_on_calls(TrimRule { delay_pages: 1, ..default }));
    }

    #[test]
    fn default_rule_sends_trim_immediately() {
        let mut trims = trims(TrimRule::default());
        trims.queue_range(BlockId(1), 4, 4);
        assert_eq!(take_due(&mut trims), [4, 5, 6, 7]);
        assert!(take_due(&mut trims).is_empty());
    }

    #[test]
    fn invalidated_pages_are_sent_sorted_once_and_merged_with_segments() {
        let mut trims = trims(TrimRule { unit: TrimUnit::Page, ..TrimRule::default() });
        let invalidate = |trims: &mut TrimQueue, pages: &[u32]| {
            let invalidation =
                |&page: &u32| Invalidation { owner: Lpn(0), block: BlockId(page / 8), page: page % 8 };
            let invalidations: Vec<Invalidation> = pages.iter().map(invalidation).collect();
            trims.queue_pages(&invalidations, |invalidation| 8 * invalidation.block.0 + invalidation.page);
        };
        invalidate(&mut trims, &[9, 4, 5, 4, 30]);
        assert_eq!(take_due(&mut trims), [4, 5, 9, 30]);
        assert_eq!((trims.counts.sent_pages, trims.counts.sent_ranges), (4, 3));
        invalidate(&mut trims, &[2, 7, 16]);
        trims.queue_range(BlockId(1), 8, 4);
        assert_eq!(take_due(&mut trims), [2, 7, 8, 9, 10, 11, 16]);
        assert_eq!((trims.counts.sent_pages, trims.counts.sent_ranges), (11, 6));
        invalidate(&mut trims, &[2, 9]);
        trims.on_reopen(BlockId(1), 8, 8);
        assert_eq!(take_due(&mut trims), [2]);
        assert_eq!(trims.counts.overtaken_pages, 1);
    }

    #[test]
    fn delayed_trim_is_dropped_when_segment_is_reused() {
        let mut trims = trims(TrimRule { delay_pages: 10, ..TrimRule::default() });
        trims.queue_range(BlockId(0), 0, 4);
        trims.queue_range(BlockId(1), 4, 4);
        trims.count_written(9);
        assert!(take_due(&mut trims).is_empty());
        trims.on_reopen(BlockId(0), 0, 4);
        trims.count_written(1);
        assert_eq!(take_due(&mut trims), [4, 5, 6, 7]);
        assert_eq!(trims.counts.overtaken_pages, 4);
    }

    #[test]
    fn batch_merges_adjacent_segments_into_one_range() {
        let mut trims = trims(TrimRule { batch: 3, ..TrimRule::default() });
        for block in [2, 0] {
            trims.queue_range(BlockId(block), 4 * block, 4);
            assert!(take_due(&mut trims).is_empty());
        }
        trims.queue_range(BlockId(1), 4, 4);
        assert_eq!(take_due(&mut trims).len(), 12);
        assert_eq!((trims.counts.sent_pages, trims.counts.sent_ranges), (12, 1));
    }

    #[test]
    fn trim_sends_only_aligned_part_of_range() {
        let mut trims = trims(TrimRule { align_pages: 8, batch: 2, ..TrimRule::default() });
        trims.queue_range(BlockId(1), 6, 6);
        trims.queue_range(BlockId(2), 12, 6);
        assert_eq!(take_due(&mut trims), [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(trims.counts.unaligned_pages, 4);
    }
}
