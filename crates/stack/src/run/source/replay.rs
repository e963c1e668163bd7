//! Replay of a trace as a source.

use super::addresses::{AddressMap, MappingError};
use super::clock::{DecreasingTime, SORT_WINDOW, Sorter, TraceClock};
use super::digests::{DigestContents, RequestDigests, UnknownContent};
use super::mapped::{BatchPosition, MappedTrace, Position};
use super::shared::{LookupResult, MappingKey, Recording};
use super::volumes::VolumeOffsets;
use super::{FirstPass, Source, SourceError, SourceNeeds};
use crate::scenario::{AddressRule, Backwards, MissingDigests, TraceConfig, VolumeRule};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use wearwell_base::units::Lpn;
use wearwell_engine::layer::ContentId;
use wearwell_trace::{CHUNK_REQUESTS, Op, PageSize, ReadOptions, RequestBatch, TraceCursor, TraceError};
use wearwell_workload::PageBatch;

/// Distance, in requests, at which table entries are prefetched.
const PREFETCH_DISTANCE: usize = 6;

/// Distance, in requests, at which the index of those table entries is prefetched.
const INDEX_PREFETCH_DISTANCE: usize = 12;

/// A trace that restarts at its end.
pub struct TraceReplay {
    config: TraceConfig,
    path: String,
    volumes: VolumeOffsets,
    addresses: AddressMap,
    page_size: PageSize,
    cursor: TraceCursor,
    stored_passes: StoredPasses,
    requests: RequestBatch,
    /// Numbers of the requests in the trace, from 1, if they were reordered.
    numbers: Vec<u64>,
    /// Index in `requests` of the next request to be replayed.
    next: usize,
    /// Requests read in this pass.
    requests_read: u64,
    passes: u64,
    first_pass: FirstPass,
    /// True if any request has pages.
    has_pages: bool,
    skipped: u64,
    /// Source of contents, if the run needs them.
    digests: Option<DigestContents>,
    /// Source of arrival times, if the run needs them.
    clock: Option<TraceClock>,
    sorter: Option<Sorter>,
}

impl TraceReplay {
    /// Opens the trace for a drive of `logical_pages` pages; reads it once beforehand if a rule needs its extent.
    ///
    /// Contents, if the run needs them, come from the trace's digests.
    pub fn new(
        config: &TraceConfig,
        logical_pages: u32,
        page_bytes: u32,
        needs: &SourceNeeds,
    ) -> Result<Self, SourceError> {
        let needs_extent =
            config.address == AddressRule::Scale || config.volume_rule == VolumeRule::SideBySide;
        let volume_bytes = if needs_extent { volume_ends(config)? } else { BTreeMap::new() };
        let page_bytes = u64::from(page_bytes);
        let (volumes, span_bytes) = VolumeOffsets::new(config.volume_rule, &volume_bytes, page_bytes);
        let digests = || DigestContents::new(page_bytes, config.missing_digests, config.repeat_contents);
        let clock = needs.time.as_ref().map(|clock| TraceClock::new(config.decreasing_times, clock.speed_up));
        let cursor = open(config)?;
        // Times and contents differ from pass to pass.
        let may_share_passes = needs.time.is_none() && !needs.contents;
        let key = cursor.identity().filter(|_| may_share_passes).cloned();
        let key =
            key.map(|trace| MappingKey::new(trace, config, needs.requests, (logical_pages, page_bytes)));
        Ok(TraceReplay {
            path: config.path.display().to_string(),
            volumes,
            addresses: AddressMap::new(
                config.address,
                needs.requests,
                span_bytes,
                (logical_pages, page_bytes),
            ),
            page_size: PageSize::new(page_bytes),
            cursor,
            stored_passes: StoredPasses::begin(key),
            config: config.clone(),
            requests: RequestBatch::default(),
            numbers: Vec::new(),
            next: 0,
            requests_read: 0,
            passes: 0,
            first_pass: FirstPass::default(),
            has_pages: false,
            skipped: 0,
            digests: needs.contents.then(digests),
            sorter: (clock.is_some() && config.decreasing_times == Backwards::Sort).then(Sorter::default),
            clock,
        })
    }

    /// Returns the fraction of the trace that was read in this pass; 0 if its length is not known.
    pub fn fraction_read(&self) -> f64 {
        self.cursor.fraction_read()
    }

