//! An adapter that presents any layer as erase blocks, so that a log can run on it.

use super::metadata::{Metadata, MetadataPlan};
use super::trim::{TrimQueue, TrimRule, TrimUnit};
use crate::counters::{Cause, Operation};
use crate::layer::{
    Abilities, Ability, Command, EventRecorder, Invalidation, InvalidationListener, Layer, LayerBelow,
    LayerError, LayerExt, LogMetadata, Medium, MediumError, MediumEvent, Pages, Payload, Query, Reports, Run,
};
use crate::units::{BlockId, Lpn, StreamId};

/// Maximum number of a victim's pages that are announced to the layer below for prefetching; and number of map entries
/// per cache line.
const MAX_PREFETCHED_PAGES: usize = 64;
const ENTRIES_PER_LINE: u32 = 16;

/// A layer of any type. Each call handles a batch of pages, so the cost of dynamic dispatch is negligible.
pub type BoxedLayer<P> = Box<dyn Layer<P>>;

/// The logical pages of a lower layer, divided into segments of equal size.
///
/// Erasing a segment trims its pages in the layer below, according to the trim rule. Without TRIM, an erase has no
/// effect below: the lower layer then preserves useless pages until they are overwritten.
pub struct Segments<P> {
    lower: BoxedLayer<P>,
    segment_pages: u32,
    segments: u32,
    /// True if `lower` accepts consecutive pages without a list of them.
    accepts_runs: bool,
    /// Rule and queue of trims; `None` if TRIM is off.
    trims: Option<TrimQueue>,
    erases: Vec<u32>,
    next_page: Vec<u32>,
    /// Page numbers of the current operation; kept to reuse the allocation.
    pages: Vec<Lpn>,
    /// Pages written to the layer below, data and metadata.
    sent_pages: u64,
    /// Pages read by cleaning that the layer below had already moved.
    moved_below_first_pages: u64,
    /// Stream hint of the log's first stream.
    first_hint: u16,
    metadata: Option<Box<Metadata>>,
    /// Payloads of metadata pages, whose content is not modelled.
    blank: Vec<P>,
    /// Recorder of every page operation.
    recorder: Option<EventRecorder>,
}

impl<P: Payload> Segments<P> {
    /// Divides `lower` into segments of `segment_pages` pages; pages beyond the last whole segment stay unused.
    /// Without a rule, nothing is trimmed.
    pub fn new(mut lower: BoxedLayer<P>, segment_pages: u32, trim: Option<TrimRule>) -> Self {
        lower.count_moves();
        let (segments, sent_pages) = (lower.logical_pages() / segment_pages, lower.written_pages());
        Segments {
            accepts_runs: lower.abilities().has(Ability::Runs),
            lower,
            segment_pages,
            segments,
            trims: trim.map(|rule| TrimQueue::new(rule, segments)),
            erases: vec![0; segments as usize],
            next_page: vec![0; segments as usize],
            pages: Vec::new(),
            sent_pages,
            moved_below_first_pages: 0,
            first_hint: 0,
            metadata: None,
            blank: Vec::new(),
            recorder: None,
        }
    }

    /// Divides `lower` into segments with the metadata of a log of `logical_pages` pages: an area in front of the
    /// segments, summaries in the segments, and pages that the log must append.
    pub fn with_metadata(
        lower: BoxedLayer<P>,
        plan: MetadataPlan,
        logical_pages: u32,
        trim: Option<TrimRule>,
    ) -> Self {
        let mut segments = Segments::new(lower, plan.segment_pages, trim);
        segments.segments = plan.segments;
        segments.metadata = Some(Box::new(Metadata::new(plan, logical_pages)));
        segments
    }

    /// Returns the segments with `first` as the stream hint of the first stream: writes of stream `s` reach the layer
    /// below with the hint `first + s`.
    pub fn with_first_hint(mut self, first: u16) -> Self {
        self.first_hint = first;
        self
    }

    /// Returns the segments with a recorder of every page operation.
    pub fn with_recorder(self, recorder: Option<EventRecorder>) -> Self {
        Segments { recorder, ..self }
    }

    fn hint(&self, stream: StreamId) -> u16 {
        self.first_hint.saturating_add(u16::from(stream.0))
    }

    /// Returns the layer below.
    pub fn lower(&self) -> &dyn Layer<P> {
        &*self.lower
    }

