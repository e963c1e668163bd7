//! A log-structured merge tree (O'Neil et al., Acta Informatica 1996) on any layer. Its compaction plays the role of
//! cleaning.
//!
//! Keys are logical pages; a record is one page. Records are collected in a memtable and written as sorted tables,
//! which are merged level by level. Nothing is overwritten in place: every table has its own extent of the layer
//! below, which is trimmed once the table has been merged.
//!
//! Simplifications and their consequences:
//!
//! * Filters and indexes are in memory, so a read costs one page read below, or none if the memtable has the record.
//!   They are replaced by an exact map from pages to locations. Merging does not use this map: it drops a version
//!   only if a newer one takes part in the same merge, as in a real tree.
//! * A trim is a tombstone: a record of 16 bytes, packed into pages of its table. It moves down until no older
//!   version can exist below it. A trimmed page immediately reads as the default payload.
//! * A merge drops each input table as soon as all its keys are in written tables, key range by key range. It
//!   therefore needs at most one free extent more than it has sorted inputs. Engines that keep their inputs to the
//!   end need free space for the whole output.
//! * Flushes and merges run between two writes, not concurrently.

mod abilities;
mod check;
mod compaction;
mod memtable;
mod merge;
mod space;
mod table_builder;
mod tables;
#[cfg(test)]
mod tests;
mod tree;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use tree::LsmTree;

/// Bytes of a packed tombstone: key, sequence number and overhead.
const TOMBSTONE_BYTES: u32 = 16;

/// Sizes of the levels of a leveled tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LevelSizes {
    /// Level 1 is as large as the memtables that level 0 collects; each further level is `ratio` times the one above
    /// it (LevelDB; RocksDB's classic setting). The last level may be hardly larger than the one above it.
    FromTop,
    /// The last level holds all keys; each level above is `1 / ratio` of the one below, so that at most about one
    /// record in `ratio` is out of date (RocksDB's dynamic level sizes: Dong et al., CIDR 2017).
    #[default]
    FromBottom,
}

/// Compaction style: the tables that are merged, and the time of the merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "shape", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// One sorted run per level (LevelDB, RocksDB). A level that is too large gives one table, chosen round robin by
    /// key, to the next level, where it is merged with the tables that it overlaps. A table without overlap moves
    /// without being rewritten.
    Leveled {
        /// Number of flushed memtables in level 0 that starts their merge into level 1; at least 1.
        level0_runs: u32,
        /// Size of a level divided by that of the level above; at least 2.
        ratio: u32,
        /// Level from which the sizes are counted.
        #[serde(default)]
        sizes: LevelSizes,
    },
    /// Several sorted runs per level (size-tiered: Cassandra, RocksDB's universal style). When a level has `runs`
    /// runs, they are merged into one run of the next level. In the last level, where the runs together are as large
    /// as all keys, the runs are merged into one that stays there.
    Tiered {
        /// Number of sorted runs that makes a level full; at least 2.
        runs: u32,
    },
    /// Three stores (SILT: Lim et al., SOSP 2011). Records are appended to a log store on flash in order of arrival.
    /// A full log store, of `memtable_pages` pages, is rewritten as an immutable hash store. Once there are
    /// `hash_stores` of these, they are merged into the single sorted store, which is completely rewritten. There is
    /// no memtable.
    Silt {
        /// Number of hash stores that starts a merge into the sorted store; at least 1.
        hash_stores: u32,
    },
}

/// Settings of a tree, without the layer below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LsmConfig {
    /// Logical pages that the tree exposes.
    pub logical_pages: u32,
    /// Bytes of a page; at least 16.
    pub page_bytes: u32,
    /// Pages that the memtable (SILT: the log store) holds before it is flushed; at least 1.
    pub memtable_pages: u32,
    /// Pages of records and tombstones in a full table; at least 2.
    pub table_pages: u32,
    /// Bytes of index and filter written for each page of a table; the sum is rounded up to whole pages for each
    /// table.
    pub index_bytes_per_page: u32,
    /// Pages of the ring in the layer below that holds the write-ahead log. `None`: no log, and a flush command
    /// writes the memtable out. A full ring forces a flush of the memtable before it is full.
    pub wal_pages: Option<u32>,
    /// True if pages of tables and logs that are no longer needed are trimmed in the layer below.
    pub trim: bool,
    /// Compaction style.
    pub shape: Shape,
}

impl LsmConfig {
    fn tombstones_per_page(&self) -> usize {
        (self.page_bytes / TOMBSTONE_BYTES) as usize
    }

    /// Returns the number of index and filter pages of a table with `pages` pages of records and tombstones.
    fn index_pages(&self, pages: u32) -> u32 {
        let bytes = u64::from(pages) * u64::from(self.index_bytes_per_page);
        bytes.div_ceil(u64::from(self.page_bytes)).min(u32::MAX.into()) as u32
    }
}
