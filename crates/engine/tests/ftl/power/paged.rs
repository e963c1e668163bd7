//! FTLs with flash-resident tables under power cuts, on faulty flash.

use crate::power::chips::chips;
use crate::power::harness::{Chips, FtlUnderTest, check_all, try_all};
use serde_json::json;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_engine::ftl::paged::{
    BlockCounters, DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings,
};
use wearwell_engine::nand::PowerSource;
use wearwell_engine::validity::ValidityConfig;
use wearwell_engine::wear::WearConfig;

/// Returns one of the choices.
fn one_of<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random_below(random, choices.len() as u64) as usize]
}

/// Returns wear levelling with settings that act even in a short run.
pub fn random_wear(random: &mut Random) -> WearConfig {
    let scan = json!({ "kind": "scan", "scans_per_write": 3, "threshold": 0 });
    let kinds = [json!("none"), scan, json!({ "kind": "start_gap", "interval": 3 })];
    serde_json::from_value(kinds[random_below(random, 3) as usize].clone()).unwrap()
}

fn validity(settings: serde_json::Value) -> ValidityConfig {
    serde_json::from_value(settings).unwrap()
}

/// Builds a small FTL of the given kind; the seed determines its geometry and settings.
fn build(
    power: PowerSource,
    seed: u64,
    configure: impl FnOnce(&mut Random, PagedConfig) -> PagedConfig,
) -> (PagedFtl<Chips>, PagedSettings) {
    let mut random = Seed(seed).derive("shape").random();
    let pages_per_block = one_of(&mut random, &[2, 3, 4, 7, 8]);
    let logical_pages = 8 + random_below(&mut random, 40) as u32;
    let page_bytes = one_of(&mut random, &[16, 32, 64, 128]);
    let cache_entries = one_of(&mut random, &[1, 2, 3, 5, 8, 16, 40]);
    let config = PagedConfig {
        kind: "test",
        logical_pages,
        page_bytes,
        cache_entries,
        dirty_entries: None,
        eager: false,
        directory: DirectoryConfig::Global,
        validity: validity(json!("ram_bitmap")),
        cleans_metadata: true,
        checkpoints: false,
        durability: Durability::Battery,
        free_blocks: Default::default(),
        counters: Default::default(),
        wear: random_wear(&mut Seed(seed).derive("wear").random()),
        seed: Seed(seed),
    };
    let config = configure(&mut random, config);
    let victim = one_of(&mut random, &["\"greedy\"", "\"fifo\"", "\"random\"", "\"cost_benefit\""]);
    let placement = one_of(&mut random, &["\"single\"", "\"double\""]);
    let settings = PagedSettings {
        config,
        victim: serde_json::from_str(victim).unwrap(),
        placement: serde_json::from_str(placement).unwrap(),
    };
    // The FTL gets as little flash as it accepts, plus a small surplus.
    let mut blocks = logical_pages / pages_per_block + 8;
    loop {
        let flash =
            chips(power.clone(), (blocks, pages_per_block), &mut Seed(seed).derive("flash").random(), seed);
        match settings.build(flash) {
            Ok(ftl) => return (ftl, settings),
            Err(error) => assert!(error.key.contains("device"), "{error}"),
        }
        assert!(blocks < 2000, "a shape that never fits");
        blocks += 1 + random_below(&mut random, 4) as u32;
    }
}

fn build_dftl(power: PowerSource, seed: u64) -> (PagedFtl<Chips>, PagedSettings) {
    build(power, seed, |_, config| PagedConfig { eager: true, ..config })
}

fn build_mu_ftl(power: PowerSource, seed: u64) -> (PagedFtl<Chips>, PagedSettings) {
    build(power, seed, |random, config| PagedConfig {
        directory: DirectoryConfig::Tree { cached_nodes: one_of(random, &[None, Some(5), Some(7)]) },
        validity: validity(json!("flash_bitmap")),
        ..config
    })
}

fn build_lazyftl(power: PowerSource, seed: u64) -> (PagedFtl<Chips>, PagedSettings) {
    build(power, seed, |random, config| PagedConfig {
        dirty_entries: Some(1 + random_below(random, u64::from(config.cache_entries)) as u32),
        durability: Durability::Synchronised,
        ..config
    })
}

