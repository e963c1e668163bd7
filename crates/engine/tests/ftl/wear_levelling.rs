//! Wear levelling on FTLs with flash-resident tables: its effect, its cost, and the absence of data loss.

use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::ftl::paged::{DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings};
use wearwell_engine::layer::{ContentId, Layer, Reports};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::validity::{GeckoSettings, RamBitmapSettings, ValidityConfig};
use wearwell_engine::wear::{NoLevelling, ScanConfig, StartGapConfig, WearConfig};

const BLOCKS: u32 = 96;
const PAGES_PER_BLOCK: u32 = 16;
const LOGICAL_PAGES: u32 = 1000;

/// Number of pages that are written repeatedly; all other pages are written once.
const HOT_PAGES: u32 = 100;

type Ftl = PagedFtl<Nand<ContentId>>;

fn dftl() -> PagedConfig {
    PagedConfig {
        kind: "dftl",
        logical_pages: LOGICAL_PAGES,
        page_bytes: 512,
        cache_entries: 64,
        dirty_entries: None,
        eager: true,
        directory: DirectoryConfig::Global,
        validity: ValidityConfig::RamBitmap(RamBitmapSettings::default()),
        cleans_metadata: true,
        checkpoints: false,
        durability: Durability::Battery,
        free_blocks: Default::default(),
        counters: Default::default(),
        wear: WearConfig::default(),
        seed: Seed(7),
    }
}

fn gecko() -> PagedConfig {
    PagedConfig {
        kind: "gecko",
        eager: false,
        cleans_metadata: false,
        checkpoints: true,
        durability: Durability::Deferred { skips_older_pages: true },
        validity: ValidityConfig::Gecko(GeckoSettings { partitions: Some(1), ..GeckoSettings::default() }),
        ..dftl()
    }
}

fn scan(threshold: u32) -> WearConfig {
    WearConfig::Scan(ScanConfig { threshold, ..ScanConfig::default() })
}

fn start_gap(interval: u32) -> WearConfig {
    WearConfig::StartGap(StartGapConfig { interval })
}

fn build(config: PagedConfig) -> Ftl {
    let nand = Nand::new(Geometry::flat(BLOCKS, PAGES_PER_BLOCK, 512), Wear::default(), Seed(7));
    let settings = PagedSettings {
        config,
        victim: serde_json::from_str("\"greedy\"").unwrap(),
        placement: serde_json::from_str("\"double\"").unwrap(),
    };
    settings.build(nand.with_spare_area()).unwrap()
}

/// Returns the FTL after `writes` writes of hot pages, with the reports of FTL and flash. Checks that no page is
/// lost.
fn run(config: PagedConfig, writes: u64) -> (Ftl, Reports) {
    let mut ftl = build(config);
    let mut shadow = vec![ContentId::default(); LOGICAL_PAGES as usize];
    let mut random = Seed(3).derive("hot").random();
    let hot =
        std::iter::repeat_with(|| random_below(&mut random, HOT_PAGES.into()) as u32).take(writes as usize);
    for (version, page) in (0..LOGICAL_PAGES).chain(hot).enumerate() {
        let content = ContentId(version as u64 + 1);
        ftl.write(&[Lpn(page)], &[content], 0).unwrap();
        shadow[page as usize] = content;
    }
    ftl.check().unwrap();
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    let pages: Vec<Lpn> = (0..LOGICAL_PAGES).map(Lpn).collect();
    let mut read = Vec::new();
    ftl.read(&pages, &mut read).unwrap();
    assert_eq!(read, shadow);
    (ftl, reports)
}

struct Outcome {
    spread: u32,
    write_amplification: f64,
    moved_pages: u64,
}

fn outcome(reports: &Reports) -> Outcome {
    let erases = &reports.nand.as_ref().unwrap().erase_counts;
    let counters = &reports.layers[0].counters;
    Outcome {
        spread: erases.iter().max().unwrap() - erases.iter().min().unwrap(),
        write_amplification: counters.write_amplification().unwrap(),
        moved_pages: counters.outgoing(Cause::WearLevelling, Operation::Write),
    }
}

