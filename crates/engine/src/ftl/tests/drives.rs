//! Tiny drives: blocks of 4 pages.

use super::super::hybrid::{HybridConfig, HybridFtl, HybridKind};
use super::super::page::{PageConfig, PageFtl};
use super::super::paged::{DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings};
use crate::layer::{ContentId, Layer, LayerReport, NandReport, Reports};
use crate::log::{Reclaim, StoreConfig};
use crate::nand::{Faults, Geometry, Nand, PageState, PowerCutFlash, PowerSource, Wear};
use crate::seed::Seed;
use crate::units::{BlockId, Lpn};
use crate::validity::ValidityConfig;
use serde_json::{Value, json};

pub const PAGES_PER_BLOCK: u32 = 4;

/// Flash on a power source that can be cut.
pub type PowerCutNand = PowerCutFlash<Nand<ContentId>>;

pub fn flash(blocks: u32) -> Nand<ContentId> {
    Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, 4096), Wear::default(), Seed(1)).with_spare_area()
}

pub fn power_cut_nand(blocks: u32, faults: Faults, power_source: &PowerSource) -> PowerCutNand {
    PowerCutFlash::new(flash(blocks).with_faults(faults, Seed(5)), power_source.clone())
}

/// The five designs.
pub const DESIGNS: [&str; 5] = ["dftl", "mu_ftl", "lazyftl", "ib_ftl", "gecko"];

fn validity(settings: Value) -> ValidityConfig {
    serde_json::from_value(settings).unwrap()
}

/// Returns the settings of a design with this many logical pages and `cache_entries` mapping entries in RAM.
pub fn paged(design: &str, logical_pages: u32, cache_entries: u32) -> PagedSettings {
    let plain = PagedConfig {
        kind: "test",
        logical_pages,
        // A translation page has eight entries.
        page_bytes: 32,
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
        wear: Default::default(),
        seed: Seed(1),
    };
    let dirty_entries = Some(cache_entries.div_ceil(2));
    let config = match design {
        "dftl" => PagedConfig { eager: true, ..plain },
        "mu_ftl" => PagedConfig {
            directory: DirectoryConfig::Tree { cached_nodes: Some(2) },
            validity: validity(json!("flash_bitmap")),
            ..plain
        },
        "lazyftl" => PagedConfig { dirty_entries, durability: Durability::Synchronised, ..plain },
        "ib_ftl" => PagedConfig {
            page_bytes: 64,
            directory: DirectoryConfig::Tree { cached_nodes: None },
            dirty_entries,
            durability: Durability::Synchronised,
            validity: validity(json!("log")),
            ..plain
        },
        "gecko" => PagedConfig {
            page_bytes: 128,
            cleans_metadata: false,
            checkpoints: true,
            durability: Durability::Deferred { skips_older_pages: true },
            validity: validity(json!("gecko")),
            ..plain
        },
        _ => panic!("no design {design}"),
    };
    PagedSettings {
        config,
        victim: serde_json::from_value(json!("greedy")).unwrap(),
        placement: serde_json::from_value(json!("single")).unwrap(),
    }
}

/// True if the design relies on a battery; the log does not.
pub fn has_battery(design: &str) -> bool {
    DESIGNS.contains(&design) && paged(design, 1, 1).config.durability == Durability::Battery
}

/// Builds the FTL on the smallest possible flash plus `spare_blocks` blocks.
pub fn build_paged(
    settings: &PagedSettings,
    spare_blocks: u32,
    faults: Faults,
    supply: &PowerSource,
) -> PagedFtl<PowerCutNand> {
    let fits = |blocks: &u32| settings.build(power_cut_nand(*blocks, faults, supply)).is_ok();
    let blocks = (1..400).find(fits).expect("settings that fit some drive");
    settings.build(power_cut_nand(blocks + spare_blocks, faults, supply)).unwrap()
}

pub fn page_config(logical_pages: u32, placement: &str) -> PageConfig {
    PageConfig {
        store: StoreConfig::new(logical_pages, Reclaim::FreePool { low: 1, high: 2 }, Seed(1)),
        victim: serde_json::from_value(json!("greedy")).unwrap(),
        placement: serde_json::from_value(json!(placement)).unwrap(),
        wear: Default::default(),
    }
}

pub fn build_page(
    config: &PageConfig,
    spare_blocks: u32,
    faults: Faults,
    supply: &PowerSource,
) -> PageFtl<PowerCutNand> {
    let blocks = config.store.logical_pages.div_ceil(PAGES_PER_BLOCK) + 5 + spare_blocks;
    config.build(power_cut_nand(blocks, faults, supply)).unwrap()
}

/// Returns the settings of a hybrid FTL.
pub fn hybrid_config(kind: HybridKind, logical_pages: u32, log_blocks: u32) -> HybridConfig {
    HybridConfig { kind, log_blocks, logical_pages }
}

pub fn hybrid_blocks(config: &HybridConfig) -> u32 {
    config.logical_pages.div_ceil(PAGES_PER_BLOCK) + config.log_blocks + 1
}

/// Writes the pages, one per call; the content is the page's number plus 100.
pub fn write(ftl: &mut impl Layer<ContentId>, pages: impl IntoIterator<Item = u32>) {
    for page in pages {
        ftl.write(&[Lpn(page)], &[ContentId(u64::from(page) + 100)], 0).unwrap();
    }
}

pub fn read(ftl: &mut impl Layer<ContentId>, pages: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let pages: Vec<Lpn> = pages.into_iter().map(Lpn).collect();
    let mut read = Vec::new();
    ftl.read(&pages, &mut read).unwrap();
    read.iter().map(|content| content.0).collect()
}

pub fn trim(ftl: &mut impl Layer<ContentId>, pages: impl IntoIterator<Item = u32>) {
    ftl.trim(&pages.into_iter().map(Lpn).collect::<Vec<_>>()).unwrap();
}

pub fn reports<P: crate::layer::Payload>(ftl: &impl Layer<P>) -> (LayerReport, NandReport) {
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    (reports.layers.remove(0), reports.nand.unwrap())
}

/// Returns the count of an event by its name.
pub fn count(report: &LayerReport, name: &str) -> u64 {
    let counts = &report.ftl.as_ref().unwrap().counts;
    counts.iter().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// Returns the owners of the pages of each block, `~` for padding and `x` for unreadable pages.
pub fn owners(flash: &impl crate::nand::Flash) -> Vec<String> {
    let page = |block: BlockId, page: u32| match flash.spare(block, page) {
        PageState::Erased => None,
        PageState::Unreadable => Some("x".to_owned()),
        PageState::Written(spare) if spare.owner.0 == u32::MAX => Some("~".to_owned()),
        PageState::Written(spare) => Some(spare.owner.0.to_string()),
    };
    let row = |block: u32| (0..PAGES_PER_BLOCK).filter_map(|at| page(BlockId(block), at)).collect::<Vec<_>>();
    (0..flash.blocks()).map(|block| row(block).join(" ")).collect()
}

pub fn hybrid(config: HybridConfig) -> HybridFtl<Nand<ContentId>> {
    HybridFtl::new(config, flash(hybrid_blocks(&config))).unwrap()
}