fn build_ib_ftl(power: PowerSource, seed: u64) -> (PagedFtl<Chips>, PagedSettings) {
    build(power, seed, |random, config| PagedConfig {
        directory: DirectoryConfig::Tree { cached_nodes: None },
        dirty_entries: Some(1 + random_below(random, u64::from(config.cache_entries)) as u32),
        durability: Durability::Synchronised,
        validity: validity(json!("log")),
        page_bytes: config.page_bytes.max(64),
        ..config
    })
}

#[test]
fn dftl_survives_power_cuts() {
    check_all(&FtlUnderTest { kind: "dftl", build: build_dftl, has_battery: true }, 12, 600, 1000);
}

#[test]
fn mu_ftl_survives_power_cuts() {
    check_all(&FtlUnderTest { kind: "mu_ftl", build: build_mu_ftl, has_battery: true }, 12, 600, 1000);
}

#[test]
fn lazyftl_survives_power_cuts() {
    check_all(&FtlUnderTest { kind: "lazyftl", build: build_lazyftl, has_battery: false }, 12, 600, 1000);
}

#[test]
fn ib_ftl_survives_power_cuts() {
    check_all(&FtlUnderTest { kind: "ib_ftl", build: build_ib_ftl, has_battery: false }, 12, 600, 1000);
}

fn build_gecko(power: PowerSource, seed: u64) -> (PagedFtl<Chips>, PagedSettings) {
    build(power, seed, |random, config| PagedConfig {
        page_bytes: config.page_bytes.max(64) * 2,
        cleans_metadata: one_of(random, &[false, false, true]),
        checkpoints: true,
        durability: Durability::Deferred { skips_older_pages: true },
        validity: validity(json!({
            "kind": "gecko",
            "size_ratio": one_of(random, &[2, 2, 3, 4]),
            "partitions": one_of(random, &[1, 1, 2]),
            "multiway": one_of(random, &[true, true, false]),
        })),
        ..config
    })
}

#[test]
fn gecko_survives_power_cuts() {
    check_all(&FtlUnderTest { kind: "gecko", build: build_gecko, has_battery: false }, 12, 600, 1000);
}

/// Returns settings with counters of valid pages for a sample of blocks, or for none.
fn partial_counters(random: &mut Random) -> BlockCounters {
    match one_of(random, &[false, true]) {
        false => BlockCounters::None { choices: one_of(random, &[2, 3, 10]) },
        true => BlockCounters::Sampled {
            fraction: one_of(random, &[0.01, 0.2, 1.0]),
            choices: one_of(random, &[2, 3]),
        },
    }
}

fn build_uncounted_gecko(power: PowerSource, seed: u64) -> (PagedFtl<Chips>, PagedSettings) {
    build(power, seed, |random, config| PagedConfig {
        page_bytes: config.page_bytes.max(64) * 2,
        cleans_metadata: one_of(random, &[false, false, true]),
        checkpoints: true,
        durability: Durability::Deferred { skips_older_pages: true },
        validity: validity(json!("gecko")),
        counters: partial_counters(random),
        ..config
    })
}

fn build_uncounted_mixture(power: PowerSource, seed: u64) -> (PagedFtl<Chips>, PagedSettings) {
    build(power, seed, |random, config| PagedConfig {
        dirty_entries: Some(1 + random_below(random, u64::from(config.cache_entries)) as u32),
        durability: Durability::Synchronised,
        validity: validity(json!(one_of(random, &["log", "flash_bitmap"]))),
        page_bytes: config.page_bytes.max(64),
        counters: partial_counters(random),
        ..config
    })
}

#[test]
fn ftls_without_counters_for_all_blocks_survive_power_cuts() {
    let gecko = FtlUnderTest { kind: "uncounted gecko", build: build_uncounted_gecko, has_battery: false };
    check_all(&gecko, 8, 600, 1000);
    let mixture =
        FtlUnderTest { kind: "uncounted mixture", build: build_uncounted_mixture, has_battery: false };
    check_all(&mixture, 8, 600, 1000);
}

/// Negative control: without the battery, pages must be lost.
#[test]
fn dftl_without_its_battery_loses_pages() {
    if std::env::var("WEARWELL_CUT").is_err() {
        let problem = try_all(&FtlUnderTest { kind: "dftl", build: build_dftl, has_battery: false }, 4, 50)
            .unwrap_err();
        assert!(problem.starts_with("dftl:"), "{problem}");
    }
}
