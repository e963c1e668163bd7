//! States of the pages of one volume: all touched pages, or a sample.

use std::convert::Infallible;
use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::page::Page;
use super::sample::Sampler;
use crate::page_map::PageMap;

/// States of pages by page number.
pub enum PageStates {
    All(PageMap<Page>),
    /// Sampled pages are scattered, so each is found by hashing.
    Sample(HashMap<u64, Page, FixedState>, Sampler),
}

/// Group of all pages, if there is no sampling.
const ONLY_GROUP: usize = 0;

impl PageStates {
    /// Returns untouched pages: those that `sampler` chooses, or all pages.
    pub fn new(sampler: Option<Sampler>) -> Self {
        match sampler {
            None => PageStates::All(PageMap::compact(Page::UNTOUCHED)),
            Some(sampler) => PageStates::Sample(HashMap::default(), sampler),
        }
    }

    /// Calls `visit` with the first page, the group and the states of each run of sampled pages in `pages`, in order.
    #[inline]
    pub fn visit(&mut self, pages: Range<u64>, mut visit: impl FnMut(u64, usize, &mut [Page])) {
        match self {
            PageStates::All(map) => {
                let Ok(()) = map.visit(pages, |first, states| {
                    visit(first, ONLY_GROUP, states);
                    Ok::<(), Infallible>(())
                });
            }
            PageStates::Sample(map, sampler) => {
                for page in pages {
                    if let Some(group) = sampler.group(page) {
                        let state = map.entry(page).or_insert(Page::UNTOUCHED);
                        visit(page, group, std::slice::from_mut(state));
                    }
                }
            }
        }
    }

    /// Calls `visit` with the group and state of each page of `pages` that was touched.
    pub fn visit_known(&mut self, pages: Range<u64>, mut visit: impl FnMut(usize, &mut Page)) {
        match self {
            PageStates::All(map) => map.visit_existing(pages, |_, state| visit(ONLY_GROUP, state)),
            PageStates::Sample(map, sampler) => {
                let mut visit =
                    |page: u64, state: &mut Page| visit(sampler.group(page).unwrap_or(ONLY_GROUP), state);
                // A discard may cover a whole device, most of which the trace has not touched.
                if pages.end.saturating_sub(pages.start) > map.len() as u64 {
                    map.iter_mut()
                        .filter(|(page, _)| pages.contains(page))
                        .for_each(|(&page, state)| visit(page, state));
                } else {
                    pages.for_each(|page| {
                        if let Some(state) = map.get_mut(&page) {
                            visit(page, state);
                        }
                    });
                }
            }
        }
    }

    /// Calls `visit` with the states of all touched pages, and of some untouched pages, in no particular order.
    pub fn for_each(&mut self, visit: impl FnMut(&mut Page)) {
        match self {
            PageStates::All(map) => map.values_mut().for_each(visit),
            PageStates::Sample(map, _) => map.values_mut().for_each(visit),
        }
    }

    /// Prefetches the index entry that [`Self::prefetch`] needs for `page`.
    #[inline]
    pub fn prefetch_index(&self, page: u64) {
        if let PageStates::All(map) = self {
            map.prefetch_index(page);
        }
    }

    /// Prefetches the states of the pages `first` and `last`, unless the states are found by hashing.
    #[inline]
    pub fn prefetch(&self, first: u64, last: u64) {
        if let PageStates::All(map) = self {
            map.prefetch(first);
            map.prefetch(last);
        }
    }

    /// Calls `visit` with the states of `pages`, unless the states are found by hashing.
    #[inline]
    pub fn visit_dense(&self, mut pages: Range<u64>, mut visit: impl FnMut(Page)) {
        if let PageStates::All(map) = self {
            while pages.start < pages.end {
                let states = map.leaf(pages.clone());
                states.iter().for_each(|&state| visit(state));
                pages.start += states.len() as u64;
            }
        }
    }
}
