//! Time between two writes of a page, in page writes and in distinct pages.

use super::distribution::{SampleProperties, ValueHistogram};
use super::page::{MAX_SLOTS, Page, Slot};
use super::ranked_bits::RankedBits;
use super::report::{PercentileBounds, ReuseDescription};
use super::sample::SampleRate;
use super::sampling_error::GroupCounts;
use wearwell_base::table;

/// Slots before the first renumbering.
const INITIAL_SLOTS: usize = 1 << 16;

/// Slots per written page after a renumbering: more slots take memory, fewer are used up sooner.
const SLOTS_PER_PAGE: usize = 4;

/// Last writes of all pages, in the order of time.
///
/// Each page write takes the next slot and frees the page's former slot, so the used slots are the written pages in the
/// order of their last writes. The stack distance of a page is the number of used slots above its own. When the slots
/// run out, the used slots are renumbered without gaps, which limits memory to the size of the footprint.
pub struct LastWrites {
    /// Slots of pages that have been rewritten.
    free: RankedBits,
    /// Clock of each renumbered slot; of all slots if clocks are not consecutive.
    clocks: Vec<u64>,
    /// Clock minus slot, for the slots that are not in `clocks`.
    clock_offset: u64,
    next_slot: usize,
    /// Pages written, in a sample.
    sampled_pages: Option<GroupCounts>,
    intervals: ValueHistogram,
    distances: Option<ValueHistogram>,
}

impl LastWrites {
    /// Returns an empty order. With `is_sampled`, clocks may skip page writes.
    pub fn new(stack_distance: bool, is_sampled: bool) -> Self {
        LastWrites {
            free: RankedBits::new(INITIAL_SLOTS, stack_distance),
            clocks: Vec::new(),
            clock_offset: 0,
            next_slot: 0,
            sampled_pages: is_sampled.then(GroupCounts::default),
            intervals: ValueHistogram::new(is_sampled),
            distances: stack_distance.then(|| ValueHistogram::new(is_sampled)),
        }
    }

    /// True if `pages` pages can be written before slots have to be renumbered with [`Self::renumber`].
    #[inline]
    pub fn has_free_slots(&self, pages: usize) -> bool {
        self.next_slot + pages <= self.free.len().min(MAX_SLOTS)
    }

    /// Records that `pages`, all of `group`, were written one after another, the first one after `clock` page writes;
    /// returns the number of pages that had never been written.
    #[inline]
    pub fn write(&mut self, clock: u64, group: usize, pages: &mut [Page]) -> usize {
        let first_slot = self.next_slot as Slot;
        let (mut at, mut first_writes) = (0, 0);
        while at < pages.len() {
            let run = Page::run_length(&pages[at..]);
            match pages[at].slot() {
                None => first_writes += run,
                Some(slot) => self.rewrite(clock + at as u64, group, slot as usize, run),
            }
            at += run;
            self.next_slot += run;
        }
        for (slot, page) in (first_slot..).zip(pages.iter_mut()) {
            page.write(slot);
        }
        if let Some(sampled_pages) = &mut self.sampled_pages {
            sampled_pages.add(group, first_writes as u64);
            self.clocks.extend((clock..).take(pages.len()));
        }
        first_writes
    }

    /// Frees `pages` slots from `slot` on, whose pages are rewritten one after another from `clock` on.
    #[inline]
    fn rewrite(&mut self, clock: u64, group: usize, slot: usize, pages: usize) {
        if let Some(distances) = &mut self.distances {
            // Each page of the run frees a slot below that of the next page, and takes a new slot above: all distances
            // are equal.
            let free_above = self.free.set_bits() - self.free.count_below(slot);
            distances.record((self.next_slot - slot - 1 - free_above) as u64, pages as u64, group);
        }
        self.free.set(slot, pages);
        let (first, last) = (self.clock_of(slot), self.clock_of(slot + pages - 1));
        if last - first == pages as u64 - 1 {
            self.intervals.record(clock - first, pages as u64, group);
        } else {
            for (clock, slot) in (clock..).zip(slot..slot + pages) {
                self.intervals.record(clock - self.clock_of(slot), 1, group);
            }
        }
    }

    #[inline]
    fn clock_of(&self, slot: usize) -> u64 {
        self.clocks.get(slot).copied().unwrap_or(slot as u64 + self.clock_offset)
    }

    /// Prefetches the memory that a write of `page` needs.
    #[inline]
    pub fn prefetch(&self, page: Page) {
        if let Some(slot) = page.slot() {
            self.free.prefetch(slot as usize);
            table::prefetch(self.clocks.as_ptr().wrapping_add(slot as usize));
        }
    }

