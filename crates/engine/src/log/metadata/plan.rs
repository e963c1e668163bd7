//! Layout of a log's metadata: its kinds, sizes and locations, computed before the log runs.

use super::table::{MetadataKind, MetadataTable, TablePlace, TableShape};
use crate::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of streams whose summaries fit in a checkpoint.
pub const MAX_STREAMS: u8 = 16;

/// Location of segment summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummaryPlace {
    /// In the segment itself, in front of the pages that the summary lists.
    #[default]
    InSegment,
    /// In a separate area, in place, when the segment is full.
    Area,
}

/// Metadata that a log writes before a flush completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFlush {
    /// Nothing.
    #[default]
    Nothing,
    /// The changed pages of the map, which is in the log.
    Map,
    /// A checkpoint, if anything was written since the last one.
    Checkpoint,
}

/// Layout of a log's metadata. A size of 0 omits that kind of metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataLayout {
    /// Bytes of segment summary per page.
    pub summary_bytes_per_page: u32,
    /// Location of segment summaries.
    pub summary: SummaryPlace,
    /// Summaries in the segment: pages of each part of a segment that has its own summary, including the summary. 0:
    /// one summary for the whole segment.
    pub partial_segment_pages: u32,
    /// Bytes of map per logical page.
    pub map_entry_bytes: u32,
    /// Location of the map.
    pub map: TablePlace,
    /// Map in the log: number of entries in its first page, which models an inode. That page holds fewer entries than
    /// the other pages, and changes whenever the host writes. 0: the first page is like the other pages.
    pub inode_entries: u32,
    /// True if erasing a segment changes the map entries of all pages that were ever written to it, because entries
    /// of invalid pages are kept until then.
    pub frees_map_entries: bool,
    /// Bytes per logical page in trees that lead to the map entries. The trees are in the log; they change when the
    /// host writes or trims, but not when cleaning moves pages.
    pub tree_entry_bytes: u32,
    /// Map in the log: bytes for the location of each of its pages, in a table stored next to the segment
    /// information.
    pub map_index_bytes: u32,
    /// Bytes of information per segment.
    pub segment_info_bytes: u32,
    /// Location of the segment information, the index of the map, and the checkpoints.
    pub tables: TablePlace,
    /// Tables in the area: number of copies of each page, written in turn. At least 1.
    pub table_copies: u32,
    /// Interval between checkpoints, in pages written by the log (host writes and moved pages); 0: no checkpoints.
    pub checkpoint_every_pages: u64,
    /// Number of cleaned segments after which a checkpoint is due, even if the interval in pages is not over. If set,
    /// moved pages do not count towards that interval. 0: no limit.
    pub checkpoint_after_cleaned: u32,
    /// Pages of a checkpoint.
    pub checkpoint_pages: u32,
    /// Pages of a checkpoint for each open stream.
    pub checkpoint_pages_per_stream: u32,
    /// True if a checkpoint also contains, after its other pages, the packed summaries of the pages written so far in
    /// the placement's open segments.
    pub packed_summaries: bool,
    /// With packed summaries: bytes in front of them for changed entries of each table in the area. As long as the
    /// entries fit there, their pages are not written.
    pub journal_bytes: u32,
    /// Metadata written by a flush.
    pub on_flush: OnFlush,
    /// Number of streams reserved for metadata, in addition to the placement's streams. All metadata goes to the
    /// first of them; each has a summary in a checkpoint. 0: metadata shares the host's stream.
    pub metadata_streams: u8,
    /// Number of streams that the layout requires, including those for metadata.
    pub streams: Option<u8>,
}

/// Layout of a log's metadata on a layer of known size.
#[derive(Clone, Debug)]
pub struct MetadataPlan {
    pub(super) layout: MetadataLayout,
    pub(super) page_bytes: u32,
    pub(in crate::log) segment_pages: u32,
    pub(in crate::log) area_pages: u32,
    pub(in crate::log) segments: u32,
    pub(super) log_pages: u32,
    /// Number of data pages in each part of a segment; `part_summary` summary pages precede them.
    pub(in crate::log) part_data: u32,
    pub(in crate::log) part_summary: u32,
    parts: u32,
    /// First page of the summaries in the area; each summary takes `summary_pages` pages.
    pub(super) summary_first: u32,
    pub(super) summary_pages: u32,
    pub(super) tables: Vec<MetadataTable>,
}

pub(super) fn config_error(key: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError::new(key, problem)
}

