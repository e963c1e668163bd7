//! Victim policy with foreknowledge of page invalidations: takes the block whose invalid pages would wait longest,
//! relative to the pages to be moved.

use super::search::CostSearch;
use super::{Blocks, Needs, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::counters::Cause;
use crate::foresight::{Foresight, look_ahead_pages, unchecked_look_ahead_pages, unknown_future_error};
use crate::units::{BlockId, Lpn};
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Look-ahead in drive writes, above 0; each takes 4 bytes of memory per logical page. Later invalidations count
    /// as if at the end of the look-ahead.
    pub look_ahead: f64,
    /// Candidates drawn, with replacement, for each victim, 1 or more. Default: the best of all candidates is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub sample: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Config { look_ahead: 4.0, sample: None }
    }
}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "foresight",
        help: "largest (1 - u) * t^(2/3) / u, with t the time after which all pages of the block will be dead, which is known",
        source: "our own: cost-benefit (Rosenblum and Ousterhout, ACM TOCS 10(1), 1992) with the future in place of age",
    };
    const PROPERTIES: Properties = Properties {
        draws_random: true,
        keeps_lists: true,
        needs: Needs { programs: true, ..Needs::NONE },
        ..Properties::NONE
    };
    type Policy = ForesightPolicy;

    fn build(&self, _size: &StoreSize) -> Result<ForesightPolicy, ConfigError> {
        Err(unknown_future_error("policy", Self::ENTRY.name))
    }

    fn build_with_foresight(
        &self,
        size: &StoreSize,
        foresight: &Foresight,
    ) -> Result<ForesightPolicy, ConfigError> {
        let look_ahead_pages = look_ahead_pages(self.look_ahead, size)?;
        Ok(ForesightPolicy {
            foresight: foresight.with_horizon(look_ahead_pages),
            look_ahead_pages,
            last_invalidations: vec![0; size.blocks as usize],
            cubes: (0..=size.pages_per_block).map(|valid| cube(valid, size.pages_per_block)).collect(),
            ranking: self.sample.is_none().then(|| Ranking::new(size.pages_per_block)),
            search: CostSearch::new(self.sample, size)?,
        })
    }

    fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
        Some(unchecked_look_ahead_pages(self.look_ahead, size))
    }
}

/// Returns the third power of the ratio of valid to invalid pages; infinite without invalid pages.
fn cube(valid: u32, pages_per_block: u32) -> f64 {
    (f64::from(valid) / f64::from(pages_per_block - valid)).powi(3)
}

/// Minimises `u / ((1 - u) t^(2/3))`, compared by its third power.
///
/// `t` is the number of host writes until the last page of the block is invalid, as predicted when the page is written.
/// After `t` writes, the block can be erased without moves. Before, the invalid pages of the block take space, and `u`
/// is the cost of reclaiming this space now. With `t` itself, blocks are cleaned too early. Experiments compared the
/// powers 1/2, 2/3 and 1 with uniform, hot/cold and Zipf writes: 2/3 was always the best or second best. A block
/// without valid pages has cost 0; a block full of valid pages is the last choice.
pub struct ForesightPolicy {
    foresight: Foresight,
    look_ahead_pages: u64,
    /// For each block, number of the write that invalidates its last valid page.
    last_invalidations: Vec<u64>,
    /// [`cube`] for each number of valid pages.
    cubes: Vec<f64>,
    /// All candidates in order, if the policy needs the best of all candidates.
    ranking: Option<Ranking>,
    search: CostSearch,
}

/// Candidates by their number of valid pages; for each number, the block whose last page is invalidated latest comes
/// first, because it is the cheapest.
///
/// A block in which a page is invalidated is added to the heap of the lower number; its old entry stays and becomes
/// stale.
struct Ranking {
    by_valid: Vec<BinaryHeap<(u64, Reverse<BlockId>)>>,
    /// Number of entries, including stale ones.
    entries: usize,
}

impl Ranking {
    fn new(pages_per_block: u32) -> Self {
        Ranking { by_valid: vec![BinaryHeap::new(); pages_per_block as usize + 1], entries: 0 }
    }

    fn insert(&mut self, block: BlockId, valid: u32, last_invalidation: u64) {
        self.by_valid[valid as usize].push((last_invalidation, Reverse(block)));
        self.entries += 1;
    }

    /// Rebuilds the heaps from all candidates, without stale entries.
    fn rebuild(&mut self, blocks: &Blocks, last_invalidations: &[u64]) {
        self.by_valid.iter_mut().for_each(BinaryHeap::clear);
        self.entries = 0;
        blocks
            .iter_candidates()
            .for_each(|block| self.insert(block, blocks.score(block), last_invalidations[block.index()]));
    }

    /// Returns the first block with `valid` valid pages.
    fn first(&mut self, valid: usize, blocks: &Blocks, last_invalidations: &[u64]) -> Option<BlockId> {
        let heap = &mut self.by_valid[valid];
        while let Some(&(last_invalidation, Reverse(block))) = heap.peek() {
            if blocks.score(block) as usize == valid && last_invalidations[block.index()] == last_invalidation
            {
                return Some(block);
            }
            heap.pop();
            self.entries -= 1;
        }
        None
    }
}

impl VictimPolicy for ForesightPolicy {
    fn needs(&self) -> Needs {
        Config::PROPERTIES.needs
    }

