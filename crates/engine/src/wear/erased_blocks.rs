//! Erase counts of the erased blocks, recorded when each block was erased.

use crate::layer::RamPart;
use crate::units::BlockId;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of an erase count (paper, App. D).
const COUNT_BYTES: u64 = 2;

/// Maximum number of erased blocks that are compared, beginning with the block erased first. Cleaning keeps fewer
/// erased blocks; only a new device has more erased blocks, which are all equally worn.
const MAX_COMPARED: usize = 256;

/// Erase counts of the erased blocks. Unlisted blocks were never erased.
#[derive(Debug, Default)]
pub(super) struct ErasedBlocks {
    erases: BTreeMap<BlockId, u32>,
    largest_len: usize,
}

impl ErasedBlocks {
    /// Adds an erased block with its erase count.
    pub fn add(&mut self, block: BlockId, erases: u32) {
        self.erases.insert(block, erases);
        self.largest_len = self.largest_len.max(self.erases.len());
    }

    /// Takes the least or the most worn block, and returns the index of this block in `free`. Of equally worn blocks,
    /// takes the first.
    pub fn take(&mut self, free: &VecDeque<BlockId>, least_worn: bool) -> usize {
        let erases = |block: &BlockId| self.erases.get(block).copied().unwrap_or(0);
        let compared = free.iter().take(MAX_COMPARED).map(erases).enumerate();
        let rank = |&(at, erases): &(usize, u32)| (if least_worn { erases } else { u32::MAX - erases }, at);
        let (at, _) = compared.min_by_key(rank).expect("there is an erased block");
        self.erases.remove(&free[at]);
        at
    }

    /// Removes all counts.
    pub fn clear(&mut self) {
        self.erases.clear();
    }

    /// Returns the RAM for the largest number of erased blocks at any time, without blocks that were never erased.
    pub fn ram(&self) -> RamPart {
        RamPart { name: "erase counts of erased blocks", bytes: COUNT_BYTES * self.largest_len as u64 }
    }
}
