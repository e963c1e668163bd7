//! Deduplication: after any merges, each page reads as last written.

mod figures;

use crate::naive::cases::{Op, ops};
use crate::naive::observe::reports;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wearwell_base::config::StoreSize;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::dedup::{Dedup, DedupConfig, SharedTables};
use wearwell_engine::layer::{ContentId, DedupReport, Layer, LayerExt, LayerReport};
use wearwell_engine::log::{BoxedLayer, LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{PlacementConfig, PlacementContext};
use wearwell_engine::timing::{Journal, Step};
use wearwell_engine::victim::{VictimConfig, VictimPolicy};

/// A deduplicating drive.
#[derive(Clone, Debug)]
struct DriveConfig {
    dedup: Value,
    victim: &'static str,
    placement: Value,
    logical_pages: u32,
    atomic_pages: u32,
    pages_per_block: u32,
    /// Blocks in addition to those that the store requires.
    spare_blocks: u32,
    /// Watermarks of the pool.
    watermarks: (u32, u32),
    seed: u64,
}

impl Default for DriveConfig {
    fn default() -> Self {
        DriveConfig {
            dedup: json!("cagc"),
            victim: "greedy",
            placement: json!("references"),
            logical_pages: 120,
            atomic_pages: 0,
            pages_per_block: 8,
            spare_blocks: 2,
            watermarks: (2, 3),
            seed: 1,
        }
    }
}

impl DriveConfig {
    /// Builds the store, whose cleaning consults `sharing`, if given.
    fn store(
        &self,
        pages: u32,
        sharing: Option<&SharedTables>,
        journal: &Journal,
        victim: Option<Box<dyn VictimPolicy>>,
    ) -> BoxedLayer<ContentId> {
        let placement: PlacementConfig = serde_json::from_value(self.placement.clone()).unwrap();
        let size = StoreSize {
            blocks: 0,
            pages_per_block: self.pages_per_block,
            logical_pages: pages,
            seed: Seed(self.seed),
        };
        let streams = placement
            .build_boxed(PlacementContext { size: &size, temperature: None, foresight: None })
            .unwrap();
        let reclaim = Reclaim::FreePool { low: self.watermarks.0, high: self.watermarks.1 };
        let blocks = pages.div_ceil(self.pages_per_block)
            + reclaim.reserved_blocks(streams.streams())
            + self.spare_blocks;
        let size = StoreSize { blocks, ..size };
        let streams = placement
            .build_boxed(PlacementContext { size: &size, temperature: None, foresight: None })
            .unwrap();
        let config = StoreConfig::new(pages, reclaim, Seed(self.seed));
        let policy: VictimConfig = serde_json::from_value(json!(self.victim)).unwrap();
        let policy = victim.unwrap_or_else(|| policy.build_boxed(&size).unwrap());
        let nand =
            Nand::new(Geometry::flat(blocks, self.pages_per_block, 4096), Wear::default(), Seed(self.seed));
        let table = PageTable::new(pages, blocks, self.pages_per_block);
        let mut store = LogStore::new(config, nand, table, policy, streams).unwrap();
        store.count_moves();
        let needs_references = self.placement == json!("references");
        match sharing.and_then(|sharing| sharing.migration_policy(Some(journal.clone()), needs_references)) {
            Some(migration) => Box::new(store.with_migration_policy(migration).unwrap()),
            None => Box::new(store),
        }
    }

    fn build_with(&self, victim: Option<Box<dyn VictimPolicy>>) -> (Dedup, Journal) {
        let (config, journal) = (self.config(), Journal::default());
        let sharing = SharedTables::new(&config, self.logical_pages, self.atomic_pages).unwrap();
        let store = self.store(sharing.store_pages(), Some(&sharing), &journal, victim);
        (Dedup::new(sharing, store, Some(journal.clone())).unwrap(), journal)
    }

    fn config(&self) -> DedupConfig {
        serde_json::from_value(self.dedup.clone()).unwrap()
    }

    fn detects_collisions(&self) -> bool {
        self.config().index().verify || self.config().index().fingerprint_bits == 64
    }
}

/// A drive and its expected contents.
struct Rig {
    layer: Dedup,
    journal: Journal,
    shadow: Vec<ContentId>,
    random: Random,
    /// Number of different contents written.
    variety: u64,
}

impl Rig {
    fn new(drive: &DriveConfig, variety: u64) -> Self {
        let (layer, journal) = drive.build_with(None);
        let shadow = vec![ContentId::UNKNOWN; drive.logical_pages as usize];
        Rig { layer, journal, shadow, random: Seed(drive.seed).derive("contents").random(), variety }
    }

    fn step(&mut self, op: &Op, atomic: bool) {
        let pages = op.pages(self.layer.logical_pages());
        match op {
            Op::Trim(_) | Op::TrimAll => {
                self.layer.trim(&pages).unwrap();
                pages.iter().for_each(|page| self.shadow[page.index()] = ContentId::UNKNOWN);
            }
            Op::Read(_) => self.layer.read(&pages, &mut Vec::new()).unwrap(),
            Op::Flush => self.layer.flush().unwrap(),
            _ => self.write(&pages, op.hint(), atomic),
        }
    }

    fn write(&mut self, pages: &[Lpn], hint: u16, atomic: bool) {
        let draw = |_: &Lpn| ContentId(random_below(&mut self.random, self.variety + 1));
        let data: Vec<ContentId> = pages.iter().map(draw).collect();
        let group = if atomic { self.layer.atomic_pages() as usize } else { 0 };
        if group > 0 {
            for (pages, data) in pages.chunks(group).zip(data.chunks(group)) {
                self.layer.write_atomic(pages, data, hint).unwrap();
            }
        } else {
            self.layer.write(pages, &data, hint).unwrap();
        }
        pages.iter().zip(data).for_each(|(page, content)| self.shadow[page.index()] = content);
    }

    fn contents(&mut self) -> Vec<ContentId> {
        let all: Vec<Lpn> = (0..self.layer.logical_pages()).map(Lpn).collect();
        let mut read = Vec::new();
        self.layer.read(&all, &mut read).unwrap();
        read
    }

    fn report(&self) -> (LayerReport, DedupReport) {
        let report = reports(&self.layer).layers.swap_remove(0);
        let dedup = report.dedup.unwrap();
        (report, dedup)
    }

    /// Checks all invariants except contents.
    fn check_invariants(&mut self) {
        self.layer.check().unwrap();
        let mut sharers: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for page in (0..self.shadow.len() as u32).map(Lpn) {
            let Some((slot, references, _)) = self.layer.sharing().slot_of(page) else { continue };
            let entry = sharers.entry(slot).or_insert((0, references));
            entry.0 += 1;
            assert_eq!(entry.1, references);
        }
        assert!(sharers.values().all(|(found, counted)| found == counted), "{sharers:?}");
        let (report, dedup) = self.report();
        let stored = report.counters.outgoing(Cause::Host, Operation::Write);
        assert_eq!(report.counters.incoming(Operation::Write), dedup.hits + dedup.misses);
        assert_eq!(stored, dedup.misses);
        let own_writes = dedup.index_writes + dedup.map_log_pages + dedup.map_checkpoint_pages;
        assert_eq!(report.counters.outgoing(Cause::Dedup, Operation::Write), own_writes);
        let own_reads = dedup.index_reads + dedup.verify_reads;
        assert_eq!(report.counters.outgoing(Cause::Dedup, Operation::Read), own_reads);
        let nand = reports(&self.layer).nand.unwrap();
        assert_eq!(nand.programs, report.counters.outgoing_total(Operation::Write));
        assert_eq!(nand.reads, report.counters.outgoing_total(Operation::Read));
        assert_eq!(dedup.live_by_references.iter().sum::<u64>(), sharers.len() as u64);
        let mut steps = Vec::new();
        self.journal.take(&mut steps);
    }

    fn compare_contents(&mut self) {
        let read = self.contents();
        assert_eq!(read, self.shadow);
        for (page, &content) in self.shadow.iter().enumerate() {
            if let Some((_, _, known)) = self.layer.sharing().slot_of(Lpn(page as u32)) {
                assert!(
                    known == content || known == ContentId::UNKNOWN,
                    "page {page}: {known:?}, {content:?}"
                );
            }
        }
    }
}

fn kinds() -> impl Strategy<Value = Value> {
    let cagc = (any::<bool>(), 1..4u32, any::<bool>()).prop_map(|(rehash, threshold, now)| {
        let promotion = if now { "now" } else { "when_moved" };
        json!({ "kind": "cagc", "rehash": rehash, "threshold": threshold, "promotion": promotion })
    });
    prop_oneof![
        1 => Just(json!({ "kind": "inline" })),
        1 => Just(json!({ "kind": "sampled" })),
        1 => (1..=32u32).prop_map(|bits| json!({ "kind": "pre_hashed", "pre_hash_bits": bits })),
        3 => cagc,
    ]
}

fn indexes() -> impl Strategy<Value = Value> {
    let entries = prop_oneof![1 => Just(Value::Null), 1 => (1..60u32).prop_map(|entries| json!(entries))];
    let bits = prop_oneof![1 => Just((64, false)), 1 => (1..64u32).prop_map(|bits| (bits, true))];
    let paged = prop_oneof![
        2 => Just(Value::Null),
        1 => (1..20u32, 1..8u32).prop_map(|(entries, cached)| json!({ "page_entries": entries, "cached_pages": cached })),
    ];
    (entries, bits, paged).prop_map(|(entries, (bits, verify), paged)| {
        json!({ "entries": entries, "fingerprint_bits": bits, "verify": verify, "paged": paged })
    })
}

fn placements() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("single"),
        json!("double"),
        json!("references"),
        json!({ "kind": "references", "threshold": 2, "separate_cleaned": true }),
        json!("write_count"),
        json!("host_hint"),
        json!("age_classes"),
    ])
}

