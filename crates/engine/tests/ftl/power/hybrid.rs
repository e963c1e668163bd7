//! BAST and FAST under power cuts, on faulty flash.

use super::paged::random_wear;
use crate::power::chips::chips;
use crate::power::harness::{Chips, CutCounts, FtlUnderTest, check_all};
use wearwell_base::seed::{Seed, random_below};
use wearwell_engine::ftl::hybrid::{HybridConfig, HybridFtl, HybridKind, HybridSettings};
use wearwell_engine::nand::PowerSource;
use wearwell_engine::pool::FreeBlocks;

fn build(kind: HybridKind, power: PowerSource, seed: u64) -> (HybridFtl<Chips>, HybridSettings) {
    let mut random = Seed(seed).derive("shape").random();
    let pages_per_block = [1, 2, 3, 4, 4, 7, 8][random_below(&mut random, 7) as usize];
    let logical_blocks = 2 + random_below(&mut random, 6) as u32;
    // The last logical block may be incomplete.
    let logical_pages =
        logical_blocks * pages_per_block - random_below(&mut random, u64::from(pages_per_block)) as u32;
    let log_blocks = 2 + random_below(&mut random, 3) as u32;
    let blocks = logical_blocks + log_blocks + 1 + random_below(&mut random, 4) as u32;
    let flash = chips(power, (blocks, pages_per_block), &mut random, seed);
    let config = HybridConfig { kind, log_blocks, logical_pages };
    let wear = random_wear(&mut Seed(seed).derive("wear").random());
    let settings = HybridSettings { config, wear, free_blocks: FreeBlocks::default(), seed: Seed(seed) };
    (settings.build(flash).unwrap(), settings)
}

pub fn build_bast(power: PowerSource, seed: u64) -> (HybridFtl<Chips>, HybridSettings) {
    build(HybridKind::Bast, power, seed)
}

fn build_fast(power: PowerSource, seed: u64) -> (HybridFtl<Chips>, HybridSettings) {
    build(HybridKind::Fast, power, seed)
}

fn assert_all_events_occurred(counts: CutCounts) {
    if std::env::var("WEARWELL_CUT").is_err() {
        assert!(counts.recovery_cuts > 0 && counts.trims_undone > 0 && counts.ends_of_life > 0, "{counts:?}");
    }
}

#[test]
fn bast_survives_power_cuts() {
    assert_all_events_occurred(check_all(
        &FtlUnderTest { kind: "bast", build: build_bast, has_battery: false },
        24,
        1500,
        5000,
    ));
}

#[test]
fn fast_survives_power_cuts() {
    assert_all_events_occurred(check_all(
        &FtlUnderTest { kind: "fast", build: build_fast, has_battery: false },
        24,
        1500,
        5000,
    ));
}
