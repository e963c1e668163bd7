//! BAST and FAST under power cuts, on faulty flash.

use super::paged::random_wear;
use crate::power::chips::chips;
use crate::power::harness::{Chips, Subject, Tally, check_all};
use wearwell_base::seed::{Seed, below};
use wearwell_engine::ftl::hybrid::{Hybrid, HybridConfig, HybridKind, HybridSettings};
use wearwell_engine::nand::Supply;
use wearwell_engine::pool::FreeBlocks;

fn build(kind: HybridKind, supply: Supply, seed: u64) -> (Hybrid<Chips>, HybridSettings) {
    let mut random = Seed(seed).of("shape").random();
    let pages_per_block = [1, 2, 3, 4, 4, 7, 8][below(&mut random, 7) as usize];
    let logical_blocks = 2 + below(&mut random, 6) as u32;
    // The last logical block may be incomplete.
    let logical_pages =
        logical_blocks * pages_per_block - below(&mut random, u64::from(pages_per_block)) as u32;
    let log_blocks = 2 + below(&mut random, 3) as u32;
    let blocks = logical_blocks + log_blocks + 1 + below(&mut random, 4) as u32;
    let flash = chips(supply, (blocks, pages_per_block), &mut random, seed);
    let config = HybridConfig { kind, log_blocks, logical_pages };
    let wear = random_wear(&mut Seed(seed).of("wear").random());
    let settings = HybridSettings { config, wear, free_blocks: FreeBlocks::default(), seed: Seed(seed) };
    (settings.build(flash).unwrap(), settings)
}

pub fn build_bast(supply: Supply, seed: u64) -> (Hybrid<Chips>, HybridSettings) {
    build(HybridKind::Bast, supply, seed)
}

fn build_fast(supply: Supply, seed: u64) -> (Hybrid<Chips>, HybridSettings) {
    build(HybridKind::Fast, supply, seed)
}

fn check(tally: Tally) {
    if std::env::var("WEARWELL_CUT").is_err() {
        assert!(tally.recovery_cuts > 0 && tally.trims_undone > 0 && tally.ends_of_life > 0, "{tally:?}");
    }
}

#[test]
fn bast_survives_power_cuts() {
    check(check_all(&Subject { kind: "bast", build: build_bast, battery: false }, 24, 1500, 5000));
}

#[test]
fn fast_survives_power_cuts() {
    check(check_all(&Subject { kind: "fast", build: build_fast, battery: false }, 24, 1500, 5000));
}
