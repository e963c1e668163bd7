//! Metadata that a log writes: segment summaries, its map, the state of its segments, and checkpoints.
//!
//! Neither the contents nor reads of metadata are modelled. A metadata page is a page written to the layer below,
//! where it is invalidated and cleaned like any other page.

mod owners;
mod plan;
mod table;
#[cfg(test)]
mod tests;

pub use plan::{MetadataLayout, MetadataPlan, OnFlush, SummaryPlace};
pub use table::TablePlace;

use crate::config::ConfigError;
use crate::counters::Cause;
use crate::layer::{LogMetadata, MetadataReport};
use crate::units::{BlockId, Divider, Lpn, StreamId};
use owners::SegmentOwners;
use plan::{MAX_STREAMS, config_error};
use table::{MetadataKind, MetadataTable, TableShape};

/// The metadata of a running log.
#[derive(Debug)]
pub(super) struct Metadata {
    pub plan: MetadataPlan,
    /// Divider by the number of data pages in each part of a segment.
    part_divider: Divider,
    /// Number of logical pages of the log's user; the log's metadata pages are numbered after them.
    logical_pages: u32,
    streams: u8,
    /// Pages written in the open segment of each stream of the placement.
    open_pages: Vec<u32>,
    /// Pages that the log has written since the last checkpoint.
    written: u64,
    /// Segments cleaned since the last checkpoint began.
    cleaned_segments: u32,
    /// Number of consecutive checkpoints that cleaning triggered and between which the host wrote at most one page.
    back_to_back_checkpoints: u32,
    /// Pages that the host has written since the last checkpoint.
    host_written: u64,
    /// Owners of all pages written to each segment; kept if map entries of invalid pages exist until the segment is
    /// erased.
    owners: Option<SegmentOwners>,
    pub counts: MetadataReport,
    /// Number of metadata pages written to the layer below outside the log.
    pub outside_log_pages: u64,
    /// Positions of the map, of its index, of the trees and of the segment information among the plan's tables; `None`
    /// for a missing table.
    map: Option<usize>,
    index: Option<usize>,
    tree: Option<usize>,
    info: Option<usize>,
}

impl Metadata {
    pub fn new(plan: MetadataPlan, logical_pages: u32) -> Self {
        let counts = MetadataReport {
            area_pages: plan.area_pages,
            in_segment_pages: plan.segments * (plan.segment_pages - plan.data_pages()),
            log_pages: plan.log_pages,
            ..MetadataReport::default()
        };
        let kinds: Vec<MetadataKind> = plan.tables.iter().map(|table| table.shape.kind).collect();
        let index = kinds.windows(2).position(|pair| pair == [MetadataKind::Map; 2]).map(|map| map + 1);
        let of = |kind: MetadataKind| kinds.iter().position(|&other| other == kind);
        let frees = plan.layout.frees_map_entries;
        Metadata {
            map: of(MetadataKind::Map),
            index,
            tree: of(MetadataKind::Tree),
            info: of(MetadataKind::SegmentInfo),
            owners: frees.then(|| SegmentOwners::new(plan.segments, plan.data_pages())),
            part_divider: Divider::new(plan.part_data),
            plan,
            logical_pages,
            streams: 1,
            open_pages: vec![0],
            written: 0,
            cleaned_segments: 0,
            back_to_back_checkpoints: 0,
            host_written: 0,
            counts,
            outside_log_pages: 0,
        }
    }

    /// Returns the index within a segment of its data page number `page`, which is larger if summaries precede the
    /// data.
    #[inline]
    pub fn page_in_segment(&self, page: u32) -> u32 {
        page + (self.part_divider.quotient(page) + 1) * self.plan.part_summary
    }

    /// Marks an entry of a table as changed, if there is such a table.
    #[inline(always)]
    fn mark_changed(&mut self, table: Option<usize>, entry: u32) {
        if let Some(table) = table {
            self.plan.tables[table].mark_changed(entry);
        }
    }

    /// Returns the kind of metadata stored in this metadata page of the log.
    fn kind_of(&self, metadata_page: u32) -> MetadataKind {
        let of = |table: &&MetadataTable| {
            let shape = &table.shape;
            shape.location == TablePlace::InLog
                && (shape.first..shape.first + shape.pages).contains(&metadata_page)
        };
        self.plan.tables.iter().find(of).map_or(MetadataKind::Checkpoint, |table| table.shape.kind)
    }