    /// Returns the pages that were read or written so far; only with the rule `compact`.
    pub fn touched_pages(&self) -> u64 {
        self.addresses.numbered_pages()
    }

    /// Returns one past the last page of the trace so far.
    pub fn end_page(&self) -> u64 {
        self.addresses.end_page()
    }

    /// True if further passes are copied from stored operations.
    #[cfg(test)]
    pub fn copies_stored_passes(&self) -> bool {
        self.stored_passes.mapped.is_some()
    }

    /// Reads the next requests; at the end of the trace rewinds and reads none.
    fn read_next(&mut self) -> Result<bool, SourceError> {
        self.requests.clear();
        self.next = 0;
        while self.requests.is_empty() {
            let count = self.read_chunks()?;
            if let Some(sorter) = &mut self.sorter {
                sorter.sort(&mut self.requests, self.requests_read + 1, &mut self.numbers);
            }
            self.requests_read += count as u64;
            if count == 0 && self.requests.is_empty() {
                return self.rewind();
            }
        }
        let carries_digests =
            self.requests.digest_bytes > 0 || self.config.missing_digests == MissingDigests::Unique;
        if self.digests.is_some() && !carries_digests {
            let format = self.cursor.format().name;
            return Err(SourceError::NoDigests { path: self.path.clone(), format });
        }
        Ok(true)
    }

    /// Appends a chunk of requests, or as many chunks as are sorted together; returns the number of requests.
    fn read_chunks(&mut self) -> Result<usize, TraceError> {
        let chunks = if self.sorter.is_some() { SORT_WINDOW / CHUNK_REQUESTS } else { 1 };
        for _ in 0..chunks {
            if self.cursor.read(&mut self.requests)? == 0 {
                break;
            }
        }
        Ok(self.requests.len())
    }

    fn rewind(&mut self) -> Result<bool, SourceError> {
        if !self.has_pages {
            return Err(SourceError::NoPages { path: self.path.clone() });
        }
        self.passes += 1;
        self.skipped += self.cursor.skipped();
        self.requests_read = 0;
        // A discard of pages that had no number yet becomes a different operation in the next pass.
        let is_repeated = self.passes > 1 || self.addresses.unnumbered_trims() == 0;
        self.stored_passes.end_pass(is_repeated, self.cursor.skipped());
        self.cursor.rewind()?;
        self.digests.iter_mut().for_each(DigestContents::begin_pass);
        self.clock.iter_mut().for_each(TraceClock::end_pass);
        Ok(false)
    }

    /// Returns the number in the trace, from 1, of one of the current requests.
    fn request_number(&self, at: usize) -> u64 {
        let in_order = || self.requests_read - (self.requests.len() - at) as u64 + 1;
        self.numbers.get(at).copied().unwrap_or_else(in_order)
    }

    fn append_request(&mut self, at: usize, batch: &mut PageBatch) -> Result<(), SourceError> {
        let (op, hint, time_ns) = (self.requests.op[at], self.requests.hint[at], self.requests.time_ns[at]);
        if self.passes == 0 {
            self.first_pass.record_arrival(time_ns);
        }
        if let Some(clock) = &mut self.clock
            && let Err(late) = clock.advance(time_ns)
        {
            return Err(self.decreasing_time_error(self.request_number(at), late));
        }
        if op == Op::Flush {
            batch.push_request(Op::Flush, hint, Lpn(0), 0);
            return Ok(());
        }
        if op == Op::Trim && !self.config.trim {
            return Ok(());
        }
        self.has_pages = true;
        let (offset, length) = (self.requests.offset_bytes[at], self.requests.length_bytes[at]);
        let base = match self.volumes.base(self.requests.volume[at]) {
            Ok(base) => base,
            Err(refusal) => return Err(refusal.into_error(&self.path, self.request_number(at), 0)),
        };
        let end = base.saturating_add(offset + length);
        let bytes = end - length..end;
        // A write or read touches every page that it overlaps; a trim frees only pages that it covers completely.
        let pages = match op {
            Op::Trim => self.page_size.covered(bytes.start, length),
            _ => self.page_size.touched(bytes.start, length),
        };
        let pages = pages.start..pages.end.max(pages.start);
        if self.passes == 0 && op == Op::Write {
            self.first_pass.written_bytes += (pages.end - pages.start) * self.page_size.bytes;
        }
        let outcome = match self.digests.is_some() {
            true => self.append_with_contents(at, batch, pages, bytes)?,
            false => self.addresses.append(batch, op, hint, pages, None),
        };
        if self.passes == 0 && op == Op::Trim {
            self.first_pass.unnumbered_trims = self.addresses.unnumbered_trims();
        }
        outcome.map_err(|refusal| refusal.into_error(&self.path, self.request_number(at), end))
    }

