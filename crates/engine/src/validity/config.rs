//! Types of page-validity stores and their settings.

use super::{FlashBitmap, Gecko, GeckoConfig, LogConfig, PageValidity, RamValidity, ValidityLog};
use crate::config::{ConfigError, Entry, named_config};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes of the device that a store is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValiditySize {
    /// Number of blocks.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Size of a page in bytes.
    pub page_bytes: u32,
    /// Number of logical pages.
    pub logical_pages: u32,
}

impl ValiditySize {
    fn spare_pages(&self) -> u64 {
        let pages = u64::from(self.blocks) * u64::from(self.pages_per_block);
        pages.saturating_sub(u64::from(self.logical_pages))
    }
}

/// Settings of one type of store.
pub trait ValidityKind {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Builds the empty store.
    fn build(&self, size: &ValiditySize) -> Result<Box<dyn PageValidity>, ConfigError>;
}

/// Settings of [`RamValidity`](super::RamValidity).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RamBitmapSettings {}

impl ValidityKind for RamBitmapSettings {
    const ENTRY: Entry = Entry {
        name: "ram_bitmap",
        help: "a bit for every page, in RAM: no flash traffic, most RAM",
        source: "DFTL (ASPLOS'09), LazyFTL (SIGMOD'11)",
    };

    fn build(&self, size: &ValiditySize) -> Result<Box<dyn PageValidity>, ConfigError> {
        Ok(Box::new(RamValidity::new(size.blocks, size.pages_per_block, size.page_bytes)))
    }
}

/// Settings of [`FlashBitmap`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashBitmapSettings {}

impl ValidityKind for FlashBitmapSettings {
    const ENTRY: Entry = Entry {
        name: "flash_bitmap",
        help: "a bit for every page, in flash: an update reads and writes a page",
        source: "μ-FTL (EMSOFT'08)",
    };

    fn build(&self, size: &ValiditySize) -> Result<Box<dyn PageValidity>, ConfigError> {
        Ok(Box::new(FlashBitmap::new(size.blocks, size.pages_per_block, size.page_bytes)))
    }
}

/// Settings of [`ValidityLog`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// Capacity of the log in entries; at least the entries of two pages. Default: twice the number of pages that the
    /// device has in addition to the logical ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub entries: Option<u64>,
}

impl LogSettings {
    /// Returns the complete configuration for a device of this size.
    pub fn config(&self, size: &ValiditySize) -> LogConfig {
        let config = LogConfig::new(size.blocks, size.pages_per_block, size.page_bytes, size.spare_pages());
        LogConfig { entries: self.entries.unwrap_or(config.entries), ..config }
    }
}

impl ValidityKind for LogSettings {
    const ENTRY: Entry = Entry {
        name: "log",
        help: "a log of invalidated pages in flash, chained by block, with the heads of the chains in RAM",
        source: "IB-FTL (TODAES'13); cleaning: GeckoFTL (SIGMOD'16), Appendix E",
    };

    fn build(&self, size: &ValiditySize) -> Result<Box<dyn PageValidity>, ConfigError> {
        Ok(Box::new(ValidityLog::new(self.config(size))?))
    }
}

/// Settings of [`Gecko`]; see [`GeckoConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeckoSettings {
    /// Ratio between the sizes of levels (T), at least 2.
    #[schemars(range(min = 2))]
    pub size_ratio: u32,
    /// Number of parts into which a block's bitmap is divided (S), from 1 to the pages per block. Default: parts of
    /// 32 pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub partitions: Option<u32>,
    /// True if a merge immediately includes all runs that would have to be merged next.
    pub multiway: bool,
    /// True if the buffer is written after as many updates as it can hold entries, even if these updates need fewer
    /// entries.
    pub buffer_inserts_limited: bool,
    /// Bits of an entry's key and erase flag in flash.
    #[schemars(range(min = 2, max = 64))]
    pub key_bits: u32,
}

impl Default for GeckoSettings {
    fn default() -> Self {
        GeckoSettings {
            size_ratio: 2,
            partitions: None,
            multiway: true,
            buffer_inserts_limited: false,
            key_bits: 32,
        }
    }
}

impl GeckoSettings {
    /// Returns the complete configuration for a device of this size.
    pub fn config(&self, size: &ValiditySize) -> GeckoConfig {
        let recommended = GeckoConfig::new(size.blocks, size.pages_per_block, size.page_bytes);
        GeckoConfig {
            size_ratio: self.size_ratio,
            partitions: self.partitions.unwrap_or(recommended.partitions),
            multiway: self.multiway,
            buffer_inserts_limited: self.buffer_inserts_limited,
            key_bits: self.key_bits,
            ..recommended
        }
    }
}

impl ValidityKind for GeckoSettings {
    const ENTRY: Entry = Entry {
        name: "gecko",
        help: "Logarithmic Gecko: runs of bitmaps in flash, merged like those of an LSM-tree",
        source: "GeckoFTL (SIGMOD'16), Section 3",
    };

    fn build(&self, size: &ValiditySize) -> Result<Box<dyn PageValidity>, ConfigError> {
        Ok(Box::new(Gecko::new(self.config(size))?))
    }
}

named_config! {
    /// Type and settings of the page-validity store, as written in a scenario.
    enum ValidityConfig, list VALIDITIES, aliases VALIDITY_ALIASES,
    of ValidityKind, called "validity store", tag "kind";
    RamBitmap: RamBitmapSettings;
    FlashBitmap: FlashBitmapSettings;
    Log: LogSettings;
    Gecko: GeckoSettings;
}

impl ValidityConfig {
    /// Builds the empty store.
    ///
    /// # Errors
    ///
    /// Fails if the settings do not fit the device; the error contains the key and the allowed values.
    pub fn build(&self, size: &ValiditySize) -> Result<Box<dyn PageValidity>, ConfigError> {
        match self {
            ValidityConfig::RamBitmap(settings) => settings.build(size),
            ValidityConfig::FlashBitmap(settings) => settings.build(size),
            ValidityConfig::Log(settings) => settings.build(size),
            ValidityConfig::Gecko(settings) => settings.build(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_config_tests::NamedConfig;

    #[test]
    fn validity_table_is_complete() {
        NamedConfig::<ValidityConfig> {
            tag: "kind",
            entries: VALIDITIES,
            aliases: VALIDITY_ALIASES,
            entry_of: ValidityConfig::entry,
        }
        .check();
    }

    #[test]
    fn every_kind_builds_with_paper_settings() {
        let size = ValiditySize { blocks: 100, pages_per_block: 128, page_bytes: 4096, logical_pages: 9000 };
        for entry in VALIDITIES {
            let config: ValidityConfig = serde_json::from_value(serde_json::json!(entry.name)).unwrap();
            assert_eq!(config.build(&size).unwrap().flash_pages(), 0);
        }
        assert_eq!(GeckoSettings::default().config(&size), GeckoConfig::new(100, 128, 4096));
        assert_eq!(LogSettings::default().config(&size).entries, 2 * (12800 - 9000));
        let wrong = GeckoSettings { partitions: Some(129), ..GeckoSettings::default() };
        assert_eq!(wrong.build(&size).map(|_| ()).unwrap_err().key, "partitions");
    }
}
