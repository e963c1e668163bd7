//! Division of the NVRAM between the dirty and the clean list: "dynamically adjusting the length of dirty and
//! clean LRU lists" (section III-B). The paper does not describe the method.
//!
//! This implementation uses ghost entries, as ARC does (Megiddo and Modha, FAST 2003), to divide pages between the
//! dirty and the clean list, as H-ARC does (Fan, Du and Voigt, MSST 2014). Ghosts are blocks that recently left a list
//! and would still be in it if the list were longer. Each ghost hit is an argument for a longer list. The flush
//! thresholds are fractions of the dirty list's length; the clean list gets the remaining pages.

use super::Store;
use super::ghosts::Ghosts;
use super::pages::{Segment, State};
use crate::api::Ino;
use crate::layout::EXTENT_BLOCKS;
use crate::nvram::Nvram;
use crate::options::{Lists, blocks_of};
use crate::ssd::Ssd;

/// Minimum length of the dirty list, as a fraction of the pages.
const MIN_DIRTY_SHARE: f64 = 0.1;
/// Minimum length of the dirty list in pages. Flushing down to half of it, the default lower threshold, still leaves
/// a choice of pages.
const MIN_DIRTY_PAGES: u32 = 4 * EXTENT_BLOCKS as u32;
/// Weight of a ghost hit of the dirty list relative to a hit of the clean list: programming a flash page takes longer
/// than reading it, wears the flash and causes cleaning.
const WRITE_WEIGHT: u32 = 2;
/// Maximum factor by which a hit in the shorter ghost list is scaled: a single hit must not empty a list with few
/// ghosts.
const MAX_SCALE: u32 = 16;

/// Adaptive length of the dirty list, and the ghosts that determine it.
pub(super) struct AdaptiveLists {
    /// Target length of the dirty list in pages, before its varying limits are applied.
    dirty_list: u32,
    /// Ghosts of clean pages: evicted blocks.
    clean: Ghosts,
    /// Ghosts of dirty pages: flushed blocks.
    dirty: Ghosts,
}

impl AdaptiveLists {
    /// Creates the state for an NVRAM of `pages` pages; `None` with fixed lists.
    pub fn new(lists: Lists, pages: u32) -> Option<Self> {
        let ghosts = || Ghosts::new(pages);
        (lists == Lists::Adaptive).then(|| AdaptiveLists {
            dirty_list: pages,
            clean: ghosts(),
            dirty: ghosts(),
        })
    }
}

/// For each ghost list, true if it contained a block.
#[derive(Clone, Copy, Debug, Default)]
struct GhostHits {
    clean: bool,
    dirty: bool,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// True if the division adapts to the load.
    pub fn is_adaptive(&self) -> bool {
        self.adaptive_lists.is_some()
    }

    /// Returns the length of the dirty list; with fixed lists, all pages that data can use.
    pub fn dirty_list_pages(&self) -> u32 {
        let all = self.pages.data_pages();
        let Some(lists) = &self.adaptive_lists else { return all };
        let min = MIN_DIRTY_PAGES.max((f64::from(all) * MIN_DIRTY_SHARE) as u32).max(self.min_dirty_list());
        lists.dirty_list.clamp(min.min(all), all)
    }

    /// Returns the minimum length of the dirty list with which flushing stops early enough: before it reaches blocks
    /// for which the SSD has no space.
    fn min_dirty_list(&self) -> u32 {
        let on_ssd = blocks_of(self.extents.usable() - self.reserved_extents());
        let kept = u64::from(self.pages.count(State::Kept));
        let rest = self.used_blocks().saturating_sub(on_ssd + kept);
        if rest == 0 { 0 } else { (rest as f64 / self.options.flush_below).ceil() as u32 }
    }

    /// Returns the number of clean pages on probation.
    pub fn probation_pages(&self) -> u32 {
        self.pages.probation_pages()
    }

    /// Records that a page was flushed; returns the segment that the page gets as a clean page.
    pub(super) fn note_flushed(&mut self, ino: Ino, block: u32, writes: u8) -> Segment {
        let Some(lists) = &mut self.adaptive_lists else { return Segment::Protected };
        // A page moved by recycling was not dirty, so its ghost would be misleading.
        if writes > 0 {
            lists.dirty.insert(ino, block);
        }
        Segment::Unread
    }

    /// Records that a page was evicted.
    pub(super) fn note_evicted(&mut self, ino: Ino, block: u32, segment: Segment) {
        // A page that was flushed and never read had no use as a clean page.
        if let Some(lists) = self.adaptive_lists.as_mut().filter(|_| segment != Segment::Unread) {
            lists.clean.insert(ino, block);
        }
    }

    /// Records that users read a block from the SSD; returns the segment that its page gets among the clean pages.
    pub(super) fn note_missed(&mut self, ino: Ino, block: u32) -> Segment {
        if self.adaptive_lists.is_none() {
            return Segment::Protected;
        }
        let hits = self.ghost_hits(ino, block, true);
        self.adjust(hits, 1);
        // The block was written and flushed before, and is now read for the first time.
        if hits.clean { Segment::Protected } else { Segment::Probation }
    }

    /// Records that the copy of a block on the SSD became obsolete: the block was written again or removed.
    pub(super) fn note_outdated(&mut self, ino: Ino, block: u32) {
        if self.adaptive_lists.is_some() {
            let hits = self.ghost_hits(ino, block, false);
            self.adjust(hits, WRITE_WEIGHT);
        }
    }

    /// Looks up a block in both ghost lists. A block that is removed or overwritten as a whole would not have been
    /// read, so it does not count as a hit of the clean list.
    fn ghost_hits(&mut self, ino: Ino, block: u32, is_read: bool) -> GhostHits {
        let window = |state| self.pages.data_pages() - self.pages.count(state);
        let (clean, dirty) = (window(State::Clean), window(State::Dirty));
        let Some(lists) = &mut self.adaptive_lists else { return GhostHits::default() };
        GhostHits {
            clean: is_read && lists.clean.take(ino, block, clean),
            dirty: lists.dirty.take(ino, block, dirty),
        }
    }

    /// Adjusts the length of the dirty list after a ghost hit. Hits in the ghost list with fewer entries are scaled up,
    /// because hits in a shorter list are correspondingly rarer.
    fn adjust(&mut self, hits: GhostHits, weight: u32) {
        let (all, mut length) = (self.pages.data_pages(), self.dirty_list_pages());
        let (clean, dirty) = (all - self.pages.count(State::Clean), all - self.pages.count(State::Dirty));
        let Some(lists) = &mut self.adaptive_lists else { return };
        let (clean, dirty) = (lists.clean.count(clean).max(1), lists.dirty.count(dirty).max(1));
        if hits.clean {
            length = length.saturating_sub(scale_factor(dirty, clean));
            self.counts.clean_ghost_hits += 1;
        }
        if hits.dirty {
            length = length.saturating_add(scale_factor(clean, dirty) * weight).min(all);
            self.counts.dirty_ghost_hits += 1;
        }
        if hits.clean || hits.dirty {
            lists.dirty_list = length;
        }
    }
}

/// Returns the scale factor for a hit in a ghost list that has `own_entries` entries while the other list has
/// `other_entries`.
fn scale_factor(other_entries: u32, own_entries: u32) -> u32 {
    (other_entries / own_entries).clamp(1, MAX_SCALE)
}
