//! Victim policy that takes the block with the fewest valid pages.

use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::units::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the greedy policy: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "greedy",
        help: "the block with the fewest valid pages of all, exactly",
        source: "Bux and Iliadis, Performance Evaluation 67 (2010); Desnoyers, ACM TOS 10(2), 2014",
    };
    const PROPERTIES: Properties = Properties { keeps_lists: true, ..Properties::NONE };
    type Policy = Greedy;

    fn build(&self, size: &StoreSize) -> Result<Greedy, ConfigError> {
        Ok(Greedy {
            limit: 0,
            lowest: 0,
            entries: 0,
            stacks: vec![Vec::new(); size.pages_per_block as usize + 1],
            pending: vec![(BlockId(0), 0); PENDING_CAPACITY],
            pending_len: 0,
        })
    }
}

/// Exact greedy selection in constant amortised time.
///
/// Only blocks with at most `limit` valid pages are watched: each watched block is on the stack of its count. A block
/// that drops to a lower count is pushed again; its old entry stays and becomes stale. This avoids the linked lists
/// (and their cache misses) of the textbook structure. When all stacks are empty, one scan sets the limit so that at
/// least `1/CANDIDATES_PER_WATCHED_BLOCK` of the candidates is watched. The next scan follows only after all watched
/// blocks have been taken, hence the constant amortised cost.
///
/// Among equals, the block that reached its count last is taken. The order of blocks that had their count before the
/// scan is unknown: these blocks come after all other blocks, with the highest number first.
pub struct Greedy {
    /// Maximum number of valid pages of a watched block.
    limit: u32,
    /// Lowest stack that may hold a live entry.
    lowest: usize,
    /// Number of entries on all stacks, including stale entries.
    entries: usize,
    stacks: Vec<Vec<BlockId>>,
    /// Watched blocks, each with a count that the block has reached and on whose stack it must still be pushed.
    ///
    /// A branch on whether a block is watched is unpredictable and would cost more than all other work. Therefore every
    /// block in which a page is invalidated is written here, and the length increases only for watched blocks.
    pending: Vec<(BlockId, u32)>,
    pending_len: usize,
}

/// Capacity for blocks that wait to be pushed on their stacks.
const PENDING_CAPACITY: usize = 512;

/// Number of candidates for each block that a scan selects to be watched.
const CANDIDATES_PER_WATCHED_BLOCK: usize = 32;

impl Greedy {
    /// Records that the block has reached the count.
    #[inline(always)]
    fn record(&mut self, block: BlockId, count: u32) {
        if self.pending_len == self.pending.len() {
            self.push_pending();
        }
        self.pending[self.pending_len] = (block, count);
        self.pending_len += usize::from(count <= self.limit);
    }

    /// Pushes the recorded blocks on their stacks.
    #[inline(never)]
    fn push_pending(&mut self) {
        for at in 0..self.pending_len {
            let (block, count) = self.pending[at];
            self.push(block, count);
        }
        self.pending_len = 0;
    }

    #[inline(always)]
    fn push(&mut self, block: BlockId, count: u32) {
        self.stacks[count as usize].push(block);
        self.entries += 1;
        self.lowest = self.lowest.min(count as usize);
    }

    fn pop(&mut self, blocks: &Blocks) -> Option<BlockId> {
        while self.lowest <= self.limit as usize {
            while let Some(block) = self.stacks[self.lowest].pop() {
                self.entries -= 1;
                if blocks.score(block) == self.lowest as u32 {
                    return Some(block);
                }
            }
            self.lowest += 1;
        }
        None
    }

    /// Sets the limit to the count below which `1/CANDIDATES_PER_WATCHED_BLOCK` of the candidates lies, and watches
    /// these candidates.
    #[cold]
    fn rescan(&mut self, blocks: &Blocks) {
        let mut histogram = vec![0usize; self.stacks.len()];
        for block in blocks.iter_candidates() {
            histogram[blocks.score(block) as usize] += 1;
        }
        let target = (blocks.candidates() as usize).div_ceil(CANDIDATES_PER_WATCHED_BLOCK);
        let mut watched = 0;
        let reaches_target = |&count: &usize| {
            watched += count;
            watched >= target
        };
        self.limit = histogram.iter().position(reaches_target).unwrap_or(histogram.len() - 1) as u32;
        self.rebuild_stacks(blocks);
    }

    /// Clears the stacks and pushes every candidate up to the limit on the stack of its count.
    fn rebuild_stacks(&mut self, blocks: &Blocks) {
        self.stacks.iter_mut().for_each(Vec::clear);
        self.entries = 0;
        self.lowest = self.limit as usize + 1;
        for block in blocks.iter_candidates() {
            let score = blocks.score(block);
            if score <= self.limit {
                self.push(block, score);
            }
        }
    }
}

impl VictimPolicy for Greedy {
    #[inline]
    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        self.record(block, blocks.score(block));
    }

    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, score: u32, _blocks: &Blocks) {
        self.record(block, score);
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        self.push_pending();
        // Removes stale entries of high counts, which would otherwise accumulate without limit.
        if self.entries > 2 * blocks.len() as usize + 64 {
            self.rebuild_stacks(blocks);
        }
        loop {
            if let Some(block) = self.pop(blocks) {
                return block;
            }
            self.rescan(blocks);
        }
    }

    #[inline]
    fn likely_victim(&self, _blocks: &Blocks) -> Option<BlockId> {
        let watched = self.stacks.get(self.lowest..=self.limit as usize)?;
        watched.iter().find_map(|stack| stack.last().copied())
    }

    fn memory_bytes(&self) -> usize {
        self.stacks.iter().map(|stack| stack.capacity() * size_of::<BlockId>()).sum()
    }
}