    fn programmed(&mut self, block: BlockId, first: u32, pages: &[Lpn], cause: Cause, blocks: &Blocks) {
        let last_invalidation = &mut self.last_invalidations[block.index()];
        if first == 0 {
            *last_invalidation = 0;
        }
        for (write, &page) in (blocks.now()..).zip(pages) {
            let invalidated_at = match cause {
                Cause::Host => self.foresight.write(page, write),
                _ => self.foresight.invalidation(page, blocks.now()),
            };
            *last_invalidation = invalidated_at.unwrap_or(u64::MAX).max(*last_invalidation);
        }
    }

    #[inline]
    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        self.rank(block, blocks.score(block));
    }

    #[inline]
    fn invalidated(&mut self, block: BlockId, score: u32, _blocks: &Blocks) {
        self.rank(block, score);
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let costs = Costs {
            last_invalidations: &self.last_invalidations,
            cubes: &self.cubes,
            look_ahead_pages: self.look_ahead_pages,
        };
        let Some(ranks) = &mut self.ranking else {
            return self.search.cheapest(blocks, |block| costs.cost(block, blocks));
        };
        if ranks.entries > 4 * blocks.len() as usize + 64 {
            ranks.rebuild(blocks, &self.last_invalidations);
        }
        loop {
            if let Some(block) = costs.least(ranks, blocks) {
                return block;
            }
            ranks.rebuild(blocks, &self.last_invalidations);
        }
    }

    fn final_draw(&mut self) -> u64 {
        self.search.random.next_u64()
    }

    fn memory_bytes(&self) -> usize {
        let ranked = self.ranking.iter().flat_map(|ranks| &ranks.by_valid).map(BinaryHeap::capacity);
        8 * (self.last_invalidations.len() + self.cubes.len())
            + size_of::<(u64, Reverse<BlockId>)>() * ranked.sum::<usize>()
    }
}

impl ForesightPolicy {
    /// Adds a block whose score has become `score`.
    fn rank(&mut self, block: BlockId, score: u32) {
        if let Some(ranks) = self.ranking.as_mut().filter(|_| Blocks::is_candidate_score(score)) {
            ranks.insert(block, score, self.last_invalidations[block.index()]);
        }
    }
}

/// Cost function of blocks.
#[derive(Clone, Copy)]
struct Costs<'a> {
    last_invalidations: &'a [u64],
    cubes: &'a [f64],
    look_ahead_pages: u64,
}

impl Costs<'_> {
    fn cost(&self, block: BlockId, blocks: &Blocks) -> f64 {
        let wait = self.last_invalidations[block.index()]
            .saturating_sub(blocks.now())
            .clamp(1, self.look_ahead_pages) as f64;
        self.cubes[blocks.valid_pages(block) as usize] / (wait * wait)
    }

    /// Returns the block with the least cost.
    fn least(&self, ranks: &mut Ranking, blocks: &Blocks) -> Option<BlockId> {
        let longest = (self.look_ahead_pages as f64).powi(2);
        let mut least: Option<(f64, BlockId)> = None;
        for (valid, cube) in self.cubes.iter().enumerate() {
            // Blocks with more valid pages cannot cost less, however long they wait.
            if least.is_some_and(|(cost, _)| cube / longest >= cost) {
                break;
            }
            let Some(block) = ranks.first(valid, blocks, self.last_invalidations) else { continue };
            let cost = self.cost(block, blocks);
            if least.is_none_or(|(best, _)| cost < best) {
                least = Some((cost, block));
            }
        }
        least.map(|(_, block)| block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, random_below};

    #[test]
    fn cheapest_of_all_is_found_as_pages_become_invalid() {
        let size = StoreSize { blocks: 40, pages_per_block: 8, logical_pages: 250, seed: Seed(3) };
        let mut random = Seed(3).random();
        let foresight = Foresight::new(Box::new(NoWrites), 250, 1000);
        let mut policy = Config::default().build_with_foresight(&size, &foresight).unwrap();
        let draw_invalidation =
            |_| if random_below(&mut random, 8) == 0 { u64::MAX } else { random_below(&mut random, 900) };
        policy.last_invalidations = (0..40).map(draw_invalidation).collect();
        let mut blocks = Blocks::of_candidates(8, 250, &[(8, 0, 0); 40]);
        for block in (0..40).map(BlockId) {
            policy.closed(block, &blocks);
        }
        for now in 0..800 {
            blocks.set_now(now);
            let block = BlockId(random_below(&mut random, 40) as u32);
            if blocks.valid_pages(block) > 1 {
                let score = blocks.invalidate(block);
                policy.invalidated(block, score, &blocks);
            } else if blocks.is_candidate(block) && blocks.candidates() > 1 {
                blocks.take(block);
            }
            let found = policy.select(&blocks);
            let (last_deaths, cubes) = (&policy.last_invalidations, &policy.cubes);
            let costs =
                Costs { last_invalidations: last_deaths, cubes, look_ahead_pages: policy.look_ahead_pages };
            let least = blocks.iter_candidates().map(|block| costs.cost(block, &blocks));
            let least = least.fold(f64::INFINITY, f64::min);
            assert!(blocks.is_candidate(found) && costs.cost(found, &blocks) <= least, "at {now}");
        }
        assert!(policy.ranking.as_ref().unwrap().entries <= 4 * 40 + 65 && policy.memory_bytes() > 400);
    }

    struct NoWrites;

    impl crate::foresight::FutureOperations for NoWrites {
        fn next(&mut self, _: &mut dyn FnMut(crate::foresight::HostOp)) -> bool {
            false
        }
    }
}
