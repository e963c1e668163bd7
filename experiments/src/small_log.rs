//! An FTL with a few blocks, for scenarios that can be checked by hand.

use crate::Failure;
use wearwell_base::config::StoreSize;
use wearwell_base::seed::Seed;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Layer, LayerExt, LayerReport, Reports, no_data};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::Frontiers;
use wearwell_engine::victim::{VictimConfig, VictimPolicy};

/// Number of pages per block.
pub const PAGES_PER_BLOCK: u32 = 8;

/// FTL with one stream and greedy cleaning, which starts when only one erased block is left.
pub struct SmallLog(LogStore<Nand<()>, PageTable, Box<dyn VictimPolicy>, Frontiers>);

impl SmallLog {
    /// Returns an FTL with the given numbers of blocks and logical pages.
    pub fn new(blocks: u32, logical_pages: u32) -> Result<Self, Failure> {
        let seed = Seed(1);
        let size = StoreSize { blocks, pages_per_block: PAGES_PER_BLOCK, logical_pages, seed };
        let config = StoreConfig {
            prefetch: Some(false),
            ..StoreConfig::new(logical_pages, Reclaim::FreePool { low: 1, high: 1 }, seed)
        };
        let nand = Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, 4096), Wear::default(), seed);
        let table = PageTable::new(logical_pages, blocks, PAGES_PER_BLOCK);
        let victim = VictimConfig::default().build_boxed(&size)?;
        let mut log = LogStore::new(config, nand, table, victim, Frontiers::single())?;
        log.count_moves();
        Ok(SmallLog(log))
    }

    /// Writes these pages in order.
    pub fn write(&mut self, pages: impl IntoIterator<Item = u32>) -> Result<(), Failure> {
        let pages: Vec<Lpn> = pages.into_iter().map(Lpn).collect();
        Ok(self.0.write(&pages, no_data(pages.len()), 0)?)
    }

    /// Trims these pages in one request.
    pub fn trim(&mut self, pages: impl IntoIterator<Item = u32>) -> Result<(), Failure> {
        let pages: Vec<Lpn> = pages.into_iter().map(Lpn).collect();
        Ok(self.0.trim(&pages)?)
    }

    /// Returns the number of valid pages of each block that also has invalid pages.
    pub fn partly_valid(&self) -> Vec<u32> {
        let blocks = self.0.blocks();
        let valid = (0..blocks.len()).map(BlockId).map(|block| (block, blocks.valid_pages(block)));
        valid
            .filter(|(block, valid)| *valid > 0 && *valid < self.0.written(*block))
            .map(|(_, valid)| valid)
            .collect()
    }

    /// Returns the number of blocks into which trimmed ranges extended.
    pub fn trim_touched_blocks(&self) -> u64 {
        self.report().scatter.blocks
    }

    /// Returns the number of pages copied by cleaning so far.
    pub fn copied_pages(&self) -> u64 {
        self.report().counters.outgoing(Cause::Cleaning, Operation::Write)
    }

    /// Returns the number of these pages that were copied since they were written.
    pub fn copied_pages_of(&self, pages: impl IntoIterator<Item = u32>) -> u64 {
        self.0.moved_pages(&pages.into_iter().map(Lpn).collect::<Vec<_>>())
    }

    fn report(&self) -> LayerReport {
        let mut reports = Reports::default();
        self.0.describe(&mut reports);
        reports.layers.swap_remove(0)
    }
}

#[cfg(test)]
mod tests {
    use super::SmallLog;

    #[test]
    fn trim_across_block_boundary_leaves_two_blocks_partly_valid() {
        let mut log = SmallLog::new(12, 64).unwrap();
        log.write(0..64).unwrap();
        log.trim(20..28).unwrap();
        assert_eq!((log.trim_touched_blocks(), log.partly_valid(), log.copied_pages()), (2, vec![4, 4], 0));
        assert_eq!(log.copied_pages_of(0..64), 0);
    }
}
