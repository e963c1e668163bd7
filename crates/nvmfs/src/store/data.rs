//! Reads and writes of file blocks (section III-B).

use super::pages::{self, State};
use super::region::Changes;
use super::{FULL_OF_DATA, Region, Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{BlockLocation, EXTENT_BLOCKS, MAX_FILE_BLOCKS, PageId};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

/// Maximum number of blocks written between two fences.
const CHUNK_BLOCKS: u64 = EXTENT_BLOCKS / 2;
/// Number of bytes read from the SSD before other requests can proceed.
const BYTES_PER_TURN: usize = 128 << 10;
/// Maximum number of additional pointer pages that a chunk needs: two paths of up to three levels.
const POINTER_PAGES: u32 = 6;
/// Reason for refusing to overwrite a block in a full file system with snapshots.
const FULL_WITH_SNAPSHOTS: &str =
    "all blocks for data are in use, and what was there is to be kept for a snapshot";
const BLOCK: u64 = BLOCK_BYTES as u64;

/// Block with a newly allocated page that no pointer leads to yet.
struct NewPage {
    at: usize,
    page: PageId,
    block: u64,
    /// Previous location of the block.
    old_location: BlockLocation,
    /// Offset of the snapshot's pointer that will keep the previous location.
    kept_at: Option<usize>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Fills `out` with the bytes of a file from `offset`; holes read as zeros. Blocks read from the SSD
    /// stay on NVRAM as clean pages.
    pub fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8]) -> Result<()> {
        self.read_with(|_, _| Ok(ino), offset, out)
    }

    /// Does what [`Store::read`] does, for a file whose blocks are stored under the inode numbers that `inode_of`
    /// returns.
    pub(super) fn read_with(
        &mut self,
        inode_of: impl Fn(&Region<N>, u64) -> Result<Ino>,
        offset: u64,
        out: &mut [u8],
    ) -> Result<()> {
        let mut done = self.done_before();
        let (mut since, rest) = (done, out.len().saturating_sub(done));
        self.wait_for(&inode_of, blocks_of_range(offset + done as u64, rest))?;
        while done < out.len() {
            let at = offset + done as u64;
            let (block, within) = (at / BLOCK, (at % BLOCK) as usize);
            let length = (BLOCK_BYTES - within).min(out.len() - done);
            let ino = inode_of(&self.region, block)?;
            let location = self.region.location_of(ino, block)?;
            self.counts.read_blocks += 1;
            match location {
                BlockLocation::Hole | BlockLocation::Reserved | BlockLocation::Absent => {
                    self.counts.read_holes += 1;
                    out[done..done + length].fill(0);
                }
                BlockLocation::Nvram(page) => {
                    self.check_page(page, ino, block)?;
                    self.counts.read_hits += 1;
                    out[done..done + length]
                        .copy_from_slice(&self.region.page(page)[within..within + length]);
                    self.pages.read(&mut self.region, page, within == 0);
                }
                BlockLocation::Ssd(first) => {
                    let max_blocks = (within + out.len() - done).div_ceil(BLOCK_BYTES) as u64;
                    let blocks = self.run_on_ssd(&inode_of, block, first, max_blocks)?;
                    let end = (out.len() - done).min(blocks as usize * BLOCK_BYTES - within);
                    self.read_run(ino, block, first, blocks, within, &mut out[done..done + end])?;
                    self.counts.read_blocks += blocks - 1;
                    done += end;
                    if done < out.len() && done - since >= BYTES_PER_TURN {
                        since = done;
                        self.yield_to_requests(done)?;
                    }
                    continue;
                }
            }
            done += length;
        }
        Ok(())
    }

    /// Fails if a page does not hold the block to which the page's pointer belongs.
    fn check_page(&self, page: PageId, ino: Ino, block: u64) -> Result<()> {
        let is_data =
            matches!(pages::state_of(&self.region, page), State::Clean | State::Dirty | State::Kept);
        if is_data && pages::owner_of(&self.region, page) == (ino, block as u32) {
            return Ok(());
        }
        Err(wrong_owner_error(ino, block))
    }

    /// Fails if a block of the SSD does not hold the file block to which its pointer belongs.
    fn check_block(&self, location: u64, ino: Ino, block: u64) -> Result<()> {
        match extents::owner_of(&self.region, location) == (ino, block as u32) {
            true => Ok(()),
            false => Err(wrong_owner_error(ino, block)),
        }
    }

    /// Returns the number of blocks from `block` on that are contiguous on the SSD and are stored under the same inode
    /// number, at most `max` and a chunk.
    fn run_on_ssd(
        &self,
        inode_of: &impl Fn(&Region<N>, u64) -> Result<Ino>,
        block: u64,
        first: u64,
        max: u64,
    ) -> Result<u64> {
        let ino = inode_of(&self.region, block)?;
        let mut blocks = 1;
        while blocks < max.min(CHUNK_BLOCKS)
            && inode_of(&self.region, block + blocks)? == ino
            && self.region.location_of(ino, block + blocks)? == BlockLocation::Ssd(first + blocks)
        {
            blocks += 1;
        }
        Ok(blocks)
    }

    /// Reads contiguous blocks, and keeps them as clean pages if there are free pages.
    fn read_run(
        &mut self,
        ino: Ino,
        block: u64,
        first: u64,
        blocks: u64,
        within: usize,
        out: &mut [u8],
    ) -> Result<()> {
        (0..blocks).try_for_each(|number| self.check_block(first + number, ino, block + number))?;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(blocks as usize * BLOCK_BYTES, 0);
        let read = self.read_ssd(first, &mut scratch);
        if read.is_ok() {
            out.copy_from_slice(&scratch[within..within + out.len()]);
        }
        let cached = read.and_then(|()| self.cache_run(ino, block, first, &scratch));
        self.scratch = scratch;
        self.counts.ssd_read_blocks += blocks;
        cached
    }

    /// Keeps blocks that were read from the SSD on NVRAM: the file's pointers then lead to NVRAM, and the page table
    /// records the locations on the SSD.
    fn cache_run(&mut self, ino: Ino, block: u64, first: u64, content: &[u8]) -> Result<()> {
        let (chunks, _) = content.as_chunks::<BLOCK_BYTES>();
        if !self.make_room_for_cache(chunks.len() as u32)? {
            return Ok(());
        }
        // Most pointers of the blocks in between lie in the same pointer blocks as the pointers of these two blocks.
        for ends in [block, block + chunks.len() as u64 - 1] {
            let at = self.region.pointer_at(ino, ends)?.expect("it was read through it");
            self.region.note_changing(at);
        }
        let mut cached = Vec::with_capacity(chunks.len());
        for (number, chunk) in chunks.iter().enumerate() {
            let page = self.pages.take_free(&mut self.region).expect("room was made");
            self.region.store(self.region.areas.page(page), chunk);
            cached.push((page, block + number as u64, first + number as u64));
        }
        self.region.fence();
        for (page, block, copy) in cached {
            let at = self.region.pointer_at(ino, block)?.expect("it was read through it");
            let pointer = BlockLocation::Nvram(page).encode(&self.region.areas);
            self.region.store_word(at, pointer);
            pages::set_owner(&mut self.region, page, ino, block as u32);
            pages::set_writes(&mut self.region, page, 0);
            self.pages.set_copy(&mut self.region, page, copy);
            let segment = self.note_missed(ino, block as u32);
            self.pages.put_clean(&mut self.region, page, segment, false);
            self.count_blocks(ino, 1, -1)?;
        }
        self.region.fence();
        Ok(())
    }

    /// Writes `data` at `offset`; returns the number of bytes for which there was free space. The data is durable on
    /// return. After a power cut during the write, each block that was a hole or only on the SSD is either old or
    /// new; other blocks may be partly written.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if there was no free space at all; [`Error::TooLarge`] beyond the maximum file size.
    pub fn write(&mut self, ino: Ino, offset: u64, data: &[u8]) -> Result<usize> {
        self.wait_for_room(blocks_of_range(offset, data.len()).count() as u32 + POINTER_PAGES)?;
        self.wait_for(&|_: &Region<N>, _| Ok(ino), partial_blocks(offset, data.len()).into_iter().flatten())?;
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let chunk_end = (at / BLOCK + CHUNK_BLOCKS) * BLOCK;
            let length = (data.len() - done).min((chunk_end - at) as usize);
            let piece = &data[done..done + length];
            let written = match self.write_chunk(ino, at, piece) {
                Err(Error::NoSpace(_) | Error::TooLarge) if done > 0 => break,
                result => result?,
            };
            done += written;
            if written < length {
                break;
            }
        }
        Ok(done)
    }

    fn write_chunk(&mut self, ino: Ino, offset: u64, data: &[u8]) -> Result<usize> {
        self.prepare_to_keep()?;
        let keeper = self.keeper_with_room(ino)?;
        let data = &data[..self.make_room_for_write(ino, keeper, offset, data.len())?];
        let state = self.state_of_new_pages(ino, offset + data.len() as u64)?;
        self.counts.written_blocks += blocks_of_range(offset, data.len()).count() as u64;
        // The size and times of the inode are about to change.
        self.region.note_changing(self.region.inode_at(ino)?);
        let mut fresh = Vec::new();
        let mut done = 0;
        let mut failed = None;
        while done < data.len() {
            let at = offset + done as u64;
            let (block, within) = (at / BLOCK, (at % BLOCK) as usize);
            let length = (BLOCK_BYTES - within).min(data.len() - done);
            let piece = &data[done..done + length];
            if let Err(error) = self.write_block((ino, keeper), block, within, piece, &mut fresh) {
                failed = Some(error);
                break;
            }
            done += length;
        }
        self.region.fence();
        self.switch_pointers((ino, keeper), fresh, state)?;
        match failed {
            Some(error) if done == 0 => Err(error),
            _ => Ok(done),
        }
    }

    /// Makes free space for a write; returns the number of its bytes that fit.
    fn make_room_for_write(
        &mut self,
        ino: Ino,
        keeper: Option<Ino>,
        offset: u64,
        length: usize,
    ) -> Result<usize> {
        let blocks = blocks_of_range(offset, length);
        if blocks.end > MAX_FILE_BLOCKS {
            let max_bytes = (MAX_FILE_BLOCKS * BLOCK).saturating_sub(offset);
            return if max_bytes == 0 {
                Err(Error::TooLarge)
            } else {
                self.make_room_for_write(ino, keeper, offset, max_bytes as usize)
            };
        }
        // Twice as many pointer pages are needed if a snapshot keeps the old blocks.
        let pointer_pages = POINTER_PAGES * (1 + u32::from(keeper.is_some()));
        self.make_room(blocks.clone().count() as u32 + pointer_pages)?;
        let mut holes = 0;
        for block in blocks.clone() {
            let location = self.region.location_of(ino, block)?;
            if location == BlockLocation::Hole || location.has_content() && self.must_keep(keeper, block)? {
                holes += 1;
                if self.allowed_blocks(holes) < holes {
                    let fits = (block * BLOCK).saturating_sub(offset) as usize;
                    let reason = if location.has_content() { FULL_WITH_SNAPSHOTS } else { FULL_OF_DATA };
                    return if fits == 0 { Err(Error::NoSpace(reason)) } else { Ok(fits) };
                }
            }
        }
        Ok(length)
    }

    /// True if a snapshot must still record the location of a block before a change.
    fn must_keep(&self, keeper: Option<Ino>, block: u64) -> Result<bool> {
        keeper.map_or(Ok(false), |kept| Ok(self.region.location_of(kept, block)? == BlockLocation::Hole))
    }

    /// Writes within one block: in place if the block is on NVRAM and no snapshot keeps it, otherwise to a new page.
    fn write_block(
        &mut self,
        (ino, keeper): (Ino, Option<Ino>),
        block: u64,
        within: usize,
        data: &[u8],
        fresh: &mut Vec<NewPage>,
    ) -> Result<()> {
        let at = self.make_pointer(ino, block)?;
        let old_location = self.region.location(self.region.word(at))?;
        self.counts.written_holes += u64::from(!old_location.has_content());
        let kept_at = match keeper {
            Some(kept) => self.pointer_to_keep(kept, block)?,
            None => None,
        };
        if let BlockLocation::Nvram(page) = old_location {
            self.check_page(page, ino, block)?;
            self.counts.write_hits += 1;
        }
        if let (BlockLocation::Nvram(page), None) = (old_location, kept_at) {
            self.mark_dirty(page)?;
            self.region.store(self.region.areas.page(page) + within, data);
            return Ok(());
        }
        self.region.note_changing(at);
        let mut content = [0; BLOCK_BYTES];
        match old_location {
            BlockLocation::Ssd(from) if data.len() < BLOCK_BYTES => {
                self.check_block(from, ino, block)?;
                self.read_ssd(from, &mut content)?;
                self.counts.ssd_read_blocks += 1;
            }
            BlockLocation::Nvram(page) => content = *self.region.page(page),
            _ => {}
        }
        content[within..within + data.len()].copy_from_slice(data);
        let page = self.pages.take_free(&mut self.region).expect("room was made");
        self.region.store(self.region.areas.page(page), &content);
        fresh.push(NewPage { at, page, block, old_location, kept_at });
        Ok(())
    }

    /// Makes a page the most recently used dirty page before it is written, and invalidates its copy on the SSD.
    fn mark_dirty(&mut self, page: PageId) -> Result<()> {
        pages::set_flushing_batch(&mut self.region, page, 0);
        let writes = pages::writes_of(&self.region, page).saturating_add(1);
        pages::set_writes(&mut self.region, page, writes);
        match pages::state_of(&self.region, page) {
            State::Clean => {
                let (ino, block) = pages::owner_of(&self.region, page);
                self.note_outdated(ino, block);
                if !self.superblock.placement.updates_in_place() {
                    self.drop_copy(page);
                }
                self.pages.change(&mut self.region, page, State::Dirty, false);
            }
            _ => self.pages.touch(&mut self.region, page),
        }
        Ok(())
    }

    /// Switches pointers to new pages whose content is durable, and frees the old locations or transfers them to a
    /// snapshot.
    fn switch_pointers(
        &mut self,
        (ino, keeper): (Ino, Option<Ino>),
        fresh: Vec<NewPage>,
        state: State,
    ) -> Result<()> {
        if fresh.is_empty() {
            return Ok(());
        }
        let mut together = Changes::default();
        for one in &fresh {
            let pointer = BlockLocation::Nvram(one.page).encode(&self.region.areas);
            let Some(kept_at) = one.kept_at else {
                self.region.store_word(one.at, pointer);
                continue;
            };
            let old_location = if one.old_location == BlockLocation::Hole {
                BlockLocation::Absent
            } else {
                one.old_location
            };
            together.put_word(kept_at, old_location.encode(&self.region.areas));
            together.put_word(one.at, pointer);
        }
        match fresh.iter().any(|one| one.kept_at.is_some()) {
            true => self.region.apply(together),
            false => self.region.fence(),
        }
        for one in fresh {
            pages::set_owner(&mut self.region, one.page, ino, one.block as u32);
            self.pages.put(&mut self.region, one.page, state, false);
            self.count_blocks(ino, 1, 0)?;
            match one.old_location {
                was if one.kept_at.is_some() => {
                    self.transfer(ino, keeper.expect("it keeps this block"), was)?;
                }
                BlockLocation::Ssd(fixed_place) if self.superblock.placement.updates_in_place() => {
                    self.note_outdated(ino, one.block as u32);
                    self.pages.set_copy(&mut self.region, one.page, fixed_place);
                    self.count_blocks(ino, 0, -1)?;
                }
                was => self.free_location(ino, was)?,
            }
        }
        Ok(())
    }

    /// Zeroes the existing blocks of a range; holes remain.
    pub fn zero(&mut self, ino: Ino, range: Range<u64>) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / BLOCK + 1) * BLOCK);
            if self.region.location_of(ino, at / BLOCK)?.has_content() {
                let zeros = [0; BLOCK_BYTES];
                self.write(ino, at, &zeros[..(end - at) as usize])?;
            }
            at = end;
        }
        Ok(())
    }
}

fn wrong_owner_error(ino: Ino, block: u64) -> Error {
    Error::Damaged(format!("block {block} of inode {} is not where its pointer leads", ino.0))
}

/// Returns the first and the last block of a byte range, each only if the range covers it partly.
fn partial_blocks(offset: u64, length: usize) -> [Option<u64>; 2] {
    let (first, end) = (offset / BLOCK, offset + length as u64);
    let last = (!end.is_multiple_of(BLOCK)).then_some(end / BLOCK);
    let first = (!offset.is_multiple_of(BLOCK) && last != Some(first)).then_some(first);
    [first, last]
}

/// Returns the blocks that a byte range touches.
fn blocks_of_range(offset: u64, length: usize) -> Range<u64> {
    offset / BLOCK..(offset + length as u64).div_ceil(BLOCK)
}