/// Checks that wear levelling reduces the spread of erases, at the cost of extra writes. Without it, blocks of static
/// cold data stay unworn.
fn assert_levelling_narrows_the_spread(config: fn() -> PagedConfig) {
    let outcome_with = |wear: WearConfig| {
        let (_, reports) = run(PagedConfig { wear, ..config() }, 300_000);
        outcome(&reports)
    };
    let none = outcome_with(WearConfig::default());
    assert_eq!(none.moved_pages, 0);
    // A rotation ignores wear: the block that it reaches next is random, and random choices even out slowly.
    for (name, wear, max_spread_fraction, max_cost_ratio) in
        [("scan", scan(4), 0.1, 1.5), ("start_gap", start_gap(5), 0.6, 2.5)]
    {
        let levelled = outcome_with(wear);
        let spreads = (f64::from(levelled.spread), f64::from(none.spread));
        assert!(spreads.0 < max_spread_fraction * spreads.1, "{name}: {spreads:?}");
        assert!(levelled.moved_pages > 0, "{name}");
        let costs = (levelled.write_amplification, none.write_amplification);
        assert!(costs.0 > costs.1 && costs.0 < max_cost_ratio * costs.1, "{name}: {costs:?}");
    }
}

#[test]
fn levelling_narrows_the_spread_of_dftl() {
    assert_levelling_narrows_the_spread(dftl);
}

#[test]
fn levelling_narrows_the_spread_of_gecko() {
    assert_levelling_narrows_the_spread(gecko);
}

/// Without wear levelling there are no extra spare reads, no different blocks and no extra entries in reports.
#[test]
fn disabled_levelling_adds_no_cost() {
    let (ftl, reports) = run(gecko(), 5_000);
    let report = reports.layers[0].ftl.as_ref().unwrap();
    assert_eq!(report.spare_reads[Cause::WearLevelling as usize], 0);
    assert!(report.counts.iter().all(|(name, _)| !name.contains("wear")));
    assert!(ftl.ram().iter().all(|part| !part.name.contains("wear")));
    assert_eq!(gecko().wear, WearConfig::None(NoLevelling::default()));
}

/// Appendix D: one spare area is read per flash write, except for those of the last operation, and one per erase if
/// dynamic levelling needs the erase count.
#[test]
fn scan_reads_a_spare_area_for_every_write() {
    for (dynamic, scans_per_write) in [(false, 1), (true, 1), (true, 3)] {
        // A threshold so high that no block is moved.
        let wear = WearConfig::Scan(ScanConfig { threshold: u32::MAX, dynamic, scans_per_write });
        let (_, reports) = run(PagedConfig { wear, ..gecko() }, 20_000);
        let (report, counters) = (reports.layers[0].ftl.as_ref().unwrap(), &reports.layers[0].counters);
        let reads = report.spare_reads[Cause::WearLevelling as usize];
        let erases = counters.outgoing_total(Operation::Erase) * u64::from(dynamic);
        let programs = counters.outgoing_total(Operation::Write);
        let expected_reads = programs * u64::from(scans_per_write);
        let pending = expected_reads - (reads - erases);
        assert!(pending < u64::from(scans_per_write * PAGES_PER_BLOCK), "{pending}");
        let scans = report.counts.iter().find(|(name, _)| *name == "wear scans").unwrap().1;
        assert_eq!(scans, (expected_reads - pending) / u64::from(BLOCKS));
    }
}

#[test]
fn equal_seeds_give_equal_wear() {
    for wear in [scan(4), start_gap(10)] {
        let config = PagedConfig { wear, ..gecko() };
        let reports = [(); 2].map(|()| run(config.clone(), 10_000).1);
        let erases = |reports: &Reports| reports.nand.as_ref().unwrap().erase_counts.clone();
        assert_eq!(erases(&reports[0]), erases(&reports[1]));
        assert_eq!(reports[0].layers[0].counters, reports[1].layers[0].counters);
    }
}

/// Wear levelling continues after a power cut from the data in the spare areas.
#[test]
fn erase_timestamps_survive_a_power_cut() {
    use wearwell_engine::ftl::Restart;
    let config = PagedConfig { wear: scan(4), ..gecko() };
    let (mut ftl, _) = run(config.clone(), 30_000);
    let settings = PagedSettings {
        config,
        victim: serde_json::from_str("\"greedy\"").unwrap(),
        placement: serde_json::from_str("\"double\"").unwrap(),
    };
    for _ in 0..3 {
        ftl = match Ftl::restart(&settings, ftl.into_flash()) {
            Ok((ftl, _)) => ftl,
            Err((error, _)) => panic!("{error}"),
        };
        let mut random = Seed(5).derive("hot").random();
        for version in 0..10_000 {
            let page = Lpn(random_below(&mut random, HOT_PAGES.into()) as u32);
            ftl.write(&[page], &[ContentId(1 << 32 | version)], 0).unwrap();
        }
    }
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    let unlevelled = outcome(&run(gecko(), 60_000).1).spread;
    assert!(outcome(&reports).spread * 2 < unlevelled);
}
