//! Keys of a log's metadata.

use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_engine::log::{OnFlush, SummaryPlace, TablePlace};

macro_rules! metadata_keys {
    ($($(#[doc = $doc:literal])* $key:ident: $Value:ty;)*) => {
        /// Metadata that a log writes: a preset, and settings that differ from it. Metadata given by neither is not written.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct MetadataConfig {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $key: Option<$Value>,)*
        }

        /// The metadata as a table.
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
            /// Returns these settings, with missing ones taken from `preset`.
            pub(crate) fn or(&self, preset: &MetadataConfig) -> Self {
                MetadataConfig { $($key: self.$key.clone().or_else(|| preset.$key.clone()),)* }
            }
        }
    };
}

metadata_keys! {
    /// Name of a known layout, see `wearwell list log-layouts`.
    preset: String;
    /// Bytes of the segment summary for each page of the segment.
    summary_bytes_per_page: u32;
    /// Location of the summary.
    summary: SummaryPlace;
    /// Summaries in the segment: size of a part with its own summary, including the summary; default the whole segment.
    partial_segment: ByteSize;
    /// Bytes of the map for each logical page; changed pages of the map are written at a checkpoint.
    map_entry_bytes: u32;
    /// Location of the map.
    map: TablePlace;
    /// Map in the log: entries in its first page, an inode, which changes with every write. By default that page is
    /// like the other pages.
    inode_entries: u32;
    /// True if erasing a segment changes the map's entries of all pages that were written to it, including invalid pages; default
    /// false.
    frees_map_entries: bool;
    /// Bytes for each logical page in trees in the log, which change with host writes but not with cleaning.
    tree_entry_bytes: u32;
    /// Map in the log: bytes to store the location of each page of the map.
    map_index_bytes: u32;
    /// Bytes of information on each segment, which change with its number of valid pages.
    segment_info_bytes: u32;
    /// Location of the segment information, the map's index and the checkpoints.
    tables: TablePlace;
    /// In the area: copies of each page of a table, written in turn; default 1.
    table_copies: u32;
    /// Amount written by the log, host pages and moved pages, from one checkpoint to the next.
    checkpoint_every: ByteSize;
    /// Segments cleaned from one checkpoint to the next, if that limit is reached first; moved pages then do not count towards
    /// `checkpoint_every`.
    checkpoint_after_cleaned: u32;
    /// Pages of a checkpoint.
    checkpoint_pages: u32;
    /// Pages of a checkpoint for each stream of the placement.
    checkpoint_pages_per_stream: u32;
    /// True if a checkpoint contains the packed summaries of the open segments' contents so far; default false.
    packed_summaries: bool;
    /// Packed summaries: bytes next to the first summary for changed entries of each table in the area, which are then not written
    /// there.
    journal_bytes: u32;
    /// Writes of a flush; default none.
    on_flush: OnFlush;
    /// Number of streams only for pages of the log itself, in addition to the streams of the placement.
    own_streams: u8;
    /// Required number of streams, including own streams; default any number.
    streams: u8;
}
