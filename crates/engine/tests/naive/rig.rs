//! Stores built from a description, and a rig that drives engine and model in parallel.

use super::cases::Op;
use super::observe::{observe, reports};
use super::{Model, Rule};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_base::seed::Seed;
use wearwell_base::units::{BlockId, Lpn, StreamId};
use wearwell_engine::layer::{Bytes, Layer, LayerError, LayerExt, Medium, MediumExt, Payload};
use wearwell_engine::log::{CopyOrder, LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{Frontiers, PageContext, Placement};
use wearwell_engine::victim::{Blocks, LowerLayerView, Needs, VictimConfig, VictimPolicy};

/// A payload that can hold a version number, or nothing.
pub trait Stamp: Payload {
    fn stamp(version: u64) -> Self;
}

impl Stamp for () {
    fn stamp(_version: u64) {}
}

impl Stamp for Bytes<8> {
    fn stamp(version: u64) -> Self {
        Bytes(version.to_le_bytes())
    }
}

/// Assignment of pages to streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Streams {
    Single,
    Double,
    /// `Mixing` over this many streams; the flags are true if the host's and cleaning's streams are fixed.
    Mixing(u8, bool, bool),
}

impl Streams {
    pub fn count(self) -> u32 {
        match self {
            Streams::Single => 1,
            Streams::Double => 2,
            Streams::Mixing(streams, ..) => streams.into(),
        }
    }

    pub fn build(self) -> Box<dyn Placement> {
        match self {
            Streams::Single => Box::new(Frontiers::single()),
            Streams::Double => Box::new(Frontiers::double()),
            Streams::Mixing(streams, host, cleaning) => {
                Box::new(Mixing { streams, host, cleaning, memory: 0 })
            }
        }
    }
}

/// A placement whose every answer depends on all earlier notifications, so that different notifications soon lead to
/// different placement.
struct Mixing {
    streams: u8,
    host: bool,
    cleaning: bool,
    memory: u64,
}

impl Mixing {
    fn mix(&mut self, values: [u64; 4]) {
        for value in values {
            self.memory = (self.memory ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        }
    }
}

impl Placement for Mixing {
    fn streams(&self) -> u8 {
        self.streams
    }

    fn host_stream(&self) -> Option<StreamId> {
        self.host.then_some(StreamId(0))
    }

    fn cleaning_stream(&self) -> Option<StreamId> {
        self.cleaning.then_some(StreamId(self.streams - 1))
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let from = context.from.map_or(u64::MAX, |stream| stream.0.into());
        let cause = context.cause as u64 + 16 * u64::from(context.hint);
        self.mix([context.page.0.into(), cause, context.now, from]);
        StreamId((self.memory >> 32) as u8 % self.streams)
    }

    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        self.mix([stream.0.into(), opened_at, now, valid_pages.into()]);
    }

    fn needs_block_history(&self) -> bool {
        true
    }

    fn trimmed(&mut self, page: Lpn) {
        self.mix([page.0.into(), 1, 2, 3]);
    }
}

/// Description of a store on flash.
#[derive(Clone, Debug)]
pub struct Setup {
    pub blocks: u32,
    pub pages_per_block: u32,
    pub logical_pages: u32,
    pub streams: Streams,
    pub reclaim: Reclaim,
    pub evict: bool,
    pub deferred_low: Option<u32>,
    pub idle_high: Option<u32>,
    pub copy_order: CopyOrder,
    pub victim: &'static str,
    pub choices: u32,
    pub prefetch: bool,
    pub wear: Wear,
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            blocks: 16,
            pages_per_block: 7,
            logical_pages: 80,
            streams: Streams::Single,
            reclaim: Reclaim::InPlace,
            evict: false,
            deferred_low: None,
            idle_high: None,
            copy_order: CopyOrder::Oldest,
            victim: "greedy",
            choices: 3,
            prefetch: false,
            wear: Wear::default(),
            seed: 1,
        }
    }
}

impl Setup {
    pub fn config(&self) -> StoreConfig {
        StoreConfig {
            logical_pages: self.logical_pages,
            reclaim: self.reclaim,
            copy_order: self.copy_order,
            prefetch: Some(self.prefetch),
            evicts: self.evict,
            deferred_low: self.deferred_low,
            idle_high: self.idle_high,
            seed: Seed(self.seed),
        }
    }

    pub fn nand<P: Payload>(&self) -> Nand<P> {
        Nand::new(Geometry::flat(self.blocks, self.pages_per_block, 4096), self.wear, Seed(self.seed))
    }

    pub fn page_table(&self) -> PageTable {
        PageTable::new(self.logical_pages, self.blocks, self.pages_per_block)
    }

    pub fn size(&self) -> StoreSize {
        StoreSize {
            blocks: self.blocks,
            pages_per_block: self.pages_per_block,
            logical_pages: self.logical_pages,
            seed: Seed(self.seed),
        }
    }

    pub fn victim(&self) -> VictimConfig {
        let policy = match self.victim {
            "d_choices" => serde_json::json!({"policy": "d_choices", "choices": self.choices}),
            name => serde_json::json!({ "policy": name }),
        };
        serde_json::from_value(policy).expect("a policy of the table")
    }

    pub fn boxed_victim(&self) -> Box<dyn VictimPolicy> {
        self.victim().build_boxed(&self.size()).expect("settings that fit")
    }

    /// Creates the engine on a medium of the setup's shape.
    pub fn engine_on<M: Medium>(&self, medium: M) -> Result<Engine<M>, ConfigError> {
        self.engine_recording_victims(medium).map(|(engine, _)| engine)
    }