prop_compose! {
    fn drives()(
        mut dedup in kinds(),
        index in indexes(),
        log in prop::option::of(1..30u32),
        victim in prop::sample::select(&[
            "greedy", "d_choices", "random", "fifo", "cost_benefit", "cost_age_time", "windowed_greedy", "random_plus_plus",
        ][..]),
        placement in placements(),
        logical_pages in 8..200u32,
        pages_per_block in 1..17u32,
        atomic in any::<bool>(),
        spare_blocks in 0..6u32,
        (low, more) in (1..4u32, 0..3u32),
        seed in any::<u64>(),
    ) -> DriveConfig {
        dedup["index"] = index;
        if let (Some(records), false) = (log, atomic) {
            dedup["map_log"] = json!(true);
            dedup["map_log_page_records"] = json!(records);
        }
        let atomic_pages = if atomic { pages_per_block.min(5) } else { 0 };
        let watermarks = (low, low + more);
        DriveConfig { dedup, victim, placement, logical_pages, atomic_pages, pages_per_block, spare_blocks, watermarks, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn each_page_reads_back_what_was_written(
        drive in drives(), ops in ops(16), atomic in any::<bool>(), variety in prop::sample::select(&[1, 3, 20, 60, 1 << 40][..]),
    ) {
        let mut rig = Rig::new(&drive, variety);
        for op in &ops {
            rig.step(op, atomic);
            rig.check_invariants();
            rig.compare_contents();
        }
    }

    /// Merges by cleaning do not depend on the grouping of writes into calls, and equal seeds give equal runs.
    #[test]
    fn results_do_not_depend_on_batches(drive in drives(), ops in ops(10)) {
        let sampled = drive.dedup["kind"] == "sampled";
        let run = |cut: usize| {
            let (mut layer, _) = drive.build_with(None);
            let mut random = Seed(drive.seed).random();
            for op in &ops {
                let pages = op.pages(layer.logical_pages());
                for pages in pages.chunks(cut) {
                    let data: Vec<ContentId> = pages.iter().map(|_| ContentId(1 + random_below(&mut random, 30))).collect();
                    match op {
                        Op::Trim(_) | Op::TrimAll => layer.trim(pages).unwrap(),
                        Op::Read(_) | Op::Flush => {}
                        _ => layer.write(pages, &data, op.hint()).unwrap(),
                    }
                }
            }
            let after = reports(&layer);
            let (layer_report, nand) = (&after.layers[0], after.nand.as_ref().unwrap());
            (layer_report.dedup, layer_report.victim_valid_pages.clone(), nand.programs, nand.erase_counts.clone(), layer.final_draw())
        };
        prop_assert_eq!(run(usize::MAX), run(if sampled { usize::MAX } else { 1 }));
    }
}

/// Without equal pages, all kinds behave like a store without deduplication.
#[test]
fn unique_pages_cost_as_much_as_without_deduplication() {
    for victim in ["greedy", "d_choices", "random", "cost_benefit"] {
        for placement in ["single", "double", "references"] {
            let drive = |kind: &str| DriveConfig {
                dedup: json!(kind),
                victim,
                placement: json!(placement),
                ..DriveConfig::default()
            };
            let run = |layer: &mut dyn Layer<ContentId>| {
                let mut random = Seed(3).random();
                for version in 0..6000 {
                    let page = Lpn(random_below(&mut random, 120) as u32);
                    layer.write(&[page], &[ContentId(version + 1)], 0).unwrap();
                }
                layer.check().unwrap();
                let after = reports(layer);
                let nand = after.nand.unwrap();
                (nand.programs, nand.erase_counts, after.layers[0].victim_valid_pages.clone())
            };
            let plain = drive("none");
            let expected = run(&mut *plain.store(plain.logical_pages, None, &Journal::default(), None));
            for kind in ["inline", "sampled", "pre_hashed", "cagc"] {
                assert_eq!(
                    run(&mut drive(kind).build_with(None).0),
                    expected,
                    "{kind}, {victim}, {placement}"
                );
            }
        }
    }
}

/// Verifies the property tests: the tested events must occur.
#[test]
fn duplicates_are_found_merged_promoted_and_counted() {
    let run_busy_workload = |dedup: Value| {
        let mut rig = Rig::new(&DriveConfig { dedup, ..DriveConfig::default() }, 50);
        for seed in 0..30 {
            rig.step(&Op::Burst(seed, 900, seed % 2 == 0), false);
            rig.step(&Op::Trim((0..6).map(|page| page * 19 + seed as u32).collect()), false);
            rig.check_invariants();
            rig.compare_contents();
        }
        rig.report().1
    };
    let inline = run_busy_workload(json!("inline"));
    assert!(inline.hits > inline.misses && inline.merged_pages == 0 && inline.cleaning_hashed_pages == 0);
    let sampled = run_busy_workload(json!("sampled"));
    assert!(sampled.host_hashed_pages <= inline.host_hashed_pages && sampled.hits <= inline.hits);
    let pre_hashed = run_busy_workload(json!("pre_hashed"));
    assert_eq!(pre_hashed.hits, inline.hits, "a weak hash of 32 bits misses nothing");
    assert_eq!(pre_hashed.pre_hashed_pages, inline.host_hashed_pages);
    assert!(pre_hashed.host_hashed_pages < inline.host_hashed_pages && pre_hashed.idle_hashed_pages > 0);
    let immediate = run_busy_workload(json!("cagc"));
    assert!(
        immediate.merged_pages > 100 && immediate.promoted_pages > 10 && immediate.hits == 0,
        "{immediate:?}"
    );
    let deferred = run_busy_workload(json!({ "kind": "cagc", "promotion": "when_moved" }));
    assert!(deferred.merged_pages > 100 && deferred.promoted_pages == 0, "{deferred:?}");
    let without_rehash = run_busy_workload(json!({ "kind": "cagc", "rehash": false }));
    assert!(without_rehash.cleaning_hashed_pages < immediate.cleaning_hashed_pages);
    assert!(
        immediate.invalidated_by_references[0] > 0
            && immediate.invalidated_by_references[1..].iter().sum::<u64>() > 0
    );
    let small = run_busy_workload(
        json!({ "kind": "inline", "index": { "entries": 10, "paged": { "page_entries": 2, "cached_pages": 1 } } }),
    );
    assert!(small.hits < inline.hits && small.index_evictions > 0 && small.index_entries <= 10);
    assert!(small.index_reads > 0 && small.index_writes > 0);
}

#[test]
fn short_fingerprints_corrupt_pages_unless_verified() {
    for kind in ["inline", "cagc"] {
        let run = |verify: bool| {
            let index = json!({ "fingerprint_bits": 4, "verify": verify });
            let drive =
                DriveConfig { dedup: json!({ "kind": kind, "index": index }), ..DriveConfig::default() };
            assert_eq!(drive.detects_collisions(), verify);
            let mut rig = Rig::new(&drive, 60);
            for seed in 0..20 {
                rig.step(&Op::Burst(seed, 900, false), false);
                rig.check_invariants();
            }
            let collisions = rig.report().1.collisions;
            let corrupt =
                rig.contents().iter().zip(&rig.shadow).filter(|(read, written)| read != written).count();
            (corrupt, collisions, rig.report().1.verify_reads)
        };
        let (corrupt, collisions, reads) = run(false);
        assert!(corrupt > 0 && collisions > 0 && reads == 0, "{kind}: {corrupt} corrupt, {collisions}");
        let (corrupt, collisions, reads) = run(true);
        assert!(corrupt == 0 && collisions > 0 && reads > 0, "{kind}: {corrupt} corrupt, {collisions}");
    }
}

#[test]
fn each_hash_is_recorded() {
    for kind in ["inline", "sampled", "pre_hashed", "cagc"] {
        let (mut layer, journal) =
            DriveConfig { dedup: json!(kind), ..DriveConfig::default() }.build_with(None);
        let mut random = Seed(4).random();
        for _ in 0..300 {
            let pages: Vec<Lpn> = (0..4).map(|_| Lpn(random_below(&mut random, 120) as u32)).collect();
            let data: Vec<ContentId> =
                pages.iter().map(|_| ContentId(1 + random_below(&mut random, 40))).collect();
            layer.write(&pages, &data, 0).unwrap();
        }
        let mut steps = Vec::new();
        journal.take(&mut steps);
        let count = |cause: Cause, full: bool| {
            let matches_hash = |step: &&Step| matches!(step, Step::Hash { pages: 1, cause: on, percent } if *on == cause && (*percent == 100) == full);
            steps.iter().filter(matches_hash).count() as u64
        };
        let report = reports(&layer).layers[0].dedup.unwrap();
        assert_eq!(count(Cause::Host, true), report.host_hashed_pages, "{kind}");
        assert_eq!(count(Cause::Host, false), report.pre_hashed_pages, "{kind}");
        assert_eq!(count(Cause::Cleaning, true), report.cleaning_hashed_pages, "{kind}");
        assert_eq!(
            steps.len() as u64,
            report.host_hashed_pages + report.pre_hashed_pages + report.cleaning_hashed_pages
        );
        assert!(!steps.is_empty(), "{kind}");
    }
}
