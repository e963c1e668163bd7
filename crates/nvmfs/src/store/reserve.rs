//! Reserved blocks: pointers without a location that still count as data blocks in use.
//!
//! The location of a data block is unknown until the block is written: the block is first written to any free page of
//! NVRAM, and later to any free extent of the SSD. So a reservation reserves an amount of space and no location. The
//! pointer marks the block as reserved: its pointer blocks exist, a write replaces the pointer like that of a block on
//! the SSD, and the number of blocks in use does not change.

use super::Store;
use crate::api::{Error, Ino, Result};
use crate::layout::{BlockLocation, MAX_FILE_BLOCKS, POINTERS_PER_BLOCK};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

/// Maximum number of pointer pages that a run of reserved blocks needs: two paths of up to three levels. A run has as
/// many blocks as a pointer page addresses.
const POINTER_PAGES: u32 = 6;

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the number of reserved blocks that are not yet written.
    pub fn reserved_blocks(&self) -> u64 {
        self.reserved_blocks
    }

    /// Reserves holes of a file, given in ascending order; durable on return. If there is not enough free space, the
    /// reserved blocks become holes again.
    ///
    /// # Errors
    /// [`Error::NoSpace`]; [`Error::Damaged`] if a block is no hole. Such a block keeps its content.
    pub fn reserve(&mut self, ino: Ino, holes: &[Range<u64>]) -> Result<()> {
        let reserved = holes.iter().try_for_each(|hole| self.reserve_run(ino, hole.clone()));
        if reserved.as_ref().is_err_and(|error| !matches!(error, Error::Damaged(_))) {
            holes.iter().try_for_each(|hole| self.remove_blocks(ino, hole.start, hole.end))?;
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
                if self.region.word(at) != 0 {
                    return Err(Error::Damaged(format!("block {block} of inode {} is no hole", ino.0)));
                }
                self.region.store_word(at, BlockLocation::Reserved.encode(&self.region.areas));
                self.reserved_blocks += 1;
                self.count_blocks(ino, 1, 0)?;
            }
            block = end;
        }
        Ok(())
    }

    /// Removes the blocks from `block` on that an interrupted or refused operation left beyond the end of a file. If
    /// the file has reserved blocks beyond its end, blocks that were being written become reserved again.
    pub fn remove_unfinished(&mut self, ino: Ino, block: u64) -> Result<()> {
        if !self.region.inode(ino)?.reserves_beyond_end() {
            return self.remove_blocks(ino, block, u64::MAX);
        }
        let mut next = block;
        while let Some(block) = self.region.next_block(ino, next, MAX_FILE_BLOCKS, true)? {
            self.make_reserved(ino, block)?;
            next = block + 1;
        }
        Ok(())
    }

    /// Turns a written block back into a reserved block.
    fn make_reserved(&mut self, ino: Ino, block: u64) -> Result<()> {
        let location = self.region.location_of(ino, block)?;
        if let (true, Some(at)) = (location.has_content(), self.region.pointer_at(ino, block)?) {
            self.region.store_word(at, BlockLocation::Reserved.encode(&self.region.areas));
            self.reserved_blocks += 1;
            self.count_blocks(ino, 1, 0)?;
            self.region.fence();
            self.free_location(ino, location)?;
        }
        Ok(())
    }
}