    /// Appends a request with its contents: those of the digests for a write, unknown contents for other requests.
    fn append_with_contents(
        &mut self,
        at: usize,
        batch: &mut PageBatch,
        pages: Range<u64>,
        bytes: Range<u64>,
    ) -> Result<Result<(), MappingError>, SourceError> {
        let number = self.request_number(at);
        let TraceReplay { requests, digests, addresses, path, .. } = self;
        let (op, hint) = (requests.op[at], requests.hint[at]);
        let request_digests = RequestDigests {
            start: bytes.start,
            end: bytes.end,
            digests: requests.digests_of(at),
            digest_bytes: requests.digest_bytes,
        };
        let outcome = match digests {
            Some(digests) if op == Op::Write => {
                digests.check(&request_digests).map_err(|missing| missing.into_error(path, number))?;
                let mut content = |page| digests.content(&request_digests, page);
                addresses.append(batch, op, hint, pages, Some(&mut content))
            }
            _ => addresses.append(batch, op, hint, pages, None),
        };
        batch.add_contents(|_| ContentId::UNKNOWN);
        Ok(outcome)
    }

    /// Prefetches the table entries of the pages of upcoming requests.
    #[inline]
    fn prefetch(&self) {
        // Consecutive requests are mostly for the same volume.
        let page = |offset: u64| self.page_size.page_of(self.volumes.latest_base().saturating_add(offset));
        let RequestBatch { offset_bytes, length_bytes, .. } = &self.requests;
        if let Some(&offset) = offset_bytes.get(self.next + INDEX_PREFETCH_DISTANCE) {
            self.addresses.prefetch_index(page(offset));
        }
        if let Some(&offset) = offset_bytes.get(self.next + PREFETCH_DISTANCE) {
            let end = offset.saturating_add(length_bytes[self.next + PREFETCH_DISTANCE]);
            self.addresses.prefetch(page(offset), page(end.saturating_sub(1)));
        }
    }

    fn decreasing_time_error(
        &self,
        request: u64,
        DecreasingTime { time_ns, before_ns }: DecreasingTime,
    ) -> SourceError {
        let choices = match self.config.decreasing_times {
            Backwards::Sort => "clamp (sort looks ahead no further than 4096 requests)",
            _ => "clamp (such a request arrives with the one in front) or sort (within 4096 requests)",
        };
        SourceError::DecreasingTime { path: self.path.clone(), request, time_ns, before_ns, choices }
    }
}

impl UnknownContent {
    fn into_error(self, path: &str, request: u64) -> SourceError {
        let problem = match self {
            UnknownContent::None => "has no digest".to_owned(),
            UnknownContent::Count { found, expected } => {
                format!("has {found} digests where its length asks for {expected}")
            }
            UnknownContent::Size { digest_bytes } => {
                format!("has a digest for each {digest_bytes} bytes, which do not divide the page size")
            }
        };
        SourceError::MissingDigests { path: path.to_owned(), request, problem }
    }
}

