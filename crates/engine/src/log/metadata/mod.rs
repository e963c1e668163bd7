//! What a log writes for itself: segment summaries, its map, the state of its segments, and checkpoints.
//!
//! Contents are not modelled, nor is reading them: a page of metadata is a page written below, where it dies and is
//! cleaned like any other.

mod owners;
mod plan;
mod table;
#[cfg(test)]
mod tests;

pub use plan::{MetadataLayout, MetadataPlan, OnFlush, SummaryPlace};
pub use table::TablePlace;

use crate::config::ConfigError;
use crate::counters::Cause;
use crate::layer::MetadataReport;
use crate::units::{BlockId, Divider, Lpn, StreamId};
use owners::Owners;
use plan::{MOST_STREAMS, wrong};
use table::{Kind, Shape, Table};

/// The metadata of a running log.
#[derive(Debug)]
pub(super) struct Metadata {
    pub plan: MetadataPlan,
    /// Divides by the pages of data in each part of a segment.
    part: Divider,
    /// Logical pages of the log's user; its own come after them.
    logical_pages: u32,
    streams: u8,
    /// Pages in the open segment of each stream of the placement.
    open: Vec<u32>,
    /// Pages that the log wrote since the last checkpoint.
    written: u64,
    /// Segments that were cleaned since the last checkpoint began.
    cleaned: u32,
    /// Checkpoints in a row that cleaning called for before the host had written a page more than the one it may.
    crowded: u32,
    /// Pages that the host wrote since the last checkpoint.
    host_written: u64,
    /// Whose pages each segment was written with, if the map's entries of dead ones are kept until it is erased.
    owners: Option<Owners>,
    pub counts: MetadataReport,
    /// Pages written below besides those that the log appended.
    pub beside_log: u64,
    /// Which of the tables are the map, its index, the trees, and the segment information, of those that are kept.
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
        let kinds: Vec<Kind> = plan.tables.iter().map(|table| table.shape.kind).collect();
        let index = kinds.windows(2).position(|pair| pair == [Kind::Map; 2]).map(|map| map + 1);
        let of = |kind: Kind| kinds.iter().position(|&other| other == kind);
        let frees = plan.layout.frees_map_entries;
        Metadata {
            map: of(Kind::Map),
            index,
            tree: of(Kind::Tree),
            info: of(Kind::SegmentInfo),
            owners: frees.then(|| Owners::new(plan.segments, plan.data_pages())),
            part: Divider::new(plan.part_data),
            plan,
            logical_pages,
            streams: 1,
            open: vec![0],
            written: 0,
            cleaned: 0,
            crowded: 0,
            host_written: 0,
            counts,
            beside_log: 0,
        }
    }

    /// The placement has this many streams.
    pub fn serve(&mut self, placed: u8) -> Result<(), ConfigError> {
        let own = self.plan.layout.own_streams;
        let streams = placed.saturating_add(own);
        self.streams = streams;
        self.open = vec![0; usize::from(placed)];
        match self.plan.layout.streams {
            Some(only) if only != streams => Err(wrong(
                "metadata",
                format!(
                    "is laid out for {only} streams, {own} of them its own; the placement has {placed} and needs {}",
                    only.saturating_sub(own)
                ),
            )),
            _ if streams > MOST_STREAMS => Err(wrong(
                "metadata",
                format!("has room for the summaries of {MOST_STREAMS} streams; there are {streams}"),
            )),
            _ => Ok(()),
        }
    }

    /// Where a page of data is within its segment.
    #[inline]
    pub fn place(&self, page: u32) -> u32 {
        page + (self.part.quotient(page) + 1) * self.plan.part_summary
    }

    /// An entry of this table has changed, if the table is kept.
    #[inline(always)]
    fn mark(&mut self, table: Option<usize>, entry: u32) {
        if let Some(table) = table {
            self.plan.tables[table].mark(entry);
        }
    }

    /// What the pages that the log keeps for itself hold.
    fn kind_of(&self, own: u32) -> Kind {
        let of = |table: &&Table| {
            let shape = &table.shape;
            shape.place == TablePlace::InLog && (shape.first..shape.first + shape.pages).contains(&own)
        };
        self.plan.tables.iter().find(of).map_or(Kind::Checkpoint, |table| table.shape.kind)
    }

    /// The log wrote these pages to `block`, the first of them at `at`.
    pub fn wrote(&mut self, block: BlockId, at: u32, owners: Option<&[Lpn]>, pages: u32, cause: Cause) {
        if cause != Cause::Cleaning || self.plan.layout.checkpoint_after_cleaned == 0 {
            self.written += u64::from(pages);
        }
        self.mark(self.info, block.0);
        let by_host = cause == Cause::Host;
        if by_host {
            self.host_written += u64::from(pages);
            if self.plan.layout.inode_entries > 0 {
                self.mark(self.map, 0);
            }
        }
        let owners = owners.unwrap_or_default();
        if let Some(of) = &mut self.owners {
            of.set(block, at, owners);
        }
        for &Lpn(page) in owners {
            if page < self.logical_pages {
                self.mark(self.map, page);
                if by_host {
                    self.mark(self.tree, page);
                }
                continue;
            }
            let own = page - self.logical_pages;
            let kind = self.kind_of(own);
            if cause == Cause::LogMetadata {
                self.count(kind, 1);
            } else {
                self.counts.moved_pages += 1;
                self.mark_index(own);
            }
        }
    }

    /// The log's own page has another place now.
    fn mark_index(&mut self, own: u32) {
        let in_log = |shape: &Shape| shape.kind == Kind::Map && shape.place == TablePlace::InLog;
        let map = self.plan.tables.iter().map(|table| table.shape).find(in_log);
        if let Some(entry) = map.and_then(|map| own.checked_sub(map.first).filter(|&entry| entry < map.pages))
        {
            self.mark(self.index, entry);
        }
    }

    /// A page in `block` is about to die.
    pub fn died(&mut self, owner: Lpn, block: BlockId) {
        self.mark(self.info, block.0);
        if owner.0 < self.logical_pages {
            self.mark(self.map, owner.0);
            self.mark(self.tree, owner.0);
        }
    }

    /// `block` was erased.
    pub fn erased(&mut self, block: BlockId, cause: Cause) {
        self.mark(self.info, block.0);
        if let Some(mut owners) = self.owners.take() {
            owners.take(block, |Lpn(page)| {
                if page < self.logical_pages {
                    self.mark(self.map, page);
                }
            });
            self.owners = Some(owners);
        }
        if cause == Cause::Cleaning {
            self.cleaned += 1;
        }
    }

    /// Whether as many segments were cleaned as call for a checkpoint.
    pub fn cleaning_calls_for_checkpoint(&self) -> bool {
        let after = self.plan.layout.checkpoint_after_cleaned;
        after > 0 && self.cleaned >= after
    }

    /// Pages that the log may write until the next checkpoint.
    pub fn until_checkpoint(&self) -> u64 {
        match self.plan.layout.checkpoint_every_pages {
            0 => u64::MAX,
            _ if self.cleaning_calls_for_checkpoint() => 0,
            every => every.saturating_sub(self.written),
        }
    }

    /// Whether as many checkpoints as there are segments came one after the other because cleaning called for them, each
    /// as the last had been written: then cleaning gains less than they take.
    pub fn is_overrun(&self) -> bool {
        self.crowded > self.plan.segments
    }

    fn checkpoint_pages(&self) -> u32 {
        let layout = &self.plan.layout;
        let open = self.open.iter().map(|&pages| u64::from(pages)).sum();
        layout.checkpoint_pages
            + layout.checkpoint_pages_per_stream * u32::from(self.streams)
            + self.plan.packed_pages(open)
    }

    /// The open segment of `stream` has so many pages now.
    pub fn opened(&mut self, stream: StreamId, pages: u32) {
        if let Some(open) = self.open.get_mut(stream.index()) {
            *open = pages % self.plan.data_pages();
        }
    }

    /// Hands over the pages of the table number `at`, which is in the log, that changed, as logical pages.
    fn append_table(&mut self, at: usize, pages: &mut Vec<Lpn>) {
        let (start, from) = (self.logical_pages, pages.len());
        self.plan.tables[at].take(|page| pages.push(Lpn(start + page)));
        for page in &pages[from..] {
            self.mark_index(page.0 - start);
        }
    }

    /// The pages that a flush appends to the log, as logical pages; whether they begin a checkpoint, which has to end.
    pub fn begin_flush(&mut self, pages: &mut Vec<Lpn>) -> bool {
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

    /// The pages that a checkpoint appends to the log, as logical pages.
    pub fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>) {
        let crowds = self.cleaning_calls_for_checkpoint() && self.host_written <= 1;
        self.crowded = if crowds { self.crowded + 1 } else { 0 };
        self.cleaned = 0;
        let start = self.logical_pages;
        for at in 0..self.plan.tables.len() {
            if self.plan.tables[at].shape.place == TablePlace::InLog {
                self.append_table(at, pages);
            }
        }
        if self.plan.layout.tables == TablePlace::InLog {
            pages.extend((start..start + self.checkpoint_pages()).map(Lpn));
        }
    }

    /// The pages that it then writes in place, and how many of each kind.
    pub fn end_checkpoint(&mut self, pages: &mut Vec<Lpn>) -> [u64; 3] {
        pages.clear();
        let mut written = [0; 3];
        for table in &mut self.plan.tables {
            if table.shape.place == TablePlace::Area {
                let from = pages.len();
                table.take(|page| pages.push(Lpn(page)));
                written[usize::from(table.shape.kind != Kind::Map)] += (pages.len() - from) as u64;
            }
        }
        if self.plan.layout.tables == TablePlace::Area {
            let pack = (self.counts.checkpoints % 2) as u32 * self.plan.checkpoint_room();
            pages.extend((pack..pack + self.checkpoint_pages()).map(Lpn));
            written[2] = u64::from(self.checkpoint_pages());
        }
        written
    }

    /// They are written. Counted only now, because a dying drive may not have taken them.
    pub fn ended_checkpoint(&mut self, written: [u64; 3]) {
        for (kind, amount) in [Kind::Map, Kind::SegmentInfo, Kind::Checkpoint].into_iter().zip(written) {
            self.count(kind, amount);
            self.beside_log += amount;
        }
        self.counts.checkpoints += 1;
        self.written = 0;
        self.host_written = 0;
    }

    /// The pages of the area for the summary of `block`.
    pub fn area_summary(&self, block: BlockId) -> std::ops::Range<u32> {
        let first = self.plan.summary_first + block.0 * self.plan.summary_pages;
        first..first + self.plan.summary_pages
    }

    /// Summaries were written outside the log.
    pub fn count_summary(&mut self, pages: u64) {
        self.count(Kind::Summary, pages);
        self.beside_log += pages;
    }

    fn count(&mut self, kind: Kind, pages: u64) {
        *match kind {
            Kind::Summary => &mut self.counts.summary_pages,
            Kind::Map => &mut self.counts.map_pages,
            Kind::Tree => &mut self.counts.tree_pages,
            Kind::SegmentInfo => &mut self.counts.segment_info_pages,
            Kind::Checkpoint => &mut self.counts.checkpoint_pages,
        } += pages;
    }
}
