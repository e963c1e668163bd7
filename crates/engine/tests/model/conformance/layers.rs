//! All layers, each driven at random.

use super::{LayerDriver, Stamp};
use serde_json::json;
use wearwell_base::config::StoreSize;
use wearwell_base::seed::Seed;
use wearwell_engine::checked::CheckedMedium;
use wearwell_engine::dedup::{Dedup, SharedTables};
use wearwell_engine::ftl::hybrid::{HybridConfig, HybridFtl, HybridKind};
use wearwell_engine::ftl::page::{PageConfig, PageFtl};
use wearwell_engine::ftl::paged::{
    DirectoryConfig, Durability, FreeBlocks, PagedConfig, PagedFtl, PagedSettings,
};
use wearwell_engine::ftl::{
    CutSettings, CutTimes, PowerCutFtl, PowerCycledFtl, Restart, SwitchableLayer, parse_cuts,
};
use wearwell_engine::layer::{ContentId, Payload};
use wearwell_engine::log::{
    ArrivalObserver, BlockTable, BoxedLayer, LevelSizes, LogStore, LsmConfig, LsmTree, ObjectLayer,
    ObjectLayout, PageTable, Partition, PassThrough, Reclaim, Segments, Shape, SharedLayer, SparseLayer,
    StoreConfig, TrimLogConfig, TrimRule, ZonedDrive, ZonedDriveConfig,
};
use wearwell_engine::nand::{Geometry, Nand, PowerCutFlash, PowerSource, Wear};
use wearwell_engine::placement::Frontiers;
use wearwell_engine::timing::Journal;
use wearwell_engine::victim::{VictimConfig, VictimPolicy};

const BLOCKS: u32 = 64;
const PAGES_PER_BLOCK: u32 = 8;
/// Logical pages of the FTLs.
pub(super) const PAGES: u32 = 320;

pub(super) fn bare_nand<P: Payload>(seed: u64) -> Nand<P> {
    Nand::new(Geometry::flat(BLOCKS, PAGES_PER_BLOCK, 4096), Wear::default(), Seed(seed)).with_spare_area()
}

/// Flash that also checks the contract of the layer that writes on it.
pub(super) type Chips<P> = CheckedMedium<Nand<P>>;

fn nand<P: Payload>(seed: u64) -> Chips<P> {
    CheckedMedium::new(bare_nand(seed))
}

/// Returns the configuration of a store with every possible ability.
fn store_config(seed: u64) -> StoreConfig {
    StoreConfig {
        prefetch: Some(true),
        deferred_low: Some(2),
        idle_high: Some(9),
        ..StoreConfig::new(PAGES, Reclaim::FreePool { low: 4, high: 5 }, Seed(seed))
    }
}

pub(super) fn page_config(seed: u64) -> PageConfig {
    PageConfig {
        store: store_config(seed),
        victim: VictimConfig::default(),
        placement: serde_json::from_value(json!("double")).unwrap(),
        wear: wearwell_engine::wear::WearConfig::default(),
    }
}

pub(super) fn ftl(seed: u64) -> PageFtl<Chips<ContentId>> {
    page_config(seed).build(nand(seed)).unwrap()
}

pub(super) fn boxed_ftl(seed: u64) -> BoxedLayer<ContentId> {
    Box::new(ftl(seed))
}

fn victim(name: &str, size: &StoreSize) -> Box<dyn VictimPolicy> {
    let config: VictimConfig = serde_json::from_value(json!(name)).unwrap();
    config.build_boxed(size).unwrap()
}

/// Creates a log on segments of the FTL. Its victim policy considers the pages that a trim leaves valid in the FTL.
fn stacked_log(seed: u64) -> BoxedLayer<ContentId> {
    let segments = Segments::new(boxed_ftl(seed), 16, Some(TrimRule::default()));
    let size = StoreSize { blocks: 20, pages_per_block: 16, logical_pages: 200, seed: Seed(seed) };
    let config = StoreConfig::new(200, Reclaim::FreePool { low: 2, high: 3 }, Seed(seed));
    let table = PageTable::new(200, 20, 16);
    let store = LogStore::new(config, segments, table, victim("completing", &size), Frontiers::single());
    Box::new(store.unwrap())
}

/// Creates a store without page identities.
fn block_log(seed: u64) -> BoxedLayer<()> {
    let nand = Nand::new(Geometry::flat(BLOCKS, PAGES_PER_BLOCK, 4096), Wear::default(), Seed(seed));
    let size = StoreSize {
        blocks: BLOCKS,
        pages_per_block: PAGES_PER_BLOCK,
        logical_pages: PAGES,
        seed: Seed(seed),
    };
    let config = StoreConfig::new(PAGES, Reclaim::InPlace, Seed(seed));
    let store =
        LogStore::new(config, nand, BlockTable::new(PAGES), victim("greedy", &size), Frontiers::single());
    Box::new(store.unwrap())
}

