//! Pages of the drive for the pages of a trace.

use super::SourceError;
use crate::scenario::AddressRule;
use std::ops::Range;
use wearwell_base::units::Lpn;
use wearwell_engine::layer::ContentId;
use wearwell_trace::{Op, PageMap};
use wearwell_workload::PageBatch;

/// Drive page of a page of the trace that has no number.
const UNNUMBERED: Lpn = Lpn(u32::MAX);

/// Reason why a request does not fit the drive.
pub enum MappingError {
    PastEnd { capacity: u64 },
    TooManyPages { pages: u32 },
    SecondVolume { volume: u32, first: u32 },
    NewVolume { volume: u32 },
}

impl MappingError {
    /// Returns the error for request number `request` of the trace `path`, which ends at byte `end`.
    pub fn into_error(self, path: &str, request: u64, end: u64) -> SourceError {
        let path = path.to_owned();
        match self {
            MappingError::PastEnd { capacity } => SourceError::PastEnd { path, request, end, capacity },
            MappingError::TooManyPages { pages } => SourceError::TooManyPages { path, request, pages },
            MappingError::SecondVolume { volume, first } => {
                SourceError::SecondVolume { path, request, volume, first }
            }
            MappingError::NewVolume { volume } => SourceError::NewVolume { path, request, volume },
        }
    }
}

/// Contents of the pages of a request, by page of the trace.
pub type Contents<'a> = Option<&'a mut dyn FnMut(u64) -> ContentId>;

/// Map from pages of the trace to pages of the drive.
pub struct AddressMap {
    rule: AddressRule,
    /// True if each write and read becomes a separate request of the batch; otherwise consecutive writes or reads are
    /// joined.
    by_request: bool,
    logical_pages: u32,
    page_bytes: u64,
    /// Mapping of the whole trace onto the whole drive.
    scale: LinearScale,
    /// Drive page of each page of the trace, for compacting.
    numbers: PageMap<Lpn>,
    /// Pages that have a number.
    numbered_pages: u32,
    /// One past the last page of the trace so far.
    end_page: u64,
    /// Pages of discards that were skipped because they had no number.
    unnumbered_trims: u64,
}

impl AddressMap {
    /// Returns the map for a trace of `span_bytes` bytes on a drive of `logical_pages` pages.
    pub fn new(
        rule: AddressRule,
        by_request: bool,
        span_bytes: u64,
        (logical_pages, page_bytes): (u32, u64),
    ) -> Self {
        AddressMap {
            rule,
            by_request,
            logical_pages,
            page_bytes,
            scale: LinearScale::new(logical_pages, (span_bytes / page_bytes).max(1)),
            numbers: PageMap::new(UNNUMBERED),
            numbered_pages: 0,
            end_page: 0,
            unnumbered_trims: 0,
        }
    }

    /// Returns the pages that were read or written so far; only for `compact`.
    pub fn numbered_pages(&self) -> u64 {
        self.numbered_pages.into()
    }

    /// Returns one past the last page of the trace so far.
    pub fn end_page(&self) -> u64 {
        self.end_page
    }

    /// Returns the pages of discards that were skipped: with `compact`, a page has no place on the drive before it is
    /// read or written.
    pub fn unnumbered_trims(&self) -> u64 {
        self.unnumbered_trims
    }

    /// True if the map is a table, whose entries are worth prefetching.
    pub fn is_table(&self) -> bool {
        self.rule == AddressRule::Compact
    }

    /// Prefetches the index entries of a page, for [`Self::prefetch`] later.
    #[inline]
    pub fn prefetch_index(&self, page: u64) {
        self.numbers.prefetch_index(page);
    }

    /// Prefetches the entries of the pages of the trace from `first` to `last`, if these are only a few pages.
    #[inline]
    pub fn prefetch(&self, first: u64, last: u64) {
        self.numbers.prefetch(first);
        self.numbers.prefetch(last);
    }

    /// Appends the request for `pages` of the trace, in runs of consecutive drive pages, and the `contents` of these
    /// pages.
    ///
    /// # Errors
    /// Returns an error for a request past the end of the drive (`direct`), and for one page more than the drive has
    /// (`compact`).
    #[inline]
    pub fn append(
        &mut self,
        batch: &mut PageBatch,
        op: Op,
        hint: u16,
        pages: Range<u64>,
        contents: Contents<'_>,
    ) -> Result<(), MappingError> {
        self.end_page = self.end_page.max(pages.end);
        match self.rule {
            AddressRule::Compact if op == Op::Trim => self.append_numbered_trim(batch, hint, pages),
            AddressRule::Compact => return self.append_numbered(batch, op, hint, pages, contents),
            AddressRule::Direct => return self.append_direct(batch, op, hint, pages, contents),
            AddressRule::Wrap => self.append_wrapped(batch, op, hint, self.first_cycle(pages), contents),
            AddressRule::Scale => self.append_scaled(batch, op, hint, self.first_cycle(pages), contents),
        }
        Ok(())
    }