    /// Returns the first page of a segment on the layer below.
    fn first_page(&self, block: BlockId) -> u32 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.plan.area_pages) + block.0 * self.segment_pages
    }

    /// Returns the index within a segment of its data page number `page`, which is larger if summaries precede the
    /// data.
    fn page_in_segment(&self, page: u32) -> u32 {
        self.metadata.as_ref().map_or(page, |metadata| metadata.page_in_segment(page))
    }

    fn list_pages(&mut self, block: BlockId, pages: impl Iterator<Item = u32>) {
        let first = self.first_page(block);
        self.pages.clear();
        match &self.metadata {
            None => self.pages.extend(pages.map(|page| Lpn(first + page))),
            Some(metadata) => {
                self.pages.extend(pages.map(|page| Lpn(first + metadata.page_in_segment(page))))
            }
        }
    }

    /// Writes a run of data, and the summary in front of each part of the segment that the run begins.
    fn write_parts(&mut self, block: BlockId, page: u32, data: &[P], hint: u16) -> Result<(), MediumError> {
        let (part, summary) = match &self.metadata {
            Some(metadata) => (metadata.plan.part_data, metadata.plan.part_summary),
            None => (self.segment_pages, 0),
        };
        let end = page + data.len() as u32;
        let mut at = page;
        while at < end {
            if summary > 0 && at.is_multiple_of(part) {
                let first = self.first_page(block) + at / part * (part + summary);
                self.write_summary(first..first + summary, hint)?;
            }
            let part_end = end.min((at / part + 1) * part);
            let first = self.first_page(block) + self.page_in_segment(at);
            let part_data = &data[(at - page) as usize..(part_end - page) as usize];
            let (accepted, written) = self.write_run(Lpn(first), part_data, hint);
            self.next_page[block.index()] += accepted as u32;
            written?;
            at = part_end;
        }
        Ok(())
    }

    /// Writes consecutive pages to the layer below. Returns the number of accepted pages with the result.
    fn write_run(&mut self, first: Lpn, data: &[P], hint: u16) -> (u64, Result<(), MediumError>) {
        let result = if self.accepts_runs {
            self.lower.command(Command::WriteRun { first, data, hint }).map(drop)
        } else {
            self.pages.clear();
            self.pages.extend((first.0..).map(Lpn).take(data.len()));
            self.lower.write(&self.pages, data, hint)
        };
        (self.count_sent(data.len(), result.is_ok()), from_lower(result))
    }

    /// Counts a write of `pages` pages to the layer below. Returns the number of pages that the layer accepted: all of
    /// them unless the write failed, as on a failing drive.
    #[inline]
    fn count_sent(&mut self, pages: usize, is_done: bool) -> u64 {
        let accepted = if is_done { pages as u64 } else { self.lower.written_pages() - self.sent_pages };
        self.sent_pages += accepted;
        accepted
    }

    fn write_summary(&mut self, pages: std::ops::Range<u32>, hint: u16) -> Result<(), MediumError> {
        self.pages.clear();
        self.pages.extend(pages.map(Lpn));
        self.write_metadata(hint)?;
        let written = self.pages.len() as u64;
        if let Some(metadata) = &mut self.metadata {
            metadata.count_summary(written);
        }
        Ok(())
    }

    /// Writes the metadata pages listed in `pages`.
    fn write_metadata(&mut self, hint: u16) -> Result<(), MediumError> {
        if self.pages.is_empty() {
            return Ok(());
        }
        self.blank.resize(self.pages.len(), P::default());
        let result = self.lower.write(&self.pages, &self.blank, hint);
        let accepted = self.count_sent(self.pages.len(), result.is_ok());
        if let (Err(_), Some(metadata)) = (&result, &mut self.metadata) {
            // After a failure, the caller does not count the pages.
            metadata.outside_log_pages += accepted;
        }
        from_lower(result)?;
        if let Some(trims) = &mut self.trims {
            trims.count_written(self.pages.len() as u64);
        }
        Ok(())
    }

    /// Records a run that was written. If the segment is now full and its summary is stored in the metadata area,
    /// writes the summary.
    fn record_run(&mut self, block: BlockId, end: u32, run: &Run<'_, P>) -> Result<(), MediumError> {
        let hint = self.hint(run.stream);
        let Some(metadata) = &mut self.metadata else { return Ok(()) };
        let pages = run.data.len() as u32;
        metadata.record_write(block, end - pages, run.owners, pages, run.cause);
        metadata.record_open_pages(run.stream, end);
        let summary = metadata.area_summary(block);
        if end == metadata.plan.data_pages() && !summary.is_empty() {
            self.write_summary(summary, hint)?;
        }
        Ok(())
    }
}

