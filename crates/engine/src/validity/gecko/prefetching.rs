//! Prefetching. A query reads one page of each run, and each page is found through several pointers in memory. All
//! these pages are prefetched together, step by step, before the first page is read. A merge reads one page after the
//! other. While a page is merged, the following pages are prefetched, each one step further than the page after it.

use super::Gecko;
use crate::table::prefetch;
use crate::units::{BlockId, Slot};
use crate::validity::{ValidityFlash, ValidityPage};

/// Number of steps from the address of a page to its entries, see [`ValidityFlash::prefetch`].
const PREFETCH_STEPS: u32 = 4;
/// Minimum number of pages in the largest run for prefetching: smaller stores fit in the CPU cache.
const MIN_PREFETCH_PAGES: usize = 64;
/// Number of entries prefetched on each side of the expected position.
const PREFETCH_SPREAD: usize = 20;

impl Gecko {
    /// Finds the pages of each run that may contain entries of the block, and prefetches the data that the lookups
    /// will read.
    pub(super) fn prefetch_query(&mut self, block: BlockId, flash: &dyn ValidityFlash) {
        self.queried_pages.clear();
        let pages = self.runs.iter().map(|run| run.pages_of(block, &self.layout, &self.config));
        self.queried_pages.extend(pages);
        if self.runs.last().is_none_or(|run| run.slots.len() < MIN_PREFETCH_PAGES) {
            return;
        }
        let first_pages = || {
            let non_empty = self.runs.iter().zip(&self.queried_pages).filter(|(_, pages)| !pages.is_empty());
            non_empty.map(|(run, pages)| (run, pages.start))
        };
        for step in 0..PREFETCH_STEPS {
            first_pages().for_each(|(run, page)| flash.prefetch(run.slots[page], step));
        }
        // The search begins in the middle; prefetching it also loads the address translations of its neighbours.
        for (run, page) in first_pages() {
            if let Some(ValidityPage::Gecko(found)) = flash.peek(run.slots[page]) {
                prefetch(found.entries.as_ptr().wrapping_add(found.entries.len() / 2));
            }
        }
        for (run, page) in first_pages() {
            let Some(ValidityPage::Gecko(found)) = flash.peek(run.slots[page]) else { continue };
            // Keys are evenly distributed, so the approximate position of the block's key, and the search path to it,
            // can be predicted.
            let first = run.first_keys[page];
            let next = run.first_keys.get(page + 1).copied().unwrap_or(self.config.max_entries());
            let key = self.layout.first_key(block).max(first);
            let count = found.entries.len() / self.layout.stride;
            let expected = ((key - first) as f64 / (next - first).max(1) as f64 * count as f64) as usize;
            let prefetch_entry = |entry: usize| {
                prefetch(found.entries.as_ptr().wrapping_add(entry.min(count) * self.layout.stride));
            };
            let (mut low, mut high) = (0, count);
            while high - low > 2 * PREFETCH_SPREAD {
                let middle = low + (high - low) / 2;
                prefetch_entry(middle);
                if middle < expected { low = middle } else { high = middle }
            }
            (low..=high).step_by(8).for_each(prefetch_entry);
        }
    }
}

/// Prefetches data of the pages at `next`, which are merged after the current page, in order.
pub(super) fn prefetch_merge(next: &[Slot], flash: &dyn ValidityFlash) {
    for (&at, step) in next.iter().skip(1).zip((0..PREFETCH_STEPS).rev()) {
        flash.prefetch(at, step);
    }
    if let Some(ValidityPage::Gecko(page)) = next.first().and_then(|&at| flash.peek(at)) {
        page.entries.iter().step_by(8).for_each(|entry| prefetch(entry));
    }
}
