//! What metadata a log keeps, and where: worked out before the log runs.

use super::table::{Kind, Shape, Table, TablePlace};
use crate::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Streams for whose summaries a checkpoint has room.
pub const MOST_STREAMS: u8 = 16;

/// Where the summary of a segment is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummaryPlace {
    /// Into pages of the segment itself, before the pages that it lists.
    #[default]
    InSegment,
    /// Into an area of its own, in place, when the segment is full.
    Area,
}

/// What a log writes for itself before a flush is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFlush {
    /// Nothing.
    #[default]
    Nothing,
    /// The pages of the map that changed, which are in the log.
    Map,
    /// A checkpoint, if anything was written since the last.
    Checkpoint,
}

/// The metadata of a log. A size of 0 leaves that kind out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataLayout {
    /// Bytes of the segment summary for each page.
    pub summary_bytes_per_page: u32,
    /// Where summaries are.
    pub summary: SummaryPlace,
    /// In the segment: pages of a part with a summary of its own, which is included; 0: the whole segment.
    pub partial_segment_pages: u32,
    /// Bytes of the map for each logical page.
    pub map_entry_bytes: u32,
    /// Where the map is.
    pub map: TablePlace,
    /// Map in the log: entries in its first page, if there is room for more, which also changes whenever the host writes: an
    /// inode. 0: as many as in the others, and it is like them.
    pub inode_entries: u32,
    /// Whether erasing a segment changes the map's entries of all pages that were written to it, because those of dead
    /// pages are kept until then.
    pub frees_map_entries: bool,
    /// Bytes for each logical page in trees that lead to the map's entries: they are in the log, and change when the host
    /// writes or trims, not when cleaning moves pages.
    pub tree_entry_bytes: u32,
    /// Map in the log: bytes for the place of each of its pages, in a table beside the segment information.
    pub map_index_bytes: u32,
    /// Bytes of information on each segment.
    pub segment_info_bytes: u32,
    /// Where the segment information, the map's index and the checkpoints are.
    pub tables: TablePlace,
    /// In the area: copies of each page of a table, written in turn. At least 1.
    pub table_copies: u32,
    /// Pages written by the log, host's and moved ones, from one checkpoint to the next; 0: there are none.
    pub checkpoint_every_pages: u64,
    /// Segments that are cleaned from one checkpoint to the next, if that comes first; the moved pages do not count then. 0: any
    /// number.
    pub checkpoint_after_cleaned: u32,
    /// Pages of a checkpoint.
    pub checkpoint_pages: u32,
    /// Pages of a checkpoint for each open stream.
    pub checkpoint_pages_per_stream: u32,
    /// A checkpoint has, behind its other pages, the summaries of the pages that the placement's open segments have so
    /// far, packed.
    pub packed_summaries: bool,
    /// Packed summaries: bytes in front of them for changed entries of each table in the area, whose pages are not written
    /// as long as there is room.
    pub journal_bytes: u32,
    /// What a flush writes.
    pub on_flush: OnFlush,
    /// Streams for the log's own pages alone, beside those of the placement. All of them go to the first; each has its
    /// summary in a checkpoint. 0: they share the host's stream.
    pub own_streams: u8,
    /// The only number of streams, its own included, that the layout is meant for.
    pub streams: Option<u8>,
}

/// The metadata of a log on a layer of known size: what is where.
#[derive(Clone, Debug)]
pub struct MetadataPlan {
    pub(super) layout: MetadataLayout,
    pub(super) page_bytes: u32,
    pub(in crate::log) segment_pages: u32,
    pub(in crate::log) area_pages: u32,
    pub(in crate::log) segments: u32,
    pub(super) log_pages: u32,
    /// Pages of data in each part of a segment, and the pages of summary before them.
    pub(in crate::log) part_data: u32,
    pub(in crate::log) part_summary: u32,
    parts: u32,
    /// Area: where summaries begin, and pages of each.
    pub(super) summary_first: u32,
    pub(super) summary_pages: u32,
    pub(super) tables: Vec<Table>,
}

