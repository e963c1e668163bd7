//! Extents with little in them are emptied, so that there are always free ones (sections III-C and III-D).

use super::pages::{self, State};
use super::region::Changes;
use super::{Fetch, Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{EXTENT_BLOCKS, PageId, Place};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// A valid block of an extent, and where it is pointed to from.
struct Valid {
    block: u64,
    ino: Ino,
    file_block: u32,
    /// The pointer, if it leads to the block and not to a page whose copy it is.
    at: Option<usize>,
    page: Option<PageId>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Whether both conditions of recycling hold: too fragmented, and too few extents free.
    pub fn wants_recycling(&self) -> bool {
        let usable = f64::from(self.extents.usable());
        !self.superblock.placement.updates_in_place()
            && !self.is_view
            && 1.0 - self.extents.fill() > self.options.recycle_fragmentation
            && f64::from(self.extents.free()) < self.options.recycle_free * usable
    }

    /// Recycles while the conditions hold, and flushes what that brings to NVRAM.
    pub(super) fn recycle(&mut self) -> Result<()> {
        let most = self.extents.usable();
        for _ in 0..most {
            if !self.wants_recycling() || !self.recycle_step()? {
                break;
            }
        }
        Ok(())
    }

    /// Recycles one extent, after flushing if NVRAM is full; whether there was one worth it.
    pub fn recycle_step(&mut self) -> Result<bool> {
        // Blocks that have places of their own are not moved.
        if self.superblock.placement.updates_in_place() || self.extents.emptiest().is_none() {
            return Ok(false);
        }
        if self.wants_flush() && self.can_flush() {
            self.flush_round()?;
        }
        self.clean_one().map(|()| true)
    }

    /// The same beside requests: the extent that is to be recycled, and what is to be read of it; `None` if there is none worth it.
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

    /// Recycles an extent that was read, if it still is one to be emptied.
    ///
    /// # Errors
    /// That of reading; [`Error::NoSpace`] if there is no room for what is in it.
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

    /// Empties the extent with the fewest valid blocks.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if every extent is full.
    pub(super) fn clean_one(&mut self) -> Result<()> {
        loop {
            let victim = self.extents.emptiest().ok_or(Error::NoSpace("every extent of the SSD is full"))?;
            if self.clean(victim)? {
                return Ok(());
            }
        }
    }

    /// Empties an extent: its valid blocks become dirty pages, the least recently used ones, since they have lived long; then the
    /// extent is free. One that is damaged is set aside; whether it was not.
    fn clean(&mut self, victim: u32) -> Result<bool> {
        // Before looking what is where: making room turns pointers.
        if !self.make_room_for_cache(EXTENT_BLOCKS as u32)? {
            return Err(Error::NoSpace("cleaning has no room on the NVRAM"));
        }
        let mut valid = self.valid_blocks_of(victim)?;
        match self.bring(&mut valid) {
            // Moved, it would no longer be known for damaged.
            Err(Error::Damaged(_)) => {
                self.extents.set_aside(victim);
                return Ok(false);
            }
            brought => brought?,
        }
        self.region.fence();
        let mut changes = Changes::default();
        for one in &valid {
            if let (Some(at), Some(page)) = (one.at, one.page) {
                changes.put_word(at, Place::Nvram(page).pointer(&self.region.areas));
            }
        }
        // All pointers turn, or none.
        self.region.apply(changes);
        self.counts.recycled_extents += 1;
        self.counts.moved_blocks += valid.len() as u64;
        valid.into_iter().try_for_each(|one| self.settle_moved(one))?;
        Ok(true)
    }

    /// What in an extent is valid.
    fn valid_blocks_of(&self, extent: u32) -> Result<Vec<Valid>> {
        let first = extents::first_block(extent);
        let mut valid = Vec::new();
        for block in (first..first + EXTENT_BLOCKS).filter(|block| extents::bit(&self.region, *block)) {
            let (ino, file_block) = extents::owner_of(&self.region, block);
            let at = self.region.pointer_at(ino, u64::from(file_block))?;
            let at = at.ok_or_else(|| Error::Damaged(format!("block {block} of the SSD has no pointer")))?;
            let (at, page) = match self.region.place(self.region.word(at))? {
                Place::Ssd(here) if here == block => (Some(at), None),
                Place::Nvram(page) if pages::copy_of(&self.region, page) == block => (None, Some(page)),
                _ => {
                    let problem = format!("block {block} of the SSD is not where inode {} has it", ino.0);
                    return Err(Error::Damaged(problem));
                }
            };
            valid.push(Valid { block, ino, file_block, at, page });
        }
        Ok(valid)
    }

    /// Reads to free pages what is not on NVRAM.
    fn bring(&mut self, valid: &mut [Valid]) -> Result<()> {
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

    /// A block that was moved: its page is dirty, its place on the SSD free.
    fn settle_moved(&mut self, one: Valid) -> Result<()> {
        let page = one.page.expect("it was brought");
        if one.at.is_some() {
            pages::own(&mut self.region, page, one.ino, one.file_block);
            self.pages.put(&mut self.region, page, State::Dirty, true);
            self.count_blocks(one.ino, 1, -1)?;
            self.release_block(one.block);
        } else {
            self.drop_copy(page);
            self.pages.change(&mut self.region, page, State::Dirty, true);
        }
        pages::set_writes(&mut self.region, page, 0);
        Ok(())
    }
}

/// How many from the first on lie one after the other and are to be read.
fn run_of(valid: &[Valid]) -> usize {
    let first = valid[0].block;
    valid.iter().zip(first..).take_while(|(one, block)| one.page.is_none() && one.block == *block).count()
}