pub(super) fn paged(seed: u64, kind: &'static str) -> PagedFtl<Chips<ContentId>> {
    let is_gecko = kind == "gecko";
    let config = PagedConfig {
        kind,
        logical_pages: 240,
        page_bytes: 128,
        cache_entries: 16,
        dirty_entries: None,
        eager: !is_gecko,
        directory: DirectoryConfig::Global,
        validity: serde_json::from_value(json!(if is_gecko { "gecko" } else { "ram_bitmap" })).unwrap(),
        cleans_metadata: !is_gecko,
        checkpoints: is_gecko,
        durability: if is_gecko {
            Durability::Deferred { skips_older_pages: true }
        } else {
            Durability::Battery
        },
        free_blocks: FreeBlocks::default(),
        counters: Default::default(),
        wear: serde_json::from_value(json!({"kind": "scan", "scans_per_write": 3, "threshold": 0})).unwrap(),
        seed: Seed(seed),
    };
    let settings = PagedSettings {
        config,
        victim: VictimConfig::default(),
        placement: serde_json::from_value(json!("double")).unwrap(),
    };
    settings.build(nand(seed)).unwrap()
}

fn plain_hybrid(seed: u64, kind: HybridKind) -> HybridFtl<Chips<ContentId>> {
    HybridFtl::new(HybridConfig { kind, log_blocks: 6, logical_pages: PAGES }, nand(seed)).unwrap()
}

fn hybrid(seed: u64, kind: HybridKind) -> BoxedLayer<ContentId> {
    Box::new(plain_hybrid(seed, kind))
}

fn zones(seed: u64) -> BoxedLayer<ContentId> {
    Box::new(ZonedDrive::new(nand(seed), ZonedDriveConfig { zone_blocks: 2, max_open_zones: 3 }).unwrap())
}

fn tree(seed: u64) -> BoxedLayer<ContentId> {
    let config = LsmConfig {
        logical_pages: 96,
        page_bytes: 64,
        memtable_pages: 10,
        table_pages: 8,
        index_bytes_per_page: 4,
        wal_pages: Some(12),
        trim: true,
        shape: Shape::Leveled { level0_runs: 2, ratio: 3, sizes: LevelSizes::FromBottom },
    };
    Box::new(LsmTree::new(config, boxed_ftl(seed)).unwrap())
}

/// Creates deduplication over a store of the required size; atomic groups of up to `atomic` pages.
pub(super) fn dedup(seed: u64, atomic: u32) -> BoxedLayer<ContentId> {
    let config = serde_json::from_value(json!("inline")).unwrap();
    let sharing = SharedTables::new(&config, PAGES - atomic, atomic).unwrap();
    Box::new(Dedup::new(sharing, boxed_ftl(seed), None).unwrap())
}

/// Creates deduplication over any FTL, with a migration policy if the kind needs one.
fn dedup_on<F: Restart<Flash = Chips<ContentId>> + 'static>(mut ftl: F, kind: &str) -> BoxedLayer<ContentId> {
    let config = serde_json::from_value(json!(kind)).unwrap();
    let sharing = SharedTables::new(&config, ftl.logical_pages(), 0).unwrap();
    if let Some(migration) = sharing.migration_policy(None, false) {
        ftl.set_migration_policy(migration).unwrap();
    }
    Box::new(Dedup::new(sharing, ftl, None).unwrap())
}

pub(super) fn cycled(seed: u64) -> SwitchableLayer<PowerCycledFtl<PageFtl<Chips<ContentId>>>> {
    SwitchableLayer::new(PowerCycledFtl::new(ftl(seed), page_config(seed)))
}

/// Creates the FTL on a power source that is cut at these operations.
pub(super) fn interrupted(seed: u64, cuts: &str) -> BoxedLayer<()> {
    let power = PowerSource::new(false);
    let config = page_config(seed);
    let ftl = config.build(PowerCutFlash::new(nand::<ContentId>(seed), power.clone())).unwrap();
    let cuts = CutTimes::At(if cuts.is_empty() { Vec::new() } else { parse_cuts(cuts).unwrap() });
    let cut =
        CutSettings { cuts, recovery_cut_probability: 0.0, cut_again_probability: 0.0, seed: Seed(seed) };
    let mut interrupted = PowerCutFtl::<_, ()>::new(ftl, config, power, cut, Journal::paused());
    wearwell_engine::ftl::PowerCycle::begin_measurement(&mut interrupted, 2000);
    Box::new(interrupted)
}

