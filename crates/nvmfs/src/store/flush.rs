//! Flushing: writes dirty pages to the SSD, one extent at a time; the pages are then clean (sections III-B and
//! III-D).

use super::pages::{self, State};
use super::sums::data_sum;
use super::{Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{EXTENT_BLOCKS, PageId};
use crate::nvram::Nvram;
use crate::options::Grouping;
use crate::ssd::Ssd;
use std::sync::{Arc, OnceLock};

/// Number of extents reserved for recycling: before flushing would use them, it recycles, if there is free space for
/// that.
pub(super) const RECYCLING_EXTENTS: u32 = 2;
/// Size, in extents, of the window of least recently used pages from which a group is chosen.
const WINDOW_EXTENTS: usize = 8;
/// Number of pages of an extent.
pub(super) const EXTENT_PAGES: usize = EXTENT_BLOCKS as usize;

/// Maximum number of batches in flight.
const MAX_BATCHES: usize = 64;

/// Extent in flight to the SSD. Its pages stay dirty until [`Store::end_flush`], so losing a batch loses no
/// data.
pub struct Batch<S> {
    /// Number of the batch, unique among the batches in flight. A page that is written meanwhile may be in a later
    /// batch, too.
    number: u8,
    /// Extent that is allocated for the batch; `None` if blocks have fixed locations.
    pub(super) extent: Option<u32>,
    /// First block and number of pages of each write request.
    pub(super) requests: Vec<(u64, usize)>,
    pub(super) pages: Vec<PageId>,
    pub(super) content: Vec<u8>,
    /// Owners of the blocks, if SSD blocks have checksums, and the checksums after they were computed.
    owners: Vec<(Ino, u32)>,
    sums: OnceLock<Vec<u32>>,
    pub(super) stream: u16,
    pub(super) ssd: Arc<S>,
}

impl<S: Ssd> Batch<S> {
    /// Writes the batch and makes it durable. The file system may be used meanwhile.
    ///
    /// # Errors
    /// Errors of the SSD.
    pub fn write(&self) -> std::io::Result<()> {
        self.sums();
        let mut rest = &self.content[..];
        for &(first, pages) in &self.requests {
            let (content, after) = rest.split_at(pages * BLOCK_BYTES);
            self.ssd.write(first, content, self.stream)?;
            rest = after;
        }
        self.ssd.flush()
    }

    /// Returns the checksums of the pages; empty if SSD blocks have no checksums.
    fn sums(&self) -> &[u32] {
        let (blocks, _) = self.content.as_chunks::<BLOCK_BYTES>();
        let sum = |(owner, block): (&(Ino, u32), &[u8; BLOCK_BYTES])| data_sum(owner.0, owner.1, block);
        self.sums.get_or_init(|| self.owners.iter().zip(blocks).map(sum).collect())
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// True if flushing should begin: too many pages are dirty, or a write-out is due.
    pub fn should_flush(&self) -> bool {
        let is_full = self.pages.count(State::Dirty) > self.high_watermark(self.dirty_list_pages());
        !self.is_view && (is_full || self.is_write_out_due())
    }

    /// True if a flush in progress should continue.
    pub fn should_continue_flush(&self) -> bool {
        self.pages.count(State::Dirty) > self.low_watermark(self.dirty_list_pages())
            || self.is_write_out_due()
    }

    /// Flushes down to the lower threshold and recycles, in a file system without a background thread.
    pub fn flush_and_recycle(&mut self) -> Result<()> {
        if !self.should_flush() {
            return Ok(());
        }
        while self.should_continue_flush() && self.can_flush() {
            self.flush_round()?;
        }
        self.recycle()
    }

    /// True if dirty pages fill an extent, or if a write-out is due regardless of the number of dirty pages.
    pub(super) fn can_flush(&self) -> bool {
        self.pages.count(State::Dirty) >= EXTENT_BLOCKS as u32 || self.is_write_out_due()
    }

    /// Flushes one extent synchronously.
    pub(super) fn flush_round(&mut self) -> Result<()> {
        let Some(batch) = self.begin_flush()? else {
            // All dirty pages may be in batches in flight.
            if self.will_space_be_freed() {
                self.wait_for_flush()?;
            }
            return Err(Error::NoSpace("too few pages are dirty to fill an extent"));
        };
        let written = batch.write();
        self.end_flush(batch, written)
    }

    /// True if operations in progress will free pages or extents, because extents are being written or trimmed.
    pub fn will_space_be_freed(&self) -> bool {
        !self.batches.is_empty() || self.extents.are_being_trimmed()
    }

    /// Allocates an extent and selects the pages for it; `None` if too few pages are dirty.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if no extent is free and recycling frees none.
    pub fn begin_flush(&mut self) -> Result<Option<Batch<S>>> {
        if self.batches.len() == MAX_BATCHES {
            return Ok(None);
        }
        if self.superblock.placement.updates_in_place() {
            return self.begin_flush_in_place();
        }
        while self.extents.allocatable() <= RECYCLING_EXTENTS {
            // After a power cut, all pages are dirty. Using one of the last extents makes some pages clean, which
            // frees the space that recycling needs.
            if !self.make_room_for_cache(EXTENT_BLOCKS as u32)? && self.extents.allocatable() > 0 {
                break;
            }
            self.recycle_emptiest()?;
        }
        let Some((pages, stream)) = self.select_pages() else { return Ok(None) };
        let extent = self.extents.take().expect("some are free");
        let requests = vec![(extents::first_block(extent), pages.len())];
        Ok(Some(self.batch(Some(extent), requests, pages, stream)))
    }

    /// Copies the content of pages into a batch.
    pub(super) fn batch(
        &mut self,
        extent: Option<u32>,
        requests: Vec<(u64, usize)>,
        pages: Vec<PageId>,
        stream: u16,
    ) -> Batch<S> {
        let owner = |page: &PageId| {
            let (ino, block) = pages::owner_of(&self.region, *page);
            (self.region.file_of(ino), block)
        };
        let owners =
            if self.region.areas.has_sums() { pages.iter().map(owner).collect() } else { Vec::new() };
        let number = (1..).find(|number| !self.batches.contains(number)).expect("they are bounded");
        self.batches.insert(number);
        let mut content = Vec::with_capacity(pages.len() * BLOCK_BYTES);
        for &page in &pages {
            content.extend_from_slice(self.region.page(page));
            pages::set_flushing_batch(&mut self.region, page, number);
        }
        for &(first, pages) in &requests {
            self.reads.overwrite(&(first..first + pages as u64));
        }
        let (sums, ssd) = (OnceLock::new(), Arc::clone(&self.ssd));
        Batch { number, extent, requests, pages, content, owners, sums, stream, ssd }
    }

    /// Selects as many dirty pages as an extent holds. The selected pages have a similar update likelihood, and the
    /// least recently used pages come first.
    fn select_pages(&self) -> Option<(Vec<PageId>, u16)> {
        let grouping = self.options.grouping;
        let window = match grouping {
            Grouping::Lru => EXTENT_PAGES,
            Grouping::UpdateLikelihood => EXTENT_PAGES * WINDOW_EXTENTS,
        };
        let mut candidates = Vec::with_capacity(window);
        let mut next = self.pages.last(State::Dirty);
        while let Some(page) = next.filter(|_| candidates.len() < window) {
            if pages::flushing_batch(&self.region, page) == 0 {
                candidates.push((likelihood(pages::writes_of(&self.region, page)), page));
            }
            next = self.pages.more_recent(&self.region, page);
        }
        if candidates.len() < EXTENT_PAGES {
            return None;
        }
        let mut stream = 0;
        if grouping == Grouping::UpdateLikelihood {
            stream = largest_class(&candidates);
            // Pages of the most frequent class come first, then pages of neighbouring classes; within a class, the
            // least recently used pages come first.
            candidates.sort_by_key(|(class, _)| class.abs_diff(stream));
        }
        candidates.truncate(EXTENT_PAGES);
        Some((candidates.into_iter().map(|(_, page)| page).collect(), stream))
    }

    /// Completes a flush: the pages of the written extent become clean, at the LRU end of their list. Pages that were
    /// written meanwhile stay dirty. If the flush failed, all its pages stay dirty.
    pub fn end_flush(&mut self, batch: Batch<S>, written: std::io::Result<()>) -> Result<()> {
        let number = batch.number;
        let sent = |store: &Self, page| {
            pages::state_of(&store.region, page) == State::Dirty
                && pages::flushing_batch(&store.region, page) == number
        };
        self.batches.remove(&number);
        for &(first, pages) in batch.requests.iter().filter(|_| batch.extent.is_none()) {
            for block in first..first + pages as u64 {
                self.in_flight.remove(&block);
            }
        }
        if let Err(error) = written {
            for &page in &batch.pages {
                if sent(self, page) {
                    pages::set_flushing_batch(&mut self.region, page, 0);
                }
            }
            batch.extent.into_iter().for_each(|extent| self.extents.return_free(extent));
            return Err(error.into());
        }
        batch.extent.into_iter().for_each(|extent| self.extents.mark_written(extent));
        self.counts.ssd_writes += batch.requests.len() as u64;
        self.counts.ssd_flushes += 1;
        self.counts.ssd_written_blocks += batch.pages.len() as u64;
        let mut valid = 0;
        // The order is reversed, so that the least recently used page ends at the LRU end of the list.
        for (number, &page) in batch.pages.iter().enumerate().rev() {
            if !sent(self, page) {
                continue;
            }
            if let Some(extent) = batch.extent {
                self.assign_copy(page, extents::first_block(extent) + number as u64);
            }
            if let Some(&sum) = batch.sums().get(number) {
                let at = self.region.areas.ssd_sum(pages::copy_of(&self.region, page));
                self.region.store(at, &sum.to_le_bytes());
            }
            pages::set_flushing_batch(&mut self.region, page, 0);
            let (ino, block) = pages::owner_of(&self.region, page);
            let segment = self.note_flushed(ino, block, pages::writes_of(&self.region, page));
            self.pages.take(&mut self.region, page);
            self.pages.put_clean(&mut self.region, page, segment, true);
            valid += 1;
        }
        if self.region.areas.has_sums() {
            // The checksums must be durable before pointers lead to the blocks.
            self.region.fence();
        }
        if let (Some(extent), 0) = (batch.extent, valid) {
            self.free_extent(extent);
        }
        Ok(())
    }

    /// Records the location of a page's copy on the SSD.
    pub(super) fn assign_copy(&mut self, page: PageId, block: u64) {
        let (ino, file_block) = pages::owner_of(&self.region, page);
        self.extents.claim(&mut self.region, block, ino, file_block);
        self.pages.set_copy(&mut self.region, page, block);
    }
}

/// Returns the update class of a page by its number of writes: moved by recycling, written once, written a few times,
/// or written often.
fn likelihood(writes: u8) -> u16 {
    match writes {
        0 => 1,
        1 => 2,
        2..=3 => 3,
        _ => 4,
    }
}

/// Returns the class with the most candidates; in case of a tie, the class with the lowest update likelihood.
fn largest_class(candidates: &[(u16, PageId)]) -> u16 {
    let mut counts = [0; 5];
    for (class, _) in candidates {
        counts[usize::from(*class)] += 1;
    }
    (1..5).max_by_key(|&class| (counts[usize::from(class)], 5 - class)).expect("four classes")
}
