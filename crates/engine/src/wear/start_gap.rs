//! Rotation: every block is emptied in turn, with hot or cold pages.

use super::{BlockWear, WearKind, WearLevelling};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::layer::RamPart;
use crate::units::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the rotation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Erases from one move to the next; 2 or more, because a move is an erase itself.
    #[schemars(range(min = 2))]
    pub interval: u32,
}

impl Default for Config {
    /// Default: the value of the paper, a hundred writes from one move of the gap to the next.
    fn default() -> Self {
        Config { interval: 100 }
    }
}

impl Config {
    /// Builds the policy for `blocks` blocks.
    pub fn policy(&self, blocks: u32) -> Result<StartGap, ConfigError> {
        if self.interval < 2 {
            let problem = format!("is {}; at least 2, for a move is an erase itself", self.interval);
            return Err(ConfigError::new("interval", problem));
        }
        Ok(StartGap { interval: self.interval, blocks, next: 0, erases: 0 })
    }
}

impl WearKind for Config {
    const ENTRY: Entry = Entry {
        name: "start_gap",
        help: "every `interval` erases the next block in a circle is moved, whatever its pages",
        source: "after Start-Gap: Qureshi et al., MICRO 2009",
    };

    fn build(&self, size: &StoreSize) -> Result<Option<Box<dyn WearLevelling>>, ConfigError> {
        Ok(Some(Box::new(self.policy(size.blocks)?)))
    }
}

/// Start-Gap moves a gap through the lines of a memory, one line every hundred writes. An FTL already has a gap (the
/// erased blocks) and a map; only the rotation of blocks remains. The policy does not consider wear, and reads no spare
/// areas.
///
/// After a power cut it restarts with the first block.
pub struct StartGap {
    interval: u32,
    blocks: u32,
    /// Block that is moved next.
    next: u32,
    /// Number of erases since the last move.
    erases: u32,
}

impl WearLevelling for StartGap {
    fn next_move(
        &mut self,
        _programs: u64,
        _read_wear: &mut dyn FnMut(BlockId) -> Option<BlockWear>,
    ) -> Option<BlockId> {
        if self.erases < self.interval {
            return None;
        }
        self.erases -= self.interval;
        let block = BlockId(self.next);
        self.next = (self.next + 1) % self.blocks;
        Some(block)
    }

    fn erased(&mut self, _block: BlockId, _erases: u32) -> u32 {
        self.erases += 1;
        0
    }

    fn ram(&self) -> Vec<RamPart> {
        let bytes = (size_of_val(&self.next) + size_of_val(&self.erases)) as u64;
        vec![RamPart { name: "wear rotation", bytes }]
    }
}
