//! How the NVRAM is shared between the dirty and the clean list: "dynamically adjusting the length of dirty and clean LRU lists"
//! (section III-B), of which the paper does not say how.
//!
//! By ghosts, as in ARC (Megiddo and Modha, FAST 2003), and between dirty and clean pages in H-ARC (Fan, Du and Voigt, MSST 2014):
//! blocks that left a list lately, and that would still be there if it were longer. Each that is used again is a witness for its
//! list. Bounds of flushing are shares of the dirty list's length; what they leave is the clean list's.

use super::Store;
use super::ghosts::Ghosts;
use super::pages::{Segment, State};
use crate::api::Ino;
use crate::layout::EXTENT_BLOCKS;
use crate::nvram::Nvram;
use crate::options::{Lists, blocks_of};
use crate::ssd::Ssd;

/// Least share of the pages that the dirty list has.
const LEAST_SHARE: f64 = 0.1;
/// Least pages of it: of half of them, down to which is flushed, flushing still chooses.
const LEAST_PAGES: u32 = 4 * EXTENT_BLOCKS as u32;
/// What a block that was sent to the SSD in vain weighs more than one that is read from it again: programming a page takes longer
/// than reading it, wears it, and has to be cleaned up after.
const WEIGHT_OF_WRITE: u32 = 2;
/// How many times more a hit counts at most as hits are rarer: one block does not empty a list of which little is known yet.
const MOST_TIMES: u32 = 16;

/// The length of the dirty list as the load has it, and what it follows from.
pub(super) struct Shares {
    /// Pages of the dirty list, not held to its bounds, which move.
    dirty_list: u32,
    /// Blocks that were evicted.
    clean: Ghosts,
    /// Blocks that were flushed.
    dirty: Ghosts,
}

impl Shares {
    /// Those of an NVRAM of so many pages; `None` where they are fixed.
    pub fn new(lists: Lists, pages: u32) -> Option<Self> {
        let ghosts = || Ghosts::new(pages);
        (lists == Lists::Adaptive).then(|| Shares { dirty_list: pages, clean: ghosts(), dirty: ghosts() })
    }
}

/// Which list had a block among its ghosts.
#[derive(Clone, Copy, Debug, Default)]
struct Witness {
    clean: bool,
    dirty: bool,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Whether the shares of the lists follow the load.
    pub fn is_adaptive(&self) -> bool {
        self.shares.is_some()
    }

    /// Pages of the dirty list: all that data can use where the shares are fixed.
    pub fn dirty_list_pages(&self) -> u32 {
        let all = self.pages.for_data();
        let Some(shares) = &self.shares else { return all };
        let least = LEAST_PAGES.max((f64::from(all) * LEAST_SHARE) as u32).max(self.least_for_the_rest());
        shares.dirty_list.clamp(least.min(all), all)
    }

    /// Pages of the dirty list with which flushing ends before it comes to blocks that have no room on the SSD.
    fn least_for_the_rest(&self) -> u32 {
        let on_ssd = blocks_of(self.extents.usable() - self.reserved_extents());
        let kept = u64::from(self.pages.count(State::Kept));
        let rest = self.used_blocks().saturating_sub(on_ssd + kept);
        if rest == 0 { 0 } else { (rest as f64 / self.options.flush_below).ceil() as u32 }
    }

    /// Clean pages that were read once or not at all since they are.
    pub fn probation_pages(&self) -> u32 {
        self.pages.on_probation()
    }

    /// A page becomes clean as it was flushed.
    pub(super) fn note_flushed(&mut self, ino: Ino, block: u32, writes: u8) -> Segment {
        let Some(shares) = &mut self.shares else { return Segment::Protected };
        // What cleaning moved was not dirty, and is not missed as such.
        if writes > 0 {
            shares.dirty.insert(ino, block);
        }
        Segment::Unread
    }

    /// A page was evicted.
    pub(super) fn note_evicted(&mut self, ino: Ino, block: u32, segment: Segment) {
        // One that was flushed and never read was no use as a clean one.
        if let Some(shares) = self.shares.as_mut().filter(|_| segment != Segment::Unread) {
            shares.clean.insert(ino, block);
        }
    }

    /// A block was read from the SSD, where users want it; where it belongs among the clean pages.
    pub(super) fn note_missed(&mut self, ino: Ino, block: u32) -> Segment {
        if self.shares.is_none() {
            return Segment::Protected;
        }
        let witness = self.witness(ino, block, true);
        self.follow(witness, 1);
        // One that was written and flushed is read for the first time.
        if witness.clean { Segment::Protected } else { Segment::Probation }
    }

    /// What the SSD has of a block is no longer wanted: it was written again, or removed.
    pub(super) fn note_outdated(&mut self, ino: Ino, block: u32) {
        if self.shares.is_some() {
            let witness = self.witness(ino, block, false);
            self.follow(witness, WEIGHT_OF_WRITE);
        }
    }

    /// Looks for a block among the ghosts. One that is removed or written as a whole would not have been read.
    fn witness(&mut self, ino: Ino, block: u32, is_read: bool) -> Witness {
        let reach = |state| self.pages.for_data() - self.pages.count(state);
        let (clean, dirty) = (reach(State::Clean), reach(State::Dirty));
        let Some(shares) = &mut self.shares else { return Witness::default() };
        Witness {
            clean: is_read && shares.clean.take(ino, block, clean),
            dirty: shares.dirty.take(ino, block, dirty),
        }
    }

    /// Moves the length of the dirty list as a witness would have it: further where one list has fewer ghosts than the other, whose
    /// hits are so much rarer.
    fn follow(&mut self, witness: Witness, weight: u32) {
        let (all, mut length) = (self.pages.for_data(), self.dirty_list_pages());
        let (clean, dirty) = (all - self.pages.count(State::Clean), all - self.pages.count(State::Dirty));
        let Some(shares) = &mut self.shares else { return };
        let (clean, dirty) = (shares.clean.count(clean).max(1), shares.dirty.count(dirty).max(1));
        if witness.clean {
            length = length.saturating_sub(times(dirty, clean));
            self.counts.clean_ghost_hits += 1;
        }
        if witness.dirty {
            length = length.saturating_add(times(clean, dirty) * weight).min(all);
            self.counts.dirty_ghost_hits += 1;
        }
        if witness.clean || witness.dirty {
            shares.dirty_list = length;
        }
    }
}

/// How many times a hit counts among `own` ghosts where the other list has `others`.
fn times(others: u32, own: u32) -> u32 {
    (others / own).clamp(1, MOST_TIMES)
}