    /// Returns the part of `pages` that maps to every page of the drive; a longer request would only touch the same
    /// pages again.
    fn first_cycle(&self, pages: Range<u64>) -> Range<u64> {
        let longest = self.scale.span_pages.max(self.logical_pages.into());
        pages.start..pages.end.min(pages.start.saturating_add(longest))
    }

    fn append_direct(
        &self,
        batch: &mut PageBatch,
        op: Op,
        hint: u16,
        pages: Range<u64>,
        contents: Contents<'_>,
    ) -> Result<(), MappingError> {
        let logical_pages = u64::from(self.logical_pages);
        if pages.end > logical_pages {
            return Err(MappingError::PastEnd { capacity: logical_pages * self.page_bytes });
        }
        if !pages.is_empty() {
            self.push(batch, (op, hint), Lpn(pages.start as u32), (pages.end - pages.start) as u32);
            extend_contents(batch, contents, pages.clone());
        }
        Ok(())
    }

    fn append_wrapped(
        &self,
        batch: &mut PageBatch,
        op: Op,
        hint: u16,
        mut pages: Range<u64>,
        contents: Contents<'_>,
    ) {
        let logical_pages = u64::from(self.logical_pages);
        if logical_pages == 1 {
            // All pages of the trace map to one page, which keeps the last content.
            pages.start = pages.start.max(pages.end.saturating_sub(1));
        }
        extend_contents(batch, contents, pages.clone());
        while !pages.is_empty() {
            let first = pages.start % logical_pages;
            let length = (pages.end - pages.start).min(logical_pages - first);
            self.push(batch, (op, hint), Lpn(first as u32), length as u32);
            pages.start += length;
        }
    }

    fn append_scaled(
        &self,
        batch: &mut PageBatch,
        op: Op,
        hint: u16,
        pages: Range<u64>,
        mut contents: Contents<'_>,
    ) {
        let mut runs = RunBuilder::default();
        let drive_pages = self.scale.drive_pages_from(pages.start);
        for (page, drive_page) in pages.zip(drive_pages) {
            let is_repeated = runs.is_last(drive_page);
            if let Some(content) = &mut contents {
                // If neighbours map to the same page, the last content remains.
                batch.contents.truncate(batch.contents.len() - usize::from(is_repeated));
                batch.contents.push(content(page));
            }
            // Scaling down maps neighbours to the same page, which one request touches once.
            if !is_repeated {
                runs.add(drive_page, |first, length| self.push(batch, (op, hint), first, length));
            }
        }
        runs.finish(|first, length| self.push(batch, (op, hint), first, length));
    }

    /// Appends consecutive drive pages.
    #[inline]
    fn push(&self, batch: &mut PageBatch, (op, hint): (Op, u16), first: Lpn, pages: u32) {
        match self.by_request || op == Op::Trim {
            true => batch.push_request(op, hint, first, pages),
            false => batch.extend_single(op, hint, (first.0..first.0 + pages).map(Lpn)),
        }
    }

    fn append_numbered(
        &mut self,
        batch: &mut PageBatch,
        op: Op,
        hint: u16,
        pages: Range<u64>,
        contents: Contents<'_>,
    ) -> Result<(), MappingError> {
        let AddressMap { by_request, logical_pages, numbered_pages, .. } = self;
        let mut runs = RunBuilder::default();
        self.numbers.visit(pages.clone(), |_, numbers| {
            // The loop has no early exit, so that the compiler compares several numbers at a time.
            if numbers.iter().fold(false, |any, number| any | (*number == UNNUMBERED)) {
                assign_numbers(numbers, numbered_pages, *logical_pages)?;
            }
            match by_request {
                true => numbers.iter().for_each(|number| {
                    runs.add(number.0, |first, length| batch.push_request(op, hint, first, length));
                }),
                false => batch.pages.extend_from_slice(numbers),
            }
            Ok(())
        })?;
        match by_request {
            true => runs.finish(|first, length| batch.push_request(op, hint, first, length)),
            false => batch.end_single(op, hint),
        }
        extend_contents(batch, contents, pages.clone());
        Ok(())
    }

