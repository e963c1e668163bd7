//! Log-structured merge trees.

use super::{Ground, Shown, StructureKind};
use crate::ByteSize;
use crate::scenario::LogConfig;
use crate::trim_config::TrimConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::layer::Payload;
use wearwell_engine::log::{BoxedLayer, LevelSizes, LsmConfig, LsmTree, Shape};

/// A merge tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lsm {
    /// Size of the memtable.
    pub memtable_size: ByteSize,
    /// Size of a sorted table, its index apart.
    pub table_size: ByteSize,
    /// Bytes of index and filter written with each page of a table.
    pub index_bytes_per_page: u32,
    /// Size of the ring of pages that holds the write-ahead log; 0: no log, a flush writes out the memtable.
    pub write_ahead_log: ByteSize,
    /// Which tables are merged, and when.
    pub compaction: Shape,
}

impl Default for Lsm {
    /// LevelDB's sizes (`options.h`, `dbformat.h`), levels counted from the last as RocksDB advises.
    fn default() -> Self {
        Lsm {
            memtable_size: ByteSize(4 << 20),
            table_size: ByteSize(2 << 20),
            // A key and a handle of 24 bytes for each block of 4 KiB, and 10 bits of filter for its record.
            index_bytes_per_page: 26,
            write_ahead_log: ByteSize(8 << 20),
            compaction: Shape::Leveled { level0_runs: 4, ratio: 10, sizes: LevelSizes::FromBottom },
        }
    }
}

impl StructureKind for Lsm {
    const ENTRY: Entry = Entry {
        name: "lsm",
        help: "a log-structured merge tree: compaction is its cleaner; leveled or tiered",
        source: "O'Neil et al., Acta Informatica 33, 1996; sizes of LevelDB, include/leveldb/options.h and db/dbformat.h",
    };
}

impl Lsm {
    pub(super) fn layout(&self, ground: &Ground) -> Result<LsmConfig, ConfigError> {
        let wal = self.write_ahead_log;
        Ok(LsmConfig {
            logical_pages: 1,
            page_bytes: ground.page_bytes,
            memtable_pages: ground.pages_of("memtable_size", self.memtable_size)?,
            table_pages: ground.pages_of("table_size", self.table_size)?,
            index_bytes_per_page: self.index_bytes_per_page,
            wal_pages: if wal.0 == 0 { None } else { Some(ground.pages_of("write_ahead_log", wal)?) },
            trim: true,
            shape: self.compaction,
        })
    }
}

/// A store like SILT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Silt {
    /// Size of a log store, and of the hash store that it becomes.
    pub log_store_size: ByteSize,
    /// Hash stores that start a merge into the sorted store.
    #[schemars(range(min = 1))]
    pub hash_stores: u32,
    /// Size of the pieces that the sorted store is written and freed in.
    pub table_size: ByteSize,
}

impl Default for Silt {
    fn default() -> Self {
        Silt { log_store_size: ByteSize(4 << 20), hash_stores: 16, table_size: ByteSize(1 << 20) }
    }
}

impl StructureKind for Silt {
    const ENTRY: Entry = Entry {
        name: "silt",
        help: "log store, hash stores and a sorted store that is merged anew as a whole",
        source: "Lim, Fan, Andersen and Kaminsky, SOSP 2011, sec. 2 and 3; sizes assumed",
    };
}

impl Silt {
    /// Indexes are in memory, as in the paper; nothing is written for them.
    pub(super) fn layout(&self, ground: &Ground) -> Result<LsmConfig, ConfigError> {
        Ok(LsmConfig {
            logical_pages: 1,
            page_bytes: ground.page_bytes,
            memtable_pages: ground.pages_of("log_store_size", self.log_store_size)?,
            table_pages: ground.pages_of("table_size", self.table_size)?,
            index_bytes_per_page: 0,
            wal_pages: None,
            trim: true,
            shape: Shape::Silt { hash_stores: self.hash_stores },
        })
    }
}

/// Without a reserve of its own, a tree shows as many pages as fit at worst.
pub(super) fn size(log: &mut LogConfig, layout: &LsmConfig, ground: &Ground) -> Result<Shown, ConfigError> {
    match log.trim {
        None => log.trim = Some(TrimConfig::Plain(true)),
        Some(TrimConfig::Plain(_)) => {}
        Some(TrimConfig::Table(_)) => {
            return Err(ConfigError::new(
                "trim",
                "is a table; a merge tree trims whole tables: true or false",
            ));
        }
    }
    let most = layout.most_logical_pages(ground.pages).map_err(|error| error.within("structure"))?;
    let most_share = 1.0 - f64::from(most) / f64::from(ground.pages);
    // Rounded up, so that the share that is printed fits when it is read again.
    let least_spare = (most_share * 1e6).ceil() / 1e6;
    let spare = *log.spare_factor.get_or_insert(least_spare);
    if !(spare > 0.0 && spare < 1.0) || spare < least_spare {
        let problem = format!(
            "is {spare}; the tree needs at least {least_spare} for runs that overlap and for merging, below 1"
        );
        return Err(ConfigError::new("spare_factor", problem));
    }
    let logical_pages = (f64::from(ground.pages) * (1.0 - spare)).floor() as u32;
    Ok(Shown { logical_pages, block: layout.table_pages })
}

pub(super) fn build<P: Payload>(
    log: &LogConfig,
    layout: LsmConfig,
    lower: BoxedLayer<P>,
    logical_pages: u32,
) -> Result<BoxedLayer<P>, ConfigError> {
    let trim = log.trim != Some(TrimConfig::Plain(false));
    let tree = LsmTree::new(LsmConfig { logical_pages, trim, ..layout }, lower);
    Ok(Box::new(tree.map_err(|error| error.within("structure"))?))
}
