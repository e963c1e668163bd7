//! Reports of layers and flash.

use super::dedup_report::DedupReport;
use super::ftl_report::FtlReport;
use crate::counters::Counters;

/// Reports of the layers and the medium of a stack, from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// Reports of the layers.
    pub layers: Vec<LayerReport>,
    /// Report of the flash at the bottom.
    pub nand: Option<NandReport>,
}

/// Report of one layer.
#[derive(Clone, Debug, Default)]
pub struct LayerReport {
    /// Operations since the start.
    pub counters: Counters,
    /// Logical pages that the layer exposes.
    pub logical_pages: u32,
    /// Pages of the medium or layer below.
    pub physical_pages: u64,
    /// Logical pages that hold data.
    pub mapped_pages: u32,
    /// Histogram of victims: `victim_valid_pages[j]` victims had `j` valid pages when selected.
    pub victim_valid_pages: Vec<u64>,
    /// Pages that were written to a stream other than the chosen one because no erased block was left.
    pub spilled_pages: u64,
    /// Memory that the simulation uses for this layer, in bytes.
    pub memory_bytes: u64,
    /// Type of the layer's map: `page`, `block`, or another name.
    pub directory: &'static str,
    /// RAM that the modelled structure needs for its map, in bytes, if it reports this.
    pub map_bytes: Option<u64>,
    /// Number of cleanings; `None` for a layer without cleaning.
    pub cleanings: Option<u64>,
    /// Erased blocks (segments, zones, extents) ready to be written; `None` for a layer without such units.
    pub erased_blocks: Option<u32>,
    /// Partitions of the layer, if any.
    pub partitions: Vec<PartitionReport>,
    /// `[cause][owner]`: pages that cleaning moved, by the partition whose write triggered the cleaning and the
    /// partition of the moved pages. Pages beyond the last partition count as one more partition. Empty if the layer is
    /// not shared.
    pub moved_pages: Vec<Vec<u64>>,
    /// Sequentiality of the incoming writes, if it is observed.
    pub arrivals: Option<Arrivals>,
    /// Trims sent to the layer below.
    pub trims: TrimCounts,
    /// Scatter of the incoming trims.
    pub scatter: Scatter,
    /// Moved pages that the layer had already moved since they were written, if that is counted.
    pub moved_again_pages: u64,
    /// Moved pages that the layer below had already moved since they were written.
    pub moved_below_first_pages: u64,
    /// Live pages that cleaning dropped, if it drops pages instead of moving them.
    pub evicted_pages: Option<u64>,
    /// Number of blocks opened without cleaning because a log above was cleaning, if cleaning may be deferred.
    pub deferrals: Option<u64>,
    /// Metadata of the log, if it has any.
    pub metadata: Option<MetadataReport>,
    /// Additional report of a log-structured merge tree.
    pub lsm: Option<LsmReport>,
    /// Additional report of a deduplicating layer.
    pub dedup: Option<DedupReport>,
    /// Additional report of an FTL other than the log.
    pub ftl: Option<FtlReport>,
}

/// Statistics and state of a log-structured merge tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsmReport {
    /// Levels, youngest first.
    pub levels: Vec<LsmLevel>,
    /// Number of memtables written out, or of log stores converted.
    pub flushes: u64,
    /// Number of merges.
    pub compactions: u64,
    /// Tables that moved down a level without being rewritten.
    pub trivial_moves: u64,
    /// Number of rewrites of the last level that were needed because its tables were too sparsely filled for the
    /// remaining space.
    pub squeezes: u64,
    /// Extents without a table.
    pub free_extents: u32,
}

/// One level of a log-structured merge tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsmLevel {
    /// Number of sorted runs.
    pub runs: u32,
    /// Number of tables in all runs.
    pub tables: u32,
    /// Pages of records and tombstones in these tables, without the indexes.
    pub pages: u64,
    /// Pages written into tables of this level so far, with their indexes.
    pub written_pages: u64,
}

/// Metadata written by a log, and the space it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataReport {
    /// Summary pages written.
    pub summary_pages: u64,
    /// Pages written of the map and of its index.
    pub map_pages: u64,
    /// Pages written of the trees that lead to the map entries.
    pub tree_pages: u64,
    /// Pages written of segment information.
    pub segment_info_pages: u64,
    /// Checkpoint pages written.
    pub checkpoint_pages: u64,
    /// Pages written with records of persistent trims.
    pub trim_record_pages: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// Metadata pages in the log that cleaning moved.
    pub moved_pages: u64,
    /// Size of the metadata area, in pages of the layer below.
    pub area_pages: u32,
    /// Pages of segments used for summaries.
    pub in_segment_pages: u32,
    /// Logical pages that the log uses for metadata.
    pub log_pages: u32,
}

impl MetadataReport {
    /// Returns the number of metadata pages written, of all kinds, without those that cleaning moved.
    pub fn written(&self) -> u64 {
        self.summary_pages
            + self.map_pages
            + self.tree_pages
            + self.segment_info_pages
            + self.checkpoint_pages
            + self.trim_record_pages
    }
}

/// One partition of a shared layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionReport {
    /// First page of the partition in the layer.
    pub first: u32,
    /// Number of pages.
    pub pages: u32,
    /// Operations received through the partition since the start; outgoing operations are only counted for the layer.
    pub incoming: Counters,
}

/// Pages written to a layer, by sequentiality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Pages written.
    pub written_pages: u64,
    /// Pages whose number is one above that of the previously written page.
    pub sequential_pages: u64,
    /// Pages whose number is one above that of the last page of one of the eight most recent runs.
    pub stream_sequential_pages: u64,
    /// Ranges of consecutive pages trimmed.
    pub trimmed_ranges: u64,
    /// Pages trimmed.
    pub trimmed_pages: u64,
}

impl Arrivals {
    /// Returns the counts since `earlier`.
    pub fn since(&self, earlier: &Arrivals) -> Arrivals {
        Arrivals {
            written_pages: self.written_pages - earlier.written_pages,
            sequential_pages: self.sequential_pages - earlier.sequential_pages,
            stream_sequential_pages: self.stream_sequential_pages - earlier.stream_sequential_pages,
            trimmed_ranges: self.trimmed_ranges - earlier.trimmed_ranges,
            trimmed_pages: self.trimmed_pages - earlier.trimmed_pages,
        }
    }
}

/// Statistics of a log's trims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimCounts {
    /// Pages sent to the layer below.
    pub sent_pages: u64,
    /// Ranges of consecutive pages sent.
    pub sent_ranges: u64,
    /// Pages not trimmed because their segment was rewritten before the trim was sent.
    pub overtaken_pages: u64,
    /// Pages not sent because they are outside the aligned part of their range.
    pub unaligned_pages: u64,
}

/// Number of blocks affected by trims: freeing one upper segment may leave several lower blocks partly valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scatter {
    /// Ranges of consecutive trimmed pages that held data.
    pub ranges: u64,
    /// Blocks that had pages invalidated by these ranges; a block counts once per range.
    pub blocks: u64,
}

/// Report of the flash.
#[derive(Clone, Debug, Default)]
pub struct NandReport {
    /// Pages programmed.
    pub programs: u64,
    /// Pages read.
    pub reads: u64,
    /// Spare areas read without their pages.
    pub spare_reads: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks bad from the factory or worn out.
    pub bad_blocks: u32,
    /// Blocks that wore out in use.
    pub worn_out_blocks: u32,
    /// Number of erases of each block, including bad ones.
    pub erase_counts: Vec<u32>,
    /// Memory that the simulation uses for the flash, in bytes.
    pub memory_bytes: u64,
}
