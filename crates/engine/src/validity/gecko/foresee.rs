//! Looking ahead. In a query a page of each run is read, and each is found through several others in memory. So all are
//! fetched together, a step at a time, before the first is looked at. A merge reads one page after the other: while one is merged those
//! behind it are fetched, each one step farther than the one behind it.

use super::Gecko;
use crate::table::prefetch;
use crate::units::{BlockId, Slot};
use crate::validity::{ValidityFlash, ValidityPage};

/// Steps from the address of a page to its entries, see [`ValidityFlash::foresee`].
const STEPS: u32 = 4;
/// Pages of the largest run from which on it is worth while: those of a smaller store are in the processor's cache.
const FORESEE_FROM: usize = 64;
/// Entries to both sides of where an entry is expected.
const SPREAD: usize = 20;

impl Gecko {
    /// Finds the pages of each run that may hold entries of the block, and fetches what looking into them will read.
    pub(super) fn foresee(&mut self, block: BlockId, flash: &dyn ValidityFlash) {
        self.wanted.clear();
        let pages = self.runs.iter().map(|run| run.pages_of(block, &self.layout, &self.config));
        self.wanted.extend(pages);
        if self.runs.last().is_none_or(|run| run.slots.len() < FORESEE_FROM) {
            return;
        }
        let firsts = || {
            let wanted = self.runs.iter().zip(&self.wanted).filter(|(_, pages)| !pages.is_empty());
            wanted.map(|(run, pages)| (run, pages.start))
        };
        for step in 0..STEPS {
            firsts().for_each(|(run, page)| flash.foresee(run.slots[page], step));
        }
        // The search begins in the middle; of the addresses beside it the processor then knows the translation.
        for (run, page) in firsts() {
            if let Some(ValidityPage::Gecko(found)) = flash.peek(run.slots[page]) {
                prefetch(found.entries.as_ptr().wrapping_add(found.entries.len() / 2));
            }
        }
        for (run, page) in firsts() {
            let Some(ValidityPage::Gecko(found)) = flash.peek(run.slots[page]) else { continue };
            // Keys are spread evenly, so it is known about where the block's will be, and how the search comes there.
            let first = run.first_keys[page];
            let next = run.first_keys.get(page + 1).copied().unwrap_or(self.config.most_entries());
            let key = self.layout.first_key(block).max(first);
            let count = found.entries.len() / self.layout.stride;
            let expected = ((key - first) as f64 / (next - first).max(1) as f64 * count as f64) as usize;
            let fetch = |entry: usize| {
                prefetch(found.entries.as_ptr().wrapping_add(entry.min(count) * self.layout.stride));
            };
            let (mut low, mut high) = (0, count);
            while high - low > 2 * SPREAD {
                let middle = low + (high - low) / 2;
                fetch(middle);
                if middle < expected { low = middle } else { high = middle }
            }
            (low..=high).step_by(8).for_each(fetch);
        }
    }
}

/// The pages at `next` are merged one after the other, when the one in hand is.
pub(super) fn foresee_merge(next: &[Slot], flash: &dyn ValidityFlash) {
    for (&at, step) in next.iter().skip(1).zip((0..STEPS).rev()) {
        flash.foresee(at, step);
    }
    if let Some(ValidityPage::Gecko(page)) = next.first().and_then(|&at| flash.peek(at)) {
        page.entries.iter().step_by(8).for_each(|entry| prefetch(entry));
    }
}
