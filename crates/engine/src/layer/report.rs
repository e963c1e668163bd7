//! What layers and flash report of themselves.

use super::dedup_report::DedupReport;
use super::ftl_report::FtlReport;
use crate::counters::Counters;

/// What the layers and the medium of a stack report, from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// One entry a log layer.
    pub layers: Vec<LayerReport>,
    /// The flash at the bottom.
    pub nand: Option<NandReport>,
}

/// One layer's report.
#[derive(Clone, Debug, Default)]
pub struct LayerReport {
    /// Traffic since the start.
    pub counters: Counters,
    /// Pages it shows above.
    pub logical_pages: u32,
    /// Pages it has below.
    pub physical_pages: u64,
    /// Logical pages that hold data.
    pub mapped_pages: u32,
    /// `victim_valid_pages[j]`: victims that held `j` valid pages when selected.
    pub victim_valid_pages: Vec<u64>,
    /// Pages that left their stream for another because no erased block was left.
    pub spilled_pages: u64,
    /// Bytes of memory the simulation of this layer takes.
    pub memory_bytes: u64,
    /// What the layer kept of where pages are: `page`, `block`, or another structure's own word.
    pub directory: &'static str,
    /// Bytes of RAM that the structure needs for its map, where it says so.
    pub map_bytes: Option<u64>,
    /// Times that it cleaned; `None` for a layer that never does.
    pub cleanings: Option<u64>,
    /// Blocks (segments, zones, extents) that are erased and wait to be written; `None` for a layer that has no such.
    pub erased_blocks: Option<u32>,
    /// Its partitions, if it has any.
    pub partitions: Vec<PartitionReport>,
    /// `[cause][owner]`: pages that cleaning moved, by the partition whose write ran the cleaning and the partition
    /// that owns them. Pages beyond the last partition count as one more. Empty in a layer that is not shared.
    pub moved_pages: Vec<Vec<u64>>,
    /// How the writes that came in follow each other, where that is watched.
    pub arrivals: Option<Arrivals>,
    /// Trims that it had to send below.
    pub trims: TrimCounts,
    /// Trims that came in.
    pub scatter: Scatter,
    /// Pages moved that it had moved before since they were written, where that is counted.
    pub moved_again_pages: u64,
    /// Pages moved that the layer below had moved before since they were written.
    pub moved_below_first_pages: u64,
    /// Live pages that cleaning dropped, if it does so instead of moving them.
    pub evicted_pages: Option<u64>,
    /// Times that it opened a block instead of cleaning because a log above was cleaning, if it may.
    pub deferrals: Option<u64>,
    /// Metadata of the log, where it keeps any.
    pub metadata: Option<MetadataReport>,
    /// What only a log-structured merge tree has.
    pub lsm: Option<LsmReport>,
    /// What only a layer that stores equal pages once has.
    pub dedup: Option<DedupReport>,
    /// What only an FTL other than the log has.
    pub ftl: Option<FtlReport>,
}

/// What a log-structured merge tree did, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsmReport {
    /// Its levels, the youngest first.
    pub levels: Vec<LsmLevel>,
    /// Memtables written out, or log stores converted.
    pub flushes: u64,
    /// Merges.
    pub compactions: u64,
    /// Tables that went down a level without being written anew.
    pub trivial_moves: u64,
    /// Times that the last level was written anew because its tables were too empty for the space there is.
    pub squeezes: u64,
    /// Extents that hold no table.
    pub free_extents: u32,
}

/// One level of a log-structured merge tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsmLevel {
    /// Sorted runs.
    pub runs: u32,
    /// Tables of all runs.
    pub tables: u32,
    /// Pages of records and tombstones in them, without their indexes.
    pub pages: u64,
}

/// What a log wrote for itself, and the room that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataReport {
    /// Pages of segment summaries written.
    pub summary_pages: u64,
    /// Pages of the map and of its index written.
    pub map_pages: u64,
    /// Pages written of the trees that lead to the map's entries.
    pub tree_pages: u64,
    /// Pages of segment information written.
    pub segment_info_pages: u64,
    /// Pages of checkpoints written.
    pub checkpoint_pages: u64,
    /// Pages of records of persistent trims written.
    pub trim_record_pages: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Pages of metadata in the log that cleaning moved.
    pub moved_pages: u64,
    /// Pages of the layer below that are the area.
    pub area_pages: u32,
    /// Pages of segments that summaries take.
    pub in_segment_pages: u32,
    /// Logical pages that the log keeps for itself.
    pub log_pages: u32,
}

impl MetadataReport {
    /// Pages written, of all kinds, without those that cleaning moved.
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
    /// Its first page in the layer.
    pub first: u32,
    /// Its pages.
    pub pages: u32,
    /// What came in through it since the start; nothing goes out but through the layer.
    pub incoming: Counters,
}

/// The pages written to a layer, by how they follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Pages written.
    pub written_pages: u64,
    /// Of these, pages whose number is one above that of the page written before.
    pub sequential_pages: u64,
    /// Pages whose number is one above that of the last page of one of the eight latest runs.
    pub stream_sequential_pages: u64,
    /// Ranges of consecutive pages trimmed.
    pub trimmed_ranges: u64,
    /// Pages trimmed.
    pub trimmed_pages: u64,
}

impl Arrivals {
    /// What arrived since `earlier`.
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

/// What became of the pages that were to be trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimCounts {
    /// Pages sent to the layer below, in this many ranges.
    pub sent_pages: u64,
    /// Ranges of consecutive pages sent.
    pub sent_ranges: u64,
    /// Pages of segments written anew before their trim was sent.
    pub overtaken_pages: u64,
    /// Pages left out because their range did not reach from one multiple of the alignment to the next.
    pub unaligned_pages: u64,
}

/// How many blocks trims reached into: one upper segment freed may leave several lower blocks partly valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scatter {
    /// Ranges of consecutive pages trimmed that held data.
    pub ranges: u64,
    /// Blocks that lost pages to them, each counted once a range.
    pub blocks: u64,
}

/// The flash's report.
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
    /// Erases of each block, bad ones included.
    pub erase_counts: Vec<u32>,
    /// Bytes of memory the simulation of the flash takes.
    pub memory_bytes: u64,
}
