//! A log-structured merge tree (O'Neil et al., Acta Informatica 1996) on any layer: its compaction is its cleaner.
//!
//! Keys are the logical pages, a record is one page. Records gather in a memtable, are written out as sorted tables,
//! and tables are merged level by level. Nothing is overwritten in place: every table has an extent of the layer below
//! for itself, which is trimmed when the table has been merged away.
//!
//! What is simplified, and what that means:
//!
//! * Filters and indexes are in memory, so a read costs one page below, and none if the memtable has the record. An exact
//!   map from pages to places stands for them. Merging does not look at it: it drops a version only if a newer one
//!   takes part in the same merge, as a real tree does.
//! * A trim is a tombstone: a record of 16 bytes, packed into pages of its table, that travels down until nothing older
//!   can lie below it. A trimmed page reads as the default at once.
//! * A merge drops each input table as soon as all its keys are in tables written, key range by key range. So it needs no
//!   more free extents than it has sorted inputs, and one; engines that keep their inputs to the end need the size of
//!   the merge.
//! * Flushes and merges happen between two writes and not beside them.

mod abilities;
mod check;
mod compaction;
mod draft;
mod fresh;
mod merge;
mod space;
mod tables;
#[cfg(test)]
mod tests;
mod tree;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use tree::LsmTree;

/// Bytes of a tombstone: a key, a sequence number and what they take to be packed.
const TOMBSTONE_BYTES: u32 = 16;

/// How large the levels of a leveled tree are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LevelSizes {
    /// Level 1 holds as much as the memtables that level 0 gathers, each further level `ratio` times the one above it
    /// (LevelDB; RocksDB's classic setting). The last level may be hardly larger than the one above it.
    FromTop,
    /// The last level holds all keys, each level above it a `ratio`-th of the one below, so that at most one record in
    /// about `ratio` is out of date (RocksDB's dynamic level sizes: Dong et al.,
    /// CIDR 2017).
    #[default]
    FromBottom,
}

/// Which tables are merged, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "shape", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// One sorted run a level (LevelDB, RocksDB). A level that is too large gives one table, taken round robin by key, to
    /// the next, where it is merged with those that it overlaps; one that overlaps none moves without being written.
    Leveled {
        /// Flushed memtables in level 0 that start their merge into level 1; at least 1.
        level0_runs: u32,
        /// Size of a level over that of the one above it; at least 2.
        ratio: u32,
        /// Which level the sizes are counted from.
        #[serde(default)]
        sizes: LevelSizes,
    },
    /// Several sorted runs a level (size-tiered: Cassandra, RocksDB's universal style). As many runs as make a level full
    /// become one run of the next. The last level, whose runs together are as large as all keys, merges its runs into
    /// one that stays there.
    Tiered {
        /// Sorted runs that make a level full; at least 2.
        runs: u32,
    },
    /// Three stores (SILT: Lim et al., SOSP 2011). Records are appended to a log store on flash as they come; a full
    /// one, of `memtable_pages` pages, is written once more as an immutable hash store; when there are enough of
    /// these, they are merged into the one sorted store, which is written anew as a whole. There is no memtable.
    Silt {
        /// Hash stores that start a merge into the sorted store; at least 1.
        hash_stores: u32,
    },
}

/// Everything about a tree but what it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LsmConfig {
    /// Logical pages shown above.
    pub logical_pages: u32,
    /// Bytes of a page; at least 16.
    pub page_bytes: u32,
    /// Pages that the memtable (SILT: the log store) holds before it is flushed; at least 1.
    pub memtable_pages: u32,
    /// Pages of records and tombstones in a full table; at least 2.
    pub table_pages: u32,
    /// Bytes of index and filter written with each page of a table, rounded up to pages a table.
    pub index_bytes_per_page: u32,
    /// Pages of the ring below that hold the write-ahead log; `None`: no log, and a flush writes out the memtable. A full
    /// ring makes the memtable be flushed before it is full.
    pub wal_pages: Option<u32>,
    /// Whether the pages of tables and logs that are no longer needed are trimmed below.
    pub trim: bool,
    /// Which tables are merged, and when.
    pub shape: Shape,
}

impl LsmConfig {
    fn tombstones_per_page(&self) -> usize {
        (self.page_bytes / TOMBSTONE_BYTES) as usize
    }

    /// Pages of index and filter of a table with so many pages of records and tombstones.
    fn index_pages(&self, pages: u32) -> u32 {
        let bytes = u64::from(pages) * u64::from(self.index_bytes_per_page);
        bytes.div_ceil(u64::from(self.page_bytes)).min(u32::MAX.into()) as u32
    }
}
