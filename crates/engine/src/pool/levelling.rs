//! Wear levelling: input of the policy, and the blocks that the policy selects to be emptied.

use super::Pool;
use crate::counters::Cause;
use crate::layer::{Medium, RamPart};
use crate::units::BlockId;
use crate::victim::{Blocks, VictimPolicy};
use crate::wear::{BlockWear, RecoveredBlock, WearLevelling};

/// The policy and its state.
pub struct Levelling {
    policy: Box<dyn WearLevelling>,
    /// Sequence number of the first page not yet reported to the policy.
    first_unreported: u64,
    /// Number of blocks moved.
    moved: u64,
    /// Erase timestamps of the blocks, which are stored in their spare areas.
    erased_at: Vec<u32>,
    /// Number of spare areas read for wear levelling.
    spare_reads: u64,
}

impl Levelling {
    /// Creates wear levelling for a pool of `blocks` blocks whose next page has the sequence number `first_sequence`.
    /// `erased_at` are the erase timestamps that survived a power cut; empty on new flash.
    pub fn new(
        policy: Box<dyn WearLevelling>,
        mut erased_at: Vec<u32>,
        blocks: u32,
        first_sequence: u64,
    ) -> Self {
        erased_at.resize(blocks as usize, 0);
        Levelling { policy, first_unreported: first_sequence, moved: 0, erased_at, spare_reads: 0 }
    }

    /// Returns the RAM that a device needs for wear levelling.
    pub fn ram(&self) -> Vec<RamPart> {
        self.policy.ram()
    }

    /// Returns event counts, by name.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        [("blocks moved for wear", self.moved)].into_iter().chain(self.policy.counts()).collect()
    }

    /// Returns the number of spare areas read for wear levelling.
    pub fn spare_reads(&self) -> u64 {
        self.spare_reads
    }

    /// Resets the count of spare area reads, for example after recovery, which is reported separately.
    pub fn reset_spare_reads(&mut self) {
        self.spare_reads = 0;
    }

    /// Returns the erase timestamps, which survive a power cut in the spare areas.
    pub fn into_erased_at(self) -> Vec<u32> {
        self.erased_at
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Enables wear levelling, if there is a policy; `erased_at` are the erase timestamps that survived a power cut.
    pub(crate) fn set_wear_levelling(&mut self, policy: Option<Box<dyn WearLevelling>>, erased_at: Vec<u32>) {
        let (blocks, first_sequence) = (self.blocks.len(), self.sequence);
        self.levelling =
            policy.map(|policy| Box::new(Levelling::new(policy, erased_at, blocks, first_sequence)));
    }

    /// Returns the wear of the block, as stored in the spare area of the block's first page.
    fn wear_of(&self, levelling: &Levelling, block: BlockId) -> BlockWear {
        BlockWear { erases: self.medium.erases(block), erased_at: levelling.erased_at[block.index()] }
    }

    /// Returns the number of spare areas read for wear levelling, by cause.
    pub(crate) fn wear_spare_reads(&self) -> [u64; Cause::ALL.len()] {
        let mut reads = [0; Cause::ALL.len()];
        let levelling = self.levelling.as_ref();
        reads[Cause::WearLevelling as usize] = levelling.map_or(0, |levelling| levelling.spare_reads());
        reads
    }

    /// Takes an erased block out of the pool, for pages written because of `cause`.
    #[inline]
    pub(crate) fn take_erased(&mut self, cause: Cause) -> Option<BlockId> {
        match &mut self.levelling {
            Some(levelling) if !self.erased.is_empty() => {
                let is_hot = !matches!(cause, Cause::Cleaning | Cause::WearLevelling);
                let at = levelling.policy.choose(&self.erased, is_hot);
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

    /// Shrinks the list of erased blocks, which held all blocks when the drive was new.
    #[cold]
    fn shrink_erased(&mut self) {
        self.erased.shrink_to(2 * self.erased.len());
    }

    /// Reads the erase count of a block before its erase, if the policy uses it.
    #[inline]
    pub(super) fn read_wear_before_erase(&mut self, block: BlockId) {
        if let Some(levelling) =
            self.levelling.as_mut().filter(|levelling| levelling.policy.uses_erase_counts())
        {
            levelling.spare_reads += 1;
            self.medium.read_wear(block);
        }
    }

    /// Notifies the policy of an erase.
    #[inline]
    pub(super) fn report_erase(&mut self, block: BlockId) {
        let Some(levelling) = &mut self.levelling else { return };
        let erases = if levelling.policy.uses_erase_counts() { self.medium.erases(block) } else { 0 };
        levelling.erased_at[block.index()] = levelling.policy.erased(block, erases);
    }

    /// Reports the wear of all blocks to the policy after recovery has read all spare areas. The list of erased blocks
    /// must be sorted.
    pub(crate) fn recover_wear(&mut self) {
        let Some(mut levelling) = self.levelling.take() else { return };
        let blocks = (0..self.medium.blocks()).map(BlockId).filter(|&block| !self.medium.is_bad(block));
        let to_found = |block| RecoveredBlock {
            block,
            wear: self.wear_of(&levelling, block),
            is_erased: self.erased.binary_search(&block).is_ok(),
        };
        let found: Vec<RecoveredBlock> = blocks.map(to_found).collect();
        levelling.policy.recover(&found);
        self.levelling = Some(levelling);
    }

    /// Excludes the pages programmed so far from wear levelling.
    pub(crate) fn skip_unreported(&mut self) {
        if let Some(levelling) = &mut self.levelling {
            levelling.first_unreported = self.sequence;
        }
    }

    /// Returns the block that the policy now selects to be emptied, if there is one and `may_move` returns true for it.
    pub(crate) fn next_wear_move(
        &mut self,
        may_move: impl FnOnce(&Blocks, BlockId) -> bool,
    ) -> Option<BlockId> {
        let mut levelling = self.levelling.take()?;
        let programs = self.sequence - levelling.first_unreported;
        levelling.first_unreported = self.sequence;
        let Levelling { policy, erased_at, spare_reads, .. } = &mut *levelling;
        let medium = &mut self.medium;
        let requested = policy.next_move(programs, &mut |block| {
            if medium.is_bad(block) {
                return None;
            }
            *spare_reads += 1;
            medium.read_wear(block);
            Some(BlockWear { erases: medium.erases(block), erased_at: erased_at[block.index()] })
        });
        let block = requested.filter(|&block| !self.has_failed(block) && may_move(&self.blocks, block));
        levelling.moved += u64::from(block.is_some());
        self.levelling = Some(levelling);
        block
    }
}
