//! Selection of the next block to empty.

use super::Pool;
use crate::layer::{Medium, MediumExt};
use crate::units::BlockId;
use crate::victim::{Blocks, LowerLayerView, VictimPolicy};

/// Limit on consecutive victims full of valid pages, as a multiple of the number of blocks, before cleaning gives up. A
/// deterministic policy selects at most one such victim per block in a row. A random policy finds the only block with
/// an invalid page among `n` blocks in `n` draws on average, and misses it `64 n` times with probability `exp(-64)`.
const MAX_FULL_VICTIM_ROUNDS: u64 = 64;

/// Placeholder policy for FTLs that select victims themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoVictims;

impl VictimPolicy for NoVictims {
    fn select(&mut self, _blocks: &Blocks) -> BlockId {
        unreachable!("an FTL without a victim policy closes no blocks")
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}

/// View of the medium for victim policies.
struct MediumView<'a, M>(&'a M);

impl<M: Medium> LowerLayerView for MediumView<'_, M> {
    fn left_valid(&self, block: BlockId) -> f64 {
        self.0.left_valid(block)
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Takes the next victim from the candidates. `None` if there is no candidate, or after too many consecutive
    /// victims full of valid pages, which `full_victims` counts.
    pub(crate) fn take_victim(&mut self, full_victims: &mut u64) -> Option<BlockId> {
        if self.blocks.candidates() == 0
            || *full_victims > MAX_FULL_VICTIM_ROUNDS * u64::from(self.blocks.len())
        {
            return None;
        }
        let victim = self.victim.select_above(&self.blocks, &MediumView(&self.medium));
        self.blocks.take(victim);
        let is_full = self.blocks.valid_pages(victim) >= self.pages_per_block();
        *full_victims = if is_full { *full_victims + 1 } else { 0 };
        Some(victim)
    }

    /// Adds a victim that is about to be emptied to the histogram of valid pages.
    pub(crate) fn count_victim(&mut self, victim: BlockId) {
        self.victim_valid_pages[self.blocks.valid_pages(victim) as usize] += 1;
    }

    /// Removes a candidate that no policy selected, because the block is emptied for another reason.
    pub(crate) fn take_candidate(&mut self, block: BlockId) {
        if self.blocks.is_candidate(block) {
            self.blocks.take(block);
            self.victim.taken(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::tests::interfaces::{CallLog, StubMedium};

    #[test]
    fn policy_sees_pages_left_valid_below() {
        let fractions = |medium| [0, 2, 4].map(|block| MediumView(&medium).left_valid(BlockId(block)));
        assert_eq!(fractions(StubMedium(Some(CallLog::default()))), [0.0, 0.25, 0.5]);
        assert_eq!(fractions(StubMedium(None)), [0.0; 3], "flash knows nothing");
    }
}