impl MetadataPlan {
    /// Lays out the metadata of a log with segments of `segment_pages` pages on a layer of `pages_below` pages.
    pub fn new(
        layout: MetadataLayout,
        page_bytes: u32,
        segment_pages: u32,
        pages_below: u32,
    ) -> Result<Self, ConfigError> {
        let mut plan = Self::plan_segment(layout, page_bytes, segment_pages)?;
        check(&layout, page_bytes)?;
        let (mut in_area, mut in_log) = (0, 0);
        let checkpoint = plan.max_checkpoint_pages();
        if layout.checkpoint_every_pages > 0 {
            match layout.tables {
                TablePlace::Area => in_area += 2 * checkpoint,
                TablePlace::InLog => in_log += checkpoint,
            }
        }
        for (key, kind, location, bytes, entries) in plan.planned_tables(page_bytes, pages_below) {
            let missing = plan.missing_entries(key);
            let pages = pages_for(key, bytes, entries.saturating_add(missing), page_bytes)?;
            if pages == 0 {
                continue;
            }
            if layout.checkpoint_every_pages == 0 {
                return Err(config_error(
                    "checkpoint_every",
                    format!("is missing; `{key}` is written back by checkpoints"),
                ));
            }
            let next = if location == TablePlace::Area { &mut in_area } else { &mut in_log };
            let in_area = location == TablePlace::Area;
            let table = MetadataTable::new(TableShape {
                kind,
                location,
                first: *next,
                pages,
                entries_per_page: page_bytes / bytes,
                missing_entries: missing,
                copies: if in_area { layout.table_copies } else { 1 },
                journal: if in_area { journal_entries(layout.journal_bytes, bytes) } else { 0 },
            });
            *next += table.area_pages();
            plan.tables.push(table);
        }
        plan.summary_first = in_area;
        in_area = in_area.saturating_add(plan.summary_pages.saturating_mul(pages_below / segment_pages));
        // A whole number of segments, so that segments are aligned as they would be without the area.
        plan.area_pages = in_area.div_ceil(segment_pages).saturating_mul(segment_pages);
        plan.segments = pages_below.saturating_sub(plan.area_pages) / segment_pages;
        plan.log_pages = in_log;
        Ok(plan)
    }

    /// Returns the part of the plan that concerns a single segment.
    fn plan_segment(
        layout: MetadataLayout,
        page_bytes: u32,
        segment_pages: u32,
    ) -> Result<Self, ConfigError> {
        let bytes = layout.summary_bytes_per_page;
        let (mut part, mut part_summary, mut summary_pages) = (segment_pages, 0, 0);
        match layout.summary {
            SummaryPlace::InSegment if bytes > 0 => {
                if layout.partial_segment_pages > 0 {
                    part = layout.partial_segment_pages;
                }
                // Minimum number of summary pages that hold an entry for each of the other pages of the part.
                part_summary = (u64::from(part) * u64::from(bytes))
                    .div_ceil(u64::from(page_bytes) + u64::from(bytes)) as u32;
                if !segment_pages.is_multiple_of(part) || part_summary >= part {
                    let problem = format!(
                        "is {part} pages; segments of {segment_pages} pages must be made of such parts, and each must \
                         have room for data"
                    );
                    return Err(config_error("partial_segment", problem));
                }
            }
            _ => {
                summary_pages =
                    (u64::from(segment_pages) * u64::from(bytes)).div_ceil(page_bytes.into()) as u32
            }
        }
        Ok(MetadataPlan {
            layout,
            page_bytes,
            segment_pages,
            area_pages: 0,
            segments: 0,
            log_pages: 0,
            part_data: part - part_summary,
            part_summary,
            parts: segment_pages / part,
            summary_first: 0,
            summary_pages,
            tables: Vec::new(),
        })
    }

