//! Erase counts of the erased blocks, each learnt as its block was erased.

use crate::layer::RamPart;
use crate::units::BlockId;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of an erase count (paper, App. D).
const COUNT_BYTES: u64 = 2;

/// Erased blocks that are compared, those erased first. Cleaning keeps fewer; only a new device has more, all alike.
const COMPARED: usize = 256;

/// Which of the erased blocks are worn. Those that nothing is known of were never erased.
#[derive(Debug, Default)]
pub(super) struct Pool {
    erases: BTreeMap<BlockId, u32>,
    most: usize,
}

impl Pool {
    /// The block is erased and was so many times.
    pub fn add(&mut self, block: BlockId, erases: u32) {
        self.erases.insert(block, erases);
        self.most = self.most.max(self.erases.len());
    }

    /// Takes the least worn block, or the most worn one; its index in `free`. The first of equals.
    pub fn take(&mut self, free: &VecDeque<BlockId>, least_worn: bool) -> usize {
        let erases = |block: &BlockId| self.erases.get(block).copied().unwrap_or(0);
        let compared = free.iter().take(COMPARED).map(erases).enumerate();
        let rank = |&(at, erases): &(usize, u32)| (if least_worn { erases } else { u32::MAX - erases }, at);
        let (at, _) = compared.min_by_key(rank).expect("there is an erased block");
        self.erases.remove(&free[at]);
        at
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.erases.clear();
    }

    /// A count for each of the most erased blocks that there were at once, new ones aside.
    pub fn ram(&self) -> RamPart {
        RamPart { name: "erase counts of erased blocks", bytes: COUNT_BYTES * self.most as u64 }
    }
}