    /// Appends a discard of those of the trace's `pages` that have a number.
    ///
    /// Pages that were neither read nor written get no number from a discard. Otherwise the discard of a whole disk
    /// before a file system is created on it would use up the drive's pages.
    fn append_numbered_trim(&mut self, batch: &mut PageBatch, hint: u16, pages: Range<u64>) {
        let mut runs = RunBuilder::default();
        let mut numbered = 0;
        let mut push = |first, length| batch.push_request(Op::Trim, hint, first, length);
        self.numbers.visit_existing(pages.clone(), |_, &mut number| {
            if number != UNNUMBERED {
                numbered += 1;
                runs.add(number.0, &mut push);
            }
        });
        runs.finish(push);
        let unnumbered = pages.end - pages.start - numbered;
        self.unnumbered_trims = self.unnumbered_trims.saturating_add(unnumbered);
    }
}

/// Appends the contents of `pages`, if there are any.
fn extend_contents(batch: &mut PageBatch, contents: Contents<'_>, pages: Range<u64>) {
    batch.contents.extend(contents.into_iter().flat_map(|content| pages.clone().map(content)));
}

/// Assigns the next numbers to the entries of `numbers` that have none, in order.
#[cold]
fn assign_numbers(
    numbers: &mut [Lpn],
    numbered_pages: &mut u32,
    logical_pages: u32,
) -> Result<(), MappingError> {
    for number in numbers {
        if *number == UNNUMBERED {
            if *numbered_pages == logical_pages {
                return Err(MappingError::TooManyPages { pages: logical_pages });
            }
            *number = Lpn(*numbered_pages);
            *numbered_pages += 1;
        }
    }
    Ok(())
}

/// Runs of consecutive drive pages, made of single pages.
#[derive(Default)]
struct RunBuilder {
    first: u32,
    length: u32,
}

impl RunBuilder {
    /// True if `page` is the page added last.
    fn is_last(&self, page: u32) -> bool {
        self.length > 0 && self.first + self.length - 1 == page
    }

    /// Adds `page`; calls `push` with the first page and the length of the run before, if `page` begins a new run.
    #[inline]
    fn add(&mut self, page: u32, push: impl FnOnce(Lpn, u32)) {
        if self.length > 0 && self.first + self.length == page {
            self.length += 1;
            return;
        }
        let before = std::mem::replace(self, RunBuilder { first: page, length: 1 });
        before.finish(push);
    }

    /// Calls `push` with the current run, if there is one.
    #[inline]
    fn finish(self, push: impl FnOnce(Lpn, u32)) {
        if self.length > 0 {
            push(Lpn(self.first), self.length);
        }
    }
}

/// Drive pages in proportion to pages of the trace: `page * logical_pages / span_pages`.
struct LinearScale {
    logical_pages: u32,
    span_pages: u64,
    /// Quotient and remainder of `logical_pages / span_pages`.
    step: (u64, u64),
}

impl LinearScale {
    fn new(logical_pages: u32, span_pages: u64) -> Self {
        let pages = u64::from(logical_pages);
        LinearScale { logical_pages, span_pages, step: (pages / span_pages, pages % span_pages) }
    }

    /// Returns the drive pages of `page` and of all following pages of the trace. The first one takes a division, the
    /// other pages take additions.
    fn drive_pages_from(&self, page: u64) -> impl Iterator<Item = u32> {
        // Pages beyond the span map to the last page of the drive, and so does any quotient from here on.
        const MAX_QUOTIENT: u64 = 1 << 32;
        let pages = u64::from(self.logical_pages);
        let first = match page.checked_mul(pages) {
            Some(product) => ((product / self.span_pages).min(MAX_QUOTIENT), product % self.span_pages),
            None => {
                let (product, span) = (u128::from(page) * u128::from(pages), u128::from(self.span_pages));
                ((product / span).min(MAX_QUOTIENT.into()) as u64, (product % span) as u64)
            }
        };
        let (span, step, last) = (self.span_pages, self.step, pages - 1);
        let next = move |&(quotient, remainder): &(u64, u64)| {
            let remainder = remainder + step.1;
            let carries = remainder >= span;
            let quotient = (quotient + step.0 + u64::from(carries)).min(MAX_QUOTIENT);
            Some((quotient, if carries { remainder - span } else { remainder }))
        };
        std::iter::successors(Some(first), next).map(move |(quotient, _)| quotient.min(last) as u32)
    }
}
