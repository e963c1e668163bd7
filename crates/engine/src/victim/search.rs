//! Searches shared by several policies: for a random suitable block, and for the block of least cost among all blocks
//! or a sample.

use super::Blocks;
use crate::config::{ConfigError, StoreSize};
use crate::seed::{Random, random_below};
use crate::units::BlockId;

/// Draws among all blocks until one is a candidate with a suitable score; `None` if there is no such block.
///
/// Every suitable block has the same probability. After many failed draws, the suitable blocks are counted and one of
/// them is drawn: this gives the same distribution at bounded cost.
pub(super) fn draw_suitable(
    random: &mut Random,
    blocks: &Blocks,
    is_suitable: impl Fn(u32) -> bool,
) -> Option<BlockId> {
    draw_block(random, blocks, |block| is_suitable(blocks.score(block)))
}

/// Draws a block like [`draw_suitable`], but with a condition on the number of the block.
pub(crate) fn draw_block(
    random: &mut Random,
    blocks: &Blocks,
    is_suitable: impl Fn(BlockId) -> bool,
) -> Option<BlockId> {
    let count = u64::from(blocks.len());
    let suitable = |&block: &BlockId| blocks.is_candidate(block) && is_suitable(block);
    // A draw costs a cache miss, and a scan reads 4 bytes per block, so this number of draws costs about as much as the
    // scan.
    for _ in 0..64 + count / 64 {
        let block = BlockId(random_below(random, count) as u32);
        if suitable(&block) {
            return Some(block);
        }
    }
    let all = || (0..blocks.len()).map(BlockId).filter(suitable);
    match all().count() {
        0 => None,
        found => all().nth(random_below(random, found as u64) as usize),
    }
}

/// Draws any candidate with equal probability.
pub(super) fn draw_candidate(random: &mut Random, blocks: &Blocks) -> BlockId {
    draw_suitable(random, blocks, |_| true).expect("select is only called while there is a candidate")
}

/// Maximum number of draws for a victim, for each block: draws with replacement then miss a given block with
/// probability `exp(-64)`, so more draws choose no other victim.
const DRAWS_PER_BLOCK: u64 = 64;

/// Number of blocks that determines the maximum number of draws on smaller drives.
const MIN_BLOCKS_TO_DRAW: u64 = 1024;

/// Refuses, at `key`, a number of draws for a victim that is far above the number of blocks.
pub(super) fn check_draws(key: &str, draws: u32, size: &StoreSize) -> Result<(), ConfigError> {
    let most = DRAWS_PER_BLOCK * u64::from(size.blocks).max(MIN_BLOCKS_TO_DRAW);
    if u64::from(draws) <= most {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("is {draws}; with {} blocks it must be at most {most}", size.blocks)))
}

/// Search for the candidate of least cost, among all candidates or a random sample.
pub(super) struct CostSearch {
    sample: Option<u32>,
    pub(super) random: Random,
}

impl CostSearch {
    /// Creates a search of `sample` candidates, drawn with replacement, or of all candidates if `sample` is `None`.
    pub(super) fn new(sample: Option<u32>, size: &StoreSize) -> Result<Self, ConfigError> {
        if sample == Some(0) {
            return Err(ConfigError::new(
                "sample",
                "is 0; it must be 1 or more, or left out to look at every candidate",
            ));
        }
        sample.map_or(Ok(()), |sample| check_draws("sample", sample, size))?;
        Ok(CostSearch { sample, random: size.seed.derive("victim").random() })
    }

    /// Returns the candidate of least cost; among equals the candidate with the lowest number or, in a sample, the
    /// candidate drawn first.
    pub(super) fn cheapest(&mut self, blocks: &Blocks, cost: impl Fn(BlockId) -> f64) -> BlockId {
        let found = match self.sample {
            None => least(blocks.iter_candidates(), cost),
            Some(sample) => least((0..sample).map(|_| draw_candidate(&mut self.random, blocks)), cost),
        };
        found.expect("select is only called while there is a candidate")
    }
}

/// Returns the first block of least cost. Generic over the iterator for speed: a victim may require a scan of all
/// blocks of a drive.
fn least(candidates: impl Iterator<Item = BlockId>, cost: impl Fn(BlockId) -> f64) -> Option<BlockId> {
    let mut least: Option<(f64, BlockId)> = None;
    candidates.for_each(|block| {
        let cost = cost(block);
        if least.is_none_or(|(best, _)| cost < best) {
            least = Some((cost, block));
        }
    });
    least.map(|(_, block)| block)
}
