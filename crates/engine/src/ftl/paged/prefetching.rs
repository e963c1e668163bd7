//! Prefetching of the table entries that later writes, evictions from the mapping cache and page moves will access.
//!
//! On a drive of terabytes, every table is larger than the CPU cache, and each operation accesses a dozen of them, many
//! only through another table. Prefetching therefore has two steps: first the entries that the page number determines
//! and, once these have arrived, the entries that they point to. Prefetching changes no result.
//!
//! The tables also exceed what the TLB covers, and a CPU stalls soon after a prefetch whose address is not translated
//! yet. A single prefetch costs as much as such a translation; a dozen in a row cost hardly more. Each step is
//! therefore done for several operations at a time.

use super::prefetch_queue::GROUP;
use super::store::PagedFtl;
use crate::nand::{Flash, PageState};
use crate::units::{BlockId, Lpn, Slot};
use crate::victim::VictimPolicy;

/// Prefetch distances, in synchronisations forced by the limit of dirty entries: for a page's table entries (far),
/// for the second step of its cache entry, and for the data that the entries point to (near).
const FIRST_STEP_DISTANCE: usize = 12;
const SECOND_STEP_DISTANCE: usize = 8;
const LAST_STEP_DISTANCE: usize = 5;
/// Number of writes for which a step is done at a time.
const WRITE_GROUP: usize = 8;
/// Prefetch distances, in evictions from the mapping cache: for the directory entry of a dirty entry's translation
/// page, and later for the data about the newest version of this page.
const DIRECTORY_DISTANCE: usize = 32;
const VERSION_DISTANCE: usize = 16;
/// Number of pages of a victim for which a step is done at a time, including invalid ones.
const MOVE_GROUP: u32 = 32;

impl<F: Flash> PagedFtl<F> {
    /// Prefetches data of page `at` of `pages`, which is about to be written, and for the following pages.
    #[inline(always)]
    pub(super) fn prefetch_writes(&self, pages: &[Lpn], at: usize) {
        if at.is_multiple_of(WRITE_GROUP) {
            self.prefetch_next_writes(&pages[at..], at == 0);
        }
    }

    fn prefetch_next_writes(&self, pages: &[Lpn], is_first: bool) {
        let from = if is_first { WRITE_GROUP } else { 2 * WRITE_GROUP };
        for &page in pages.iter().take(3 * WRITE_GROUP).skip(from) {
            self.mapped.prefetch(page.0);
            self.cache.prefetch(page);
            if self.config.eager {
                self.space.contents.prefetch(page);
                self.directory.prefetch(self.translation_page(page));
            }
        }
        for &page in pages.iter().take(2 * WRITE_GROUP).skip(WRITE_GROUP) {
            self.cache.prefetch_second_pass(page);
            if self.config.eager {
                self.prefetch_version(page);
                self.prefetch_before_image(page);
            }
        }
    }

    /// Prefetches data that the next evictions from the mapping cache will access.
    #[inline(always)]
    pub(super) fn prefetch_evictions(&mut self) {
        // A dirty entry causes a synchronisation of all entries of its translation page.
        let queue = &mut self.prefetch_queue;
        let groups = queue.groups();
        self.cache.follow_chains(|page| queue.push(page));
        if queue.groups() > groups {
            self.prefetch_entries();
        }
        if self.prefetch_queue.count_eviction() {
            self.prefetch_versions();
        }
    }

    /// Called when another group of `GROUP` pages has been found: prefetches the entries of its pages, and the data
    /// that the entries of the previous group point to.
    fn prefetch_entries(&self) {
        self.prefetch_queue.group(1).iter().for_each(|&page| self.space.contents.prefetch_entry(page));
        // With eager lookup, before-images have already been reported.
        if !self.config.eager {
            self.prefetch_queue.group(2).iter().for_each(|&page| self.prefetch_before_image(page));
        }
    }

