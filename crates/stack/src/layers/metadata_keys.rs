//! The keys of a log's metadata.

use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_engine::log::{OnFlush, SummaryPlace, TablePlace};

macro_rules! metadata_keys {
    ($($(#[doc = $doc:literal])* $key:ident: $Value:ty;)*) => {
        /// The metadata that a log writes: a preset, and whatever differs from it. What neither gives is not written.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct MetadataConfig {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $key: Option<$Value>,)*
        }

        /// The same as a table alone.
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "LogMetadata")]
        pub(crate) struct Table {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            $key: Option<$Value>,)*
        }

        impl From<Table> for MetadataConfig {
            fn from(table: Table) -> Self {
                MetadataConfig { $($key: table.$key,)* }
            }
        }

        impl MetadataConfig {
            /// What is given here, else what `preset` gives.
            pub(crate) fn or(&self, preset: &MetadataConfig) -> Self {
                MetadataConfig { $($key: self.$key.clone().or_else(|| preset.$key.clone()),)* }
            }
        }
    };
}

metadata_keys! {
    /// A named layout, see `wearwell list log-layouts`.
    preset: String;
    /// Bytes of the segment summary for each page of the segment.
    summary_bytes_per_page: u32;
    /// Where the summary is.
    summary: SummaryPlace;
    /// Summaries in the segment: size of a part that has its own, summary included; the segment unless given.
    partial_segment: ByteSize;
    /// Bytes of the map for each logical page; pages of it that changed are written at a checkpoint.
    map_entry_bytes: u32;
    /// Where the map is.
    map: TablePlace;
    /// Map in the log: entries in its first page, an inode, which changes with every write; unless given, it is like the others.
    inode_entries: u32;
    /// Whether erasing a segment changes the map's entries of all pages that were written to it, dead ones included; not unless given.
    frees_map_entries: bool;
    /// Bytes for each logical page in trees in the log, which the host's writes change, and cleaning does not.
    tree_entry_bytes: u32;
    /// Map in the log: bytes for the place of each page of the map.
    map_index_bytes: u32;
    /// Bytes of information on each segment; they change with its number of valid pages.
    segment_info_bytes: u32;
    /// Where the segment information, the map's index and the checkpoints are.
    tables: TablePlace;
    /// In the area: copies of each page of a table, written in turn; 1 unless given.
    table_copies: u32;
    /// Written by the log, the host's and moved pages, from one checkpoint to the next.
    checkpoint_every: ByteSize;
    /// Segments cleaned from one checkpoint to the next, if that comes first; what is moved does not count for `checkpoint_every` then.
    checkpoint_after_cleaned: u32;
    /// Pages of a checkpoint.
    checkpoint_pages: u32;
    /// Pages of a checkpoint for each stream of the placement.
    checkpoint_pages_per_stream: u32;
    /// Whether a checkpoint has the summaries of what the placement's open segments hold so far, packed; not unless given.
    packed_summaries: bool;
    /// Packed summaries: bytes beside the first of them for changed entries of each table in the area, which need not be written then.
    journal_bytes: u32;
    /// What a flush writes; nothing unless given.
    on_flush: OnFlush;
    /// Streams for the log's own pages alone, beside those of the placement.
    own_streams: u8;
    /// The number of streams, own ones included, that there must be; any unless given.
    streams: u8;
}
