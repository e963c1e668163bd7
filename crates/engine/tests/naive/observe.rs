//! The observable state of a store, in a form that engine and model can both provide.

use super::Model;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Counters, Operation};
use wearwell_engine::layer::{Layer, Medium, Reports};
use wearwell_engine::log::{Directory, LogStore};
use wearwell_engine::placement::Placement;
use wearwell_engine::victim::VictimPolicy;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockState {
    Erased,
    Open,
    Closed,
    Bad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockView {
    pub state: BlockState,
    /// Pages programmed since the last erase.
    pub written: u32,
    pub valid: u32,
    pub erases: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub counters: Counters,
    pub mapped_pages: u32,
    pub victim_valid_pages: Vec<u64>,
    pub spilled_pages: u64,
    pub erased_blocks: usize,
    pub blocks: Vec<BlockView>,
    /// Block of each logical page, and its position there if the directory knows it.
    pub locations: Vec<Option<(u32, Option<u32>)>>,
}

impl Observation {
    /// Removes the positions of pages within their blocks.
    pub fn without_positions(mut self) -> Self {
        self.locations.iter_mut().flatten().for_each(|(_, page)| *page = None);
        self
    }

    /// Panics with the first difference between the two; printing both completely would fill many screens.
    #[track_caller]
    pub fn assert_equals(&self, other: &Observation) {
        assert_eq!(self.counters, other.counters);
        assert_eq!(self.victim_valid_pages, other.victim_valid_pages, "victims by valid pages");
        for (block, pair) in self.blocks.iter().zip(&other.blocks).enumerate() {
            assert_eq!(pair.0, pair.1, "block {block}");
        }
        for (page, pair) in self.locations.iter().zip(&other.locations).enumerate() {
            assert_eq!(pair.0, pair.1, "place of page {page}");
        }
        assert!(self == other, "{self:?}\n{other:?}");
    }

    /// Returns a hash of the whole state.
    pub fn hash(&self) -> u64 {
        // FNV-1a over the text: the standard library guarantees no stable hash function.
        let text = format!("{self:?}");
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

pub fn reports<P: wearwell_engine::layer::Payload>(layer: &(impl Layer<P> + ?Sized)) -> Reports {
    let mut reports = Reports::default();
    layer.describe(&mut reports);
    reports
}

/// Returns the observable state of the engine.
pub fn observe<M, D, V, P>(store: &LogStore<M, D, V, P>) -> Observation
where
    M: Medium,
    D: Directory,
    V: VictimPolicy,
    P: Placement,
{
    let report = reports(store).layers.swap_remove(0);
    let blocks: Vec<BlockView> = (0..store.blocks().len()).map(|block| view(store, BlockId(block))).collect();
    let location_of =
        |page| Some((store.directory().block_of(page)?.0, store.directory().page_in_block(page)));
    Observation {
        counters: report.counters,
        mapped_pages: report.mapped_pages,
        victim_valid_pages: report.victim_valid_pages,
        spilled_pages: report.spilled_pages,
        erased_blocks: count(&blocks, BlockState::Erased),
        locations: (0..store.logical_pages()).map(|page| location_of(Lpn(page))).collect(),
        blocks,
    }
}

fn count(blocks: &[BlockView], state: BlockState) -> usize {
    blocks.iter().filter(|block| block.state == state).count()
}

fn view<M, D, V, P>(store: &LogStore<M, D, V, P>, block: BlockId) -> BlockView
where
    M: Medium,
    D: Directory,
    V: VictimPolicy,
    P: Placement,
{
    let written = store.written(block);
    let state = match () {
        () if store.medium().is_bad(block) => BlockState::Bad,
        () if store.blocks().is_candidate(block) => BlockState::Closed,
        () if written > 0 => BlockState::Open,
        () => BlockState::Erased,
    };
    // The engine counts the unwritten pages of an open block as valid until they are invalidated.
    let unwritten = if written > 0 { store.blocks().pages_per_block() - written } else { 0 };
    let valid = store.blocks().valid_pages(block) - unwritten;
    BlockView { state, written, valid, erases: store.medium().erases(block) }
}

impl Model {
    /// Returns the observable state of the model.
    pub fn observe(&self) -> Observation {
        let view = |(at, block): (usize, &super::Block)| BlockView {
            state: block.state,
            written: block.pages.len() as u32,
            valid: self.valid(at) as u32,
            erases: block.erases,
        };
        let blocks: Vec<BlockView> = self.blocks.iter().enumerate().map(view).collect();
        Observation {
            counters: self.counters,
            mapped_pages: self.map.iter().flatten().count() as u32,
            victim_valid_pages: self.victims.clone(),
            spilled_pages: self.spilled,
            erased_blocks: self.free.len(),
            locations: self
                .map
                .iter()
                .map(|place| place.map(|(block, page)| (block as u32, Some(page as u32))))
                .collect(),
            blocks,
        }
    }

    /// Returns pages programmed, pages read and blocks erased: all operations of the flash below.
    pub fn flash_totals(&self) -> (u64, u64, u64) {
        let total = |operation| self.counters.outgoing_total(operation);
        (total(Operation::Write), total(Operation::Read), total(Operation::Erase))
    }
}