impl Source for TraceReplay {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        if let Some((trace, position)) = &mut self.stored_passes.mapped {
            if !trace.fill(position, batch, pages) {
                self.passes += 1;
                self.skipped += trace.skipped(position);
                *position = Position::default();
            }
            return Ok(());
        }
        let (end_pages, runs) = (batch.pages.len() + pages, batch.runs.len());
        let mut recorded_to = BatchPosition::end_of(batch);
        while batch.pages.len() < end_pages {
            if self.next == self.requests.len() {
                self.stored_passes.record(batch, &mut recorded_to);
                if !self.read_next()? {
                    break;
                }
                self.stored_passes.record_skipped(self.cursor.skipped());
            }
            if self.addresses.is_table() {
                self.prefetch();
            }
            self.append_request(self.next, batch)?;
            self.next += 1;
            self.stored_passes.end_request(batch, recorded_to);
            // A flush is a request without pages.
            if pages == 1 && batch.runs.len() > runs {
                break;
            }
        }
        self.stored_passes.record(batch, &mut recorded_to);
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        Some(self.passes)
    }

    fn skipped(&self) -> u64 {
        let skipped_in_pass = match &self.stored_passes.mapped {
            Some((trace, position)) => trace.skipped(position),
            None => self.cursor.skipped(),
        };
        self.skipped + skipped_in_pass
    }

    fn first_pass(&self) -> Option<FirstPass> {
        Some(self.first_pass)
    }

    fn arrival_ns(&self) -> Option<u64> {
        self.clock.as_ref().and_then(TraceClock::arrival_ns)
    }

    fn final_draw(&mut self) -> u64 {
        self.passes
    }
}

/// Mapped passes through a trace that are stored, so that later passes need neither decoding nor mapping.
struct StoredPasses {
    /// `None` if no pass is stored.
    key: Option<MappingKey>,
    recording: Option<Box<Recording>>,
    /// Operations of each further pass, and the position of the next one.
    mapped: Option<(Arc<MappedTrace>, Position)>,
}

impl StoredPasses {
    fn begin(key: Option<MappingKey>) -> Self {
        let mut passes = StoredPasses { key, recording: None, mapped: None };
        // The first pass collects the statistics of the trace, and is mapped by each run.
        if let Some(LookupResult::MayRecord(recording)) = passes.key.as_ref().map(LookupResult::new) {
            passes.recording = Some(recording);
        }
        passes
    }

    /// Ends a pass that was mapped, in which `skipped` bad lines were skipped; `is_repeated` is true if the next pass
    /// has the same operations.
    fn end_pass(&mut self, is_repeated: bool, skipped: u64) {
        match self.recording.take() {
            Some(mut recording) if !is_repeated => {
                recording.restart();
                self.recording = Some(recording);
            }
            Some(recording) => {
                self.mapped = recording.finish(skipped).map(|trace| (trace, Position::default()));
            }
            None => match self.key.as_ref().map(LookupResult::new) {
                Some(LookupResult::Found(trace)) => self.mapped = Some((trace, Position::default())),
                Some(LookupResult::MayRecord(recording)) => self.recording = Some(recording),
                Some(LookupResult::Unavailable) | None => {}
            },
        }
    }

    #[inline]
    fn end_request(&mut self, batch: &PageBatch, start: BatchPosition) {
        if let Some(recording) = &mut self.recording {
            recording.end_request(batch, start);
        }
    }

    /// Records the operations after `start` in `batch`, and moves `start` to the end.
    fn record(&mut self, batch: &PageBatch, start: &mut BatchPosition) {
        if self.recording.as_mut().is_some_and(|recording| !recording.record(batch, *start)) {
            self.recording = None;
        }
        *start = BatchPosition::end_of(batch);
    }

    /// Records that `skipped` bad lines were skipped before the next request.
    fn record_skipped(&mut self, skipped: u64) {
        if self.recording.as_mut().is_some_and(|recording| !recording.record_skipped(skipped)) {
            self.recording = None;
        }
    }
}

fn open(config: &TraceConfig) -> Result<TraceCursor, TraceError> {
    let options = ReadOptions {
        format: config.format.clone(),
        skip_bad: config.skip_bad,
        volumes: config.volumes.clone(),
        options: config.options.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
    };
    TraceCursor::open(&config.path, &options)
}

/// Returns one past the highest byte of each volume.
fn volume_ends(config: &TraceConfig) -> Result<BTreeMap<u32, u64>, TraceError> {
    let mut cursor = open(config)?;
    let mut requests = RequestBatch::default();
    let mut ends = BTreeMap::new();
    while cursor.read(&mut requests)? > 0 {
        for (at, &volume) in requests.volume.iter().enumerate() {
            let end = requests.offset_bytes[at].saturating_add(requests.length_bytes[at]);
            let highest = ends.entry(volume).or_insert(0);
            *highest = end.max(*highest);
        }
        requests.clear();
    }
    Ok(ends)
}
