//! Pages that a trace touches, and what it does to them.

use std::convert::Infallible;
use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::DescribeOptions;
use super::page::Page;
use super::page_size::PageSize;
use super::report::{DiscardDescription, DuplicationDescription, ReuseDescription};
use super::reuse::LastWrites;
use crate::page_map::PageMap;
use crate::request::{Digest, Op, Request, is_zero_digest, page_digest};

/// Pages of one write that slots are found for at once.
const PAGES_AT_ONCE: u64 = 1 << 14;

/// Pages of one write, at most, for which memory is brought into the cache ahead of the write.
const PREFETCHED_PAGES: u64 = 32;

/// Distinct pages of a volume.
#[derive(Clone, Copy, Default)]
pub struct PageCounts {
    /// By reads or writes.
    pub touched: u64,
    /// By reads.
    pub read: u64,
    /// By writes.
    pub written: u64,
}

/// The pages of one volume that were touched.
struct Volume {
    pages: PageMap<Page>,
    counts: PageCounts,
}

/// The pages of all volumes.
pub struct Footprint {
    page_size: PageSize,
    volumes: Vec<Volume>,
    last_writes: LastWrites,
    /// Page writes so far.
    clock: u64,
    discards: DiscardDescription,
    contents: Contents,
}

impl Footprint {
    /// Returns a footprint without a page.
    pub fn new(options: &DescribeOptions) -> Self {
        Footprint {
            page_size: PageSize::new(options.page_bytes),
            volumes: Vec::new(),
            last_writes: LastWrites::new(options.stack_distance, false),
            clock: 0,
            discards: DiscardDescription { pages: 0, live_pages: 0 },
            contents: Contents::default(),
        }
    }

    /// Adds a volume; returns its index.
    pub fn add_volume(&mut self) -> usize {
        self.volumes.push(Volume { pages: PageMap::compact(Page::UNTOUCHED), counts: PageCounts::default() });
        self.volumes.len() - 1
    }

    /// Notes a request that touches the pages `touched` of `volume`.
    #[inline]
    pub fn add(&mut self, volume: usize, request: &Request, touched: Range<u64>) {
        match request.op {
            Op::Read => self.volumes[volume].read(touched),
            Op::Write => self.write(volume, touched),
            Op::Trim => self.trim(volume, request),
            Op::Flush => {}
        }
    }

    /// Notes written content.
    pub fn add_content(&mut self, digests: &[Digest], digest_bytes: u32) {
        self.contents.add(digests, digest_bytes, self.page_size.bytes);
    }

    /// Brings the states of the pages `first` and `last` into the cache.
    #[inline]
    pub fn prefetch_pages(&self, volume: usize, first: u64, last: u64) {
        let pages = &self.volumes[volume].pages;
        pages.prefetch(first);
        pages.prefetch(last);
    }

    /// Brings what a write of `touched` needs into the cache, beside the states of the pages.
    #[inline]
    pub fn prefetch_reuse(&self, volume: usize, mut touched: Range<u64>) {
        touched.end = touched.end.min(touched.start + PREFETCHED_PAGES);
        while touched.start < touched.end {
            let pages = self.volumes[volume].pages.leaf(touched.clone());
            pages.iter().for_each(|&page| self.last_writes.prefetch(page));
            touched.start += pages.len() as u64;
        }
    }

    fn write(&mut self, volume: usize, touched: Range<u64>) {
        let mut start = touched.start;
        while start < touched.end {
            let end = touched.end.min(start + PAGES_AT_ONCE);
            self.make_room((end - start) as usize);
            let Footprint { volumes, last_writes, clock, .. } = self;
            let Volume { pages, counts } = &mut volumes[volume];
            let Ok(()) = pages.visit(start..end, |_, pages| {
                counts.touched += pages.iter().filter(|page| **page == Page::UNTOUCHED).count() as u64;
                counts.written += last_writes.write(*clock, pages) as u64;
                *clock += pages.len() as u64;
                Ok::<(), Infallible>(())
            });
            start = end;
        }
    }

    /// Makes room for the slots of `pages` page writes.
    #[inline]
    fn make_room(&mut self, pages: usize) {
        if !self.last_writes.has_room(pages) {
            let new_slot = self.last_writes.renumber(self.clock, pages);
            let states = self.volumes.iter_mut().flat_map(|volume| volume.pages.values_mut());
            states.for_each(|page| page.renumber(&new_slot));
        }
    }

    fn trim(&mut self, volume: usize, request: &Request) {
        let whole = self.page_size.covered(request.offset_bytes, request.length_bytes);
        self.discards.pages = self.discards.pages.saturating_add(whole.end.saturating_sub(whole.start));
        let live_pages = &mut self.discards.live_pages;
        self.volumes[volume].pages.visit_known(whole, |_, page| *live_pages += u64::from(page.discard()));
    }

    /// Distinct pages of a volume.
    pub fn counts(&self, volume: usize) -> PageCounts {
        self.volumes[volume].counts
    }

    /// When pages were written again.
    pub fn reuse(&self) -> ReuseDescription {
        self.last_writes.report()
    }

    /// What discards did.
    pub fn discards(&self) -> DiscardDescription {
        self.discards.clone()
    }

    /// How much written content repeats.
    pub fn duplication(&self) -> Option<DuplicationDescription> {
        self.contents.report()
    }
}

impl Volume {
    #[inline]
    fn read(&mut self, touched: Range<u64>) {
        let Volume { pages, counts } = self;
        let Ok(()) = pages.visit(touched, |_, pages| {
            for page in pages {
                counts.touched += u64::from(*page == Page::UNTOUCHED);
                counts.read += u64::from(page.read());
            }
            Ok::<(), Infallible>(())
        });
    }
}

/// Content of written pages.
#[derive(Default)]
struct Contents {
    unique: HashSet<Digest, FixedState>,
    pages: u64,
    zero_pages: u64,
    granularity_bytes: u64,
}

impl Contents {
    fn add(&mut self, digests: &[Digest], digest_bytes: u32, page_bytes: u64) {
        if digests.is_empty() {
            return;
        }
        let per_page = (page_bytes / u64::from(digest_bytes)).max(1);
        self.granularity_bytes = per_page * u64::from(digest_bytes);
        for page in digests.chunks(per_page as usize) {
            self.pages += 1;
            self.zero_pages += u64::from(page.iter().all(|digest| is_zero_digest(digest, digest_bytes)));
            self.unique.insert(page_digest(page));
        }
    }

    fn report(&self) -> Option<DuplicationDescription> {
        let unique = self.unique.len() as u64;
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
        let volume = footprint.add_volume();
        footprint.add(volume, &request(Op::Write, 0, 4 * 4096), 0..4);
        // Covers pages 1 and 2 whole, 0 and 3 in part.
        footprint.add(volume, &request(Op::Trim, 512, 3 * 4096), 0..4);
        assert_eq!(footprint.discards(), DiscardDescription { pages: 2, live_pages: 2 });
        // A whole device: of its pages only 0 and 3 are still live.
        footprint.add(volume, &request(Op::Trim, 0, 1 << 50), 0..1 << 38);
        assert_eq!(footprint.discards(), DiscardDescription { pages: 2 + (1 << 38), live_pages: 4 });
        assert_eq!(footprint.counts(volume).touched, 4);
    }
}
