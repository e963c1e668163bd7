//! Pages that a trace touches, and the operations on them.

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::DescribeOptions;
use super::distribution::NORMAL_95;
use super::page::Page;
use super::pages::PageStates;
use super::report::{
    DiscardDescription, DuplicationDescription, PercentileBounds, ReuseDescription, SampleDescription,
    SampleErrors,
};
use super::reuse::LastWrites;
use super::sample::{SampleRate, Sampler};
use super::sampling_error::GroupCounts;
use crate::page_size::PageSize;
use crate::request::{Digest, Op, Request, is_zero_digest, page_digest};

/// Pages of one write that are assigned slots at once.
const PAGES_PER_STEP: u64 = 1 << 14;

/// Maximum number of pages of one write that are prefetched.
const PREFETCHED_PAGES: u64 = 32;

/// Distinct pages of a volume.
#[derive(Clone, Copy, Default)]
pub struct PageCounts {
    /// Pages touched by reads or writes.
    pub touched: u64,
    /// Pages touched by reads.
    pub read: u64,
    /// Pages touched by writes.
    pub written: u64,
}

impl PageCounts {
    /// Returns the sum of each count in `self` and `other`.
    pub fn plus(self, other: PageCounts) -> PageCounts {
        PageCounts {
            touched: self.touched + other.touched,
            read: self.read + other.read,
            written: self.written + other.written,
        }
    }

    /// Returns the counts of all pages, given counts of a sample at `rate`, or of all pages if `rate` is `None`. The
    /// upper bounds `read_pages` and `written_pages` count repeated reads and writes of a page each time.
    pub fn extrapolated(self, rate: Option<SampleRate>, read_pages: u64, written_pages: u64) -> PageCounts {
        let Some(rate) = rate else { return self };
        let scaled = |pages: u64| rate.scale_up(pages as f64);
        let read = scaled(self.read).min(read_pages);
        let written = scaled(self.written).min(written_pages);
        let touched = scaled(self.touched).clamp(read.max(written), read.saturating_add(written));
        PageCounts { touched, read, written }
    }
}

/// The pages of one volume that were touched.
struct Volume {
    pages: PageStates,
    counts: PageCounts,
}

/// Pages of all volumes that the trace touches, or a sample of these pages.
pub struct Footprint {
    page_size: PageSize,
    rate: Option<SampleRate>,
    volumes: Vec<Volume>,
    last_writes: LastWrites,
    /// Page writes so far, of all pages.
    clock: u64,
    /// Pages that discards covered completely.
    discarded: u64,
    /// Live pages among the discarded ones.
    discarded_live: GroupCounts,
    contents: Contents,
}

impl Footprint {
    /// Returns an empty footprint.
    pub fn new(options: &DescribeOptions) -> Self {
        Footprint {
            page_size: PageSize::new(options.page_bytes),
            rate: options.sample,
            volumes: Vec::new(),
            last_writes: LastWrites::new(options.stack_distance, options.sample.is_some()),
            clock: 0,
            discarded: 0,
            discarded_live: GroupCounts::default(),
            contents: Contents::new(options.sample),
        }
    }

    /// Adds the volume `number`; returns its index.
    pub fn add_volume(&mut self, number: u32) -> usize {
        let pages = PageStates::new(self.rate.map(|rate| Sampler::new(rate, number)));
        self.volumes.push(Volume { pages, counts: PageCounts::default() });
        self.volumes.len() - 1
    }

    /// Adds a request that touches the pages `touched` of `volume`.
    #[inline]
    pub fn add(&mut self, volume: usize, request: &Request, touched: Range<u64>) {
        match request.op {
            Op::Read => self.volumes[volume].read(touched),
            Op::Write => self.write(volume, touched),
            Op::Trim => self.trim(volume, request),
            Op::Flush => {}
        }
    }

    /// Adds written content.
    pub fn add_content(&mut self, digests: &[Digest], digest_bytes: u32) {
        self.contents.add(digests, digest_bytes, self.page_size.bytes);
    }

