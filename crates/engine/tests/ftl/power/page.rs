//! The page-mapped FTL under power cuts, on faulty flash.

use super::paged::random_wear;
use crate::power::chips::chips;
use crate::power::harness::{Chips, FtlUnderTest, check_all};
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::ftl::Restart;
use wearwell_engine::ftl::page::{PageConfig, PageFtl};
use wearwell_engine::layer::{ContentId, Layer, LayerError, LayerReport, NandReport, Reports};
use wearwell_engine::log::{Reclaim, StoreConfig};
use wearwell_engine::nand::{Faults, Geometry, Nand, PowerSource, Wear};
use wearwell_engine::placement::PlacementConfig;
use wearwell_engine::victim::VictimConfig;
use wearwell_engine::wear::WearConfig;

const VICTIMS: [&str; 3] = ["greedy", "fifo", "d_choices"];
const PLACEMENTS: [&str; 2] = ["single", "double"];

fn build(power: PowerSource, seed: u64) -> (PageFtl<Chips>, PageConfig) {
    let mut random = Seed(seed).derive("shape").random();
    let pages_per_block = [1, 2, 3, 4, 4, 7, 8][random_below(&mut random, 7) as usize];
    let whole_blocks = 2 + random_below(&mut random, 6) as u32;
    let logical_pages =
        whole_blocks * pages_per_block - random_below(&mut random, u64::from(pages_per_block)) as u32;
    let (low, extra) = (1 + random_below(&mut random, 2) as u32, random_below(&mut random, 2) as u32);
    let reclaim = Reclaim::FreePool { low, high: low + extra };
    let name = |names: &[&'static str], at: u64| serde_json::Value::from(names[at as usize]);
    let config = PageConfig {
        store: StoreConfig::new(logical_pages, reclaim, Seed(seed)),
        victim: serde_json::from_value(name(&VICTIMS, random_below(&mut random, 3))).unwrap(),
        placement: serde_json::from_value(name(&PLACEMENTS, random_below(&mut random, 2))).unwrap(),
        wear: random_wear(&mut Seed(seed).derive("wear").random()),
    };
    let blocks = whole_blocks + reclaim.reserved_blocks(2) + 1 + random_below(&mut random, 4) as u32;
    let flash = chips(power, (blocks, pages_per_block), &mut random, seed);
    (config.build(flash).unwrap(), config)
}

#[test]
fn page_survives_power_cuts() {
    let counts = check_all(&FtlUnderTest { kind: "page", build, has_battery: false }, 24, 1500, 5000);
    if std::env::var("WEARWELL_CUT").is_err() {
        assert!(counts.recovery_cuts > 0 && counts.trims_undone > 0 && counts.ends_of_life > 0, "{counts:?}");
    }
}

const LOGICAL_PAGES: u32 = 160;

/// Creates a drive of 32 blocks of 8 pages.
fn drive(faults: Faults) -> (PageFtl<Nand<ContentId>>, PageConfig) {
    let config = PageConfig {
        store: StoreConfig::new(LOGICAL_PAGES, Reclaim::FreePool { low: 1, high: 2 }, Seed(5)),
        victim: VictimConfig::default(),
        placement: serde_json::from_value::<PlacementConfig>("double".into()).unwrap(),
        wear: WearConfig::default(),
    };
    let nand = Nand::new(Geometry::flat(32, 8, 4096), Wear::default(), Seed(5));
    (config.build(nand.with_spare_area().with_faults(faults, Seed(5))).unwrap(), config)
}

fn reports(ftl: &impl Layer<ContentId>) -> (LayerReport, NandReport) {
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    let (layer, nand) = (reports.layers.remove(0), reports.nand.unwrap());
    assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(layer.counters.outgoing_total(Operation::Read), nand.reads);
    assert_eq!(layer.counters.outgoing_total(Operation::Erase), nand.erases);
    (layer, nand)
}

/// Writes `writes` scattered pages, or fewer if the drive's life ends; returns the content of each page.
fn write_scattered(ftl: &mut impl Layer<ContentId>, writes: u64) -> (Vec<ContentId>, Option<LayerError>) {
    let mut newest = vec![ContentId(0); LOGICAL_PAGES as usize];
    for version in 1..=writes {
        let page = (version.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % u64::from(LOGICAL_PAGES);
        match ftl.write(&[Lpn(page as u32)], &[ContentId(version)], 0) {
            Ok(()) => newest[page as usize] = ContentId(version),
            Err(error) => return (newest, Some(error)),
        }
    }
    (newest, None)
}

fn contents(ftl: &mut impl Layer<ContentId>) -> Vec<ContentId> {
    let mut read = Vec::new();
    ftl.read(&(0..LOGICAL_PAGES).map(Lpn).collect::<Vec<_>>(), &mut read).unwrap();
    read
}

#[test]
fn failed_blocks_are_retired_without_data_loss() {
    let (mut ftl, _) = drive(Faults { program_failure_rate: 0.001, read_disturb_limit: None });
    let (newest, end) = write_scattered(&mut ftl, 100_000);
    assert!(matches!(end, Some(LayerError::EndOfLife { .. })), "{end:?}");
    ftl.check().unwrap();
    let (_, nand) = reports(&ftl);
    assert!(nand.bad_blocks > 3, "{}", nand.bad_blocks);
    assert_eq!(contents(&mut ftl), newest);
}

#[test]
fn faults_that_never_occur_change_nothing() {
    let none = Faults { program_failure_rate: 0.0, read_disturb_limit: Some(u32::MAX) };
    let (mut ftl, _) = drive(none);
    let (mut plain, _) = drive(Faults::default());
    assert_eq!(write_scattered(&mut ftl, 5000), write_scattered(&mut plain, 5000));
    assert!(reports(&plain).0.counters.write_amplification() > Some(1.1), "it cleaned");
    assert_eq!(reports(&ftl).0.counters, reports(&plain).0.counters);
}

#[test]
fn disturbed_block_is_rewritten() {
    let (mut ftl, _) = drive(Faults { program_failure_rate: 0.0, read_disturb_limit: Some(50) });
    let all: Vec<Lpn> = (0..LOGICAL_PAGES).map(Lpn).collect();
    let stamps: Vec<ContentId> = (1..=u64::from(LOGICAL_PAGES)).map(ContentId).collect();
    ftl.write(&all, &stamps, 0).unwrap();
    let levelling_operations =
        |ftl: &PageFtl<_>, operation| reports(ftl).0.counters.outgoing(Cause::WearLevelling, operation);
    for _ in 0..49 {
        ftl.read(&[Lpn(3)], &mut Vec::new()).unwrap();
    }
    assert_eq!(levelling_operations(&ftl, Operation::Write), 0);
    ftl.read(&[Lpn(3)], &mut Vec::new()).unwrap();
    assert_eq!(
        [Operation::Read, Operation::Write].map(|operation| levelling_operations(&ftl, operation)),
        [8, 8]
    );
    ftl.check().unwrap();
    assert_eq!(contents(&mut ftl), stamps);
}

#[test]
fn recovery_reads_every_spare_area_up_to_the_first_erased_page() {
    let (mut ftl, config) = drive(Faults::default());
    let (newest, _) = write_scattered(&mut ftl, 3000);
    let erased = 32 * 8 - {
        let flash = ftl.medium();
        let written = |block| u64::from(flash.next_page(wearwell_base::units::BlockId(block)).unwrap());
        (0..32).map(written).sum::<u64>()
    };
    assert!(reports(&ftl).1.programs > 3000, "some were moved");
    let (mut ftl, report) = PageFtl::restart(&config, ftl.into_flash()).map_err(|(error, _)| error).unwrap();
    let reads = report.steps[0].spare_reads;
    assert!((256 - erased..=256 - erased + 32).contains(&reads), "{reads} of 256, {erased} erased");
    ftl.check().unwrap();
    assert_eq!(contents(&mut ftl), newest);
}
