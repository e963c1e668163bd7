//! Construction of an FTL's parts from its settings, and the space that the parts need.

use super::config::{DirectoryConfig, Durability, PagedConfig};
use super::counters;
use super::directory::Directory;
use super::known_blocks::{KnownBlocks, KnownBlocksSize, VictimChooser};
use super::tree::TranslationTree;
use crate::config::{ConfigError, StoreSize};
use crate::layer::LayerError;
use crate::units::{BlockId, Slot};
use crate::validity::{
    FlashBitmap, FoundPage, Gecko, PageValidity, RamValidity, ValidityConfig, ValidityFlash, ValidityLog,
    ValiditySize,
};
use crate::victim::VictimPolicy;
use crate::wear::WearLevelling;

/// Recovers the validity store from its pages in flash. A bitmap in RAM without a saved image is empty.
pub(super) fn recover_validity(
    config: &PagedConfig,
    size: &ValiditySize,
    found: &[FoundPage],
    first_written: &dyn Fn(BlockId) -> Option<u64>,
    flash: &mut dyn ValidityFlash,
) -> Result<Box<dyn PageValidity>, LayerError> {
    let ValiditySize { blocks, pages_per_block, page_bytes, .. } = *size;
    Ok(match &config.validity {
        ValidityConfig::RamBitmap(_) => {
            let image = RamValidity::recover_image(blocks, pages_per_block, page_bytes, found, flash)?;
            Box::new(image.unwrap_or_else(|| RamValidity::new(blocks, pages_per_block, page_bytes)))
        }
        ValidityConfig::FlashBitmap(_) => {
            Box::new(FlashBitmap::recover(blocks, pages_per_block, page_bytes, found, flash)?)
        }
        ValidityConfig::Log(log) => {
            Box::new(ValidityLog::recover(log.config(size), found, first_written, flash)?)
        }
        ValidityConfig::Gecko(gecko) => Box::new(Gecko::recover(gecko.config(size), found, flash)?),
    })
}

/// Creates the directory of translation pages that are stored at `locations`.
pub(super) fn build_directory(config: &PagedConfig, locations: &[Slot]) -> Result<Directory, ConfigError> {
    Ok(match config.directory {
        DirectoryConfig::Global => Directory::Global(locations.to_vec()),
        DirectoryConfig::Tree { cached_nodes } => {
            Directory::Tree(TranslationTree::new(locations, config.page_bytes, cached_nodes)?)
        }
    })
}

/// Returns the number of pages that the validity store writes when a battery saves it.
pub(super) fn saved_pages(config: &PagedConfig, size: &ValiditySize) -> u64 {
    match (config.durability, &config.validity) {
        (Durability::Battery, ValidityConfig::RamBitmap(_)) => bitmap_pages(size),
        _ => 0,
    }
}

/// Returns the number of erased blocks below which a victim is cleaned.
///
/// Cleaning a victim may write its pages, twice as many translation pages (with the writes that these cause), and the
/// pages that the validity store writes at once. Each kind of page is written to separate blocks, the first of which
/// may have to be opened.
pub(super) fn reserve_blocks(
    config: &PagedConfig,
    size: &ValiditySize,
    user_streams: u8,
    directory: &Directory,
    validity: &dyn PageValidity,
) -> u64 {
    let blocks_for = |pages: u64| pages.div_ceil(u64::from(size.pages_per_block));
    4 + 2 * u64::from(user_streams)
        + 2 * u64::from(directory.max_appended_nodes())
        + blocks_for(2 * validity.max_appended_pages())
        + blocks_for(saved_pages(config, size))
        + blocks_for(synchronised_pages(config))
}

/// Returns the number of translation pages that recovery may write before any block can be cleaned.
fn synchronised_pages(config: &PagedConfig) -> u64 {
    if config.durability != Durability::Synchronised {
        return 0;
    }
    let translation_pages = config.logical_pages.div_ceil(config.entries_per_translation_page());
    config.dirty_entries.unwrap_or(config.cache_entries).min(translation_pages).into()
}

/// Returns the victim policy together with the blocks that it sees.
pub(super) fn build_chooser(
    config: &PagedConfig,
    size: &ValiditySize,
    translation_pages: u32,
    policy: Box<dyn VictimPolicy>,
) -> VictimChooser {
    let Some(choices) = config.counters.choices() else { return VictimChooser::All(policy) };
    // The table has twice the expected number, if metadata blocks are candidates at all.
    let metadata = match config.cleans_metadata {
        true => 2 * counters::metadata_blocks(&config.validity, size, translation_pages) + 8,
        false => 0,
    };
    let ValiditySize { blocks, pages_per_block, logical_pages, .. } = *size;
    let (remembered, metadata) =
        (config.counters.remembered(blocks), u32::try_from(metadata).unwrap_or(blocks));
    let size = KnownBlocksSize { blocks, pages_per_block, logical_pages, remembered, choices, metadata };
    VictimChooser::KnownBlocks(Box::new(KnownBlocks::new(policy, size, config.seed)))
}

/// Returns the wear-levelling policy, if any.
pub(super) fn build_levelling(
    config: &PagedConfig,
    size: &ValiditySize,
) -> Result<Option<Box<dyn WearLevelling>>, ConfigError> {
    let ValiditySize { blocks, pages_per_block, logical_pages, .. } = *size;
    let size = StoreSize { blocks, pages_per_block, logical_pages, seed: config.seed };
    config.wear.build(&size).map_err(|error| error.within("wear"))
}

fn bitmap_pages(size: &ValiditySize) -> u64 {
    let pages = u64::from(size.blocks) * u64::from(size.pages_per_block);
    pages.div_ceil(8 * u64::from(size.page_bytes))
}

/// Returns the maximum number of metadata pages needed at a time.
pub(super) fn metadata_pages(
    config: &PagedConfig,
    size: &ValiditySize,
    translation_pages: u32,
    validity: &dyn PageValidity,
) -> u64 {
    let table = match config.directory {
        DirectoryConfig::Global => u64::from(translation_pages),
        DirectoryConfig::Tree { .. } => 2 * u64::from(translation_pages) + 1,
    };
    let validity = match &config.validity {
        ValidityConfig::RamBitmap(_) => 2 * saved_pages(config, size),
        ValidityConfig::FlashBitmap(_) => bitmap_pages(size),
        ValidityConfig::Log(log) => {
            let log = log.config(size);
            log.entries.div_ceil(u64::from(log.page_entries())) + 2 * validity.max_appended_pages()
        }
        // The other runs together are as large as the largest run, and a merge keeps the old runs until the new run is
        // complete.
        ValidityConfig::Gecko(_) => 3 * validity.max_appended_pages(),
    };
    table + validity
}