    /// Prefetches the index entry that [`Self::prefetch_pages`] needs for `page`.
    #[inline]
    pub fn prefetch_index(&self, volume: usize, page: u64) {
        self.volumes[volume].pages.prefetch_index(page);
    }

    /// Prefetches the states of the pages `first` and `last`.
    #[inline]
    pub fn prefetch_pages(&self, volume: usize, first: u64, last: u64) {
        self.volumes[volume].pages.prefetch(first, last);
    }

    /// Prefetches the memory that a write of `touched` needs, except the states of the pages.
    #[inline]
    pub fn prefetch_reuse(&self, volume: usize, touched: Range<u64>) {
        let end = touched.end.min(touched.start.saturating_add(PREFETCHED_PAGES));
        self.volumes[volume].pages.visit_dense(touched.start..end, |page| self.last_writes.prefetch(page));
    }

    fn write(&mut self, volume: usize, touched: Range<u64>) {
        let mut start = touched.start;
        while start < touched.end {
            let end = touched.end.min(start.saturating_add(PAGES_PER_STEP));
            self.reserve_slots((end - start) as usize);
            let Footprint { volumes, last_writes, clock, .. } = self;
            let Volume { pages, counts } = &mut volumes[volume];
            pages.visit(start..end, |first, group, pages| {
                counts.touched += pages.iter().filter(|page| **page == Page::UNTOUCHED).count() as u64;
                counts.written += last_writes.write(*clock + (first - start), group, pages) as u64;
            });
            *clock += end - start;
            start = end;
        }
    }

    /// Ensures that slots for `pages` page writes are free.
    #[inline]
    fn reserve_slots(&mut self, pages: usize) {
        if !self.last_writes.has_free_slots(pages) {
            let new_slot = self.last_writes.renumber(self.clock, pages);
            self.volumes.iter_mut().for_each(|volume| volume.pages.for_each(|page| page.renumber(&new_slot)));
        }
    }

    fn trim(&mut self, volume: usize, request: &Request) {
        let whole = self.page_size.covered(request.offset_bytes, request.length_bytes);
        self.discarded = self.discarded.saturating_add(whole.end.saturating_sub(whole.start));
        let live = &mut self.discarded_live;
        self.volumes[volume]
            .pages
            .visit_known(whole, |group, page| live.add(group, u64::from(page.discard())));
    }

    /// Returns the numbers of distinct sampled pages of a volume.
    pub fn counts(&self, volume: usize) -> PageCounts {
        self.volumes[volume].counts
    }

    /// Returns the distributions of reuse, and the bounds of their percentiles if pages were sampled.
    pub fn reuse(&self) -> (ReuseDescription, [Option<Vec<PercentileBounds>>; 2]) {
        match self.rate {
            None => (self.last_writes.report(), [None, None]),
            Some(rate) => self.last_writes.estimate(rate, self.clock),
        }
    }

    /// Returns the counts of discarded pages.
    pub fn discards(&self) -> DiscardDescription {
        let live = self
            .rate
            .map_or(self.discarded_live.sum() as u64, |rate| rate.scale_up(self.discarded_live.sum()));
        DiscardDescription { pages: self.discarded, live_pages: live.min(self.discarded) }
    }

    /// Returns the duplication of written content.
    pub fn duplication(&self) -> Option<DuplicationDescription> {
        self.contents.report()
    }

