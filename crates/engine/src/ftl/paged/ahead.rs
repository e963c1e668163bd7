//! Looking ahead: what the next writes, removals from the cache and moved pages will touch is fetched while others are done.
//!
//! On a drive of terabytes every table is larger than the processor's cache, and each operation touches a dozen of them, many
//! found only through another. So each is fetched in two steps, first what is found from the page's number alone, and later,
//! when that has arrived, what it points to. Hints, which change no result.

use super::store::PagedFtl;
use crate::nand::{Flash, PageState};
use crate::units::{BlockId, Lpn, Slot};

/// Operations before which a page's entries in the tables are fetched, and what they point to.
const FAR: usize = 12;
const NEAR: usize = 5;
/// The same of synchronisations that a limit of dirty entries asks for: in between, the entries of the translation page are fetched.
const BETWEEN: usize = 8;
/// Removals before which is fetched where the translation page of a dirty entry is, and later what its entries say.
const DIRECTORY_AHEAD: usize = 24;
const KNOWN_AHEAD: usize = 14;

impl<F: Flash> PagedFtl<F> {
    /// The first of `pages` is about to be written, and then the others.
    #[inline(always)]
    pub(super) fn foresee_writes(&self, pages: &[Lpn]) {
        if let Some(&page) = pages.get(FAR) {
            self.held.prefetch(page.0);
            self.cache.prefetch(page);
            if self.config.eager {
                self.space.contents.prefetch(page);
                self.directory.prefetch(self.translation_page(page));
            }
        }
        if let Some(&page) = pages.get(NEAR) {
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
        self.cache.follow_chains(|page| self.space.contents.prefetch_entry(page));
        if let Some(page) = self.cache.dirty_removed_after(DIRECTORY_AHEAD) {
            let number = self.translation_page(page);
            self.directory.prefetch(number);
            self.space.contents.prefetch_newest(number);
        }
        if let Some(page) = self.cache.dirty_removed_after(KNOWN_AHEAD) {
            self.foresee_version(page);
        }
        self.cache.pages_removed_after(KNOWN_AHEAD).for_each(|page| self.foresee_known(page));
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
        if let Some(owner) = self.owner(victim, page + FAR as u32) {
            self.cache.prefetch(owner);
        }
        if let Some(owner) = self.owner(victim, page + NEAR as u32) {
            self.cache.prefetch_near(owner);
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
