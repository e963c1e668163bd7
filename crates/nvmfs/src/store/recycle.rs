//! Recycling: moves the valid blocks out of extents that have few of them, so that there are free extents (sections
//! III-C and III-D).

use super::pages::{self, State};
use super::region::Changes;
use super::{Fetch, Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{BlockLocation, EXTENT_BLOCKS, PageId};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Valid block of an extent, and the location of its pointer.
struct ValidBlock {
    block: u64,
    ino: Ino,
    file_block: u32,
    /// Offset of the pointer that leads to the block; `None` if the block is only the copy of a page.
    at: Option<usize>,
    page: Option<PageId>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// True if both conditions of recycling are met: high fragmentation and few free extents.
    pub fn should_recycle(&self) -> bool {
        let usable = f64::from(self.extents.usable());
        !self.superblock.placement.updates_in_place()
            && !self.is_view
            && 1.0 - self.extents.fill() > self.options.recycle_fragmentation
            && f64::from(self.extents.free()) < self.options.recycle_free * usable
    }

    /// Recycles as long as the conditions are met, and flushes the pages that recycling moves to NVRAM.
    pub(super) fn recycle(&mut self) -> Result<()> {
        let max_rounds = self.extents.usable();
        for _ in 0..max_rounds {
            if !self.should_recycle() || !self.recycle_step()? {
                break;
            }
        }
        Ok(())
    }

    /// Recycles one extent, after a flush if the NVRAM is full. Returns false if no extent is worth
    /// recycling.
    pub fn recycle_step(&mut self) -> Result<bool> {
        // Blocks with fixed places are not moved.
        if self.superblock.placement.updates_in_place() || self.extents.emptiest().is_none() {
            return Ok(false);
        }
        if self.should_flush() && self.can_flush() {
            self.flush_round()?;
        }
        self.recycle_emptiest().map(|()| true)
    }

    /// Starts recycling concurrently with requests: returns an extent and the reads that recycling it needs. Returns
    /// `None` if no extent is worth recycling.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn begin_recycling(&mut self) -> Result<Option<(u32, Fetch<S>)>> {
        if self.superblock.placement.updates_in_place() {
            return Ok(None);
        }
        let Some(victim) = self.extents.emptiest() else { return Ok(None) };
        let valid = self.valid_blocks_of(victim)?;
        let to_read = valid.iter().filter(|one| one.page.is_none());
        let to_read: Vec<_> = to_read.map(|one| (one.block, (one.ino, one.file_block))).collect();
        Ok(Some((victim, self.begin_reading(&to_read))))
    }

    /// Recycles an extent after its blocks were read, if recycling is still possible.
    ///
    /// # Errors
    /// Errors of the read; [`Error::NoSpace`] if there is no free space for the blocks of the extent.
    pub fn end_recycling(
        &mut self,
        extent: u32,
        fetch: Fetch<S>,
        outcome: std::io::Result<()>,
    ) -> Result<()> {
        self.allow_waiting(false);
        self.end_fetch(fetch, outcome)?;
        let cleaned = if self.extents.can_be_emptied(extent) { self.clean(extent) } else { Ok(true) };
        self.allow_waiting(false);
        cleaned.map(|_| ())
    }

    /// Recycles the extent with the fewest valid blocks.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if every extent is full.
    pub(super) fn recycle_emptiest(&mut self) -> Result<()> {
        loop {
            let victim = self.extents.emptiest().ok_or(Error::NoSpace("every extent of the SSD is full"))?;
            if self.clean(victim)? {
                return Ok(());
            }
        }
    }

    /// Empties an extent and frees it. Its valid blocks become the least recently used dirty pages, since they are
    /// cold. If a block is damaged, excludes the extent from recycling and returns false.
    fn clean(&mut self, victim: u32) -> Result<bool> {
        // This comes before the valid blocks are located, because making free pages changes pointers.
        if !self.make_room_for_cache(EXTENT_BLOCKS as u32)? {
            return Err(Error::NoSpace("cleaning has no room on the NVRAM"));
        }
        let mut valid = self.valid_blocks_of(victim)?;
        match self.load_blocks(&mut valid) {
            // Moving the block would give its damaged content a valid checksum.
            Err(Error::Damaged(_)) => {
                self.extents.exclude_from_recycling(victim);
                return Ok(false);
            }
            brought => brought?,
        }
        self.region.fence();
        let mut changes = Changes::default();
        for one in &valid {
            if let (Some(at), Some(page)) = (one.at, one.page) {
                changes.put_word(at, BlockLocation::Nvram(page).encode(&self.region.areas));
            }
        }
        // All pointers change atomically.
        self.region.apply(changes);
        self.counts.recycled_extents += 1;
        self.counts.moved_blocks += valid.len() as u64;
        valid.into_iter().try_for_each(|one| self.finish_move(one))?;
        Ok(true)
    }

    /// Returns the valid blocks of an extent.
    fn valid_blocks_of(&self, extent: u32) -> Result<Vec<ValidBlock>> {
        let first = extents::first_block(extent);
        let mut valid = Vec::new();
        for block in (first..first + EXTENT_BLOCKS).filter(|block| extents::is_used(&self.region, *block)) {
            let (ino, file_block) = extents::owner_of(&self.region, block);
            let at = self.region.pointer_at(ino, u64::from(file_block))?;
            let at = at.ok_or_else(|| Error::Damaged(format!("block {block} of the SSD has no pointer")))?;
            let (at, page) = match self.region.location(self.region.word(at))? {
                BlockLocation::Ssd(here) if here == block => (Some(at), None),
                BlockLocation::Nvram(page) if pages::copy_of(&self.region, page) == block => {
                    (None, Some(page))
                }
                _ => {
                    let problem = format!("block {block} of the SSD is not where inode {} has it", ino.0);
                    return Err(Error::Damaged(problem));
                }
            };
            valid.push(ValidBlock { block, ino, file_block, at, page });
        }
        Ok(valid)
    }

    /// Reads blocks that are not on NVRAM into free pages.
    fn load_blocks(&mut self, valid: &mut [ValidBlock]) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut from = 0;
        let mut result = Ok(());
        while result.is_ok() && from < valid.len() {
            let run = run_of(&valid[from..]);
            if run > 0 {
                scratch.resize(run * BLOCK_BYTES, 0);
                result = self.read_ssd(valid[from].block, &mut scratch);
                let (blocks, _) = scratch.as_chunks::<BLOCK_BYTES>();
                for (one, content) in
                    valid[from..from + run].iter_mut().zip(blocks).filter(|_| result.is_ok())
                {
                    let page = self.pages.take_free(&mut self.region).expect("room was made");
                    self.region.store(self.region.areas.page(page), content);
                    one.page = Some(page);
                    self.counts.cleaning_read_blocks += 1;
                }
            }
            from += run.max(1);
        }
        self.scratch = scratch;
        if result.is_err() {
            for page in valid.iter().filter(|one| one.at.is_some()).filter_map(|one| one.page) {
                self.pages.put(&mut self.region, page, State::Free, false);
            }
        }
        result
    }

    /// Completes the move of a block: its page becomes dirty, and its location on the SSD becomes free.
    fn finish_move(&mut self, moved: ValidBlock) -> Result<()> {
        let page = moved.page.expect("it was brought");
        if moved.at.is_some() {
            pages::set_owner(&mut self.region, page, moved.ino, moved.file_block);
            self.pages.put(&mut self.region, page, State::Dirty, true);
            self.count_blocks(moved.ino, 1, -1)?;
            self.release_block(moved.block);
        } else {
            self.drop_copy(page);
            self.pages.change(&mut self.region, page, State::Dirty, true);
        }
        pages::set_writes(&mut self.region, page, 0);
        Ok(())
    }
}

/// Returns the number of blocks at the start of `valid` that are contiguous and must be read.
fn run_of(valid: &[ValidBlock]) -> usize {
    let first = valid[0].block;
    valid.iter().zip(first..).take_while(|(one, block)| one.page.is_none() && one.block == *block).count()
}