    /// Prefetches the versions of the translation pages of dirty entries that will be evicted soon.
    fn prefetch_versions(&self) {
        let evicted_pages = |first: usize| {
            (first..first + GROUP).filter_map(|after| self.cache.dirty_page_evicted_after(after))
        };
        for page in evicted_pages(DIRECTORY_DISTANCE) {
            let number = self.translation_page(page);
            self.directory.prefetch(number);
            self.space.contents.prefetch_newest(number);
        }
        evicted_pages(VERSION_DISTANCE).for_each(|page| self.prefetch_version(page));
    }

    /// Prefetches data for the synchronisation of the oldest dirty entries, which the limit of dirty entries forces.
    #[inline(always)]
    pub(super) fn prefetch_synchronisations(&self) {
        let [last, second, first] = self.cache.dirty_pages_written_after([
            LAST_STEP_DISTANCE,
            SECOND_STEP_DISTANCE,
            FIRST_STEP_DISTANCE,
        ]);
        if let Some(page) = first {
            self.cache.prefetch(page);
            self.directory.prefetch(self.translation_page(page));
            self.space.contents.prefetch(page);
        }
        if let Some(page) = second {
            self.cache.prefetch_second_pass(page);
        }
        if let Some(page) = last {
            self.prefetch_version(page);
            self.prefetch_before_image(page);
            self.cache.pages_in_same_chain(page).for_each(|page| self.space.contents.prefetch(page));
        }
    }

    /// Prefetches data of page `page` of the victim, which is processed next, and for the following pages.
    #[inline(always)]
    pub(super) fn prefetch_moves(&self, victim: BlockId, page: u32) {
        if page.is_multiple_of(MOVE_GROUP / 2) {
            self.prefetch_next_moves(victim, page);
        }
    }

    fn prefetch_next_moves(&self, victim: BlockId, page: u32) {
        let owners = |pages: std::ops::Range<u32>| pages.filter_map(move |page| self.owner(victim, page));
        if page.is_multiple_of(MOVE_GROUP) {
            let first = if page == 0 { 0 } else { page + MOVE_GROUP };
            owners(first..page + 2 * MOVE_GROUP).for_each(|owner| self.cache.prefetch(owner));
        }
        if page == 0 {
            owners(0..MOVE_GROUP).for_each(|owner| self.cache.prefetch_second_pass(owner));
        } else if !page.is_multiple_of(MOVE_GROUP) {
            let first = page + MOVE_GROUP / 2;
            owners(first..first + MOVE_GROUP).for_each(|owner| self.cache.prefetch_second_pass(owner));
        }
    }

    /// Prefetches the data about a block that is about to be cleaned.
    pub(super) fn prefetch_cleaning(&self, victim: BlockId) {
        self.space.prefetch_block(victim);
        self.space.pool.medium.prefetch_spares(victim);
    }

    /// Prefetches the data about the block that will probably be cleaned next.
    pub(super) fn prefetch_next_cleaning(&self) {
        if let Some(victim) = self.space.pool.victim.likely_victim(&self.space.pool.blocks) {
            self.prefetch_cleaning(victim);
        }
    }

    /// Returns the owner of the page, unless the page is known to be invalid.
    #[inline(always)]
    fn owner(&self, block: BlockId, page: u32) -> Option<Lpn> {
        if page >= self.space.pages_per_block() || self.invalid.contains(page) {
            return None;
        }
        match self.space.pool.medium.spare(block, page) {
            PageState::Written(spare) => Some(spare.owner),
            PageState::Erased | PageState::Unreadable => None,
        }
    }

    /// Prefetches data of the physical page in the page's translation entry, which will be invalidated.
    #[inline(always)]
    fn prefetch_before_image(&self, page: Lpn) {
        let before_image = self.space.contents.newest_entry(page);
        if before_image != Slot::NONE {
            self.space.prefetch_counter(before_image);
            self.validity.prefetch(before_image);
        }
    }

    /// Prefetches data of the newest version of the page's translation page, which will be read and replaced.
    #[inline(always)]
    fn prefetch_version(&self, page: Lpn) {
        let version = self.directory.hint(self.translation_page(page));
        if version != Slot::NONE {
            self.space.prefetch_location(version);
        }
    }
}