    /// Renumbers the used slots from 0 in their order, with free slots for `pages` more pages, after `clock` page
    /// writes; returns a function from old to new slots.
    ///
    /// # Panics
    /// If the number of distinct pages written exceeds the number of slots.
    pub fn renumber(&mut self, clock: u64, pages: usize) -> impl Fn(Slot) -> Slot + use<> {
        let used = self.next_slot - self.free.set_bits();
        assert!(
            used + used / 16 + pages <= MAX_SLOTS,
            "{used} distinct pages written; describe a sample of the pages"
        );
        let mut clocks = table::with_capacity(used);
        clocks.extend(self.free.clear_bits(self.next_slot).map(|slot| self.clock_of(slot)));
        self.clocks = clocks;
        self.next_slot = used;
        self.clock_offset = clock - used as u64;
        let slots = (SLOTS_PER_PAGE * used + pages).max(INITIAL_SLOTS);
        let free = RankedBits::new(slots, self.distances.is_some());
        let used_below = std::mem::replace(&mut self.free, free).into_clear_counter();
        move |slot| used_below(slot as usize) as Slot
    }

    /// Returns distributions over all pages, estimated from a sample at `rate`, and the bounds of their percentiles;
    /// `clock` counts the writes of all pages, sampled or not.
    pub fn estimate(
        &self,
        rate: SampleRate,
        clock: u64,
    ) -> (ReuseDescription, [Option<Vec<PercentileBounds>>; 2]) {
        let pages = self.sampled_pages.unwrap_or_default();
        let values = clock as f64 * rate.get() - pages.sum();
        let expected = SampleProperties { rate, expected_values: values, sampled_pages: pages };
        let (interval_pages, interval_bounds) = self.intervals.estimate(&expected, 1.0).unzip();
        let distances =
            self.distances.as_ref().and_then(|values| values.estimate(&expected, 1.0 / rate.get()));
        let (stack_distance_pages, distance_bounds) = distances.unzip();
        let rewrites = rate.scale_up(values.max(0.0));
        let description = ReuseDescription { rewrites, interval_pages, stack_distance_pages };
        (description, [interval_bounds, distance_bounds])
    }

    /// Returns the distributions, for a trace without sampling.
    pub fn report(&self) -> ReuseDescription {
        ReuseDescription {
            rewrites: self.intervals.len(),
            interval_pages: self.intervals.report(),
            stack_distance_pages: self.distances.as_ref().and_then(ValueHistogram::report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::report::Distribution;
    use proptest::prelude::*;

    /// Returns intervals and stack distances by searching a list of pages in the order of their last writes, the last
    /// one first.
    fn naive(pages: &[usize]) -> (Vec<u64>, Vec<u64>) {
        let (mut intervals, mut distances, mut stack) = (Vec::new(), Vec::new(), Vec::new());
        for (now, page) in pages.iter().enumerate() {
            if let Some(depth) = stack.iter().position(|other| other == page) {
                let before = pages[..now].iter().rposition(|other| other == page).unwrap();
                intervals.push((now - before) as u64);
                distances.push(depth as u64);
                stack.remove(depth);
            }
            stack.insert(0, *page);
        }
        (intervals, distances)
    }

    fn summary(values: &[u64]) -> Option<(u64, u64, u64, f64)> {
        let count = values.len() as u64;
        let mean = values.iter().sum::<u64>() as f64 / count as f64;
        Some((count, *values.iter().min()?, *values.iter().max()?, mean))
    }

    proptest! {
        #[test]
        fn last_writes_match_naive_list(
            runs in proptest::collection::vec((0usize..40, 1usize..17), 0..100),
            renumber_every in 1usize..30,
            is_sampled: bool,
        ) {
            let mut writes = LastWrites::new(true, is_sampled);
            let mut states = [Page::UNTOUCHED; 60];
            let mut pages = Vec::new();
            for (now, &(first, count)) in runs.iter().enumerate() {
                if now % renumber_every == 0 {
                    let new_slot = writes.renumber(pages.len() as u64, count);
                    states.iter_mut().for_each(|page| page.renumber(&new_slot));
                }
                prop_assert!(writes.has_free_slots(count));
                let run = &mut states[first..first + count];
                let unwritten = run.iter().filter(|page| page.slot().is_none()).count();
                prop_assert_eq!(writes.write(pages.len() as u64, 3, run), unwritten);
                pages.extend(first..first + count);
            }
            let summary_of = |distribution: Option<Distribution>| {
                distribution.map(|all| (all.count, all.min, all.max, all.mean))
            };
            let (intervals, distances) = naive(&pages);
            let report = writes.report();
            prop_assert_eq!(summary_of(report.interval_pages), summary(&intervals));
            prop_assert_eq!(summary_of(report.stack_distance_pages), summary(&distances));
        }
    }
}
