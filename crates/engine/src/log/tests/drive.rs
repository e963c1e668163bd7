//! A small drive whose flash layout can be printed, for tests.

use crate::config::ConfigError;
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{ContentId, Layer, LayerReport, NandReport, Reports};
use crate::log::{Directory, LogStore, PageTable, Reclaim, StoreConfig};
use crate::nand::{Geometry, Nand, Wear};
use crate::placement::{Frontiers, PageContext, Placement};
use crate::seed::Seed;
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::{Blocks, VictimPolicy};
use std::collections::VecDeque;

/// Victim policy that takes blocks in the order in which they were closed, so that the victim is predictable.
#[derive(Default)]
pub struct Fifo(VecDeque<BlockId>);

impl VictimPolicy for Fifo {
    fn closed(&mut self, block: BlockId, _blocks: &Blocks) {
        self.0.push_back(block);
    }

    fn select(&mut self, _blocks: &Blocks) -> BlockId {
        self.0.pop_front().expect("there is a candidate")
    }

    fn taken(&mut self, block: BlockId) {
        self.0.retain(|&other| other != block);
    }
}

/// A placement for tests: the host writes to stream 0; cleaning chooses streams by page number.
pub struct StreamByPageNumber(pub u8);

impl Placement for StreamByPageNumber {
    fn streams(&self) -> u8 {
        self.0
    }

    fn host_stream(&self) -> Option<StreamId> {
        Some(StreamId(0))
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        StreamId((context.page.0 % u32::from(self.0)) as u8)
    }
}

pub type Store<P = Frontiers> = LogStore<Nand<ContentId>, PageTable, Fifo, P>;

/// A store and the number of the last page write, which is also the content of the written page.
pub struct Drive<P: Placement = Frontiers> {
    pub store: Store<P>,
    pub version: u64,
    pub expected: Vec<u64>,
}

pub const SINGLE: fn() -> Frontiers = Frontiers::single;
pub const DOUBLE: fn() -> Frontiers = Frontiers::double;
pub const PAGES_PER_BLOCK: u32 = 3;

/// Creates flash with blocks of 3 pages and spare areas.
pub fn flash(blocks: u32, wear: Wear) -> Nand<ContentId> {
    Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, 4096), wear, Seed(1)).with_spare_area()
}

pub fn config(logical_pages: u32, reclaim: Reclaim) -> StoreConfig {
    StoreConfig::new(logical_pages, reclaim, Seed(1))
}

pub fn build<P: Placement>(
    config: StoreConfig,
    nand: Nand<ContentId>,
    placement: P,
) -> Result<Store<P>, ConfigError> {
    use crate::layer::Medium;
    let table = PageTable::new(config.logical_pages, nand.blocks(), nand.pages_per_block());
    LogStore::new(config, nand, table, Fifo::default(), placement)
}

impl<P: Placement> Drive<P> {
    pub fn new(blocks: u32, config: StoreConfig, placement: P) -> Self {
        Drive::from_store(build(config, flash(blocks, Wear::default()), placement).unwrap())
    }

    pub fn from_store(store: Store<P>) -> Self {
        let expected = vec![0; store.logical_pages() as usize];
        Drive { store, version: 0, expected }
    }

    /// Writes the pages, one per call.
    pub fn write(&mut self, pages: &[u32]) {
        for &page in pages {
            self.version += 1;
            self.store.write(&[Lpn(page)], &[ContentId(self.version)], 0).unwrap();
            self.expected[page as usize] = self.version;
        }
    }

    pub fn trim(&mut self, pages: &[u32]) {
        let all: Vec<Lpn> = pages.iter().map(|&page| Lpn(page)).collect();
        self.store.trim(&all).unwrap();
        pages.iter().for_each(|&page| self.expected[page as usize] = 0);
    }

    /// Returns the blocks as text: the owners of their pages in order, invalid ones in brackets, `-` for an erased
    /// page, `x` for an unreadable page; `bad` for a bad block.
    pub fn layout(&self) -> Vec<String> {
        layout(&self.store)
    }

    /// Compares all contents with the data written, and runs the consistency check. The reads are counted.
    pub fn check(&mut self) {
        self.store.check().unwrap();
        let all: Vec<Lpn> = (0..self.expected.len() as u32).map(Lpn).collect();
        let mut read = Vec::new();
        self.store.read(&all, &mut read).unwrap();
        let expected: Vec<ContentId> = self.expected.iter().map(|&version| ContentId(version)).collect();
        assert_eq!(read, expected);
    }

    pub fn reports(&self) -> (LayerReport, NandReport) {
        reports(&self.store)
    }

    pub fn counters(&self) -> Counters {
        self.reports().0.counters
    }

    /// Returns the numbers of pages that cleaning wrote and read, and of blocks that it erased.
    pub fn cleaning_counts(&self) -> [u64; 3] {
        let counters = self.counters();
        [Operation::Write, Operation::Read, Operation::Erase]
            .map(|operation| counters.outgoing(Cause::Cleaning, operation))
    }

    /// Returns the numbers of victims by valid pages.
    pub fn victims_by_valid_pages(&self) -> Vec<u64> {
        self.reports().0.victim_valid_pages
    }
}

pub fn reports(layer: &impl Layer<ContentId>) -> (LayerReport, NandReport) {
    let mut reports = Reports::default();
    layer.describe(&mut reports);
    (reports.layers.remove(0), reports.nand.unwrap())
}

pub fn layout<P: Placement>(store: &Store<P>) -> Vec<String> {
    use crate::layer::Medium;
    use crate::nand::PageState;
    let nand = store.medium();
    let spare = nand.spare_area().unwrap();
    let page = |block: BlockId, page: u32| match spare.page(block, page) {
        PageState::Erased => "-".to_owned(),
        PageState::Unreadable => "x".to_owned(),
        PageState::Written(written) => {
            let directory = store.directory();
            let owner = written.owner;
            let is_current =
                directory.block_of(owner) == Some(block) && directory.page_in_block(owner) == Some(page);
            if is_current { owner.0.to_string() } else { format!("({})", owner.0) }
        }
    };
    (0..nand.blocks())
        .map(BlockId)
        .map(|block| match nand.is_bad(block) {
            true => "bad".to_owned(),
            false => (0..nand.pages_per_block()).map(|at| page(block, at)).collect::<Vec<_>>().join(" "),
        })
        .collect()
}