    /// Records that the log wrote these pages to `block`, starting at index `at`.
    pub fn record_write(
        &mut self,
        block: BlockId,
        at: u32,
        owners: Option<&[Lpn]>,
        pages: u32,
        cause: Cause,
    ) {
        if cause != Cause::Cleaning || self.plan.layout.checkpoint_after_cleaned == 0 {
            self.written += u64::from(pages);
        }
        self.mark_changed(self.info, block.0);
        let by_host = cause == Cause::Host;
        if by_host {
            self.host_written += u64::from(pages);
            if self.plan.layout.inode_entries > 0 {
                self.mark_changed(self.map, 0);
            }
        }
        let owners = owners.unwrap_or_default();
        if let Some(segment_owners) = &mut self.owners {
            segment_owners.set(block, at, owners);
        }
        for &Lpn(page) in owners {
            if page < self.logical_pages {
                self.mark_changed(self.map, page);
                if by_host {
                    self.mark_changed(self.tree, page);
                }
                continue;
            }
            let metadata_page = page - self.logical_pages;
            let kind = self.kind_of(metadata_page);
            if cause == Cause::LogMetadata {
                self.count(kind, 1);
            } else {
                self.counts.moved_pages += 1;
                self.mark_index(metadata_page);
            }
        }
    }

    /// Marks the index entry of a metadata page of the log, which has a new location.
    fn mark_index(&mut self, metadata_page: u32) {
        let in_log =
            |shape: &TableShape| shape.kind == MetadataKind::Map && shape.location == TablePlace::InLog;
        let map = self.plan.tables.iter().map(|table| table.shape).find(in_log);
        if let Some(entry) =
            map.and_then(|map| metadata_page.checked_sub(map.first).filter(|&entry| entry < map.pages))
        {
            self.mark_changed(self.index, entry);
        }
    }

    /// Records that a page in `block` is about to be invalidated.
    pub fn invalidated(&mut self, owner: Lpn, block: BlockId) {
        self.mark_changed(self.info, block.0);
        if owner.0 < self.logical_pages {
            self.mark_changed(self.map, owner.0);
            self.mark_changed(self.tree, owner.0);
        }
    }

    /// Records that `block` was erased.
    pub fn record_erase(&mut self, block: BlockId, cause: Cause) {
        self.mark_changed(self.info, block.0);
        if let Some(mut owners) = self.owners.take() {
            owners.take(block, |Lpn(page)| {
                if page < self.logical_pages {
                    self.mark_changed(self.map, page);
                }
            });
            self.owners = Some(owners);
        }
        if cause == Cause::Cleaning {
            self.cleaned_segments += 1;
        }
    }

    /// True if there were more consecutive checkpoints than segments, each triggered by cleaning right after the
    /// previous one: cleaning then gains less space than the checkpoints use.
    pub fn has_endless_checkpoints(&self) -> bool {
        self.back_to_back_checkpoints > self.plan.segments
    }

    fn checkpoint_pages(&self) -> u32 {
        let layout = &self.plan.layout;
        let open = self.open_pages.iter().map(|&pages| u64::from(pages)).sum();
        layout.checkpoint_pages
            + layout.checkpoint_pages_per_stream * u32::from(self.streams)
            + self.plan.packed_pages(open)
    }

    /// Records that the open segment of `stream` now has `pages` pages.
    pub fn record_open_pages(&mut self, stream: StreamId, pages: u32) {
        if let Some(open) = self.open_pages.get_mut(stream.index()) {
            *open = pages % self.plan.data_pages();
        }
    }

    /// Appends the changed pages of table number `at`, which is in the log, to `pages` as logical pages.
    fn append_table(&mut self, at: usize, pages: &mut Vec<Lpn>) {
        let (start, from) = (self.logical_pages, pages.len());
        self.plan.tables[at].take_changed(|page| pages.push(Lpn(start + page)));
        for page in &pages[from..] {
            self.mark_index(page.0 - start);
        }
    }

    /// Appends to `pages` the pages that the checkpoint writes in place, and returns their numbers by kind.
    pub fn end_checkpoint(&mut self, pages: &mut Vec<Lpn>) -> [u64; 3] {
        pages.clear();
        let mut written = [0; 3];
        for table in &mut self.plan.tables {
            if table.shape.location == TablePlace::Area {
                let from = pages.len();
                table.take_changed(|page| pages.push(Lpn(page)));
                written[usize::from(table.shape.kind != MetadataKind::Map)] += (pages.len() - from) as u64;
            }
        }
        if self.plan.layout.tables == TablePlace::Area {
            let pack = (self.counts.checkpoints % 2) as u32 * self.plan.max_checkpoint_pages();
            pages.extend((pack..pack + self.checkpoint_pages()).map(Lpn));
            written[2] = u64::from(self.checkpoint_pages());
        }
        written
    }

