//! Victim policy that takes blocks in the order in which they were closed.

use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::units::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Settings of the FIFO policy: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "fifo",
        help: "the block closed longest ago (cyclic cleaning)",
        source: "Robinson, Operating Systems Review 30(4), 1996; Menon, HPDC 1995",
    };
    const PROPERTIES: Properties = Properties { keeps_lists: true, ..Properties::NONE };
    type Policy = Fifo;

    fn build(&self, size: &StoreSize) -> Result<Fifo, ConfigError> {
        Ok(Fifo { closed: VecDeque::with_capacity(size.blocks as usize) })
    }
}

/// FIFO policy: a queue of the closed blocks.
pub struct Fifo {
    closed: VecDeque<BlockId>,
}

impl VictimPolicy for Fifo {
    #[inline]
    fn closed(&mut self, block: BlockId, _blocks: &Blocks) {
        self.closed.push_back(block);
    }

    fn taken(&mut self, block: BlockId) {
        self.closed.retain(|&closed| closed != block);
    }

    #[inline]
    fn select(&mut self, _blocks: &Blocks) -> BlockId {
        self.closed.pop_front().expect("select is only called while a block is closed")
    }

    #[inline]
    fn likely_victim(&self, _blocks: &Blocks) -> Option<BlockId> {
        self.closed.front().copied()
    }

    fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<BlockId>()
    }
}
