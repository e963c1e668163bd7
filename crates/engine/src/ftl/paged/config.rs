//! Settings of an FTL with a flash-resident mapping table.

use super::counters::BlockCounters;
use crate::config::ConfigError;
use crate::flash_format::ValidityCodec;
use crate::pool::{FreeBlocks, Watermarks};
use crate::seed::Seed;
use crate::validity::{ValidityConfig, ValiditySize};
use crate::wear::WearConfig;

/// Directory of the translation pages' locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryConfig {
    /// Global mapping directory: all locations are in RAM (DFTL).
    Global,
    /// A B-tree in flash with a limited number of cached nodes, in addition to the root (mu-FTL, IB-FTL); `None`: all
    /// nodes are cached.
    Tree {
        /// Number of cached nodes, at least one per level.
        cached_nodes: Option<u32>,
    },
}

/// Treatment of the cache's dirty entries at a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// With a battery, the drive writes all data that is only in RAM to flash.
    Battery,
    /// Recovery finds the entries in spare areas and synchronises them before anything else is done.
    Synchronised,
    /// Recovery finds the entries and leaves them dirty (paper, sec. 4.3: deferred synchronisation).
    Deferred {
        /// True if recovery skips pages older than the newest version of their translation page, which already
        /// contains them. The paper does not skip them and corrects the entries later (App. C.3), but then a page
        /// whose trim had been synchronised reappears.
        skips_older_pages: bool,
    },
}

/// Settings of an FTL, without its flash and its policies.
#[derive(Clone, Debug, PartialEq)]
pub struct PagedConfig {
    /// Name of the FTL in results.
    pub kind: &'static str,
    /// Logical pages that the FTL exposes.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// `C`: number of cached mapping entries, at least 1.
    pub cache_entries: u32,
    /// Maximum number of dirty entries; `None`: no limit.
    pub dirty_entries: Option<u32>,
    /// True if a write to an uncached page first reads its translation page, so that the before-image is reported
    /// immediately, as in DFTL. If false, the before-image is identified later (paper, sec. 4.1).
    pub eager: bool,
    /// Directory of the translation pages' locations.
    pub directory: DirectoryConfig,
    /// Type of the validity store, which records invalid pages.
    pub validity: ValidityConfig,
    /// Blocks whose number of valid pages is kept in RAM.
    pub counters: BlockCounters,
    /// True if metadata blocks are cleaned like all other blocks. If false, they are erased once no page in them is
    /// valid (paper, sec. 4.2).
    pub cleans_metadata: bool,
    /// True if a checkpoint is taken every `cache_entries` insertions and updates of the cache (paper, sec. 4.3).
    pub checkpoints: bool,
    /// Treatment of dirty entries at a power cut.
    pub durability: Durability,
    /// Watermarks of erased blocks: start of cleaning, deferral, and target of idle cleaning.
    pub free_blocks: FreeBlocks,
    /// Settings of wear levelling.
    pub wear: WearConfig,
    /// Root seed of the FTL's random numbers.
    pub seed: Seed,
}

impl PagedConfig {
    /// Returns the number of mapping entries (addresses of 4 bytes) in a translation page.
    pub fn entries_per_translation_page(&self) -> u32 {
        (self.page_bytes / 4).max(1)
    }

    /// Rejects invalid settings; the error names the first invalid key.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.cache_entries == 0 {
            return Err(ConfigError::new("cache_entries", "is 0; at least 1 is needed"));
        }
        if self.page_bytes < 16 {
            let problem = format!("is {}; metadata pages need at least 16 bytes", self.page_bytes);
            return Err(ConfigError::new("page_bytes", problem));
        }
        self.counters.check_with(&self.validity)?;
        match self.dirty_entries {
            Some(dirty) if dirty == 0 || dirty > self.cache_entries => {
                let problem =
                    format!("is {dirty}; from 1 to the {} entries of the cache", self.cache_entries);
                Err(ConfigError::new("dirty_entries", problem))
            }
            _ => Ok(()),
        }
    }

    /// Returns the watermarks of the pool, which needs `reserve` erased blocks.
    pub(super) fn watermarks(&self, reserve: u32) -> Result<Watermarks, ConfigError> {
        self.free_blocks.watermarks(reserve)
    }

    /// True if recovery must be able to reconstruct reports of invalid pages that were lost with the RAM. Older
    /// versions of translation pages are then kept as long as a report is only in RAM.
    pub fn protects_versions(&self) -> bool {
        self.durability != Durability::Battery && !self.has_ram_bitmap()
    }

    /// True if validity is stored only in RAM.
    pub fn has_ram_bitmap(&self) -> bool {
        matches!(self.validity, ValidityConfig::RamBitmap(_))
    }

    /// Returns the codec for pages of the validity store.
    pub(super) fn codec(&self, size: &ValiditySize) -> ValidityCodec {
        let gecko = match &self.validity {
            ValidityConfig::Gecko(gecko) => Some(gecko.config(size)),
            _ => None,
        };
        let pages = size.blocks.saturating_mul(size.pages_per_block);
        ValidityCodec { gecko, pages, page_bytes: self.page_bytes }
    }

    /// Returns the sizes that the validity store needs.
    pub fn validity_size(&self, blocks: u32, pages_per_block: u32) -> ValiditySize {
        let (page_bytes, logical_pages) = (self.page_bytes, self.logical_pages);
        ValiditySize { blocks, pages_per_block, page_bytes, logical_pages }
    }
}
