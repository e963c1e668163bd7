//! Which block is emptied next.

use super::Pool;
use crate::layer::{Medium, MediumExt};
use crate::units::BlockId;
use crate::victim::{Below, Blocks, VictimPolicy};

/// Victims in a row that may turn out full of valid pages, as a multiple of the number of blocks, before cleaning is given up.
/// A deterministic policy meets none or goes round once. One that draws at random finds the only block among `n` that has a
/// dead page in `n` draws on average, and misses it `64 n` times with probability `exp(-64)`.
const FRUITLESS_ROUNDS: u64 = 64;

/// For FTLs that know by themselves which block to empty.
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

/// A medium as victim policies see it.
struct Under<'a, M>(&'a M);

impl<M: Medium> Below for Under<'_, M> {
    fn left_valid(&self, block: BlockId) -> f64 {
        self.0.left_valid(block)
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// The next victim, no candidate any more. `None` if there is no candidate, or if `fruitless` victims in a row, which this
    /// counts, were full of valid pages.
    pub(crate) fn take_victim(&mut self, fruitless: &mut u64) -> Option<BlockId> {
        if self.blocks.candidates() == 0 || *fruitless > FRUITLESS_ROUNDS * u64::from(self.blocks.len()) {
            return None;
        }
        let victim = self.victim.select_above(&self.blocks, &Under(&self.medium));
        self.blocks.take(victim);
        let is_full = self.blocks.valid_pages(victim) >= self.pages_per_block();
        *fruitless = if is_full { *fruitless + 1 } else { 0 };
        Some(victim)
    }

    /// Counts a victim that is emptied.
    pub(crate) fn note_victim(&mut self, victim: BlockId) {
        self.victim_valid_pages[self.blocks.valid_pages(victim) as usize] += 1;
    }

    /// Takes a block out of the candidates that no policy picked: it is emptied for another reason than that.
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
    use crate::layer::tests::seams::{Heard, Made};

    #[test]
    fn a_policy_learns_what_would_be_left_below() {
        let shares = |medium| [0, 2, 4].map(|block| Under(&medium).left_valid(BlockId(block)));
        assert_eq!(shares(Made(Some(Heard::default()))), [0.0, 0.25, 0.5]);
        assert_eq!(shares(Made(None)), [0.0; 3], "flash knows nothing");
    }
}
