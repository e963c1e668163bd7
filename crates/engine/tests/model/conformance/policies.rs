//! Notifications that victim policies and placements get from every engine.

use super::layers::{self, Chips, PAGES, bare_nand};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::{Seed, below};
use wearwell_base::units::{BlockId, Lpn, StreamId};
use wearwell_engine::checked::CheckedMedium;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::ftl::paged::{PagedFtl, Policies};
use wearwell_engine::layer::{Content, Layer, LayerReport, Reports};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::Faults;
use wearwell_engine::placement::{PageContext, Placement, PlacementConfig, PlacementContext};
use wearwell_engine::victim::{Below, Blocks, Needs, VictimConfig, VictimPolicy};

/// Counts of notifications to a policy.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    closed: u64,
    invalidated: u64,
    taken: u64,
    selected: u64,
}

/// Wrapper that tracks candidates and their scores from the notifications, and compares them with the table before
/// each selection.
struct Mirror {
    policy: Box<dyn VictimPolicy>,
    candidates: BTreeMap<BlockId, u32>,
    heard: Arc<Mutex<Heard>>,
}

impl Mirror {
    fn compare(&self, blocks: &Blocks) {
        let table: BTreeMap<BlockId, u32> =
            blocks.iter_candidates().map(|block| (block, blocks.score(block))).collect();
        assert_eq!(self.candidates, table, "a policy hears of every change");
    }

    fn selected(&mut self, block: BlockId) -> BlockId {
        self.candidates.remove(&block);
        self.heard.lock().unwrap().selected += 1;
        block
    }
}

impl VictimPolicy for Mirror {
    fn needs(&self) -> Needs {
        self.policy.needs()
    }

    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        assert!(blocks.is_candidate(block), "{block:?} is closed, and no candidate");
        self.candidates.insert(block, blocks.score(block));
        self.heard.lock().unwrap().closed += 1;
        self.policy.closed(block, blocks);
    }

    fn invalidated(&mut self, block: BlockId, score: u32, blocks: &Blocks) {
        if let Some(known) = self.candidates.get_mut(&block) {
            assert_eq!(score + 1, *known, "{block:?} lost a page");
            *known = score;
        }
        self.heard.lock().unwrap().invalidated += 1;
        self.policy.invalidated(block, score, blocks);
    }

    fn taken(&mut self, block: BlockId) {
        assert!(self.candidates.remove(&block).is_some(), "{block:?} was taken, and was no candidate");
        self.heard.lock().unwrap().taken += 1;
        self.policy.taken(block);
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        self.compare(blocks);
        let block = self.policy.select(blocks);
        self.selected(block)
    }

    fn select_above(&mut self, blocks: &Blocks, below: &dyn Below) -> BlockId {
        self.compare(blocks);
        let block = self.policy.select_above(blocks, below);
        self.selected(block)
    }

    fn final_draw(&mut self) -> u64 {
        self.policy.final_draw()
    }
}

fn size(seed: u64) -> StoreSize {
    StoreSize { blocks: 64, pages_per_block: 8, logical_pages: PAGES, seed: Seed(seed) }
}

/// A placement that counts its notifications.
struct Listening {
    placement: Box<dyn Placement>,
    heard: Arc<Mutex<Counted>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// Pages placed for the host and for cleaning.
    placed: [u64; 2],
    reclaimed: u64,
    trimmed: u64,
}

impl Placement for Listening {
    fn streams(&self) -> u8 {
        self.placement.streams()
    }

    fn host_stream(&self) -> Option<StreamId> {
        self.placement.host_stream()
    }

    fn cleaning_stream(&self) -> Option<StreamId> {
        self.placement.cleaning_stream()
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let stream = self.placement.place(context);
        assert!(stream.0 < self.streams(), "{stream:?} is none of {}", self.streams());
        self.heard.lock().unwrap().placed[usize::from(context.cause == Cause::Cleaning)] += 1;
        stream
    }

    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        assert!(stream.0 < self.streams() && opened_at <= now, "{stream:?} {opened_at} {now}");
        self.heard.lock().unwrap().reclaimed += 1;
        self.placement.reclaimed(stream, opened_at, now, valid_pages);
    }

    fn wants_block_history(&self) -> bool {
        self.placement.wants_block_history()
    }

    fn wanted_blocks(&self) -> &[u32] {
        self.placement.wanted_blocks()
    }

    fn wants_references(&self) -> bool {
        self.placement.wants_references()
    }

    fn trimmed(&mut self, page: Lpn) {
        self.heard.lock().unwrap().trimmed += 1;
        self.placement.trimmed(page);
    }

    fn memory_bytes(&self) -> usize {
        self.placement.memory_bytes()
    }
}

/// Notifications that both received from their engine.
struct Told {
    victim: Arc<Mutex<Heard>>,
    placement: Arc<Mutex<Counted>>,
}

