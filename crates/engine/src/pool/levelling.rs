//! Wear levelling: what the policy gets to see, and which block it wants emptied.

use super::Pool;
use crate::counters::Cause;
use crate::layer::{Medium, RamPart};
use crate::units::BlockId;
use crate::victim::{Blocks, VictimPolicy};
use crate::wear::{BlockWear, FoundBlock, WearLevelling};

/// The policy, and what it was told.
pub struct Levelling {
    policy: Box<dyn WearLevelling>,
    /// Sequence number of the first page that it was not told of.
    untold: u64,
    /// Blocks moved.
    moved: u64,
    /// Erase timestamps of the blocks, which are in their spare areas.
    erased_at: Vec<u32>,
    /// Spare areas read for its sake.
    spare_reads: u64,
}

impl Levelling {
    /// For a pool of `blocks` blocks whose next page has the sequence number `first_sequence`; `erased_at` are the erase
    /// timestamps that a power cut left in the spare areas, none on new flash.
    pub fn new(
        policy: Box<dyn WearLevelling>,
        mut erased_at: Vec<u32>,
        blocks: u32,
        first_sequence: u64,
    ) -> Self {
        erased_at.resize(blocks as usize, 0);
        Levelling { policy, untold: first_sequence, moved: 0, erased_at, spare_reads: 0 }
    }

    /// RAM in the device.
    pub fn ram(&self) -> Vec<RamPart> {
        self.policy.ram()
    }

    /// How often things happened, by name.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        [("blocks moved for wear", self.moved)].into_iter().chain(self.policy.counts()).collect()
    }

    /// Spare areas read for its sake.
    pub fn spare_reads(&self) -> u64 {
        self.spare_reads
    }

    /// Forgets how many spare areas were read, as after recovery, which is reported by itself.
    pub fn forget_spare_reads(&mut self) {
        self.spare_reads = 0;
    }

    /// The erase timestamps, which a power cut leaves in the spare areas.
    pub fn into_erased_at(self) -> Vec<u32> {
        self.erased_at
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Levels wear from now on, if there is a policy; `erased_at` are the erase timestamps that a power cut left.
    pub(crate) fn level_with(&mut self, policy: Option<Box<dyn WearLevelling>>, erased_at: Vec<u32>) {
        let (blocks, first_sequence) = (self.blocks.len(), self.sequence);
        self.levelling =
            policy.map(|policy| Box::new(Levelling::new(policy, erased_at, blocks, first_sequence)));
    }

    /// What the spare area of the block's first page says of its wear.
    fn wear_of(&self, levelling: &Levelling, block: BlockId) -> BlockWear {
        BlockWear { erases: self.medium.erases(block), erased_at: levelling.erased_at[block.index()] }
    }

    /// Spare areas read for its sake, by cause.
    pub(crate) fn wear_spare_reads(&self) -> [u64; Cause::ALL.len()] {
        let mut reads = [0; Cause::ALL.len()];
        let levelling = self.levelling.as_ref();
        reads[Cause::WearLevelling as usize] = levelling.map_or(0, |levelling| levelling.spare_reads());
        reads
    }

    /// Takes an erased block for pages written because of `cause`.
    #[inline]
    pub(crate) fn take_erased(&mut self, cause: Cause) -> Option<BlockId> {
        match &mut self.levelling {
            Some(levelling) if !self.erased.is_empty() => {
                let hot = !matches!(cause, Cause::Cleaning | Cause::WearLevelling);
                let at = levelling.policy.choose(&self.erased, hot);
                self.erased.remove(at)
            }
            _ => {
                let block = self.erased.pop_front();
                if self.erased.capacity() > 64 && self.erased.len() < self.erased.capacity() / 8 {
                    self.shrink_erased();
                }
                block
            }
        }
    }

    /// Gives back the memory of a list that held all blocks when the drive was new.
    #[cold]
    fn shrink_erased(&mut self) {
        self.erased.shrink_to(2 * self.erased.len());
    }

    /// A block is about to be erased: reads how often it was, if that is of interest.
    #[inline]
    pub(super) fn read_wear_before_erase(&mut self, block: BlockId) {
        if let Some(levelling) = self.levelling.as_mut().filter(|levelling| levelling.policy.counts_erases())
        {
            levelling.spare_reads += 1;
            self.medium.read_wear(block);
        }
    }

    /// A block was erased.
    #[inline]
    pub(super) fn note_erase(&mut self, block: BlockId) {
        let Some(levelling) = &mut self.levelling else { return };
        let erases = if levelling.policy.counts_erases() { self.medium.erases(block) } else { 0 };
        levelling.erased_at[block.index()] = levelling.policy.erased(block, erases);
    }

    /// The spare areas of all blocks were read in recovery, in their order, so that the erased ones are sorted.
    pub(crate) fn recover_wear(&mut self) {
        let Some(mut levelling) = self.levelling.take() else { return };
        let blocks = (0..self.medium.blocks()).map(BlockId).filter(|&block| !self.medium.is_bad(block));
        let found = |block| FoundBlock {
            block,
            wear: self.wear_of(&levelling, block),
            is_erased: self.erased.binary_search(&block).is_ok(),
        };
        let found: Vec<FoundBlock> = blocks.map(found).collect();
        levelling.policy.recover(&found);
        self.levelling = Some(levelling);
    }

    /// Pages programmed so far are no concern of wear levelling.
    pub(crate) fn skip_untold(&mut self) {
        if let Some(levelling) = &mut self.levelling {
            levelling.untold = self.sequence;
        }
    }

    /// The block that wear levelling wants emptied now, if it names one of which `may_move` says that it can be.
    pub(crate) fn next_wear_move(
        &mut self,
        may_move: impl FnOnce(&Blocks, BlockId) -> bool,
    ) -> Option<BlockId> {
        let mut levelling = self.levelling.take()?;
        let programs = self.sequence - levelling.untold;
        levelling.untold = self.sequence;
        let Levelling { policy, erased_at, spare_reads, .. } = &mut *levelling;
        let medium = &mut self.medium;
        let named = policy.next_move(programs, &mut |block| {
            if medium.is_bad(block) {
                return None;
            }
            *spare_reads += 1;
            medium.read_wear(block);
            Some(BlockWear { erases: medium.erases(block), erased_at: erased_at[block.index()] })
        });
        let block = named.filter(|&block| !self.has_failed(block) && may_move(&self.blocks, block));
        levelling.moved += u64::from(block.is_some());
        self.levelling = Some(levelling);
        block
    }
}
