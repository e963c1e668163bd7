//! Victim policy with a queue of blocks for each stream, whose lengths follow the placement's targets.

use super::{Blocks, Needs, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::queues::Queues;
use crate::units::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the queues: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "stream_queues",
        help: "the oldest block of the first stream that is longer than its placement wants (MiDAS)",
        source: "Oh, Kim, Han, Kim, Lee and Noh, FAST 2024",
    };
    const PROPERTIES: Properties =
        Properties { keeps_lists: true, needs: Needs { streams: true, ..Needs::NONE }, ..Properties::NONE };
    type Policy = StreamQueues;

    fn build(&self, size: &StoreSize) -> Result<StreamQueues, ConfigError> {
        Ok(StreamQueues { queues: Queues::new(size.blocks) })
    }
}

/// A queue of closed blocks for each stream.
///
/// If the placement has targets ([`Blocks::target_blocks`]), the victim is the oldest block of the first stream that
/// exceeds its target. If no stream exceeds its target, the victim is the block with the fewest valid pages of the
/// other streams, which share the remaining blocks. Without targets, the victim is the block with the fewest valid
/// pages among the oldest blocks of each stream. If such a victim has no invalid page, the block with the fewest valid
/// pages of all is taken instead. Among equals, the lower stream wins.
///
/// The paper's groups are streams. Its last group, which is not a queue in the authors' code either, corresponds to
/// all streams without a target.
pub struct StreamQueues {
    queues: Queues,
}

impl StreamQueues {
    fn pick(&self, blocks: &Blocks) -> BlockId {
        let targets = blocks.target_blocks();
        let over_target = (0..).zip(targets).find(|&(stream, &most)| self.queues.len(stream) > most);
        if let Some(oldest) = over_target.and_then(|(stream, _)| self.queues.first(stream)) {
            return BlockId(oldest);
        }
        let valid = |&block: &u32| blocks.valid_pages(BlockId(block));
        let blocks_from = |stream: u8| (stream..self.queues.count()).flat_map(|of| self.queues.iter(of));
        let emptiest = if targets.is_empty() {
            let oldest_of_each = (0..self.queues.count()).filter_map(|stream| self.queues.first(stream));
            oldest_of_each.min_by_key(valid)
        } else {
            blocks_from(targets.len() as u8).min_by_key(valid)
        };
        let gaining = emptiest.filter(|block| valid(block) < blocks.pages_per_block());
        let found = gaining.or_else(|| blocks_from(0).min_by_key(valid));
        BlockId(found.expect("select is only called while a block is closed"))
    }
}

impl VictimPolicy for StreamQueues {
    fn needs(&self) -> Needs {
        Config::PROPERTIES.needs
    }

    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        self.queues.push(block.0, blocks.stream(block).0);
    }

    fn taken(&mut self, block: BlockId) {
        self.queues.remove(block.0);
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let victim = self.pick(blocks);
        self.queues.remove(victim.0);
        victim
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::units::StreamId;

    /// Builds a table of blocks of ten pages, closed in the order of their numbers, with these streams and valid
    /// pages.
    fn table(rows: &[(u8, u32)]) -> (Blocks, StreamQueues) {
        let valid: Vec<_> = rows.iter().map(|&(_, valid)| (valid, 0, 0)).collect();
        let mut blocks = Blocks::of_candidates(10, 500, &valid);
        let size =
            StoreSize { blocks: rows.len() as u32, pages_per_block: 10, logical_pages: 500, seed: Seed(1) };
        let mut policy = Config {}.build(&size).unwrap();
        for (block, &(stream, _)) in (0..).map(BlockId).zip(rows) {
            blocks.set_stream(block, StreamId(stream));
            policy.closed(block, &blocks);
        }
        (blocks, policy)
    }

    fn victims(blocks: &mut Blocks, policy: &mut StreamQueues, count: usize) -> Vec<u32> {
        let mut next = || {
            let victim = policy.select(blocks);
            blocks.take(victim);
            victim.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn streams_over_target_lose_their_oldest_blocks_in_order() {
        let (mut blocks, mut policy) = table(&[(1, 9), (0, 9), (2, 5), (1, 0), (0, 9), (2, 3), (1, 9)]);
        blocks.set_target_blocks(&[1, 2]);
        // Stream 0 has two blocks and a target of one, stream 1 three and a target of two; then the emptiest block of
        // the other streams.
        assert_eq!(victims(&mut blocks, &mut policy, 4), [1, 0, 5, 2]);
        // No block of the other streams is left, so the block with the fewest valid pages of all is taken.
        assert_eq!(victims(&mut blocks, &mut policy, 3), [3, 4, 6]);
    }

    #[test]
    fn without_targets_the_emptiest_of_the_oldest_is_taken() {
        let (mut blocks, mut policy) = table(&[(0, 5), (1, 6), (0, 1), (1, 2)]);
        // First, the oldest blocks have 5 and 6 valid pages, then 1 and 6; then only stream 1 has blocks.
        assert_eq!(victims(&mut blocks, &mut policy, 4), [0, 2, 1, 3]);
        let (mut blocks, mut policy) = table(&[(0, 10), (1, 10), (0, 10), (1, 9)]);
        assert_eq!(victims(&mut blocks, &mut policy, 1), [3], "the oldest have nothing to win");
    }

    #[test]
    fn taken_block_is_not_selected_again() {
        let (mut blocks, mut policy) = table(&[(0, 1), (0, 2)]);
        policy.taken(BlockId(0));
        blocks.take(BlockId(0));
        assert_eq!(victims(&mut blocks, &mut policy, 1), [1]);
    }
}
