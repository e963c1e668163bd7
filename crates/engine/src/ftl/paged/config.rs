//! What an FTL with a flash-resident table is made of.

use super::counters::BlockCounters;
use crate::config::ConfigError;
use crate::flash_format::ValidityCodec;
use crate::pool::{FreeBlocks, Marks};
use crate::seed::Seed;
use crate::validity::{ValidityConfig, ValiditySize};
use crate::wear::WearConfig;

/// How the addresses of translation pages are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryConfig {
    /// Global mapping directory: all of them in RAM (DFTL).
    Global,
    /// A B-tree whose nodes lie in flash, of which so many are cached, the root besides (mu-FTL, IB-FTL); `None`: all.
    Tree {
        /// Nodes cached, at least one for each level.
        cached_nodes: Option<u32>,
    },
}

/// What power loss leaves of the cache's dirty entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A battery lets the drive write everything down that is only in RAM.
    Battery,
    /// Recovery finds the entries in spare areas and synchronises them before anything else is done.
    Synchronised,
    /// Recovery finds them and leaves them dirty (paper, sec. 4.3: deferred synchronisation).
    Deferred {
        /// Whether recovery leaves out pages older than the latest version of their translation page, which holds them
        /// already. The paper does not, and corrects the entries later (App. C.3); but then a page whose trim had been
        /// synchronised comes back.
        dated: bool,
    },
}

/// Everything about an FTL but its flash and its policies.
#[derive(Clone, Debug, PartialEq)]
pub struct PagedConfig {
    /// Its name in results.
    pub kind: &'static str,
    /// Logical pages shown above.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// `C`: mapping entries cached, at least 1.
    pub cache_entries: u32,
    /// Most of them that may be dirty; `None`: all.
    pub dirty_entries: Option<u32>,
    /// Whether a write to a page that is not cached first reads its translation page, so that its before-image is reported at
    /// once, as DFTL does. If not, the before-image is found later (paper, sec. 4.1).
    pub eager: bool,
    /// How translation pages are found.
    pub directory: DirectoryConfig,
    /// How invalid pages are known.
    pub validity: ValidityConfig,
    /// Of which blocks it is held in RAM how many pages are valid.
    pub counters: BlockCounters,
    /// Whether blocks of metadata are cleaned as all others are. If not, they are erased once nothing in them is valid
    /// (paper, sec. 4.2).
    pub cleans_metadata: bool,
    /// Whether a checkpoint is taken every `cache_entries` insertions and updates of the cache (paper, sec. 4.3).
    pub checkpoints: bool,
    /// What happens to dirty entries in a power cut.
    pub durability: Durability,
    /// When cleaning begins, is put off and uses idle time, in erased blocks.
    pub free_blocks: FreeBlocks,
    /// How wear is levelled.
    pub wear: WearConfig,
    /// The root of its generators.
    pub seed: Seed,
}

impl PagedConfig {
    /// Mapping entries of a translation page: addresses of 4 bytes.
    pub fn entries_per_translation_page(&self) -> u32 {
        (self.page_bytes / 4).max(1)
    }

    /// The key of the first setting that means nothing.
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

    /// The marks of its pool, which needs `reserve` erased blocks.
    pub(super) fn marks(&self, reserve: u32) -> Result<Marks, ConfigError> {
        self.free_blocks.marks(reserve)
    }

    /// Whether reports of invalid pages that are lost with the power can be found again from what flash holds, which takes
    /// that older versions of translation pages are kept as long as a report is only in RAM.
    pub fn protects_versions(&self) -> bool {
        self.durability != Durability::Battery && !self.bitmap_in_ram()
    }

    /// Whether validity is known in RAM alone.
    pub fn bitmap_in_ram(&self) -> bool {
        matches!(self.validity, ValidityConfig::RamBitmap(_))
    }

    /// How pages of its validity store look in bytes.
    pub(super) fn codec(&self, size: &ValiditySize) -> ValidityCodec {
        let gecko = match &self.validity {
            ValidityConfig::Gecko(gecko) => Some(gecko.config(size)),
            _ => None,
        };
        let pages = size.blocks.saturating_mul(size.pages_per_block);
        ValidityCodec { gecko, pages, page_bytes: self.page_bytes }
    }

    /// The device as the validity store sees it.
    pub fn validity_size(&self, blocks: u32, pages_per_block: u32) -> ValiditySize {
        let (page_bytes, logical_pages) = (self.page_bytes, self.logical_pages);
        ValiditySize { blocks, pages_per_block, page_bytes, logical_pages }
    }
}
