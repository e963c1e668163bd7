//! What may be chosen: when a file system is made, and each time it is opened.

use crate::layout::{Checksums, EXTENT_BLOCKS};
use crate::placement::PlacementKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is fixed when a file system is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    /// Tells it apart from others.
    pub id: u128,
    /// Inodes at first, more of which come when they are needed; `None` for one in 4 KiB of NVRAM.
    pub inodes: Option<u32>,
    /// Share of the SSD's extents kept free for cleaning.
    pub reserve: f64,
    /// Where data goes.
    pub placement: PlacementKind,
    /// The times of the root directory, ns since 1970.
    pub now_ns: i64,
    /// What has checksums.
    pub checksums: Checksums,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            id: 0,
            inodes: None,
            reserve: 0.05,
            placement: PlacementKind::default(),
            now_ns: 0,
            checksums: Checksums::default(),
        }
    }
}

/// Which dirty pages go to the SSD together (section III-B: those of similar update likelihood).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// The least recently used ones, whatever they are.
    Lru,
    /// Of the least recently used pages, those that were written about as often since they came to NVRAM, pages that
    /// cleaning moved apart from others. Each kind goes to the SSD with its own stream.
    #[default]
    UpdateLikelihood,
}

/// How the NVRAM is shared between dirty and clean pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lists {
    // The default: the other is better where much is read, but not under every load (docs/design/nvmfs.md).
    /// By the bounds of flushing alone, which are shares of all pages; clean pages leave in the order of their last use.
    #[default]
    Fixed,
    /// As the load has it: the bounds of flushing are shares of a dirty list whose length follows what is written or read again soon
    /// after it left its list. Clean pages that were read once leave before those that were read again.
    Adaptive,
}

/// When what was written goes on from the NVRAM to the SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// When the NVRAM is full of it: from `flush_above` down to `flush_below`.
    #[default]
    WriteBack,
    /// All of it each time that users have written `write_out_share` of the NVRAM, or when the NVRAM is full of it: "other
    /// file systems have to periodically flush dirty data" (section IV-B). Of `conquest` alone.
    Periodic,
    /// At once: the NVRAM keeps what was written for reading alone. Of `conquest` alone.
    WriteThrough,
}

/// Share of the NVRAM's pages that are written between two write-outs where nothing else is said: 30 s, after which Linux
/// writes out dirty data and btrfs commits, are 99,000 of the 3,300 random writes a second of the paper's drive, 0.09 of its 4 GiB;
/// and Linux begins to write out when a tenth of the memory is dirty.
const WRITE_OUT_SHARE: f64 = 0.1;

/// How a file system uses its devices; may differ each time it is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// How the NVRAM is shared between dirty and clean pages.
    pub lists: Lists,
    /// Share of the NVRAM's pages, or of the dirty list where its length follows the load, that may be dirty before flushing begins
    /// (section III-B: 80 %).
    pub flush_above: f64,
    /// Share at which it ends (section III-B: 50 %).
    pub flush_below: f64,
    /// When what was written goes to the SSD. `nvmfs`, which writes whole extents of cold pages, has write-back alone.
    pub caching: Caching,
    /// With `caching = "periodic"`: share of the NVRAM's pages that users write between two write-outs, above 0; 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_out_share: Option<f64>,
    /// Recycling begins when more than this share of the extents in use would be saved by packing what is valid...
    pub recycle_fragmentation: f64,
    /// ...and less than this share of extents is free (section III-C).
    pub recycle_free: f64,
    /// Which pages are flushed together.
    pub grouping: Grouping,
    /// Whether extents that hold nothing are trimmed.
    pub trim: bool,
    /// Largest file that Conquest's placement keeps on NVRAM, bytes.
    pub small_file_bytes: u64,
    /// Bytes of memory for indexes of directories.
    pub index_bytes: usize,
    /// Tells this mount from those of copies of the file system: any number, a random one where there may be copies.
    #[serde(skip)]
    pub mark: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            lists: Lists::default(),
            flush_above: 0.8,
            flush_below: 0.5,
            caching: Caching::default(),
            write_out_share: None,
            recycle_fragmentation: 0.1,
            // Late: the longer cleaning waits, the less is valid in what it empties.
            recycle_free: 0.02,
            grouping: Grouping::default(),
            trim: true,
            small_file_bytes: 1 << 20,
            index_bytes: 64 << 20,
            mark: 0,
        }
    }
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct OptionError {
    /// Its name.
    pub key: &'static str,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

fn share(key: &'static str, value: f64) -> Result<(), OptionError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(OptionError { key, problem: format!("is {value}; a share from 0 to 1 is allowed") })
}

impl Options {
    /// Refuses settings that make no sense.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self) -> Result<(), OptionError> {
        share("flush_above", self.flush_above)?;
        share("flush_below", self.flush_below)?;
        share("recycle_fragmentation", self.recycle_fragmentation)?;
        share("recycle_free", self.recycle_free)?;
        if self.flush_below > self.flush_above {
            let problem =
                format!("is {}, above flush_above, which is {}", self.flush_below, self.flush_above);
            return Err(OptionError { key: "flush_below", problem });
        }
        match self.write_out_share {
            Some(_) if self.caching != Caching::Periodic => {
                let problem = "is given, and `caching` is not `periodic`, which alone has a period".into();
                Err(OptionError { key: "write_out_share", problem })
            }
            Some(share) if !(share > 0.0 && share.is_finite()) => {
                let problem = format!("is {share}; a number above 0 is allowed");
                Err(OptionError { key: "write_out_share", problem })
            }
            _ => Ok(()),
        }
    }

    /// Refuses what a placement cannot do.
    ///
    /// # Errors
    /// Caching of dirty blocks that have no place of their own on the SSD.
    pub fn check_for(&self, placement: PlacementKind) -> Result<(), OptionError> {
        if self.caching == Caching::WriteBack || placement.updates_in_place() {
            return Ok(());
        }
        let problem = "is not `write_back`, and the placement writes whole extents of 512 KiB, for which it waits; \
                       `conquest` alone can write single blocks";
        Err(OptionError { key: "caching", problem: problem.into() })
    }

    /// Share of the NVRAM's pages that users write between two write-outs; `None` without a period.
    pub(crate) fn write_out_share(&self) -> Option<f64> {
        (self.caching == Caching::Periodic).then(|| self.write_out_share.unwrap_or(WRITE_OUT_SHARE))
    }
}

impl Format {
    /// Refuses settings that make no sense.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self) -> Result<(), OptionError> {
        if (0.0..=0.5).contains(&self.reserve) {
            return Ok(());
        }
        let problem = format!("is {}; a share from 0 to 0.5 is allowed", self.reserve);
        Err(OptionError { key: "reserve", problem })
    }
}

/// Extents that are kept free for cleaning: the share asked for, at least four.
pub(crate) fn reserved_extents(usable: u32, permille: u16) -> u32 {
    (u64::from(usable) * u64::from(permille)).div_ceil(1000).max(4) as u32
}

/// Blocks of so many extents.
pub(crate) fn blocks_of(extents: u32) -> u64 {
    u64::from(extents) * EXTENT_BLOCKS
}