impl<P: Payload> Segments<P> {
    /// Sends the trims that are due. The trim of an invalidated page is delayed until its replacement is written
    /// below, so that a power cut cannot lose both.
    fn send_trims(&mut self) -> Result<(), MediumError> {
        let Some(trims) = &mut self.trims else { return Ok(()) };
        trims.take_invalidated(&mut self.pages);
        let ranges = trims.take_ranges();
        if self.accepts_runs {
            for range in ranges {
                let run = Command::TrimRun { first: Lpn(range.start), pages: range.end - range.start };
                from_lower(self.lower.command(run))?;
            }
        } else {
            self.pages.extend(ranges.into_iter().flatten().map(Lpn));
        }
        if self.pages.is_empty() {
            return Ok(());
        }
        from_lower(self.lower.trim(&self.pages))
    }
}

fn from_lower<T>(result: Result<T, crate::layer::LayerError>) -> Result<T, MediumError> {
    result.map_err(|error| MediumError::Lower(Box::new(error)))
}

impl<P: Payload> Medium for Segments<P> {
    type Payload = P;

    /// The layer below may store content, so reads need the exact pages.
    const READS_BY_PAGE: bool = true;

    const STORES_GROUPS: bool = false;

    fn blocks(&self) -> u32 {
        self.segments
    }

    fn pages_per_block(&self) -> u32 {
        self.metadata.as_ref().map_or(self.segment_pages, |metadata| metadata.plan.data_pages())
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, P>) -> Result<(), MediumError> {
        let end = page.saturating_add(run.data.len() as u32);
        if block.0 >= self.segments || end > self.pages_per_block() {
            return Err(MediumError::OutsideGeometry { block: block.0, page, end });
        }
        let expected = self.next_page[block.index()];
        if page != expected {
            return Err(MediumError::OutOfOrder { block: block.0, page, expected });
        }
        if let Some(recorder) = &self.recorder {
            recorder.record_run(block, page, &run);
        }
        if page == 0 {
            let first = self.first_page(block);
            if let Some(trims) = &mut self.trims {
                trims.on_reopen(block, first, self.segment_pages);
            }
        }
        self.write_parts(block, page, run.data, self.hint(run.stream))?;
        if let Some(trims) = &mut self.trims {
            trims.count_written(u64::from(end - page));
        }
        self.record_run(block, end, &run)?;
        self.send_trims()
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        if block.0 >= self.segments {
            return Err(MediumError::OutsideGeometry { block: block.0, page: 0, end: 0 });
        }
        if let Some(recorder) = &self.recorder {
            recorder.record(MediumEvent::Erased { block, cause });
        }
        self.erases[block.index()] += 1;
        self.next_page[block.index()] = 0;
        let first = self.first_page(block);
        if let Some(metadata) = &mut self.metadata {
            metadata.record_erase(block, cause);
        }
        if let Some(trims) = &mut self.trims {
            trims.queue_range(block, first, self.segment_pages);
        }
        self.send_trims()
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<P>,
    ) -> Result<(), MediumError> {
        pages.check_programmed(block, self.next_page.get(block.index()).copied())?;
        if let Some(recorder) = &self.recorder {
            recorder.record(MediumEvent::Read { block, pages: pages.len(), cause });
        }
        match pages {
            Pages::Listed(list) => self.list_pages(block, list.iter().copied()),
            // The caller does not need particular pages, so the first ones are read.
            Pages::Counted(count) => self.list_pages(block, 0..count),
        }
        if cause == Cause::Cleaning {
            self.moved_below_first_pages += self.lower.moved_pages(&self.pages);
        }
        from_lower(self.lower.read(&self.pages, out))
    }

    fn count_reads(&mut self, _pages: u64) {
        unreachable!("segments are told which pages are read");
    }

    /// Announces some of the segment's pages to the layer below, one per cache line of its map.
    fn prefetch_block(&self, block: BlockId) {
        let first = self.first_page(block);
        let mut pages = [Lpn(first); MAX_PREFETCHED_PAGES];
        let step = self.segment_pages.div_ceil(MAX_PREFETCHED_PAGES as u32).max(ENTRIES_PER_LINE);
        let mut count = 0;
        for (target, page) in pages.iter_mut().zip((first..first + self.segment_pages).step_by(step as usize))
        {
            *target = Lpn(page);
            count += 1;
        }
        self.lower.query(Query::Prefetch { pages: &pages[..count], second_pass: false });
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.send_trims()?;
        from_lower(self.lower.flush())
    }