    /// Creates the engine, with a record of its victims.
    pub fn engine_recording_victims<M: Medium>(
        &self,
        medium: M,
    ) -> Result<(Engine<M>, VictimRecord), ConfigError> {
        let recorder = VictimRecorder { policy: self.boxed_victim(), victims: Arc::default() };
        let victims = recorder.victims.clone();
        let pages = self.logical_pages + medium.metadata_pages();
        let table = PageTable::new(pages, self.blocks, self.pages_per_block);
        let mut engine = LogStore::new(self.config(), medium, table, recorder, self.streams.build())?;
        engine.count_moves();
        Ok((engine, victims))
    }

    pub fn engine<P: Payload>(&self) -> Engine<Nand<P>> {
        self.engine_on(self.nand()).expect("a setup within the documented limits")
    }

    /// Creates the naive store of the same shape.
    pub fn model(&self, nand: &impl Medium) -> Model {
        let bad: Vec<usize> = (0..self.blocks)
            .filter(|&block| nand.is_bad(BlockId(block)))
            .map(|block| block as usize)
            .collect();
        let rule = Rule::for_policy(self.victim, self.choices, Seed(self.seed));
        let shape = (self.blocks, self.pages_per_block);
        let mut model = Model::new(self.config(), shape, &bad, rule, self.streams.build());
        assert_eq!(self.wear.endurance_spread, 0.0, "the model gives every block the same endurance");
        model.endurance = self.wear.endurance_cycles;
        model
    }
}

/// The engine with recorded victims.
pub type Engine<M> = LogStore<M, PageTable, VictimRecorder, Box<dyn Placement>>;

/// Victims in the order in which they were taken.
pub type VictimRecord = Arc<Mutex<VecDeque<usize>>>;

/// Wrapper that records the selections of any policy.
pub struct VictimRecorder {
    policy: Box<dyn VictimPolicy>,
    victims: VictimRecord,
}

impl VictimPolicy for VictimRecorder {
    fn needs(&self) -> Needs {
        self.policy.needs()
    }

    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        self.policy.closed(block, blocks);
    }

    fn invalidated(&mut self, block: BlockId, score: u32, blocks: &Blocks) {
        self.policy.invalidated(block, score, blocks);
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let block = self.policy.select(blocks);
        self.victims.lock().unwrap().push_back(block.index());
        block
    }

    fn select_above(&mut self, blocks: &Blocks, below: &dyn LowerLayerView) -> BlockId {
        let block = self.policy.select_above(blocks, below);
        self.victims.lock().unwrap().push_back(block.index());
        block
    }

    fn likely_victim(&self, blocks: &Blocks) -> Option<BlockId> {
        self.policy.likely_victim(blocks)
    }

    fn final_draw(&mut self) -> u64 {
        self.policy.final_draw()
    }
}

/// Engine and model, which execute the same operations and are compared after each operation.
pub struct Rig<P: Stamp> {
    pub engine: Engine<Nand<P>>,
    pub model: Model,
    victims: VictimRecord,
    version: u64,
}

impl<P: Stamp> Rig<P> {
    pub fn new(setup: &Setup) -> Self {
        let nand = setup.nand();
        let model = setup.model(&nand);
        let (engine, victims) =
            setup.engine_recording_victims(nand).expect("a setup within the documented limits");
        Rig { engine, model, victims, version: 0 }
    }

    /// Executes the operation on the engine and on the model. Answers are compared here, states in `compare`.
    pub fn step(&mut self, op: &Op) -> Result<(), LayerError> {
        let pages = op.pages(self.model.config.logical_pages);
        let (engine, model) = match op {
            Op::Trim(_) | Op::TrimAll => (self.engine.trim(&pages), self.model.trim(&pages)),
            Op::Read(_) => {
                self.read(&pages);
                (Ok(()), Ok(()))
            }
            Op::Flush => {
                self.model.flush();
                (self.engine.flush(), Ok(()))
            }
            _ => self.write(&pages, op.hint()),
        };
        assert_eq!(engine, model, "the answers of engine and model");
        engine
    }

    fn write(&mut self, pages: &[Lpn], hint: u16) -> (Result<(), LayerError>, Result<(), LayerError>) {
        let versions: Vec<u64> = (self.version + 1..).take(pages.len()).collect();
        self.version += pages.len() as u64;
        let data: Vec<P> = versions.iter().map(|&version| P::stamp(version)).collect();
        let engine = self.engine.write(pages, &data, hint);
        self.model.pending_victims.append(&mut self.victims.lock().unwrap());
        (engine, self.model.write(pages, &versions, hint))
    }

    /// Reads the pages from the engine and from the model, and compares the contents.
    pub fn read(&mut self, pages: &[Lpn]) {
        let mut data = Vec::new();
        self.engine.read(pages, &mut data).expect("stored pages can be read");
        let contents = self.model.read(pages).expect("the same pages");
        let expected: Vec<P> = contents.into_iter().map(|content| P::stamp(content.unwrap())).collect();
        assert_eq!(data, expected, "content of {pages:?}");
    }

    /// Compares the whole observable state, including the content of every page.
    pub fn compare(&mut self) {
        self.engine.check().unwrap();
        assert!(self.model.pending_victims.is_empty(), "the engine cleaned more than the model");
        let all: Vec<Lpn> = (0..self.model.config.logical_pages).map(Lpn).collect();
        self.read(&all);
        observe(&self.engine).assert_equals(&self.model.observe());
        let nand = reports(&self.engine).nand.expect("there is flash at the bottom");
        assert_eq!((nand.programs, nand.reads, nand.erases), self.model.flash_totals());
        for (block, view) in (0..).map(BlockId).zip(self.model.observe().blocks) {
            let bad = view.state == super::BlockState::Bad;
            assert_eq!(self.engine.medium().next_page(block), (!bad).then_some(view.written), "{block:?}");
        }
    }
}