    /// Returns the key, kind, location, bytes per entry and number of entries of each table. Sizes are those of a log
    /// that fills the layer below.
    fn planned_tables(
        &self,
        page_bytes: u32,
        pages_below: u32,
    ) -> [(&'static str, MetadataKind, TablePlace, u32, u32); 4] {
        let layout = &self.layout;
        let map_pages = match layout.map {
            TablePlace::InLog if layout.map_entry_bytes > 0 => {
                let entries = pages_below.saturating_add(self.missing_entries("map_entry_bytes"));
                entries.div_ceil((page_bytes / layout.map_entry_bytes).max(1))
            }
            _ => 0,
        };
        [
            ("map_entry_bytes", MetadataKind::Map, layout.map, layout.map_entry_bytes, pages_below),
            ("map_index_bytes", MetadataKind::Map, layout.tables, layout.map_index_bytes, map_pages),
            (
                "segment_info_bytes",
                MetadataKind::SegmentInfo,
                layout.tables,
                layout.segment_info_bytes,
                pages_below / self.segment_pages,
            ),
            ("tree_entry_bytes", MetadataKind::Tree, TablePlace::InLog, layout.tree_entry_bytes, pages_below),
        ]
    }

    /// Returns the number of entries by which the first page of the table with this key is smaller than its other
    /// pages.
    fn missing_entries(&self, key: &str) -> u32 {
        let layout = &self.layout;
        match key {
            "map_entry_bytes" if layout.inode_entries > 0 => {
                (self.page_bytes / layout.map_entry_bytes.max(1)).saturating_sub(layout.inode_entries)
            }
            _ => 0,
        }
    }

    pub(super) fn max_checkpoint_pages(&self) -> u32 {
        let max_streams = u32::from(MAX_STREAMS);
        self.layout.checkpoint_pages
            + self.layout.checkpoint_pages_per_stream * max_streams
            + self.packed_pages(u64::from(max_streams) * u64::from(self.data_pages()))
    }

    /// Returns the number of checkpoint pages filled by the summaries of `written` pages of open segments.
    pub(super) fn packed_pages(&self, written: u64) -> u32 {
        let layout = &self.layout;
        if !layout.packed_summaries {
            return 0;
        }
        let entries_in = |bytes: u32| u64::from(bytes / layout.summary_bytes_per_page);
        let beyond = written.saturating_sub(entries_in(self.page_bytes - 2 * layout.journal_bytes));
        1 + beyond.div_ceil(entries_in(self.page_bytes)) as u32
    }

    /// Returns the pages of each segment that are available for data.
    pub fn data_pages(&self) -> u32 {
        self.parts * self.part_data
    }

    /// Returns the number of data pages in all segments.
    pub fn capacity(&self) -> u32 {
        self.segments * self.data_pages()
    }

    /// True if metadata pages have a separate stream.
    pub fn has_metadata_stream(&self) -> bool {
        self.layout.metadata_streams > 0
    }

    /// Returns the number of logical pages that the log uses for metadata.
    pub fn log_pages(&self) -> u32 {
        self.log_pages
    }

    /// Returns the bytes of memory for the owners of all pages written to each segment; 0 if they are not kept.
    pub fn owners_bytes(&self) -> u64 {
        let entry_bytes = if self.layout.frees_map_entries { size_of::<u32>() as u64 } else { 0 };
        u64::from(self.capacity()) * entry_bytes
    }

    /// Returns the pages of the area outside the log, which is written in place.
    pub fn area_pages(&self) -> u32 {
        self.area_pages
    }

    /// Returns the pages of each segment on the layer below, including summaries.
    pub fn segment_pages(&self) -> u32 {
        self.segment_pages
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> u32 {
        self.segments
    }
}

/// Returns the number of entries of `entry_bytes` that fit in a journal, which also stores their count and the number
/// of each entry.
fn journal_entries(journal_bytes: u32, entry_bytes: u32) -> u32 {
    journal_bytes.saturating_sub(2) / (entry_bytes + 4)
}

/// Rejects settings that are impossible for a log of any size.
fn check(layout: &MetadataLayout, page_bytes: u32) -> Result<(), ConfigError> {
    let in_log = layout.map_entry_bytes > 0 && layout.map == TablePlace::InLog;
    let problems = [
        (
            "table_copies",
            layout.table_copies == 0 || layout.table_copies > 8,
            format!("is {}; 1 to 8 are possible", layout.table_copies),
        ),
        (
            "packed_summaries",
            layout.packed_summaries
                && (layout.checkpoint_every_pages == 0
                    || !(1..=page_bytes).contains(&layout.summary_bytes_per_page)),
            "needs checkpoints, and summaries of at most a page for each page".to_owned(),
        ),
        (
            "journal_bytes",
            layout.journal_bytes > 0 && (!layout.packed_summaries || layout.journal_bytes >= page_bytes / 2),
            "is in front of packed summaries, for each of two tables: less than half a page".to_owned(),
        ),
        (
            "inode_entries",
            layout.inode_entries > 0 && !in_log,
            "is the beginning of a map in the log".to_owned(),
        ),
        (
            "frees_map_entries",
            layout.frees_map_entries && layout.map_entry_bytes == 0,
            "is about the entries of a map; `map_entry_bytes` is missing".to_owned(),
        ),
        (
            "checkpoint_after_cleaned",
            layout.checkpoint_after_cleaned > 0 && layout.checkpoint_every_pages == 0,
            "needs checkpoints: `checkpoint_every` is missing".to_owned(),
        ),
        (
            "on_flush",
            layout.on_flush == OnFlush::Map && !in_log
                || layout.on_flush == OnFlush::Checkpoint && layout.checkpoint_every_pages == 0,
            "needs a map in the log, or checkpoints".to_owned(),
        ),
    ];
    match problems.into_iter().find(|(_, is_wrong, _)| *is_wrong) {
        Some((key, _, problem)) => Err(config_error(key, problem)),
        None => Ok(()),
    }
}

fn pages_for(key: &str, bytes: u32, entries: u32, page_bytes: u32) -> Result<u32, ConfigError> {
    match bytes {
        0 => Ok(0),
        bytes if bytes > page_bytes => {
            Err(config_error(key, format!("is {bytes}; an entry must fit into a page of {page_bytes} bytes")))
        }
        bytes => Ok(entries.div_ceil(page_bytes / bytes)),
    }
}