    /// Counts the pages that a checkpoint wrote in place. Called only after the write, because a failing drive may
    /// reject it.
    pub fn record_checkpoint(&mut self, written: [u64; 3]) {
        for (kind, amount) in
            [MetadataKind::Map, MetadataKind::SegmentInfo, MetadataKind::Checkpoint].into_iter().zip(written)
        {
            self.count(kind, amount);
            self.outside_log_pages += amount;
        }
        self.counts.checkpoints += 1;
        self.written = 0;
        self.host_written = 0;
    }

    /// Returns the pages of the metadata area that hold the summary of `block`.
    pub fn area_summary(&self, block: BlockId) -> std::ops::Range<u32> {
        let first = self.plan.summary_first + block.0 * self.plan.summary_pages;
        first..first + self.plan.summary_pages
    }

    /// Counts summary pages written outside the log.
    pub fn count_summary(&mut self, pages: u64) {
        self.count(MetadataKind::Summary, pages);
        self.outside_log_pages += pages;
    }

    fn count(&mut self, kind: MetadataKind, pages: u64) {
        *match kind {
            MetadataKind::Summary => &mut self.counts.summary_pages,
            MetadataKind::Map => &mut self.counts.map_pages,
            MetadataKind::Tree => &mut self.counts.tree_pages,
            MetadataKind::SegmentInfo => &mut self.counts.segment_info_pages,
            MetadataKind::Checkpoint => &mut self.counts.checkpoint_pages,
        } += pages;
    }
}

/// Page numbers of this interface are logical pages of the log.
impl LogMetadata for Metadata {
    fn set_streams(&mut self, placed: u8) -> Result<(), ConfigError> {
        let metadata_streams = self.plan.layout.metadata_streams;
        let streams = placed.saturating_add(metadata_streams);
        self.streams = streams;
        self.open_pages = vec![0; usize::from(placed)];
        match self.plan.layout.streams {
            Some(required) if required != streams => Err(config_error(
                "metadata",
                format!(
                    "is laid out for {required} streams, {metadata_streams} of them its own; the placement has {placed} and needs {}",
                    required.saturating_sub(metadata_streams)
                ),
            )),
            _ if streams > MAX_STREAMS => Err(config_error(
                "metadata",
                format!("has room for the summaries of {MAX_STREAMS} streams; there are {streams}"),
            )),
            _ => Ok(()),
        }
    }

    fn has_own_stream(&self) -> bool {
        self.plan.has_metadata_stream()
    }

    fn metadata_pages(&self) -> u32 {
        self.plan.log_pages()
    }

    fn pages_until_checkpoint(&self) -> u64 {
        match self.plan.layout.checkpoint_every_pages {
            0 => u64::MAX,
            _ if self.is_checkpoint_due_to_cleaning() => 0,
            every => every.saturating_sub(self.written),
        }
    }

    fn is_checkpoint_due_to_cleaning(&self) -> bool {
        let after = self.plan.layout.checkpoint_after_cleaned;
        after > 0 && self.cleaned_segments >= after
    }

    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>) {
        let is_back_to_back = self.is_checkpoint_due_to_cleaning() && self.host_written <= 1;
        self.back_to_back_checkpoints = if is_back_to_back { self.back_to_back_checkpoints + 1 } else { 0 };
        self.cleaned_segments = 0;
        let start = self.logical_pages;
        for at in 0..self.plan.tables.len() {
            if self.plan.tables[at].shape.location == TablePlace::InLog {
                self.append_table(at, pages);
            }
        }
        if self.plan.layout.tables == TablePlace::InLog {
            pages.extend((start..start + self.checkpoint_pages()).map(Lpn));
        }
    }

    fn begin_flush(&mut self, pages: &mut Vec<Lpn>) -> bool {
        match self.plan.layout.on_flush {
            OnFlush::Checkpoint if self.written > 0 => {
                self.begin_checkpoint(pages);
                true
            }
            OnFlush::Map => {
                self.append_table(0, pages);
                false
            }
            OnFlush::Nothing | OnFlush::Checkpoint => false,
        }
    }
}
