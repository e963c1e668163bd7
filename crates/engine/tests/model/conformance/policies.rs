//! Notifications that victim policies and placements get from every engine.

use super::layers::{self, Chips, PAGES, bare_nand};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::{BlockId, Lpn, StreamId};
use wearwell_engine::checked::CheckedMedium;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::ftl::paged::{PagedFtl, Policies};
use wearwell_engine::layer::{ContentId, Layer, LayerReport, Reports};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::Faults;
use wearwell_engine::placement::{PageContext, Placement, PlacementConfig, PlacementContext};
use wearwell_engine::victim::{Blocks, LowerLayerView, Needs, VictimConfig, VictimPolicy};

/// Counts of notifications to a policy.
#[derive(Clone, Copy, Debug, Default)]
struct VictimNotifications {
    closed: u64,
    invalidated: u64,
    taken: u64,
    selected: u64,
}

/// Wrapper that tracks candidates and their scores from the notifications, and compares them with the table before
/// each selection.
struct CheckedVictimPolicy {
    policy: Box<dyn VictimPolicy>,
    candidates: BTreeMap<BlockId, u32>,
    notifications: Arc<Mutex<VictimNotifications>>,
}

impl CheckedVictimPolicy {
    fn compare(&self, blocks: &Blocks) {
        let table: BTreeMap<BlockId, u32> =
            blocks.iter_candidates().map(|block| (block, blocks.score(block))).collect();
        assert_eq!(self.candidates, table, "a policy hears of every change");
    }

    fn selected(&mut self, block: BlockId) -> BlockId {
        self.candidates.remove(&block);
        self.notifications.lock().unwrap().selected += 1;
        block
    }
}

impl VictimPolicy for CheckedVictimPolicy {
    fn needs(&self) -> Needs {
        self.policy.needs()
    }

    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        assert!(blocks.is_candidate(block), "{block:?} is closed, and no candidate");
        self.candidates.insert(block, blocks.score(block));
        self.notifications.lock().unwrap().closed += 1;
        self.policy.closed(block, blocks);
    }

    fn invalidated(&mut self, block: BlockId, score: u32, blocks: &Blocks) {
        if let Some(tracked) = self.candidates.get_mut(&block) {
            assert_eq!(score + 1, *tracked, "{block:?} lost a page");
            *tracked = score;
        }
        self.notifications.lock().unwrap().invalidated += 1;
        self.policy.invalidated(block, score, blocks);
    }

    fn taken(&mut self, block: BlockId) {
        assert!(self.candidates.remove(&block).is_some(), "{block:?} was taken, and was no candidate");
        self.notifications.lock().unwrap().taken += 1;
        self.policy.taken(block);
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        self.compare(blocks);
        let block = self.policy.select(blocks);
        self.selected(block)
    }

    fn select_above(&mut self, blocks: &Blocks, below: &dyn LowerLayerView) -> BlockId {
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
struct CountingPlacement {
    placement: Box<dyn Placement>,
    notifications: Arc<Mutex<PlacementNotifications>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PlacementNotifications {
    /// Pages placed for the host and for cleaning.
    placed: [u64; 2],
    reclaimed: u64,
    trimmed: u64,
}

impl Placement for CountingPlacement {
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
        self.notifications.lock().unwrap().placed[usize::from(context.cause == Cause::Cleaning)] += 1;
        stream
    }

    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        assert!(stream.0 < self.streams() && opened_at <= now, "{stream:?} {opened_at} {now}");
        self.notifications.lock().unwrap().reclaimed += 1;
        self.placement.reclaimed(stream, opened_at, now, valid_pages);
    }

    fn needs_block_history(&self) -> bool {
        self.placement.needs_block_history()
    }

    fn target_blocks(&self) -> &[u32] {
        self.placement.target_blocks()
    }

    fn needs_references(&self) -> bool {
        self.placement.needs_references()
    }

    fn trimmed(&mut self, page: Lpn) {
        self.notifications.lock().unwrap().trimmed += 1;
        self.placement.trimmed(page);
    }

    fn memory_bytes(&self) -> usize {
        self.placement.memory_bytes()
    }
}

/// Notifications that a victim policy and a placement received from their engine.
struct Notifications {
    victim: Arc<Mutex<VictimNotifications>>,
    placement: Arc<Mutex<PlacementNotifications>>,
}

fn watched_policies(seed: u64, victim: &str, placement: &str) -> (Policies, Notifications) {
    let notifications = Notifications { victim: Arc::default(), placement: Arc::default() };
    let config: VictimConfig = serde_json::from_value(json!(victim)).unwrap();
    let policy = config.build_boxed(&size(seed)).unwrap();
    let victim = CheckedVictimPolicy {
        policy,
        candidates: BTreeMap::new(),
        notifications: notifications.victim.clone(),
    };
    let config: PlacementConfig = serde_json::from_value(json!(placement)).unwrap();
    let context = PlacementContext { size: &size(seed), temperature: None, foresight: None };
    let placement = config.build_boxed(context).unwrap();
    let placement = CountingPlacement { placement, notifications: notifications.placement.clone() };
    (Policies { victim: Box::new(victim), placement: Box::new(placement) }, notifications)
}

