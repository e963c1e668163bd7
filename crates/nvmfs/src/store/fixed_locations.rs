//! Placement of Conquest: small files stay on NVRAM; blocks of large files have fixed locations on the SSD, where
//! they are overwritten in place. NVRAM that small files do not use caches the blocks of large files, as
//! [`Caching`](crate::options::Caching) sets. There is no recycling.
//!
//! After Wang, Kuenning, Reiher and Popek, "The Conquest file system" (ACM TOS 2006). It is a baseline for comparison
//! and shares everything except the placement with NVMFS.

use super::flush::{Batch, EXTENT_PAGES};
use super::pages::{self, State};
use super::{Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{BlockLocation, EXTENT_BLOCKS, Field};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the state of the pages of a file of this size.
    pub(super) fn state_by_size(&self, size_bytes: u64) -> State {
        let keeps = self.superblock.placement.keeps_small_files();
        if keeps && size_bytes <= self.options.small_file_bytes { State::Kept } else { State::Dirty }
    }

    /// Returns the state of new pages of a file that is written up to byte `end`. If the file becomes too large to
    /// stay on NVRAM, its existing pages become ordinary pages.
    pub(super) fn state_of_new_pages(&mut self, ino: Ino, end: u64) -> Result<State> {
        if !self.superblock.placement.keeps_small_files() {
            return Ok(State::Dirty);
        }
        let size = self.region.word(self.region.field(ino, Field::Size)?);
        let state = self.state_by_size(size.max(end));
        if state == State::Dirty && self.state_by_size(size) == State::Kept {
            let (mut from, end) = (0, size.div_ceil(BLOCK_BYTES as u64));
            while let Some(block) = self.region.next_block(ino, from, end, true)? {
                if let BlockLocation::Nvram(page) = self.region.location_of(ino, block)? {
                    self.pages.change(&mut self.region, page, State::Dirty, false);
                }
                from = block + 1;
            }
        }
        Ok(state)
    }

    /// Selects the least recently used dirty pages for a flush, ordered by their locations; a page without a location
    /// gets one.
    pub(super) fn begin_flush_in_place(&mut self) -> Result<Option<Batch<S>>> {
        self.begin_write_out();
        let mut chosen = Vec::with_capacity(EXTENT_PAGES);
        let mut next = self.pages.last(State::Dirty);
        while let Some(page) = next.filter(|_| chosen.len() < EXTENT_PAGES) {
            let is_written = self.in_flight.contains(&pages::copy_of(&self.region, page));
            if !is_written && pages::flushing_batch(&self.region, page) == 0 {
                chosen.push(page);
            }
            next = self.pages.more_recent(&self.region, page);
        }
        self.continue_write_out(chosen.len());
        // Blocks without a location get locations in the order of the file.
        chosen.sort_by_key(|page| pages::owner_of(&self.region, *page));
        for &page in &chosen {
            if pages::copy_of(&self.region, page) == 0 {
                let fixed_place = self.new_fixed_location()?;
                self.assign_copy(page, fixed_place);
            }
        }
        chosen.sort_by_key(|page| pages::copy_of(&self.region, *page));
        if chosen.is_empty() {
            return Ok(None);
        }
        let fixed_places: Vec<u64> = chosen.iter().map(|page| pages::copy_of(&self.region, *page)).collect();
        self.in_flight.extend(&fixed_places);
        let runs = fixed_places.chunk_by(|one, next| one + 1 == *next);
        let requests = runs.map(|run| (run[0], run.len())).collect();
        Ok(Some(self.batch(None, requests, chosen, 0)))
    }

    /// Allocates a location on the SSD: the next free block of the open extent, of a free extent, or of the extent
    /// with the fewest valid blocks.
    fn new_fixed_location(&mut self) -> Result<u64> {
        // The first round tries the rest of the open extent, and the second round tries another extent. All free blocks
        // of the open extent may be in flight.
        for _ in 0..2 {
            let (extent, from) = match self.open_extent {
                Some(open) => open,
                None => {
                    let extent =
                        self.extents.open().ok_or(Error::NoSpace("every block of the SSD is in use"))?;
                    (extent, extents::first_block(extent))
                }
            };
            let end = extents::first_block(extent) + EXTENT_BLOCKS;
            let is_free =
                |block: &u64| !extents::is_used(&self.region, *block) && !self.in_flight.contains(block);
            let free = (from..end).find(is_free);
            self.open_extent = free.map(|block| (extent, block + 1));
            if let Some(block) = free {
                return Ok(block);
            }
        }
        Err(Error::NoSpace("every free block of the SSD is being written"))
    }
}
