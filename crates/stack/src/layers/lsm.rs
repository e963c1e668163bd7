//! A log-structured merge tree (LSM tree).

use super::kinds::{Kind, LayerPlan, OnLayer};
use super::merge_tree::{self, TreeKeys};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, LayerContext, LayerSpec, LowerLayer};
use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::log::{BoxedLayer, LevelSizes, LsmConfig, Shape};

/// A log-structured merge tree (LSM tree).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lsm {
    /// Size of the memtable.
    pub memtable_size: ByteSize,
    /// Size of a sorted table, without its index.
    pub table_size: ByteSize,
    /// Bytes of index and filter written with each page of a table.
    pub index_bytes_per_page: u32,
    /// Size of the ring of pages for the write-ahead log. With 0 there is no log, and a flush writes out the memtable.
    pub write_ahead_log: ByteSize,
    /// Compaction: selection of the tables to merge, and when.
    pub compaction: Shape,
}

impl Default for Lsm {
    /// Returns LevelDB's sizes (`options.h`, `dbformat.h`), with level sizes derived from the last level as RocksDB
    /// recommends.
    fn default() -> Self {
        Lsm {
            memtable_size: ByteSize(4 << 20),
            table_size: ByteSize(2 << 20),
            // A key and a handle of 24 bytes for each block of 4 KiB, plus 10 bits of filter for its record.
            index_bytes_per_page: 26,
            write_ahead_log: ByteSize(8 << 20),
            compaction: Shape::Leveled { level0_runs: 4, ratio: 10, sizes: LevelSizes::FromBottom },
        }
    }
}

impl Kind for Lsm {
    const ENTRY: Entry = Entry {
        name: "lsm",
        help: "a log-structured merge tree: compaction is its cleaner; leveled or tiered",
        source: "O'Neil et al., Acta Informatica 33, 1996; sizes of LevelDB, include/leveldb/options.h and db/dbformat.h",
    };
    type On = OnLayer;
    type Keys = TreeKeys;
    type Resolved = LsmConfig;

    fn resolve(
        &mut self,
        keys: &mut TreeKeys,
        below: &LowerLayer,
        _context: &LayerContext<'_>,
    ) -> Result<LayerPlan<LsmConfig>, ConfigError> {
        let wal = self.write_ahead_log;
        let layout = LsmConfig {
            logical_pages: 1,
            page_bytes: below.page_bytes,
            memtable_pages: below.pages_of("memtable_size", self.memtable_size)?,
            table_pages: below.pages_of("table_size", self.table_size)?,
            index_bytes_per_page: self.index_bytes_per_page,
            wal_pages: if wal.0 == 0 { None } else { Some(below.pages_of("write_ahead_log", wal)?) },
            trim: true,
            shape: self.compaction,
        };
        keys.resolve(layout, below)
    }

    fn build<P: StackPayload>(
        layout: LsmConfig,
        spec: LayerSpec,
        lower: BoxedLayer<P>,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        merge_tree::build(layout, spec, lower)
    }
}