/// Splits the FTL into two halves; the first stays empty.
pub(super) fn second_half(seed: u64) -> (SharedLayer<ContentId>, Partition<ContentId>) {
    let (shared, mut partitions) = SharedLayer::new(boxed_ftl(seed), &[PAGES / 2, PAGES / 2]);
    (shared, partitions.pop().expect("the second half"))
}

pub(super) const TRIM_LOG: TrimLogConfig =
    TrimLogConfig { records_per_page: 4, trims_per_write: 1, pages: 3 };

pub(super) const OBJECTS: ObjectLayout =
    ObjectLayout { object_pages: 5, classes: 3, decay_drive_writes: 0.5 };

/// Drives a layer with `contents` different contents; `is_exact` if each page corresponds to one valid page of a
/// block.
fn drive_layer<P: Stamp>(
    name: &'static str,
    build: impl Fn(u64) -> BoxedLayer<P>,
    contents: u64,
    is_exact: bool,
) {
    for seed in 0..4 {
        LayerDriver::new(name, build(seed), contents, seed).run(1500, is_exact);
    }
}

/// Types built by the tests below.
pub(super) const DRIVEN: &[&str] = &[
    "ArrivalObserver",
    "Box",
    "CheckedLayer",
    "Dedup",
    "HybridFtl",
    "LogStore",
    "LsmTree",
    "ObjectLayer",
    "PagedFtl",
    "Partition",
    "PassThrough",
    "PowerCutFtl",
    "PowerCycledFtl",
    "SparseLayer",
    "SwitchableLayer",
    "ZonedDrive",
];

#[test]
fn stores_keep_the_contract() {
    drive_layer("log", boxed_ftl, u64::MAX, true);
    drive_layer("stacked log", stacked_log, u64::MAX, true);
    drive_layer("log of blocks", block_log, u64::MAX, true);
    drive_layer("tree", tree, u64::MAX, true);
    // A page that shares its slot does not correspond to a page of a block.
    drive_layer("deduplication", |seed| dedup(seed, 0), 40, false);
    drive_layer("deduplication in groups", |seed| dedup(seed, 8), 40, false);
    drive_layer("deduplication on gecko", |seed| dedup_on(paged(seed, "gecko"), "cagc"), 40, false);
    drive_layer("deduplication on dftl", |seed| dedup_on(paged(seed, "dftl"), "cagc"), 40, false);
    for kind in [HybridKind::Fast, HybridKind::Bast] {
        drive_layer(
            "deduplication on hybrids",
            |seed| dedup_on(plain_hybrid(seed, kind), "inline"),
            40,
            false,
        );
    }
}

#[test]
fn ftls_keep_the_contract() {
    // Invalidations not reported yet count as valid pages.
    drive_layer("gecko", |seed| Box::new(paged(seed, "gecko")) as _, u64::MAX, false);
    drive_layer("dftl", |seed| Box::new(paged(seed, "dftl")) as _, u64::MAX, false);
    drive_layer("fast", |seed| hybrid(seed, HybridKind::Fast), u64::MAX, true);
    drive_layer("bast", |seed| hybrid(seed, HybridKind::Bast), u64::MAX, true);
    drive_layer("interrupted", |seed| interrupted(seed, "500,800t,1500"), u64::MAX, true);
    for seed in 0..4 {
        let mut zoned = LayerDriver::new("zones", zones(seed), u64::MAX, seed);
        zoned.zone_pages = Some(2 * PAGES_PER_BLOCK);
        zoned.run(1500, true);
    }
}

#[test]
fn wrappers_keep_the_contract() {
    drive_layer(
        "pass-through",
        |seed| Box::new(PassThrough::new(boxed_ftl(seed), PAGES)) as _,
        u64::MAX,
        true,
    );
    drive_layer(
        "objects",
        |seed| Box::new(ObjectLayer::new(boxed_ftl(seed), OBJECTS).unwrap()) as _,
        u64::MAX,
        true,
    );
    drive_layer(
        "sparse",
        |seed| Box::new(SparseLayer::new(boxed_ftl(seed), TRIM_LOG).unwrap()) as _,
        u64::MAX,
        false,
    );
    drive_layer("observed", |seed| Box::new(ArrivalObserver::new(boxed_ftl(seed))) as _, u64::MAX, true);
    drive_layer("partition", |seed| Box::new(second_half(seed).1) as _, u64::MAX, true);
    drive_layer("switched", |seed| Box::new(cycled(seed)) as _, u64::MAX, true);
}
