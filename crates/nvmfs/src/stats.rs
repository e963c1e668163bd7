//! Statistics of a file system.

use crate::ssd::Drive;
use serde::{Deserialize, Serialize};
use std::ops::Sub;

/// Extended attribute of a mounted root directory that returns the [`Stats`] as JSON.
pub const STATS_XATTR: &str = "user.nvmfs.stats";

/// Extended attribute of a mounted root directory; setting it to `create NAME` or `delete NAME` creates or
/// deletes a snapshot.
pub const SNAPSHOT_XATTR: &str = "user.nvmfs.snapshot";

/// Statistics of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotStats {
    /// Name of the snapshot.
    pub name: String,
    /// Creation time, ns since 1970.
    pub created_ns: i64,
    /// Number of blocks that the snapshot holds. When it is deleted, an older snapshot gets the blocks that it needs;
    /// the other blocks become free.
    pub blocks: u64,
}

/// Counts since the file system was opened. Blocks are of 4 KiB, extents of 128 blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Blocks read by users.
    pub read_blocks: u64,
    /// Blocks read by users that were on NVRAM.
    pub read_hits: u64,
    /// Blocks read by users that did not exist and read as zeros.
    pub read_holes: u64,
    /// Blocks written by users; each written part of a block counts as one.
    pub written_blocks: u64,
    /// Blocks written by users that were on NVRAM.
    pub write_hits: u64,
    /// Blocks written by users that did not exist before; they are created on NVRAM.
    pub written_holes: u64,
    /// Blocks read from the SSD for users.
    pub ssd_read_blocks: u64,
    /// Blocks read from the SSD for cleaning.
    pub cleaning_read_blocks: u64,
    /// Blocks written to the SSD.
    pub ssd_written_blocks: u64,
    /// Write requests to the SSD.
    pub ssd_writes: u64,
    /// Flushes of the SSD.
    pub ssd_flushes: u64,
    /// Blocks trimmed on the SSD.
    pub trimmed_blocks: u64,
    /// Trims that the SSD refused.
    pub refused_trims: u64,
    /// Clean pages evicted.
    pub evicted_pages: u64,
    /// Blocks read again soon after they were evicted.
    pub clean_ghost_hits: u64,
    /// Blocks read, written or removed soon after they were flushed.
    pub dirty_ghost_hits: u64,
    /// Extents recycled.
    pub recycled_extents: u64,
    /// Valid blocks moved out of recycled extents.
    pub moved_blocks: u64,
}

impl Counts {
    /// Returns the number of blocks read by users that were only on the SSD.
    pub fn read_misses(&self) -> u64 {
        self.read_blocks.saturating_sub(self.read_hits + self.read_holes)
    }

    /// Returns the number of blocks written by users that were only on the SSD, including writes refused for lack of
    /// space.
    pub fn write_misses(&self) -> u64 {
        self.written_blocks.saturating_sub(self.write_hits + self.written_holes)
    }

    /// Returns the number of blocks in recycled extents.
    pub fn recycled_blocks(&self) -> u64 {
        self.recycled_extents * crate::layout::EXTENT_BLOCKS
    }

    /// Returns 1 - moved valid blocks / recycled blocks (section IV-D); `None` if nothing was recycled.
    pub fn cleaning_efficiency(&self) -> Option<f64> {
        let recycled = self.recycled_blocks();
        (recycled > 0).then(|| 1.0 - self.moved_blocks as f64 / recycled as f64)
    }

    /// Returns the fraction of blocks read that were on NVRAM; `None` if nothing was read.
    pub fn read_hit_ratio(&self) -> Option<f64> {
        (self.read_blocks > 0).then(|| self.read_hits as f64 / self.read_blocks as f64)
    }

    /// Returns the fraction of blocks written that were on NVRAM; `None` if nothing was written.
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

/// Results of checksum verification since the file system was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChecksumStats {
    /// True if data has checksums too.
    #[serde(alias = "of_data")]
    pub covers_data: bool,
    /// Checksum mismatches found by reads, by changes and by the scrub.
    #[serde(alias = "wrong")]
    pub mismatches: u64,
    /// Description of the last mismatch.
    #[serde(alias = "last_wrong")]
    pub last_mismatch: Option<String>,
    /// Completed background scrub passes.
    pub passes: u64,
    /// Inodes and metadata pages verified by the scrub.
    pub checked_metadata: u64,
    /// Blocks of the SSD verified by the scrub.
    pub checked_blocks: u64,
}

/// State of the file system and counts since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Counts since the file system was opened.
    pub counts: Counts,
    /// Fraction of blocks read that were on NVRAM.
    pub read_hit_ratio: Option<f64>,
    /// Fraction of blocks written that were on NVRAM.
    pub write_hit_ratio: Option<f64>,
    /// 1 - moved valid blocks / recycled blocks.
    pub cleaning_efficiency: Option<f64>,
    /// Data and metadata pages of the NVRAM.
    pub pages: u32,
    /// Free pages.
    pub free_pages: u32,
    /// Clean pages.
    pub clean_pages: u32,
    /// Clean pages on probation: read at most once since they became clean; 0 with fixed lists.
    pub probation_pages: u32,
    /// Dirty pages.
    pub dirty_pages: u32,
    /// Length of the dirty list, to which `flush_above` and `flush_below` refer, pages; with fixed lists,
    /// all pages for data.
    pub dirty_list_pages: u32,
    /// Pages that hold directories, pointers or attributes, not including pages of inodes.
    pub metadata_pages: u32,
    /// Pages that directories, pointers and attributes may still take.
    pub free_metadata_pages: u32,
    /// Extents of the SSD for data.
    pub extents: u32,
    /// Free extents.
    pub free_extents: u32,
    /// Valid blocks on the SSD.
    pub ssd_valid_blocks: u64,
    /// Extents needed for the valid blocks divided by extents in use; 1 if none is in use.
    pub extent_fill: f64,
    /// Inodes in use.
    pub inodes: u32,
    /// Inodes in use plus the inodes for which there is still space.
    pub inode_limit: u32,
    /// Pages of inodes added since the file system was created.
    pub inode_pages: u32,
    /// Blocks of data in use: on either device, or reserved.
    pub used_blocks: u64,
    /// Blocks in use that are reserved and not yet written.
    pub reserved_blocks: u64,
    /// Blocks that data may use.
    pub capacity_blocks: u64,
    /// Blocks that can still be allocated; fewer than are unused, because their pointers need space on the
    /// NVRAM.
    pub available_blocks: u64,
    /// Blocks used only by snapshots, including their pointers.
    pub snapshot_blocks: u64,
    /// Snapshots, oldest first.
    pub snapshots: Vec<SnapshotStats>,
    /// Deleted snapshots whose blocks are not all freed yet.
    pub snapshots_being_deleted: u32,
    /// Operations refused for lack of space since the file system was opened.
    pub no_space: u64,
    /// Resource that was full at the last refusal.
    pub last_no_space: Option<String>,
    /// Checksum results, if checksums are on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksums: Option<ChecksumStats>,
    /// Statistics of the drive, if it is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<Drive>,
}
