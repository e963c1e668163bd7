//! Which pages a trace touches, and what it does to them.

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use super::DescribeOptions;
use super::report::{DiscardDescription, DuplicationDescription, ReuseDescription};
use super::reuse::{LastWrites, Slot};
use crate::request::{Digest, Op, Request, is_zero_digest, page_digest};

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
#[derive(Default)]
struct Volume {
    pages: HashMap<u64, Page, FixedState>,
    counts: PageCounts,
}

#[derive(Clone, Copy, Default)]
struct Page {
    /// Where its last write stands, if there is one.
    slot: Option<Slot>,
    was_read: bool,
    /// Written, and not discarded since.
    is_live: bool,
}

/// The pages of all volumes.
pub struct Footprint {
    page_bytes: u64,
    volumes: Vec<Volume>,
    last_writes: LastWrites,
    discards: DiscardDescription,
    contents: Contents,
}

impl Footprint {
    /// Nothing touched yet.
    pub fn new(options: &DescribeOptions) -> Self {
        Footprint {
            page_bytes: options.page_bytes,
            volumes: Vec::new(),
            last_writes: LastWrites::new(options.stack_distance),
            discards: DiscardDescription { pages: 0, live_pages: 0 },
            contents: Contents::default(),
        }
    }

    /// A further volume; its index.
    pub fn add_volume(&mut self) -> usize {
        self.volumes.push(Volume::default());
        self.volumes.len() - 1
    }

    /// Takes note of a request that touches the pages `touched` of `volume`.
    pub fn add(&mut self, volume: usize, request: &Request, touched: Range<u64>) {
        match request.op {
            Op::Read => touched.for_each(|page| self.volumes[volume].read(page)),
            Op::Write => touched.for_each(|page| self.write(volume, page)),
            Op::Trim => self.trim(volume, request),
            Op::Flush => {}
        }
    }

    /// Takes note of written content.
    pub fn add_content(&mut self, digests: &[Digest], digest_bytes: u32) {
        self.contents.add(digests, digest_bytes, self.page_bytes);
    }

    fn write(&mut self, volume: usize, page: u64) {
        if self.last_writes.is_full() {
            let new_slot = self.last_writes.renumber();
            let pages = self.volumes.iter_mut().flat_map(|volume| volume.pages.values_mut());
            pages.filter_map(|page| page.slot.as_mut()).for_each(|slot| *slot = new_slot(*slot));
        }
        let Volume { pages, counts } = &mut self.volumes[volume];
        let page = pages.entry(page).or_insert_with(|| {
            counts.touched += 1;
            Page::default()
        });
        counts.written += u64::from(page.slot.is_none());
        page.slot = Some(self.last_writes.write(page.slot));
        page.is_live = true;
    }

    fn trim(&mut self, volume: usize, request: &Request) {
        let end = request.offset_bytes.saturating_add(request.length_bytes) / self.page_bytes;
        let whole = request.offset_bytes.div_ceil(self.page_bytes)..end;
        let pages = &mut self.volumes[volume].pages;
        self.discards.pages = self.discards.pages.saturating_add(whole.end.saturating_sub(whole.start));
        let mut kill = |page: &mut Page| {
            self.discards.live_pages += u64::from(std::mem::take(&mut page.is_live));
        };
        // A discard may cover a whole device of which the trace has touched little.
        if whole.end.saturating_sub(whole.start) > pages.len() as u64 {
            pages.iter_mut().filter(|(page, _)| whole.contains(page)).for_each(|(_, page)| kill(page));
        } else {
            whole.for_each(|page| {
                pages.get_mut(&page).map(&mut kill);
            });
        }
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
    fn read(&mut self, page: u64) {
        let Volume { pages, counts } = self;
        let page = pages.entry(page).or_insert_with(|| {
            counts.touched += 1;
            Page::default()
        });
        counts.read += u64::from(!std::mem::replace(&mut page.was_read, true));
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
