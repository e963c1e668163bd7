//! Prefetching of the table entries that later writes, evictions from the mapping cache and page moves will access.
//!
//! On a drive of terabytes, every table is larger than the CPU cache, and each operation accesses a dozen of them,
//! many only through another table. Prefetching therefore has two steps: first the entries found from the page number
//! alone and, once these have arrived, the entries they point to. Prefetching changes no result.
//!
//! The tables also exceed what the TLB covers, and a CPU stalls soon after a prefetch whose address is not translated
//! yet. A single prefetch costs as much as such a translation; a dozen in a row cost hardly more. Each step is
//! therefore done for several operations at a time.

use super::foreseen::CLUMP;
use super::store::PagedFtl;
use crate::nand::{Flash, PageState};
use crate::units::{BlockId, Lpn, Slot};
use crate::victim::VictimPolicy;

/// Prefetch distances, in synchronisations forced by the limit of dirty entries: for a page's table entries (far),
/// for the second step of its cache entry, and for the data that the entries point to (near).
const FAR: usize = 12;
const BETWEEN: usize = 8;
const NEAR: usize = 5;
/// Number of writes for which a step is done at a time.
const WRITES: usize = 8;
/// Prefetch distances, in evictions from the mapping cache: for the directory entry of a dirty entry's translation
/// page, and later for the data about the newest version of this page.
const DIRECTORY_AHEAD: usize = 32;
const VERSION_AHEAD: usize = 16;
/// Number of pages of a victim for which a step is done at a time, including invalid ones.
const MOVES: u32 = 32;

impl<F: Flash> PagedFtl<F> {
    /// Prefetches for page `at` of `pages`, which is about to be written, and for the following pages.
    #[inline(always)]
    pub(super) fn foresee_writes(&self, pages: &[Lpn], at: usize) {
        if at.is_multiple_of(WRITES) {
            self.foresee_next_writes(&pages[at..], at == 0);
        }
    }

    fn foresee_next_writes(&self, pages: &[Lpn], is_first: bool) {
        let from = if is_first { WRITES } else { 2 * WRITES };
        for &page in pages.iter().take(3 * WRITES).skip(from) {
            self.held.prefetch(page.0);
            self.cache.prefetch(page);
            if self.config.eager {
                self.space.contents.prefetch(page);
                self.directory.prefetch(self.translation_page(page));
            }
        }
        for &page in pages.iter().take(2 * WRITES).skip(WRITES) {
            self.cache.prefetch_near(page);
            if self.config.eager {
                self.foresee_version(page);
                self.foresee_known(page);
            }
        }
    }

    /// Prefetches before an entry is evicted from the mapping cache.
    #[inline(always)]
    pub(super) fn foresee_removals(&mut self) {
        // A dirty entry causes a synchronisation of all entries of its translation page.
        let foreseen = &mut self.foreseen;
        let clumps = foreseen.clumps();
        self.cache.follow_chains(|page| foreseen.find(page));
        if foreseen.clumps() > clumps {
            self.foresee_entries();
        }
        if self.foreseen.remove() {
            self.foresee_versions();
        }
    }

    /// Called when another group of `CLUMP` pages has been found: prefetches the entries of its pages, and the data
    /// that the entries of the group before point to.
    fn foresee_entries(&self) {
        self.foreseen.clump(1).iter().for_each(|&page| self.space.contents.prefetch_entry(page));
        // With eager lookup, before-images have already been reported.
        if !self.config.eager {
            self.foreseen.clump(2).iter().for_each(|&page| self.foresee_known(page));
        }
    }

    /// Prefetches the versions of the translation pages of dirty entries that will be evicted soon.
    fn foresee_versions(&self) {
        let soon =
            |first: usize| (first..first + CLUMP).filter_map(|after| self.cache.dirty_removed_after(after));
        for page in soon(DIRECTORY_AHEAD) {
            let number = self.translation_page(page);
            self.directory.prefetch(number);
            self.space.contents.prefetch_newest(number);
        }
        soon(VERSION_AHEAD).for_each(|page| self.foresee_version(page));
    }

    /// Prefetches before the oldest dirty entry is synchronised because of the limit of dirty entries.
    #[inline(always)]
    pub(super) fn foresee_synchronisations(&self) {
        let [near, between, far] = self.cache.dirty_written_after([NEAR, BETWEEN, FAR]);
        if let Some(page) = far {
            self.cache.prefetch(page);
            self.directory.prefetch(self.translation_page(page));
            self.space.contents.prefetch(page);
        }
        if let Some(page) = between {
            self.cache.prefetch_near(page);
        }
        if let Some(page) = near {
            self.foresee_version(page);
            self.foresee_known(page);
            self.cache.companions(page).for_each(|page| self.space.contents.prefetch(page));
        }
    }

    /// Prefetches for page `page` of the victim, which is processed next, and for the following pages.
    #[inline(always)]
    pub(super) fn foresee_moves(&self, victim: BlockId, page: u32) {
        if page.is_multiple_of(MOVES / 2) {
            self.foresee_next_moves(victim, page);
        }
    }

    fn foresee_next_moves(&self, victim: BlockId, page: u32) {
        let owners = |pages: std::ops::Range<u32>| pages.filter_map(move |page| self.owner(victim, page));
        if page.is_multiple_of(MOVES) {
            let first = if page == 0 { 0 } else { page + MOVES };
            owners(first..page + 2 * MOVES).for_each(|owner| self.cache.prefetch(owner));
        }
        if page == 0 {
            owners(0..MOVES).for_each(|owner| self.cache.prefetch_near(owner));
        } else if !page.is_multiple_of(MOVES) {
            let first = page + MOVES / 2;
            owners(first..first + MOVES).for_each(|owner| self.cache.prefetch_near(owner));
        }
    }

    /// Prefetches the data about a block that is about to be cleaned.
    pub(super) fn foresee_cleaning(&self, victim: BlockId) {
        self.space.prefetch_block(victim);
        self.space.pool.medium.prefetch_spares(victim);
    }

    /// Prefetches the data about the block that will probably be cleaned next.
    pub(super) fn foresee_next_cleaning(&self) {
        if let Some(victim) = self.space.pool.victim.upcoming(&self.space.pool.blocks) {
            self.foresee_cleaning(victim);
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

    /// Prefetches for the physical page stored in the page's translation entry, which will be invalidated.
    #[inline(always)]
    fn foresee_known(&self, page: Lpn) {
        let known = self.space.contents.newest_entry(page);
        if known != Slot::NONE {
            self.space.prefetch_counter(known);
            self.validity.prefetch(known);
        }
    }

    /// Prefetches for the newest version of the page's translation page, which will be read and replaced.
    #[inline(always)]
    fn foresee_version(&self, page: Lpn) {
        let version = self.directory.hint(self.translation_page(page));
        if version != Slot::NONE {
            self.space.prefetch_place(version);
        }
    }
}
