//! Runs: pages of entries in flash, sorted by key.

use super::entry::Layout;
use super::page::{GeckoPage, Postamble, Preamble};
use super::{Gecko, GeckoConfig};
use crate::layer::LayerError;
use crate::units::{BlockId, Slot};
use crate::validity::{ValidityFlash, ValidityPage};
use std::ops::Range;

/// A run and the directory of its pages.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub number: u32,
    pub preamble: Preamble,
    /// First key of each page; 0 for a page without entries.
    pub first_keys: Vec<u64>,
    pub slots: Vec<Slot>,
}

impl Run {
    /// Returns the pages that may contain entries of the block.
    pub fn pages_of(&self, block: BlockId, layout: &Layout, config: &GeckoConfig) -> Range<usize> {
        let first = layout.first_key(block);
        let end = self.pages_before(first + u64::from(layout.parts), config);
        if is_aligned(config) {
            return end.saturating_sub(1)..end;
        }
        self.pages_before(first + 1, config).saturating_sub(1)..end
    }

    /// Returns the number of pages whose first key is below `key`. Keys are evenly distributed, so the search starts
    /// at the expected position: a binary search over all pages would miss the CPU cache at every step.
    fn pages_before(&self, key: u64, config: &GeckoConfig) -> usize {
        let keys = &self.first_keys;
        let guess = (key as f64 / config.max_entries() as f64 * keys.len() as f64) as usize;
        let (mut low, mut high) = (guess.min(keys.len()), guess.min(keys.len()));
        let mut step = 4;
        while low > 0 && keys[low - 1] >= key {
            low = low.saturating_sub(step);
            step *= 2;
        }
        while high < keys.len() && keys[high] < key {
            high = (high + step).min(keys.len());
            step *= 2;
        }
        low + keys[low..high].partition_point(|first| *first < key)
    }
}

/// Returns the level of a run with `pages` pages: `T^level` is the largest power that does not exceed `pages`.
pub(super) fn level_of(pages: u64, size_ratio: u32) -> u32 {
    pages.max(1).ilog(u64::from(size_ratio))
}

pub(super) fn gecko_page(page: &ValidityPage) -> &GeckoPage {
    let ValidityPage::Gecko(page) = page else { panic!("a page of a run, not {page:?}") };
    page
}

/// True if all entries of a block are kept on the same page, so that a query reads one page per run. This leaves some
/// space at the ends of pages empty, and is only possible if the entries of a block fit on a page.
pub(super) fn is_aligned(config: &GeckoConfig) -> bool {
    config.parts() <= config.page_entries()
}

/// Splits sorted entries into pages. Returns the index of the first word of each page, and the end.
fn split_into_pages(entries: &[u64], config: &GeckoConfig, layout: &Layout) -> Vec<usize> {
    let max_words = config.page_entries() as usize * layout.stride;
    let block = |at: usize| layout.block(layout.key(entries[at]));
    let mut bounds = vec![0];
    let mut start = 0;
    while start + max_words < entries.len() {
        start += max_words;
        while is_aligned(config) && block(start) == block(start - layout.stride) {
            start -= layout.stride;
        }
        bounds.push(start);
    }
    bounds.push(entries.len());
    bounds
}

impl Gecko {
    /// Writes entries as a run. The run is added to `written` before its pages are written; after an error, the pages
    /// listed there must be discarded. After power loss, a run without a postamble is ignored.
    pub(super) fn write_run(
        &mut self,
        entries: &[u64],
        (created, covers): (u64, (u64, u64)),
        is_final: bool,
        written: &mut Vec<Run>,
        flash: &mut dyn ValidityFlash,
    ) -> Result<(), LayerError> {
        let bounds = split_into_pages(entries, &self.config, &self.layout);
        let pages = bounds.len() - 1;
        let level = level_of(pages as u64, self.config.size_ratio);
        let preamble = Preamble { level, created, flushes: covers };
        let number = self.next_run;
        self.next_run += 1;
        let first_keys =
            bounds[..pages].iter().map(|&at| entries.get(at).map_or(0, |head| self.layout.key(*head)));
        written.push(Run {
            number,
            preamble,
            first_keys: first_keys.collect(),
            slots: Vec::with_capacity(pages),
        });
        let run = written.last_mut().expect("the run just pushed");
        for (index, range) in bounds.windows(2).enumerate() {
            let postamble = (is_final && index + 1 == pages).then(|| {
                let (first_keys, slots) = (run.first_keys.as_slice().into(), run.slots.as_slice().into());
                Box::new(Postamble { preamble, first_keys, slots })
            });
            let page = GeckoPage {
                run: number,
                index: index as u32,
                preamble: (index == 0).then_some(preamble),
                postamble,
                entries: entries[range[0]..range[1]].into(),
            };
            run.slots.push(flash.append(ValidityPage::Gecko(page))?);
        }
        self.report.entries_written += (entries.len() / self.layout.stride) as u64;
        self.report.pages_written += pages as u64;
        Ok(())
    }
}

/// Returns the number of pages of a run that consists of these entries.
pub(super) fn pages_of(entries: &[u64], config: &GeckoConfig, layout: &Layout) -> u64 {
    split_into_pages(entries, config, layout).len() as u64 - 1
}

/// Checks a run's directory against the contents of the flash.
pub(super) fn check(
    run: &Run,
    config: &GeckoConfig,
    layout: &Layout,
    flash: &dyn ValidityFlash,
) -> Result<(), String> {
    let mut last = None;
    for (index, (&at, &first)) in run.slots.iter().zip(&run.first_keys).enumerate() {
        let error = |what: &str| Err(format!("page {index} of run {} at {}: {what}", run.number, at.0));
        let Some(ValidityPage::Gecko(page)) = flash.peek(at) else { return error("not there") };
        let is_last = index + 1 == run.slots.len();
        if (page.run, page.index as usize) != (run.number, index) || page.postamble.is_some() != is_last {
            return error("another page");
        }
        let entries = page.entries.chunks_exact(layout.stride);
        if entries.len() > config.page_entries() as usize || (entries.len() == 0 && run.slots.len() > 1) {
            return error("the wrong number of entries");
        }
        if page.entries.first().is_some_and(|head| layout.key(*head) != first) {
            return error("not the key of the directory");
        }
        for entry in entries {
            let key = layout.key(entry[0]);
            if last.is_some_and(|last| last >= key) || layout.is_blank(entry) || key >= config.max_entries() {
                return error("entries out of order, blank or of no block");
            }
            last = Some(key);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The searches agree for any distribution of keys, and at any distance from the expected position.
        #[test]
        fn search_from_guess_equals_full_search(
            mut first_keys in prop::collection::vec(prop_oneof![0u64..40, 0u64..4096, 4000u64..4096], 0..200),
            key in 0u64..4200,
        ) {
            let config = GeckoConfig::new(1024, 128, 4096);
            first_keys.sort_unstable();
            let expected = first_keys.iter().filter(|&&first| first < key).count();
            let preamble = Preamble { level: 0, created: 0, flushes: (0, 0) };
            let run = Run { number: 0, preamble, first_keys, slots: Vec::new() };
            prop_assert_eq!(run.pages_before(key, &config), expected);
        }
    }
}