/// Creates flash with failing programs and read disturb, so that the engine also takes blocks that no policy
/// selected.
fn faulty_nand(seed: u64) -> Chips<ContentId> {
    let faults = Faults { program_failure_rate: 0.0005, read_disturb_limit: Some(60) };
    CheckedMedium::new(bare_nand(seed).with_faults(faults, Seed(seed)))
}

/// Writes, reads and trims; returns the layer's report, and the number of trimmed pages that held data.
fn drive(layer: &mut dyn Layer<ContentId>, seed: u64) -> (LayerReport, u64) {
    let mut random = Seed(seed).random();
    let (mut trimmed, pages) = (0, u64::from(layer.logical_pages()));
    let mut has_data = vec![false; pages as usize];
    for number in 0..12_000 {
        let page = [Lpn(random_below(&mut random, pages) as u32)];
        let done = match random_below(&mut random, 10) {
            0 => layer.trim(&page).inspect(|()| {
                trimmed += u64::from(std::mem::take(&mut has_data[page[0].index()]));
            }),
            1..4 => layer.read(&page, &mut Vec::new()),
            _ => {
                layer.write(&page, &[ContentId(1 + number)], 0).inspect(|()| has_data[page[0].index()] = true)
            }
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

fn check_victim(notifications: VictimNotifications, report: &LayerReport, name: &str) {
    assert!(notifications.closed > 0 && notifications.invalidated > 0, "{name}: {notifications:?}");
    assert!(
        notifications.selected >= report.victim_valid_pages.iter().sum::<u64>(),
        "{name}: {notifications:?}"
    );
}

#[test]
fn log_notifies_its_policies_of_all_events() {
    for (seed, (victim, placement)) in (1..).zip(CASES) {
        let (Policies { victim: policy, placement: streams }, notifications) =
            watched_policies(seed, victim, placement);
        let low = u32::from(streams.streams()) + 1;
        let config = StoreConfig::new(PAGES, Reclaim::FreePool { low, high: low + 1 }, Seed(seed));
        let table = PageTable::new(PAGES, 64, 8);
        let mut store = LogStore::new(config, faulty_nand(seed), table, policy, streams).unwrap();
        let (report, trimmed) = drive(&mut store, seed);
        let (victim_counts, placement_counts) =
            (*notifications.victim.lock().unwrap(), *notifications.placement.lock().unwrap());
        check_victim(victim_counts, &report, victim);
        assert_eq!(placement_counts.trimmed, trimmed, "{placement}");
        if placement != "double" {
            let written = report.counters.incoming(Operation::Write);
            assert!(
                placement_counts.placed[0] >= written && placement_counts.placed[1] > 0,
                "{placement}: {placement_counts:?}"
            );
        }
        if ["age_classes", "multi_log"].contains(&placement) {
            assert_eq!(
                placement_counts.reclaimed,
                report.victim_valid_pages.iter().sum::<u64>(),
                "{placement}"
            );
        }
    }
}

#[test]
fn paged_ftl_notifies_its_policies_of_all_events() {
    for kind in ["dftl", "gecko"] {
        let mut taken = 0;
        for (seed, (victim, placement)) in (1..).zip(CASES) {
            let (policies, notifications) = watched_policies(seed, victim, placement);
            let config = layers::paged(seed, kind).config().clone();
            let mut ftl = PagedFtl::new(config, faulty_nand(seed), policies).unwrap();
            let (report, trimmed) = drive(&mut ftl, seed);
            let (victim_counts, placement_counts) =
                (*notifications.victim.lock().unwrap(), *notifications.placement.lock().unwrap());
            check_victim(victim_counts, &report, kind);
            taken += victim_counts.taken;
            assert_eq!(placement_counts.trimmed, trimmed, "{kind}");
            let victims = report.victim_valid_pages.iter().sum::<u64>();
            let needs_history = ["age_classes", "multi_log"].contains(&placement);
            assert!(
                (placement_counts.reclaimed > 0) == needs_history && placement_counts.reclaimed <= victims,
                "{kind}: {placement_counts:?}"
            );
            if placement != "double" {
                assert!(
                    placement_counts.placed.iter().all(|&placed| placed > 0),
                    "{kind} {placement}: {placement_counts:?}"
                );
            }
        }
        assert!(taken > 0, "{kind}: blocks that fail, are read too often or are levelled are taken");
    }
}