    /// Does nothing: the blocks of a layer do not fail.
    fn retire(&mut self, _block: BlockId) {}

    fn take_disturbed(&mut self) -> Option<BlockId> {
        None
    }

    fn reads_before_refresh(&self, _block: BlockId) -> u32 {
        u32::MAX
    }

    /// Does nothing: the log above counts the erases of its segments itself.
    fn read_wear(&mut self, _block: BlockId) {}

    fn is_bad(&self, _block: BlockId) -> bool {
        false
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }

    #[inline(always)]
    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener> {
        let trims_pages = self.trims.as_ref().is_some_and(|trims| trims.unit() == TrimUnit::Page);
        let listens = self.recorder.is_some() || self.metadata.is_some() || trims_pages;
        listens.then_some(self as &mut dyn InvalidationListener)
    }

    #[inline(always)]
    fn layer_below(&self) -> Option<&dyn LayerBelow> {
        Some(self)
    }

    #[inline(always)]
    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow> {
        Some(self)
    }

    fn describe(&self, reports: &mut Reports) {
        // The log on these segments has just appended its own report.
        if let Some(above) = reports.layers.last_mut() {
            above.trims = self.trims.as_ref().map(|trims| trims.counts).unwrap_or_default();
            above.moved_below_first_pages = self.moved_below_first_pages;
            if let Some(metadata) = &self.metadata {
                above.counters.add_outgoing(Cause::LogMetadata, Operation::Write, metadata.outside_log_pages);
                above.metadata = Some(metadata.counts);
            }
        }
        self.lower.describe(reports);
    }

    fn check(&self) -> Result<(), String> {
        self.lower.check()
    }
}

impl<P: Payload> InvalidationListener for Segments<P> {
    fn on_invalidate(&mut self, invalidations: &[Invalidation]) {
        if let Some(recorder) = &self.recorder {
            recorder.record_invalidations(invalidations);
        }
        if let Some(metadata) = &mut self.metadata {
            invalidations
                .iter()
                .for_each(|invalidation| metadata.invalidated(invalidation.owner, invalidation.block));
        }
        let (metadata, segment_pages) = (self.metadata.as_deref(), self.segment_pages);
        let Some(trims) = self.trims.as_mut().filter(|trims| trims.unit() == TrimUnit::Page) else { return };
        match metadata {
            None => trims.queue_pages(invalidations, |invalidation| {
                invalidation.block.0 * segment_pages + invalidation.page
            }),
            Some(metadata) => trims.queue_pages(invalidations, |invalidation| {
                let first = metadata.plan.area_pages + invalidation.block.0 * segment_pages;
                first + metadata.page_in_segment(invalidation.page)
            }),
        }
    }
}

impl<P: Payload> LayerBelow for Segments<P> {
    /// Returns the abilities of the layer below. Trims that follow each call of the log also need whole requests.
    fn abilities(&self) -> Abilities {
        let trims_by_call = self.trims.as_ref().is_some_and(TrimQueue::depends_on_calls);
        self.lower.abilities().with(Ability::WholeRequests, trims_by_call)
    }

    fn notify_cleaning(&mut self, begins: bool) {
        self.lower.notify_cleaning_above(begins);
    }

    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        self.lower.clean_while_idle()
    }

    fn left_valid(&self, block: BlockId) -> f64 {
        let first = self.first_page(block);
        let pages: Vec<Lpn> = (first..first + self.segment_pages).map(Lpn).collect();
        self.lower.left_valid(&pages)
    }

    fn written_in(&self, block: BlockId) -> u32 {
        self.next_page[block.index()]
    }

    fn log_metadata(&self) -> Option<&dyn LogMetadata> {
        self.metadata.as_deref().map(|metadata| metadata as &dyn LogMetadata)
    }

    fn log_metadata_mut(&mut self) -> Option<&mut dyn LogMetadata> {
        self.metadata.as_deref_mut().map(|metadata| metadata as &mut dyn LogMetadata)
    }

    fn end_checkpoint(&mut self) -> Result<(), MediumError> {
        let Some(metadata) = &mut self.metadata else { return Ok(()) };
        if metadata.has_endless_checkpoints() {
            return Err(MediumError::EndlessCheckpoints);
        }
        let written = metadata.end_checkpoint(&mut self.pages);
        self.write_metadata(self.first_hint)?;
        if let Some(metadata) = &mut self.metadata {
            metadata.record_checkpoint(written);
        }
        self.send_trims()
    }
}
