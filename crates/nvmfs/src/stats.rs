//! What a file system did.

use crate::ssd::Drive;
use serde::{Deserialize, Serialize};
use std::ops::Sub;

/// The extended attribute of a mounted root directory under which its [`Stats`] are read, as JSON.
pub const REPORT_XATTR: &str = "user.nvmfs.stats";

/// The extended attribute of a mounted root directory by which it is told to make or delete a snapshot: `create NAME`, `delete NAME`.
pub const ORDER_XATTR: &str = "user.nvmfs.snapshot";

/// A snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotStats {
    /// What it is called.
    pub name: String,
    /// When it was made, ns since 1970.
    pub created_ns: i64,
    /// Blocks that it has: some are an older one's when it is deleted, if that needs them, and the rest is free.
    pub blocks: u64,
}

/// Counts since the file system was opened. Blocks are of 4 KiB, extents of 128 blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Blocks read by users.
    pub read_blocks: u64,
    /// Those of them that were on NVRAM.
    pub read_hits: u64,
    /// Those of them that were nowhere, and read as zeros.
    pub read_holes: u64,
    /// Blocks written by users, each piece of a block counting.
    pub written_blocks: u64,
    /// Those of them that were on NVRAM.
    pub write_hits: u64,
    /// Those of them that were nowhere, and are on NVRAM since.
    pub written_holes: u64,
    /// Blocks read from the SSD, for users.
    pub ssd_read_blocks: u64,
    /// Blocks read from the SSD for cleaning.
    pub cleaning_read_blocks: u64,
    /// Blocks written to the SSD.
    pub ssd_written_blocks: u64,
    /// Requests in which they were written.
    pub ssd_writes: u64,
    /// Flushes of the SSD.
    pub ssd_flushes: u64,
    /// Blocks trimmed on the SSD.
    pub trimmed_blocks: u64,
    /// Trims that the SSD refused.
    pub refused_trims: u64,
    /// Clean pages that made room for others.
    pub evicted_pages: u64,
    /// Blocks read again soon after they were evicted.
    pub clean_ghost_hits: u64,
    /// Blocks read, written or removed soon after they were flushed.
    pub dirty_ghost_hits: u64,
    /// Extents recycled.
    pub recycled_extents: u64,
    /// Valid blocks that had to be moved from them.
    pub moved_blocks: u64,
}

impl Counts {
    /// Blocks read by users that were on the SSD.
    pub fn read_misses(&self) -> u64 {
        self.read_blocks.saturating_sub(self.read_hits + self.read_holes)
    }

    /// Blocks written by users that were on the SSD. Those that were refused for lack of room count as well.
    pub fn write_misses(&self) -> u64 {
        self.written_blocks.saturating_sub(self.write_hits + self.written_holes)
    }

    /// Blocks in recycled extents.
    pub fn recycled_blocks(&self) -> u64 {
        self.recycled_extents * crate::layout::EXTENT_BLOCKS
    }

    /// 1 - moved valid blocks / recycled blocks (section IV-D); `None` where nothing was recycled.
    pub fn cleaning_efficiency(&self) -> Option<f64> {
        let recycled = self.recycled_blocks();
        (recycled > 0).then(|| 1.0 - self.moved_blocks as f64 / recycled as f64)
    }

    /// Share of blocks read that were on NVRAM; `None` where nothing was read.
    pub fn read_hit_ratio(&self) -> Option<f64> {
        (self.read_blocks > 0).then(|| self.read_hits as f64 / self.read_blocks as f64)
    }

