//! Wear levelling: what the policy gets to see, and the moving of what it names.

use super::space::{BlockGroup, Space};
use super::store::PagedFtl;
use crate::counters::Cause;
use crate::layer::{LayerError, RamPart};
use crate::nand::Flash;
use crate::units::BlockId;
use crate::wear::{BlockWear, FoundBlock, WearLevelling};

/// The policy, and what it was told.
pub struct Levelling {
    policy: Box<dyn WearLevelling>,
    /// Number of the first page that it was not told of.
    untold: u64,
    /// Blocks moved.
    moved: u64,
}

impl Levelling {
    pub fn new(policy: Box<dyn WearLevelling>) -> Self {
        Levelling { policy, untold: 1, moved: 0 }
    }

    pub fn ram(&self) -> Vec<RamPart> {
        self.policy.ram()
    }

    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        [("blocks moved for wear", self.moved)].into_iter().chain(self.policy.counts()).collect()
    }
}

impl<F: Flash> Space<F> {
    /// What the spare area of the block's first page says of its wear.
    fn wear_of(&self, block: BlockId) -> BlockWear {
        let erased_at = self.contents.erased_at.get(block.index()).copied().unwrap_or(0);
        BlockWear { erases: self.flash.erases(block), erased_at }
    }

    /// Takes an erased block for pages written because of `cause`.
    pub fn take_free(&mut self, cause: Cause) -> Option<BlockId> {
        match &mut self.levelling {
            Some(levelling) if !self.free.is_empty() => {
                let hot = !matches!(cause, Cause::Cleaning | Cause::WearLevelling);
                let at = levelling.policy.choose(&self.free, hot);
                self.free.remove(at)
            }
            _ => self.free.pop_front(),
        }
    }

    /// A block is about to be erased: reads how often it was, if that is of interest.
    pub fn before_erase(&mut self, block: BlockId) {
        if self.levelling.as_ref().is_some_and(|levelling| levelling.policy.counts_erases()) {
            self.read_spare(self.slot(block, 0), Cause::WearLevelling);
        }
    }

    /// A block was erased.
    pub fn note_erase(&mut self, block: BlockId) {
        let Some(levelling) = &mut self.levelling else { return };
        let erases = if levelling.policy.counts_erases() { self.flash.erases(block) } else { 0 };
        self.contents.erased_at.resize(self.streams.len(), 0);
        self.contents.erased_at[block.index()] = levelling.policy.erased(block, erases);
    }

    /// The spare areas of all blocks were read in recovery, in their order, so that `free` is sorted.
    pub fn recover_wear(&mut self) {
        let Some(mut levelling) = self.levelling.take() else { return };
        let blocks = (0..self.flash.blocks()).map(BlockId).filter(|&block| !self.flash.is_bad(block));
        let found = |block| FoundBlock {
            block,
            wear: self.wear_of(block),
            is_erased: self.free.binary_search(&block).is_ok(),
        };
        levelling.policy.recover(&blocks.map(found).collect::<Vec<_>>());
        self.levelling = Some(levelling);
    }

    /// Pages programmed so far are no concern of wear levelling.
    pub fn skip_untold(&mut self) {
        if let Some(levelling) = &mut self.levelling {
            levelling.untold = self.sequence;
        }
    }

    /// The block that the policy names, if it can be moved.
    fn next_move(&mut self) -> Option<BlockId> {
        let mut levelling = self.levelling.take()?;
        let programs = self.sequence - levelling.untold;
        levelling.untold = self.sequence;
        let named = levelling.policy.next_move(programs, &mut |block| {
            if self.flash.is_bad(block) {
                return None;
            }
            self.read_spare(self.slot(block, 0), Cause::WearLevelling);
            Some(self.wear_of(block))
        });
        let block = named.filter(|&block| {
            let is_full = self.blocks.is_candidate(block) && !self.failed.contains(&block);
            is_full && self.group(block) == BlockGroup::User
        });
        levelling.moved += u64::from(block.is_some());
        self.levelling = Some(levelling);
        block
    }
}

impl<F: Flash> PagedFtl<F> {
    /// Moves the pages of the block that wear levelling names, if it names one; whether it did.
    pub(super) fn level(&mut self) -> Result<bool, LayerError> {
        match self.space.next_move() {
            None => Ok(false),
            Some(block) => self.empty(block, Cause::WearLevelling).map(|()| true),
        }
    }
}
