//! A scan of spare areas that advances as pages are written (paper, App. D).

use super::pool::Pool;
use super::statistics::{Statistics, Tally};
use super::{BlockWear, FoundBlock, WearKind, WearLevelling};
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
    /// Spare areas read for each page programmed; 1 or more.
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
            due: 0,
            erases: 0,
            tally: Tally::EMPTY,
            last: None,
            pool: Pool::default(),
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
/// compared with the statistics of the previous scan, so that no block is moved during the first.
///
/// Dynamic wear levelling among the erased blocks. The paper compares a page's update timestamp with the average.
/// Here host pages are hot and moved pages are cold: cleaning can tell this without a timestamp.
pub struct Scan {
    config: Config,
    blocks: u32,
    /// Block that is scanned next.
    next: u32,
    /// Number of spare areas to be read.
    due: u64,
    /// The paper's global erase counter.
    erases: u32,
    tally: Tally,
    last: Option<Statistics>,
    pool: Pool,
    scans: u64,
}

impl Scan {
    /// Returns the result of the last full scan.
    pub fn statistics(&self) -> Option<Statistics> {
        self.last
    }

    /// Returns the number of full scans so far.
    pub fn scans(&self) -> u64 {
        self.scans
    }

    /// True if a block is exceptionally unworn and holds static data.
    fn is_target(&self, wear: BlockWear) -> bool {
        self.last.is_some_and(|last| {
            wear.erases.saturating_add(self.config.threshold) < last.erases.average
                && self.erases - wear.erased_at > last.ages.average
        })
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next < self.blocks {
            return;
        }
        self.next = 0;
        self.last = self.tally.statistics();
        self.tally = Tally::EMPTY;
        self.scans += 1;
    }
}

impl WearLevelling for Scan {
    fn next_move(
        &mut self,
        programs: u64,
        look: &mut dyn FnMut(BlockId) -> Option<BlockWear>,
    ) -> Option<BlockId> {
        self.due += programs * u64::from(self.config.scans_per_write);
        while self.due > 0 {
            self.due -= 1;
            let block = BlockId(self.next);
            let wear = look(block);
            let is_target = wear.is_some_and(|wear| self.is_target(wear));
            if let Some(wear) = wear {
                self.tally.add(wear, self.erases);
            }
            self.advance();
            if is_target {
                return Some(block);
            }
        }
        None
    }

    fn choose(&mut self, free: &VecDeque<BlockId>, hot: bool) -> usize {
        if self.config.dynamic { self.pool.take(free, hot) } else { 0 }
    }

    fn counts_erases(&self) -> bool {
        self.config.dynamic
    }

    fn erased(&mut self, block: BlockId, erases: u32) -> u32 {
        if self.config.dynamic {
            self.pool.add(block, erases);
        }
        let timestamp = self.erases;
        self.erases += 1;
        timestamp
    }

    /// Continues the counter after the newest timestamp, and treats the blocks found as a full scan.
    fn recover(&mut self, found: &[FoundBlock]) {
        let newest =
            found.iter().filter(|found| found.wear.erases > 0).map(|found| found.wear.erased_at).max();
        self.erases = newest.map_or(0, |newest| newest + 1);
        let mut tally = Tally::EMPTY;
        found.iter().for_each(|found| tally.add(found.wear, self.erases));
        self.last = tally.statistics();
        self.pool.clear();
        if self.config.dynamic {
            let erased = found.iter().filter(|found| found.is_erased && found.wear.erases > 0);
            erased.for_each(|found| self.pool.add(found.block, found.wear.erases));
        }
    }

    fn ram(&self) -> Vec<RamPart> {
        let statistics = size_of::<Statistics>() as u64;
        let position = size_of_val(&self.next) as u64;
        vec![
            RamPart { name: "wear statistics", bytes: statistics },
            RamPart { name: "global erase counter", bytes: size_of_val(&self.erases) as u64 },
            // The paper omits the position of the scan and its partial statistics.
            RamPart { name: "wear scan", bytes: position + Tally::BYTES },
            self.pool.ram(),
        ]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("wear scans", self.scans)]
    }
}
