//! Options for creating a file system, and options for opening it.

use crate::layout::{Checksums, EXTENT_BLOCKS};
use crate::placement::PlacementKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings that are fixed when a file system is created.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    /// Unique identifier of the file system.
    pub id: u128,
    /// Inodes in the initial table; more are added on demand. `None`: one per 4 KiB of NVRAM.
    pub inodes: Option<u32>,
    /// Fraction of the SSD's extents kept free for cleaning.
    pub reserve: f64,
    /// Placement policy for data.
    pub placement: PlacementKind,
    /// Timestamps of the root directory, ns since 1970.
    pub now_ns: i64,
    /// Scope of checksums.
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

/// Choice of the dirty pages that go to the SSD together (section III-B: pages of similar update likelihood).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// The least recently used pages, regardless of their update frequency.
    Lru,
    /// Among the least recently used pages, pages with a similar number of writes since they came to NVRAM.
    /// Pages that cleaning moved form a separate class. Each class has its own stream on the SSD.
    #[default]
    UpdateLikelihood,
}

/// Division of the NVRAM between dirty and clean pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lists {
    // `Fixed` is the default: `Adaptive` is better for read-intensive loads, but not for every load
    // (docs/design/nvmfs.md).
    /// Division by the flush thresholds alone, which are fractions of all pages; clean pages are evicted in
    /// LRU order.
    #[default]
    Fixed,
    /// Division that adapts to the load. The flush thresholds are fractions of a dirty list whose length
    /// follows the ghost hits: blocks that are read or written again soon after they left a list. Clean
    /// pages that were read only once are evicted before pages that were read again.
    Adaptive,
}

/// Time at which written data goes from the NVRAM to the SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// When dirty pages reach `flush_above`, until they are down to `flush_below`.
    #[default]
    WriteBack,
    /// All dirty data, each time that users have written `write_out_share` of the NVRAM, or when dirty
    /// pages fill the NVRAM: "other file systems have to periodically flush dirty data" (section IV-B).
    /// `conquest` only.
    Periodic,
    /// Immediately: the NVRAM keeps written data only as a read cache. `conquest` only.
    WriteThrough,
}

/// Default fraction of the NVRAM's pages written between two write-outs. Linux writes out dirty data and btrfs
/// commits after 30 s. In that time, the 3,300 random writes per second of the paper's drive add up to 99,000
/// writes, 0.09 of its 4 GiB. Linux also starts to write out when a tenth of the memory is dirty.
const WRITE_OUT_SHARE: f64 = 0.1;

/// Use of the devices by a file system; may differ each time the file system is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Division of the NVRAM between dirty and clean pages.
    pub lists: Lists,
    /// Fraction of dirty pages at which flushing begins (section III-B: 80 %). It refers to all NVRAM
    /// pages, or to the dirty list if the length of that list adapts to the load.
    pub flush_above: f64,
    /// Fraction of dirty pages at which flushing ends (section III-B: 50 %).
    pub flush_below: f64,
    /// Time at which written data goes to the SSD. `nvmfs` writes whole extents of cold pages and supports
    /// write-back only.
    pub caching: Caching,
    /// With `caching = "periodic"`: fraction of the NVRAM's pages that users write between two write-outs,
    /// above 0; default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_out_share: Option<f64>,
    /// Recycling begins if compaction would free more than this fraction of the extents in use ...
    pub recycle_fragmentation: f64,
    /// ... and less than this fraction of the extents is free (section III-C).
    pub recycle_free: f64,
    /// Choice of the pages that are flushed together.
    pub grouping: Grouping,
    /// True if empty extents are trimmed.
    pub trim: bool,
    /// Size of the largest file that the `conquest` placement keeps on NVRAM, bytes.
    pub small_file_bytes: u64,
    /// Memory for directory indexes, bytes.
    pub index_bytes: usize,
    /// Number that distinguishes this mount from mounts of copies of the file system. Use a random number
    /// if copies may exist.
    #[serde(skip)]
    pub nonce: u64,
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
            // Recycling starts late: the longer it waits, the fewer valid blocks remain in the extents that it
            // empties.
            recycle_free: 0.02,
            grouping: Grouping::default(),
            trim: true,
            small_file_bytes: 1 << 20,
            index_bytes: 64 << 20,
            nonce: 0,
        }
    }
}

/// Invalid setting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct OptionError {
    /// Name of the setting.
    pub key: &'static str,
    /// Problem with the value, and the allowed values.
    pub problem: String,
}

fn check_share(key: &'static str, value: f64) -> Result<(), OptionError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(OptionError { key, problem: format!("is {value}; a share from 0 to 1 is allowed") })
}

impl Options {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), OptionError> {
        check_share("flush_above", self.flush_above)?;
        check_share("flush_below", self.flush_below)?;
        check_share("recycle_fragmentation", self.recycle_fragmentation)?;
        check_share("recycle_free", self.recycle_free)?;
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

    /// Checks that the settings are compatible with a placement.
    ///
    /// # Errors
    /// A `caching` other than write-back with a placement that does not update blocks of the SSD in place.
    pub fn check_for(&self, placement: PlacementKind) -> Result<(), OptionError> {
        if self.caching == Caching::WriteBack || placement.updates_in_place() {
            return Ok(());
        }
        let problem = "is not `write_back`, and the placement writes whole extents of 512 KiB, for which it waits; \
                       `conquest` alone can write single blocks";
        Err(OptionError { key: "caching", problem: problem.into() })
    }

    /// Returns the fraction of the NVRAM's pages that users write between two write-outs; `None` without
    /// periodic write-out.
    pub(crate) fn write_out_share(&self) -> Option<f64> {
        (self.caching == Caching::Periodic).then(|| self.write_out_share.unwrap_or(WRITE_OUT_SHARE))
    }
}

impl Format {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), OptionError> {
        if (0.0..=0.5).contains(&self.reserve) {
            return Ok(());
        }
        let problem = format!("is {}; a share from 0 to 0.5 is allowed", self.reserve);
        Err(OptionError { key: "reserve", problem })
    }
}

/// Returns the number of extents that are kept free for cleaning: `permille` thousandths of the usable extents, at
/// least four.
pub(crate) fn reserved_extents(usable: u32, permille: u16) -> u32 {
    (u64::from(usable) * u64::from(permille)).div_ceil(1000).max(4) as u32
}

/// Returns the number of blocks in `extents` extents.
pub(crate) fn blocks_of(extents: u32) -> u64 {
    u64::from(extents) * EXTENT_BLOCKS
}