    /// Returns the sample, if pages were sampled; `counts` are those of all volumes.
    pub fn sample(
        &self,
        counts: PageCounts,
        bounds: [Option<Vec<PercentileBounds>>; 2],
    ) -> Option<SampleDescription> {
        let rate = self.rate?;
        let relative = |pages: u64| rate.relative_error(pages).map(|error| NORMAL_95 * error);
        let live = self.discarded_live.sum();
        let [interval_pages, stack_distance_pages] = bounds;
        Some(SampleDescription {
            rate: rate.get(),
            sampled_pages: counts.touched,
            expected_error: SampleErrors {
                distinct_pages_touched: relative(counts.touched),
                distinct_pages_read: relative(counts.read),
                distinct_pages_written: relative(counts.written),
                overwrite_ratio: relative(counts.written),
                live_pages: (live > 0.0)
                    .then(|| NORMAL_95 * self.discarded_live.standard_error(rate.get()) / live),
                unique: relative(self.contents.unique.len() as u64),
                interval_pages,
                stack_distance_pages,
            },
        })
    }
}

impl Volume {
    #[inline]
    fn read(&mut self, touched: Range<u64>) {
        let Volume { pages, counts } = self;
        pages.visit(touched, |_, _, pages| {
            for page in pages {
                counts.touched += u64::from(*page == Page::UNTOUCHED);
                counts.read += u64::from(page.read());
            }
        });
    }
}

/// Content of written pages.
struct Contents {
    /// Sampling rate of distinct contents, and the sampler that chooses them by digest.
    sample: Option<(SampleRate, Sampler)>,
    unique: HashSet<Digest, FixedState>,
    pages: u64,
    zero_pages: u64,
    granularity_bytes: u64,
}

impl Contents {
    fn new(rate: Option<SampleRate>) -> Self {
        Contents {
            sample: rate.map(|rate| (rate, Sampler::new(rate, 0))),
            unique: HashSet::default(),
            pages: 0,
            zero_pages: 0,
            granularity_bytes: 0,
        }
    }

    fn add(&mut self, digests: &[Digest], digest_bytes: u32, page_bytes: u64) {
        if digests.is_empty() {
            return;
        }
        let per_page = (page_bytes / u64::from(digest_bytes)).max(1);
        self.granularity_bytes = per_page * u64::from(digest_bytes);
        for page in digests.chunks(per_page as usize) {
            self.pages += 1;
            self.zero_pages += u64::from(page.iter().all(|digest| is_zero_digest(digest, digest_bytes)));
            let content = page_digest(page);
            let number = u128::from_be_bytes(content);
            let folded = (number >> 64) as u64 ^ number as u64;
            if self.sample.is_none_or(|(_, sampler)| sampler.group(folded).is_some()) {
                self.unique.insert(content);
            }
        }
    }

    fn report(&self) -> Option<DuplicationDescription> {
        let unique = self.unique.len() as u64;
        let unique = self.sample.map_or(unique, |(rate, _)| rate.scale_up(unique as f64).min(self.pages));
        (self.pages > 0).then(|| DuplicationDescription {
            pages: self.pages,
            unique,
            unique_ratio: unique as f64 / self.pages as f64,
            zero_ratio: self.zero_pages as f64 / self.pages as f64,
            granularity_bytes: self.granularity_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, offset_bytes: u64, length_bytes: u64) -> Request {
        Request { time_ns: 0, op, volume: 0, offset_bytes, length_bytes, hint: 0 }
    }

    #[test]
    fn discards_count_whole_live_pages_once() {
        let mut footprint = Footprint::new(&DescribeOptions::default());
        let volume = footprint.add_volume(0);
        footprint.add(volume, &request(Op::Write, 0, 4 * 4096), 0..4);
        // The discard covers pages 1 and 2 completely, and pages 0 and 3 partly.
        footprint.add(volume, &request(Op::Trim, 512, 3 * 4096), 0..4);
        assert_eq!(footprint.discards(), DiscardDescription { pages: 2, live_pages: 2 });
        // The discard covers a whole device, of which only pages 0 and 3 are still live.
        footprint.add(volume, &request(Op::Trim, 0, 1 << 50), 0..1 << 38);
        assert_eq!(footprint.discards(), DiscardDescription { pages: 2 + (1 << 38), live_pages: 4 });
        assert_eq!(footprint.counts(volume).touched, 4);
    }
}
