//! Flash faults: failing programs, and read disturb.

use crate::seed::{Random, Seed};
use crate::units::BlockId;
use rand::Rng;
use std::collections::VecDeque;

/// Fault rates of the flash, in addition to wear.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Probability that programming a page fails, 0 to below 1.
    pub program_failure_rate: f64,
    /// Page reads that a block endures after an erase before its pages should be rewritten; `None`: no limit.
    pub read_disturb_limit: Option<u32>,
}

pub(super) struct FaultState {
    random: Random,
    faults: Faults,
    /// Number of successful programs before the next failure.
    programs_before_failure: u64,
    /// Page reads of each block since its erase, if limited.
    reads: Vec<u32>,
    /// Blocks over the read limit that have not been reported yet.
    disturbed: VecDeque<BlockId>,
}

impl FaultState {
    pub fn new(faults: Faults, blocks: u32, seed: Seed) -> Self {
        let limited = if faults.read_disturb_limit.is_some() { blocks as usize } else { 0 };
        let mut random = seed.derive("nand faults").random();
        FaultState {
            programs_before_failure: draw_programs_before_failure(&mut random, faults.program_failure_rate),
            random,
            faults,
            reads: vec![0; limited],
            disturbed: VecDeque::new(),
        }
    }

    /// Returns the number of successful programs before a failure among `pages` programs; `None` without a failure.
    #[inline]
    pub fn program(&mut self, pages: usize) -> Option<usize> {
        if self.programs_before_failure >= pages as u64 {
            self.programs_before_failure -= pages as u64;
            return None;
        }
        let programmed = self.programs_before_failure as usize;
        self.programs_before_failure =
            draw_programs_before_failure(&mut self.random, self.faults.program_failure_rate);
        Some(programmed)
    }

    pub fn read(&mut self, block: BlockId, pages: u32) {
        let Some(limit) = self.faults.read_disturb_limit else { return };
        let reads = &mut self.reads[block.index()];
        let before = *reads;
        *reads = reads.saturating_add(pages);
        // A block that was not rewritten is reported again: a power cut may have made the FTL forget it.
        if before / limit < *reads / limit && !self.disturbed.contains(&block) {
            self.disturbed.push_back(block);
        }
    }

    /// Returns the number of page reads of `block` after which it is reported next; `u32::MAX` without a limit.
    pub fn reads_before_report(&self, block: BlockId) -> u32 {
        self.faults.read_disturb_limit.map_or(u32::MAX, |limit| limit - self.reads[block.index()] % limit)
    }

    /// Returns the next block over the read limit, unless it has been erased since.
    pub fn take_disturbed(&mut self) -> Option<BlockId> {
        let limit = self.faults.read_disturb_limit?;
        while let Some(block) = self.disturbed.pop_front() {
            if self.reads[block.index()] >= limit {
                return Some(block);
            }
        }
        None
    }

    pub fn erased(&mut self, block: BlockId) {
        if let Some(reads) = self.reads.get_mut(block.index()) {
            *reads = 0;
        }
    }
}

/// Draws the number of successful programs before a failure: geometric distribution.
fn draw_programs_before_failure(random: &mut Random, rate: f64) -> u64 {
    if rate <= 0.0 {
        return u64::MAX;
    }
    // The uniform number is below 1, so that the logarithm is finite.
    let uniform: f64 = random.random();
    (libm::log(1.0 - uniform) / libm::log(1.0 - rate)) as u64
}