    /// Share of blocks written that were on NVRAM; `None` where nothing was written.
    pub fn write_hit_ratio(&self) -> Option<f64> {
        (self.written_blocks > 0).then(|| self.write_hits as f64 / self.written_blocks as f64)
    }
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, before: Counts) -> Counts {
        Counts {
            read_blocks: self.read_blocks - before.read_blocks,
            read_hits: self.read_hits - before.read_hits,
            read_holes: self.read_holes - before.read_holes,
            written_blocks: self.written_blocks - before.written_blocks,
            write_hits: self.write_hits - before.write_hits,
            written_holes: self.written_holes - before.written_holes,
            ssd_read_blocks: self.ssd_read_blocks - before.ssd_read_blocks,
            cleaning_read_blocks: self.cleaning_read_blocks - before.cleaning_read_blocks,
            ssd_written_blocks: self.ssd_written_blocks - before.ssd_written_blocks,
            ssd_writes: self.ssd_writes - before.ssd_writes,
            ssd_flushes: self.ssd_flushes - before.ssd_flushes,
            trimmed_blocks: self.trimmed_blocks - before.trimmed_blocks,
            refused_trims: self.refused_trims - before.refused_trims,
            evicted_pages: self.evicted_pages - before.evicted_pages,
            clean_ghost_hits: self.clean_ghost_hits - before.clean_ghost_hits,
            dirty_ghost_hits: self.dirty_ghost_hits - before.dirty_ghost_hits,
            recycled_extents: self.recycled_extents - before.recycled_extents,
            moved_blocks: self.moved_blocks - before.moved_blocks,
        }
    }
}

/// What checksums showed since the file system was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChecksumStats {
    /// Data has them too.
    pub of_data: bool,
    /// How often something did not have its checksum: reading it, changing it, or looking at everything.
    pub wrong: u64,
    /// What that was the last time.
    pub last_wrong: Option<String>,
    /// How often everything was looked at in the background.
    pub passes: u64,
    /// Inodes and pages of metadata that were.
    pub checked_metadata: u64,
    /// Blocks of the SSD that were.
    pub checked_blocks: u64,
}

/// How things stand, and what was done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// What was done since the file system was opened.
    pub counts: Counts,
    /// Share of blocks read that were on NVRAM.
    pub read_hit_ratio: Option<f64>,
    /// Share of blocks written that were on NVRAM.
    pub write_hit_ratio: Option<f64>,
    /// 1 - moved valid blocks / recycled blocks.
    pub cleaning_efficiency: Option<f64>,
    /// Pages of NVRAM.
    pub pages: u32,
    /// Free ones.
    pub free_pages: u32,
    /// Clean ones.
    pub clean_pages: u32,
    /// Those of them that were read once or not at all since they are; none where the lists are fixed.
    pub probation_pages: u32,
    /// Dirty ones.
    pub dirty_pages: u32,
    /// Pages of the dirty list, of which `flush_above` and `flush_below` are shares: all for data where the lists are fixed.
    pub dirty_list_pages: u32,
    /// Pages with directories, pointers, attributes; those with inodes not among them.
    pub metadata_pages: u32,
    /// Pages that these may still take.
    pub free_metadata_pages: u32,
    /// Extents of the SSD for data.
    pub extents: u32,
    /// Free ones.
    pub free_extents: u32,
    /// Valid blocks on the SSD.
    pub ssd_valid_blocks: u64,
    /// Extents that would be enough for them over extents in use; 1 where none is.
    pub extent_fill: f64,
    /// Inodes in use.
    pub inodes: u32,
    /// Those, and most that there is still room for.
    pub inode_limit: u32,
    /// Pages of inodes that came since it was made.
    pub inode_pages: u32,
    /// Blocks of data in use, on either device or reserved.
    pub used_blocks: u64,
    /// Those of them that are reserved and were not written yet.
    pub reserved_blocks: u64,
    /// Blocks that data may use.
    pub capacity_blocks: u64,
    /// Those of them that can still be had: what leads to them needs room on the NVRAM.
    pub available_blocks: u64,
    /// Blocks that are there for snapshots alone, with what leads to them.
    pub snapshot_blocks: u64,
    /// The snapshots, the oldest first.
    pub snapshots: Vec<SnapshotStats>,
    /// Snapshots that were deleted and of which something is still to be freed.
    pub snapshots_being_deleted: u32,
    /// How often something was refused for lack of room since the file system was opened.
    pub no_space: u64,
    /// What was full the last time.
    pub last_no_space: Option<String>,
    /// What checksums showed, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksums: Option<ChecksumStats>,
    /// What the drive did, if it is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<Drive>,
}
