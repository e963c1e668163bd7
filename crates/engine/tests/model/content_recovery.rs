//! Deduplicated pages survive a power cut: all contents can be rebuilt from the flash alone.

use crate::naive::cases::{Op, ops};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::dedup::{Dedup, DedupConfig, MapImage, Note, SharedTables, SlotPage, recover};
use wearwell_engine::layer::{
    ContentId, DedupReport, InvalidationListener, Layer, LayerBelow, Medium, MediumError, Pages, Reports, Run,
};
use wearwell_engine::log::{BoxedLayer, LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{PlacementConfig, PlacementContext};
use wearwell_engine::victim::VictimConfig;

/// Flash state after a power cut.
struct CrashImage {
    slot_pages: Vec<SlotPage>,
    image: MapImage,
}

/// Flash that stores the notes of spare areas, and regularly records the state that a power cut would leave.
struct RecordingFlash {
    nand: Nand<ContentId>,
    notes: Vec<Vec<Option<Note>>>,
    sharing: SharedTables,
    /// Interval between recorded cuts, in operations.
    cut_interval: u64,
    operations: u64,
    cuts: Vec<CrashImage>,
}

impl RecordingFlash {
    fn crash_image(&mut self) -> CrashImage {
        let mut found = Vec::new();
        for block in (0..self.nand.blocks()).map(BlockId) {
            let spares = self.nand.spare_area().expect("kept").block(block);
            let mut read = Vec::new();
            let pages: Vec<u32> = (0..spares.len() as u32).collect();
            self.nand.read(block, Pages::Listed(&pages), Cause::Host, &mut read).expect("programmed");
            for ((spare, note), content) in spares.iter().zip(&self.notes[block.index()]).zip(read) {
                let (slot, sequence) = (spare.owner.0, spare.sequence);
                found.extend(note.map(|note| SlotPage { slot, sequence, note, content }));
            }
        }
        CrashImage { slot_pages: found, image: self.sharing.map_image() }
    }

    fn step(&mut self) {
        self.operations += 1;
        if self.operations.is_multiple_of(self.cut_interval) {
            let image = self.crash_image();
            self.cuts.push(image);
        }
    }
}

#[derive(Clone)]
struct SharedFlash(Arc<Mutex<RecordingFlash>>);

impl SharedFlash {
    fn with<T>(&self, action: impl FnOnce(&mut RecordingFlash) -> T) -> T {
        action(&mut self.0.lock().unwrap())
    }
}

impl Medium for SharedFlash {
    type Payload = ContentId;
    const STORES_GROUPS: bool = false;
    const READS_BY_PAGE: bool = true;

    fn blocks(&self) -> u32 {
        self.with(|flash| flash.nand.blocks())
    }

    fn pages_per_block(&self) -> u32 {
        self.with(|flash| flash.nand.pages_per_block())
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, ContentId>) -> Result<(), MediumError> {
        self.with(|flash| {
            flash.step();
            let owners = run.owners.expect("pages have owners");
            let notes = owners.iter().map(|&owner| flash.sharing.note(owner, run.cause));
            flash.notes[block.index()].extend(notes);
            flash.nand.program(block, page, run)
        })
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        self.with(|flash| {
            flash.step();
            flash.notes[block.index()].clear();
            flash.nand.erase(block, cause)
        })
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<ContentId>,
    ) -> Result<(), MediumError> {
        self.with(|flash| flash.nand.read(block, pages, cause, out))
    }

    fn count_reads(&mut self, pages: u64) {
        self.with(|flash| flash.nand.count_reads(pages));
    }

    fn read_wear(&mut self, _block: BlockId) {}

    fn prefetch_block(&self, _block: BlockId) {}

    fn flush(&mut self) -> Result<(), MediumError> {
        self.with(|flash| flash.nand.flush())
    }

    fn retire(&mut self, block: BlockId) {
        self.with(|flash| flash.nand.retire(block));
    }

    fn take_disturbed(&mut self) -> Option<BlockId> {
        self.with(|flash| flash.nand.take_disturbed())
    }

    fn reads_before_refresh(&self, block: BlockId) -> u32 {
        self.with(|flash| flash.nand.reads_before_refresh(block))
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.with(|flash| flash.nand.is_bad(block))
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.with(|flash| flash.nand.erases(block))
    }

    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener> {
        None
    }

    fn layer_below(&self) -> Option<&dyn LayerBelow> {
        None
    }

    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow> {
        None
    }

    fn describe(&self, reports: &mut Reports) {
        self.with(|flash| flash.nand.describe(reports));
    }

    fn check(&self) -> Result<(), String> {
        self.with(|flash| flash.nand.check())
    }
}

#[derive(Clone, Debug)]
struct DriveConfig {
    dedup: Value,
    victim: &'static str,
    placement: Value,
    logical_pages: u32,
    pages_per_block: u32,
    spare_blocks: u32,
    cut_interval: u64,
    seed: u64,
}

impl DriveConfig {
    fn config(&self) -> DedupConfig {
        serde_json::from_value(self.dedup.clone()).unwrap()
    }

    fn build(&self) -> (Dedup, SharedFlash) {
        let sharing = SharedTables::new(&self.config(), self.logical_pages, 0).unwrap();
        let (pages, pages_per_block) = (sharing.store_pages(), self.pages_per_block);
        let placement: PlacementConfig = serde_json::from_value(self.placement.clone()).unwrap();
        let size =
            |blocks| StoreSize { blocks, pages_per_block, logical_pages: pages, seed: Seed(self.seed) };
        let streams = |size: &StoreSize| {
            placement.build_boxed(PlacementContext { size, temperature: None, foresight: None }).unwrap()
        };
        let reclaim = Reclaim::FreePool { low: 2, high: 3 };
        let reserved = reclaim.reserved_blocks(streams(&size(0)).streams());
        let blocks = pages.div_ceil(pages_per_block) + reserved + self.spare_blocks;
        let config = StoreConfig::new(pages, reclaim, Seed(self.seed));
        let geometry = Geometry::flat(blocks, pages_per_block, 4096);
        let medium = SharedFlash(Arc::new(Mutex::new(RecordingFlash {
            nand: Nand::new(geometry, Wear::default(), Seed(self.seed)).with_spare_area(),
            notes: vec![Vec::new(); blocks as usize],
            sharing: sharing.clone(),
            cut_interval: self.cut_interval,
            operations: 0,
            cuts: Vec::new(),
        })));
        let policy: VictimConfig = serde_json::from_value(json!(self.victim)).unwrap();
        let policy = policy.build_boxed(&size(blocks)).unwrap();
        let table = PageTable::new(pages, blocks, pages_per_block);
        let streams = streams(&size(blocks));
        let store = LogStore::new(config, medium.clone(), table, policy, streams).unwrap();
        let store = match sharing.migration_policy(None, false) {
            Some(migration) => store.with_migration_policy(migration).unwrap(),
            None => store,
        };
        let store: BoxedLayer<ContentId> = Box::new(store);
        (Dedup::new(sharing, store, None).unwrap(), medium)
    }
}

/// A drive, and the allowed contents of each page after a power cut: the content at the last flush, and all later
/// ones.
struct Rig {
    drive: DriveConfig,
    layer: Dedup,
    flash: SharedFlash,
    allowed: Vec<Vec<ContentId>>,
    random: Random,
    variety: u64,
    /// True if the log of the map is discarded before recovery.
    drops_log: bool,
    cuts: u64,
    wrong_pages: u64,
}

impl Rig {
    fn new(drive: DriveConfig, variety: u64, drops_log: bool) -> Self {
        let (layer, flash) = drive.build();
        let allowed = vec![vec![ContentId::UNKNOWN]; drive.logical_pages as usize];
        let random = Seed(drive.seed).derive("contents").random();
        Rig { drive, layer, flash, allowed, random, variety, drops_log, cuts: 0, wrong_pages: 0 }
    }

    /// Executes the operation in pieces, so that few pages are uncertain at each cut.
    fn step(&mut self, op: &Op) {
        let pages = op.pages(self.layer.logical_pages());
        for pages in pages.chunks(40) {
            match op {
                Op::Trim(_) | Op::TrimAll => {
                    pages.iter().for_each(|page| self.allowed[page.index()].push(ContentId::UNKNOWN));
                    self.layer.trim(pages).unwrap();
                }
                Op::Read(_) | Op::Flush => {}
                _ => {
                    let draw = |_: &Lpn| ContentId(random_below(&mut self.random, self.variety + 1));
                    let data: Vec<ContentId> = pages.iter().map(draw).collect();
                    pages
                        .iter()
                        .zip(&data)
                        .for_each(|(page, content)| self.allowed[page.index()].push(*content));
                    self.layer.write(pages, &data, op.hint()).unwrap();
                }
            }
            self.check_cuts();
        }
        if matches!(op, Op::Flush | Op::Read(_)) {
            self.layer.flush().unwrap();
            self.check_cuts();
            self.allowed.iter_mut().for_each(|states| drop(states.drain(..states.len() - 1)));
        }
        let now = self.flash.with(RecordingFlash::crash_image);
        self.flash.with(|flash| flash.cuts.push(now));
        self.check_cuts();
        self.layer.check().unwrap();
    }

    fn check_cuts(&mut self) {
        let cuts = self.flash.with(|flash| std::mem::take(&mut flash.cuts));
        for crash in cuts {
            self.cuts += 1;
            self.check_cut(crash);
        }
    }

    fn check_cut(&mut self, CrashImage { slot_pages: found, image }: CrashImage) {
        let image = if self.drops_log { MapImage::default() } else { image };
        let mut newest: BTreeMap<u32, (u64, ContentId)> = BTreeMap::new();
        for page in &found {
            let newest_copy = newest.entry(page.slot).or_insert((page.sequence, page.content));
            if page.sequence > newest_copy.0 {
                *newest_copy = (page.sequence, page.content);
            }
        }
        let recovered = recover(&self.drive.config(), self.drive.logical_pages, found, &image).unwrap();
        recovered.sharing.check().unwrap();
        let mut wrong_pages = u64::from(recovered.lost_pages);
        for (page, allowed) in (0..).map(Lpn).zip(&self.allowed) {
            let slot = recovered.sharing.slot_of(page);
            let content = slot.map_or(ContentId::UNKNOWN, |(slot, ..)| newest[&slot].1);
            wrong_pages += u64::from(!allowed.contains(&content));
            assert!(slot.is_none_or(|(_, _, known)| known == content || known == ContentId::UNKNOWN));
        }
        assert!(
            wrong_pages == 0 || self.drops_log,
            "cut {}: {wrong_pages} pages are not as they were",
            self.cuts
        );
        self.wrong_pages += wrong_pages;
    }

    fn report(&self) -> DedupReport {
        let mut reports = Reports::default();
        self.layer.describe(&mut reports);
        let layer_report = &reports.layers[0];
        let dedup = layer_report.dedup.unwrap();
        let log_writes = dedup.map_log_pages + dedup.map_checkpoint_pages;
        assert_eq!(
            layer_report.counters.outgoing(Cause::Dedup, Operation::Write),
            dedup.index_writes + log_writes
        );
        assert_eq!(layer_report.counters.outgoing(Cause::Host, Operation::Write), dedup.misses);
        let nand = reports.nand.as_ref().unwrap();
        assert_eq!(nand.programs, layer_report.counters.outgoing_total(Operation::Write));
        dedup
    }
}

prop_compose! {
    fn drives()(
        kind in prop::sample::select(&["inline", "sampled", "pre_hashed", "cagc", "cagc", "cagc"][..]),
        promotes in any::<bool>(),
        records in 1..24u32,
        paged in any::<bool>(),
        victim in prop::sample::select(&["greedy", "d_choices", "random", "fifo", "cost_benefit"][..]),
        placement in prop::sample::select(vec![json!("single"), json!("double"), json!("references")]),
        logical_pages in 8..120u32,
        pages_per_block in 2..13u32,
        spare_blocks in 0..6u32,
        cut_interval in 1..23u64,
        seed in any::<u64>(),
    ) -> DriveConfig {
        let mut dedup = json!({ "kind": kind, "map_log": true, "map_log_page_records": records });
        if kind == "cagc" {
            dedup["promotion"] = json!(if promotes { "now" } else { "when_moved" });
        }
        if paged {
            dedup["index"] = json!({ "paged": { "page_entries": 9, "cached_pages": 2 } });
        }
        DriveConfig { dedup, victim, placement, logical_pages, pages_per_block, spare_blocks, cut_interval, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Flushed data survive a power cut before any flash operation, unless they were changed since, and no content
    /// appears that was not written.
    #[test]
    fn flushed_data_survive_a_power_cut_anywhere(
        drive in drives(), ops in ops(10), variety in prop::sample::select(&[1, 3, 20, 60, 1 << 40][..]),
    ) {
        let mut rig = Rig::new(drive, variety, false);
        for op in &ops {
            rig.step(op);
            rig.report();
        }
        rig.step(&Op::Flush);
    }
}

/// Runs a long random workload with all events that need a record.
fn run_busy_workload(kind: &str, drops_log: bool) -> (DedupReport, u64, u64) {
    let drive = DriveConfig {
        dedup: json!({ "kind": kind, "map_log": true, "map_log_page_records": 12 }),
        victim: "greedy",
        placement: json!("references"),
        logical_pages: 120,
        pages_per_block: 8,
        spare_blocks: 2,
        cut_interval: 7,
        seed: 5,
    };
    let mut rig = Rig::new(drive, 50, drops_log);
    for seed in 0..20 {
        rig.step(&Op::Burst(seed, 900, seed % 2 == 0));
        rig.step(&Op::Trim((0..6).map(|page| page * 19 + seed as u32).collect()));
        rig.step(&Op::Flush);
    }
    (rig.report(), rig.cuts, rig.wrong_pages)
}

/// Checks that the property tests can detect errors: without the log, pages are lost.
#[test]
fn pages_are_lost_without_the_log() {
    for kind in ["inline", "sampled", "pre_hashed", "cagc"] {
        let (report, cuts, wrong) = run_busy_workload(kind, false);
        assert!(wrong == 0 && cuts > 50, "{kind}: {wrong} pages, {cuts} cuts");
        assert!(report.map_log_pages > 20 && report.map_checkpoint_pages > 20, "{kind}: {report:?}");
        assert_eq!(report.merged_pages > 100, kind == "cagc");
        assert_eq!(report.hits > 100, kind != "cagc", "{kind}");
        let (_, _, wrong) = run_busy_workload(kind, true);
        assert!(wrong > 0, "{kind}: nothing is missed");
    }
}
