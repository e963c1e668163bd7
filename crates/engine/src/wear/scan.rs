//! A scan of spare areas that advances as pages are written (paper, App. D).

use super::erased_blocks::ErasedBlocks;
use super::statistics::{Accumulator, Statistics};
use super::{BlockWear, RecoveredBlock, WearKind, WearLevelling};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::layer::RamPart;
use crate::units::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Settings of the scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of spare areas read for each programmed page; 1 or more.
    #[schemars(range(min = 1))]
    pub scans_per_write: u32,
    /// Minimum number of erases below the average for a block to be moved.
    pub threshold: u32,
    /// True if host pages go to the least worn of the erased blocks, and moved pages to the most worn.
    pub dynamic: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { scans_per_write: 1, threshold: 8, dynamic: true }
    }
}

impl Config {
    /// Builds the policy for `blocks` blocks.
    pub fn policy(&self, blocks: u32) -> Result<Scan, ConfigError> {
        if self.scans_per_write == 0 {
            let problem = "is 0; at least one spare area must be read for each page programmed";
            return Err(ConfigError::new("scans_per_write", problem));
        }
        Ok(Scan {
            config: self.clone(),
            blocks,
            next: 0,
            pending_reads: 0,
            erases: 0,
            accumulator: Accumulator::EMPTY,
            last_statistics: None,
            erased_blocks: ErasedBlocks::default(),
            scans: 0,
        })
    }
}

impl WearKind for Config {
    const ENTRY: Entry = Entry {
        name: "scan",
        help: "a gradual scan of spare areas finds unworn blocks with old data, and hot pages go to unworn blocks",
        source: "GeckoFTL (SIGMOD'16), Appendix D",
    };

    fn build(&self, size: &StoreSize) -> Result<Option<Box<dyn WearLevelling>>, ConfigError> {
        Ok(Some(Box::new(self.policy(size.blocks)?)))
    }
}

/// Static wear levelling by a scan: for every page programmed, the spare area of the next block is read. Blocks are
/// compared with the statistics of the previous scan, so that no block is moved during the first scan.
///
/// Dynamic wear levelling selects among the erased blocks. The paper compares a page's update timestamp with the
/// average. Here host pages are hot and moved pages are cold, which needs no timestamp.
pub struct Scan {
    config: Config,
    blocks: u32,
    /// Block that is scanned next.
    next: u32,
    /// Number of spare areas to be read.
    pending_reads: u64,
    /// The paper's global erase counter.
    erases: u32,
    accumulator: Accumulator,
    last_statistics: Option<Statistics>,
    erased_blocks: ErasedBlocks,
    scans: u64,
}

impl Scan {
    /// Returns the result of the last full scan.
    pub fn statistics(&self) -> Option<Statistics> {
        self.last_statistics
    }

    /// Returns the number of full scans so far.
    pub fn scans(&self) -> u64 {
        self.scans
    }

    /// True if a block was erased much less often than the average and holds static data.
    fn is_target(&self, wear: BlockWear) -> bool {
        self.last_statistics.is_some_and(|statistics| {
            wear.erases.saturating_add(self.config.threshold) < statistics.erases.average
                && self.erases - wear.erased_at > statistics.ages.average
        })
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next < self.blocks {
            return;
        }
        self.next = 0;
        self.last_statistics = self.accumulator.statistics();
        self.accumulator = Accumulator::EMPTY;
        self.scans += 1;
    }
}

impl WearLevelling for Scan {
    fn next_move(
        &mut self,
        programs: u64,
        read_wear: &mut dyn FnMut(BlockId) -> Option<BlockWear>,
    ) -> Option<BlockId> {
        self.pending_reads += programs * u64::from(self.config.scans_per_write);
        while self.pending_reads > 0 {
            self.pending_reads -= 1;
            let block = BlockId(self.next);
            let wear = read_wear(block);
            let is_target = wear.is_some_and(|wear| self.is_target(wear));
            if let Some(wear) = wear {
                self.accumulator.add(wear, self.erases);
            }
            self.advance();
            if is_target {
                return Some(block);
            }
        }
        None
    }

    fn choose(&mut self, free: &VecDeque<BlockId>, is_hot: bool) -> usize {
        if self.config.dynamic { self.erased_blocks.take(free, is_hot) } else { 0 }
    }

    fn uses_erase_counts(&self) -> bool {
        self.config.dynamic
    }

    fn erased(&mut self, block: BlockId, erases: u32) -> u32 {
        if self.config.dynamic {
            self.erased_blocks.add(block, erases);
        }
        let timestamp = self.erases;
        self.erases += 1;
        timestamp
    }

    /// Continues the counter after the newest timestamp, and treats the blocks found as a full scan.
    fn recover(&mut self, found: &[RecoveredBlock]) {
        let newest =
            found.iter().filter(|found| found.wear.erases > 0).map(|found| found.wear.erased_at).max();
        self.erases = newest.map_or(0, |newest| newest + 1);
        let mut accumulator = Accumulator::EMPTY;
        found.iter().for_each(|found| accumulator.add(found.wear, self.erases));
        self.last_statistics = accumulator.statistics();
        self.erased_blocks.clear();
        if self.config.dynamic {
            let erased = found.iter().filter(|found| found.is_erased && found.wear.erases > 0);
            erased.for_each(|found| self.erased_blocks.add(found.block, found.wear.erases));
        }
    }

    fn ram(&self) -> Vec<RamPart> {
        let statistics = size_of::<Statistics>() as u64;
        let position = size_of_val(&self.next) as u64;
        vec![
            RamPart { name: "wear statistics", bytes: statistics },
            RamPart { name: "global erase counter", bytes: size_of_val(&self.erases) as u64 },
            // The paper omits the position of the scan and its partial statistics.
            RamPart { name: "wear scan", bytes: position + Accumulator::BYTES },
            self.erased_blocks.ram(),
        ]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("wear scans", self.scans)]
    }
}