pub(super) fn wrong(key: &str, problem: impl Into<String>) -> ConfigError {
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
        let mut plan = Self::segments_of(layout, page_bytes, segment_pages)?;
        check(&layout, page_bytes)?;
        let (mut in_area, mut in_log) = (0, 0);
        let checkpoint = plan.checkpoint_room();
        if layout.checkpoint_every_pages > 0 {
            match layout.tables {
                TablePlace::Area => in_area += 2 * checkpoint,
                TablePlace::InLog => in_log += checkpoint,
            }
        }
        for (key, kind, place, bytes, entries) in plan.wanted_tables(page_bytes, pages_below) {
            let missing = plan.missing_entries(key);
            let pages = pages_for(key, bytes, entries.saturating_add(missing), page_bytes)?;
            if pages == 0 {
                continue;
            }
            if layout.checkpoint_every_pages == 0 {
                return Err(wrong(
                    "checkpoint_every",
                    format!("is missing; `{key}` is written back by checkpoints"),
                ));
            }
            let next = if place == TablePlace::Area { &mut in_area } else { &mut in_log };
            let in_area = place == TablePlace::Area;
            let table = Table::new(Shape {
                kind,
                place,
                first: *next,
                pages,
                entries_per_page: page_bytes / bytes,
                missing,
                copies: if in_area { layout.table_copies } else { 1 },
                journal: if in_area { journal_entries(layout.journal_bytes, bytes) } else { 0 },
            });
            *next += table.area_pages();
            plan.tables.push(table);
        }
        plan.summary_first = in_area;
        in_area = in_area.saturating_add(plan.summary_pages.saturating_mul(pages_below / segment_pages));
        // Whole segments, so that the log's segments stay as they would lie without the area.
        plan.area_pages = in_area.div_ceil(segment_pages).saturating_mul(segment_pages);
        plan.segments = pages_below.saturating_sub(plan.area_pages) / segment_pages;
        plan.log_pages = in_log;
        Ok(plan)
    }

    /// The part of the plan that concerns a single segment.
    fn segments_of(layout: MetadataLayout, page_bytes: u32, segment_pages: u32) -> Result<Self, ConfigError> {
        let bytes = layout.summary_bytes_per_page;
        let (mut part, mut part_summary, mut summary_pages) = (segment_pages, 0, 0);
        match layout.summary {
            SummaryPlace::InSegment if bytes > 0 => {
                if layout.partial_segment_pages > 0 {
                    part = layout.partial_segment_pages;
                }
                // The fewest pages that have an entry for each of the others.
                part_summary = (u64::from(part) * u64::from(bytes))
                    .div_ceil(u64::from(page_bytes) + u64::from(bytes)) as u32;
                if !segment_pages.is_multiple_of(part) || part_summary >= part {
                    let problem = format!(
                        "is {part} pages; segments of {segment_pages} pages must be made of such parts, and each must \
                         have room for data"
                    );
                    return Err(wrong("partial_segment", problem));
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

    /// Key, kind, place, bytes of an entry and entries of each table; sizes are those of a log that fills the layer below.
    fn wanted_tables(
        &self,
        page_bytes: u32,
        pages_below: u32,
    ) -> [(&'static str, Kind, TablePlace, u32, u32); 4] {
        let layout = &self.layout;
        let map_pages = match layout.map {
            TablePlace::InLog if layout.map_entry_bytes > 0 => {
                let entries = pages_below.saturating_add(self.missing_entries("map_entry_bytes"));
                entries.div_ceil((page_bytes / layout.map_entry_bytes).max(1))
            }
            _ => 0,
        };
        [
            ("map_entry_bytes", Kind::Map, layout.map, layout.map_entry_bytes, pages_below),
            ("map_index_bytes", Kind::Map, layout.tables, layout.map_index_bytes, map_pages),
            (
                "segment_info_bytes",
                Kind::SegmentInfo,
                layout.tables,
                layout.segment_info_bytes,
                pages_below / self.segment_pages,
            ),
            ("tree_entry_bytes", Kind::Tree, TablePlace::InLog, layout.tree_entry_bytes, pages_below),
        ]
    }

    /// Entries that the first page of the table of this key has less than the others.
    fn missing_entries(&self, key: &str) -> u32 {
        let layout = &self.layout;
        match key {
            "map_entry_bytes" if layout.inode_entries > 0 => {
                (self.page_bytes / layout.map_entry_bytes.max(1)).saturating_sub(layout.inode_entries)
            }
            _ => 0,
        }
    }

    pub(super) fn checkpoint_room(&self) -> u32 {
        let most = u32::from(MOST_STREAMS);
        self.layout.checkpoint_pages
            + self.layout.checkpoint_pages_per_stream * most
            + self.packed_pages(u64::from(most) * u64::from(self.data_pages()))
    }

    /// Pages of a checkpoint that the summaries of so many pages of open segments fill.
    pub(super) fn packed_pages(&self, written: u64) -> u32 {
        let layout = &self.layout;
        if !layout.packed_summaries {
            return 0;
        }
        let of = |bytes: u32| u64::from(bytes / layout.summary_bytes_per_page);
        let beyond = written.saturating_sub(of(self.page_bytes - 2 * layout.journal_bytes));
        1 + beyond.div_ceil(of(self.page_bytes)) as u32
    }

    /// Pages of each segment that the log can fill.
    pub fn data_pages(&self) -> u32 {
        self.parts * self.part_data
    }

    /// Pages of data that all segments hold.
    pub fn capacity(&self) -> u32 {
        self.segments * self.data_pages()
    }

    /// Whether these have a stream of their own.
    pub fn has_own_stream(&self) -> bool {
        self.layout.own_streams > 0
    }

    /// Logical pages that the log keeps for itself.
    pub fn log_pages(&self) -> u32 {
        self.log_pages
    }

    /// Memory for whose pages each segment was written with, bytes; 0 where that is not kept.
    pub fn owners_bytes(&self) -> u64 {
        let entry_bytes = if self.layout.frees_map_entries { size_of::<u32>() as u64 } else { 0 };
        u64::from(self.capacity()) * entry_bytes
    }

    /// Pages of the area beside the log, which is written in place.
    pub fn area_pages(&self) -> u32 {
        self.area_pages
    }

    /// Pages of each segment on the layer below, summaries included.
    pub fn segment_pages(&self) -> u32 {
        self.segment_pages
    }

    /// Segments of the log.
    pub fn segments(&self) -> u32 {
        self.segments
    }
}

/// Entries of so many bytes that a journal has room for: it counts them, and has each with its number.
fn journal_entries(journal_bytes: u32, entry_bytes: u32) -> u32 {
    journal_bytes.saturating_sub(2) / (entry_bytes + 4)
}

/// What cannot be, whatever the log's size.
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
        Some((key, _, problem)) => Err(wrong(key, problem)),
        None => Ok(()),
    }
}

fn pages_for(key: &str, bytes: u32, entries: u32, page_bytes: u32) -> Result<u32, ConfigError> {
    match bytes {
        0 => Ok(0),
        bytes if bytes > page_bytes => {
            Err(wrong(key, format!("is {bytes}; an entry must fit into a page of {page_bytes} bytes")))
        }
        bytes => Ok(entries.div_ceil(page_bytes / bytes)),
    }
}
