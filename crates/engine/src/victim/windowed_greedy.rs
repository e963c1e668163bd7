//! Victim policy that takes the fewest valid pages among the blocks closed longest ago.

use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::units::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Settings of the windowed greedy policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Number of blocks examined for each victim (`w`): those closed longest ago; 1 (FIFO) or more.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1))]
    pub window: u32,
}

fn hundred() -> u32 {
    100
}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "windowed_greedy",
        help: "fewest valid pages among the `window` blocks closed longest ago",
        source: "Hu, Eleftheriou, Haas, Iliadis and Pletka, SYSTOR 2009",
    };
    const PROPERTIES: Properties = Properties { keeps_lists: true, ..Properties::NONE };
    type Policy = WindowedGreedy;

    fn build(&self, size: &StoreSize) -> Result<WindowedGreedy, ConfigError> {
        if self.window == 0 {
            return Err(ConfigError::new("window", "is 0; at least one block must be looked at"));
        }
        Ok(WindowedGreedy {
            window: self.window as usize,
            closed: VecDeque::with_capacity(size.blocks as usize),
        })
    }
}

/// Takes the block with the fewest valid pages among the first `window` closed blocks of a queue; among equals the
/// one closed first.
///
/// Removal shifts fewer than `window` entries, so that a victim costs `O(window)`.
pub struct WindowedGreedy {
    window: usize,
    closed: VecDeque<BlockId>,
}

impl VictimPolicy for WindowedGreedy {
    fn closed(&mut self, block: BlockId, _blocks: &Blocks) {
        self.closed.push_back(block);
    }

    fn taken(&mut self, block: BlockId) {
        self.closed.retain(|&closed| closed != block);
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let window = self.closed.iter().take(self.window).enumerate();
        let best = window.min_by_key(|&(_, &block)| blocks.score(block)).map(|(at, _)| at);
        best.and_then(|at| self.closed.remove(at)).expect("select is only called while a block is closed")
    }

    fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<BlockId>()
    }
}