fn parts(seed: u64, victim: &str, placement: &str) -> (Policies, Told) {
    let told = Told { victim: Arc::default(), placement: Arc::default() };
    let config: VictimConfig = serde_json::from_value(json!(victim)).unwrap();
    let policy = config.build_boxed(&size(seed)).unwrap();
    let victim = Mirror { policy, candidates: BTreeMap::new(), heard: told.victim.clone() };
    let config: PlacementConfig = serde_json::from_value(json!(placement)).unwrap();
    let context = PlacementContext { size: &size(seed), temperature: None, foresight: None };
    let placement = config.build_boxed(context).unwrap();
    let placement = Listening { placement, heard: told.placement.clone() };
    (Policies { victim: Box::new(victim), placement: Box::new(placement) }, told)
}

/// Creates flash with failing programs and read disturb, so that the engine also takes blocks that no policy
/// selected.
fn bad_nand(seed: u64) -> Chips<Content> {
    let faults = Faults { program_failure_rate: 0.0005, read_disturb_limit: Some(60) };
    CheckedMedium::new(bare_nand(seed).with_faults(faults, Seed(seed)))
}

/// Writes, reads and trims; returns the layer's report, and the number of trimmed pages that held data.
fn drive(layer: &mut dyn Layer<Content>, seed: u64) -> (LayerReport, u64) {
    let mut random = Seed(seed).random();
    let (mut trimmed, pages) = (0, u64::from(layer.logical_pages()));
    let mut held = vec![false; pages as usize];
    for number in 0..12_000 {
        let page = [Lpn(below(&mut random, pages) as u32)];
        let done = match below(&mut random, 10) {
            0 => layer.trim(&page).inspect(|()| {
                trimmed += u64::from(std::mem::take(&mut held[page[0].index()]));
            }),
            1..4 => layer.read(&page, &mut Vec::new()),
            _ => layer.write(&page, &[Content(1 + number)], 0).inspect(|()| held[page[0].index()] = true),
        };
        if done.is_err_and(|error| error.is_end_of_life()) {
            break;
        }
    }
    layer.check().unwrap();
    let mut reports = Reports::default();
    layer.describe(&mut reports);
    (reports.layers.swap_remove(0), trimmed)
}

const CASES: [(&str, &str); 5] = [
    ("greedy", "double"),
    ("fifo", "age_classes"),
    ("windowed_greedy", "write_count"),
    ("d_choices", "bloom"),
    ("stream_queues", "multi_log"),
];

fn check_victim(heard: Heard, report: &LayerReport, name: &str) {
    assert!(heard.closed > 0 && heard.invalidated > 0, "{name}: {heard:?}");
    assert!(heard.selected >= report.victim_valid_pages.iter().sum::<u64>(), "{name}: {heard:?}");
}

#[test]
fn log_notifies_its_policies_of_everything() {
    for (seed, (victim, placement)) in (1..).zip(CASES) {
        let (Policies { victim: policy, placement: streams }, told) = parts(seed, victim, placement);
        let low = u32::from(streams.streams()) + 1;
        let config = StoreConfig::new(PAGES, Reclaim::FreePool { low, high: low + 1 }, Seed(seed));
        let table = PageTable::new(PAGES, 64, 8);
        let mut store = LogStore::new(config, bad_nand(seed), table, policy, streams).unwrap();
        let (report, trimmed) = drive(&mut store, seed);
        let (heard, counted) = (*told.victim.lock().unwrap(), *told.placement.lock().unwrap());
        check_victim(heard, &report, victim);
        assert_eq!(counted.trimmed, trimmed, "{placement}");
        if placement != "double" {
            let written = report.counters.incoming(Operation::Write);
            assert!(counted.placed[0] >= written && counted.placed[1] > 0, "{placement}: {counted:?}");
        }
        if ["age_classes", "multi_log"].contains(&placement) {
            assert_eq!(counted.reclaimed, report.victim_valid_pages.iter().sum::<u64>(), "{placement}");
        }
    }
}

#[test]
fn ftl_with_its_map_in_flash_notifies_its_policies_of_everything() {
    for kind in ["dftl", "gecko"] {
        let mut taken = 0;
        for (seed, (victim, placement)) in (1..).zip(CASES) {
            let (policies, told) = parts(seed, victim, placement);
            let config = layers::paged(seed, kind).config().clone();
            let mut ftl = PagedFtl::new(config, bad_nand(seed), policies).unwrap();
            let (report, trimmed) = drive(&mut ftl, seed);
            let (heard, counted) = (*told.victim.lock().unwrap(), *told.placement.lock().unwrap());
            check_victim(heard, &report, kind);
            taken += heard.taken;
            assert_eq!(counted.trimmed, trimmed, "{kind}");
            let victims = report.victim_valid_pages.iter().sum::<u64>();
            let wants = ["age_classes", "multi_log"].contains(&placement);
            assert!((counted.reclaimed > 0) == wants && counted.reclaimed <= victims, "{kind}: {counted:?}");
            if placement != "double" {
                assert!(counted.placed.iter().all(|&placed| placed > 0), "{kind} {placement}: {counted:?}");
            }
        }
        assert!(taken > 0, "{kind}: blocks that fail, are read too often or are levelled are taken");
    }
}
