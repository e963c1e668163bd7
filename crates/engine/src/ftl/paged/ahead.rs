//! Looking ahead: what the next writes, removals from the cache and moved pages will touch is fetched while others are done.
//!
//! On a drive of terabytes every table is larger than the processor's cache, and each operation touches a dozen of them, many
//! found only through another. So each is fetched in two steps, first what is found from the page's number alone, and later,
//! when that has arrived, what it points to. Hints, which change no result.
//!
//! Tables are larger, too, than what the processor's cache of address translations covers, and no processor goes on for long
//! behind a fetch whose address it has yet to translate. A fetch alone costs as much time as that takes, a dozen in a row
//! hardly more than one. So the steps are taken for several operations at a time.

use super::foreseen::CLUMP;
use super::store::PagedFtl;
use crate::nand::{Flash, PageState};
use crate::units::{BlockId, Lpn, Slot};
use crate::victim::VictimPolicy;

/// Synchronisations before which a page's entries in the tables are fetched, where a limit of dirty entries asks for them, then the
/// entries of the translation page, and then what they point to.
const FAR: usize = 12;
const BETWEEN: usize = 8;
const NEAR: usize = 5;
/// Writes for which a step is taken at a time.
const WRITES: usize = 8;
/// Removals before which is fetched where the translation page of a dirty entry is, and later what is kept of the place where that was
/// written last.
const DIRECTORY_AHEAD: usize = 32;
const VERSION_AHEAD: usize = 16;
/// Pages of a block that is cleaned for which a step is taken at a time. Some of them are valid.
const MOVES: u32 = 32;

impl<F: Flash> PagedFtl<F> {
    /// Page `at` of `pages` is about to be written, and then the others.
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

    /// An entry is about to be removed from the cache, to make room.
    #[inline(always)]
    pub(super) fn foresee_removals(&mut self) {
        // If it is dirty, all entries of its translation page are synchronised.
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

    /// As many pages as are looked at together were found since the last time. Their entries are fetched, and what those of
    /// the ones before say.
    fn foresee_entries(&self) {
        self.foreseen.clump(1).iter().for_each(|&page| self.space.contents.prefetch_entry(page));
        // Before-images that were looked for at once are not reported again.
        if !self.config.eager {
            self.foreseen.clump(2).iter().for_each(|&page| self.foresee_known(page));
        }
    }

    /// The versions of the translation pages of dirty entries that will be removed soon.
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

    /// The dirty entry written the longest ago is about to be synchronised, to keep to their limit.
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

    /// Page `page` of the block that is cleaned is about to be looked at, and then those behind it.
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

    /// A block is about to be cleaned: fetches what is kept of it.
    pub(super) fn foresee_cleaning(&self, victim: BlockId) {
        self.space.prefetch_block(victim);
        self.space.pool.medium.prefetch_spares(victim);
    }

    /// The same of the block that will probably be cleaned next.
    pub(super) fn foresee_next_cleaning(&self) {
        if let Some(victim) = self.space.pool.victim.upcoming(&self.space.pool.blocks) {
            self.foresee_cleaning(victim);
        }
    }

    /// Whose page this is, if it is not known to be invalid.
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

    /// The place of the page that its translation page knows will be invalidated.
    #[inline(always)]
    fn foresee_known(&self, page: Lpn) {
        let known = self.space.contents.newest_entry(page);
        if known != Slot::NONE {
            self.space.prefetch_counter(known);
            self.validity.prefetch(known);
        }
    }

    /// The page's translation page will be read and replaced.
    #[inline(always)]
    fn foresee_version(&self, page: Lpn) {
        let version = self.directory.hint(self.translation_page(page));
        if version != Slot::NONE {
            self.space.prefetch_place(version);
        }
    }
}
