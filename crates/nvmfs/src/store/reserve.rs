//! Blocks that are reserved: pointers that lead nowhere and yet count as blocks of data in use.
//!
//! Where a block of data will lie is not known in advance: what is written goes to whatever page of NVRAM is free, and later to
//! whatever extent of the SSD. So what is reserved is room and not a place. The pointer says so itself: the blocks of pointers
//! above it are there, a write turns it as it turns one of a block on the SSD, and what is in use stays the same.

use super::Store;
use crate::api::{Error, Ino, Result};
use crate::layout::{MAX_FILE_BLOCKS, POINTERS_PER_BLOCK, Place};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

/// Pages of pointers that as many blocks as one of them holds may need: two ways of up to three levels.
const POINTER_PAGES: u32 = 6;

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Blocks that are reserved and were not written yet.
    pub fn reserved_blocks(&self) -> u64 {
        self.reserved_blocks
    }

    /// Reserves holes of a file, blocks in ascending order; safe when it returns. If there is no room, they are holes again.
    ///
    /// # Errors
    /// [`Error::NoSpace`].
    pub fn reserve(&mut self, ino: Ino, holes: &[Range<u64>]) -> Result<()> {
        let reserved = holes.iter().try_for_each(|hole| self.reserve_run(ino, hole.clone()));
        if reserved.is_err() {
            holes.iter().try_for_each(|hole| self.cut(ino, hole.start, hole.end))?;
        }
        self.region.fence();
        reserved
    }

    fn reserve_run(&mut self, ino: Ino, hole: Range<u64>) -> Result<()> {
        let mut block = hole.start;
        while block < hole.end {
            let end = hole.end.min(block + POINTERS_PER_BLOCK);
            self.make_room(POINTER_PAGES)?;
            if let Some(kept) = self.keeper_with_room(ino)? {
                self.prepare_to_keep()?;
                self.keep_holes(kept, block..end)?;
            }
            if self.allowed_blocks(end - block) < end - block {
                return Err(Error::NoSpace(super::FULL_OF_DATA));
            }
            for block in block..end {
                let at = self.make_pointer(ino, block)?;
                debug_assert_eq!(self.region.word(at), 0, "block {block} is a hole");
                self.region.store_word(at, Place::Reserved.pointer(&self.region.areas));
                self.reserved_blocks += 1;
                self.count_blocks(ino, 1, 0)?;
            }
            block = end;
        }
        Ok(())
    }

    /// Takes from a file what an interrupted or refused operation left from `block` on, behind its end. Where blocks are reserved
    /// there, those that were being written are so again.
    pub fn end_with(&mut self, ino: Ino, block: u64) -> Result<()> {
        if !self.region.inode(ino)?.reserves_behind_end() {
            return self.cut(ino, block, u64::MAX);
        }
        let mut next = block;
        while let Some(block) = self.region.next_block(ino, next, MAX_FILE_BLOCKS, true)? {
            self.unwrite(ino, block)?;
            next = block + 1;
        }
        Ok(())
    }

    /// A block is reserved and not written any more.
    fn unwrite(&mut self, ino: Ino, block: u64) -> Result<()> {
        let place = self.region.place_of(ino, block)?;
        if let (true, Some(at)) = (place.has_content(), self.region.pointer_at(ino, block)?) {
            self.region.store_word(at, Place::Reserved.pointer(&self.region.areas));
            self.reserved_blocks += 1;
            self.count_blocks(ino, 1, 0)?;
            self.region.fence();
            self.free_place(ino, place)?;
        }
        Ok(())
    }
}
