//! Allocation, deallocation and search of ranges within files.

use super::Nvmfs;
use crate::api::{Allocate, BLOCK_BYTES, Caller, Error, Ino, MAX_FILE_BYTES, Result, Seek};
use crate::layout::RESERVED_BEYOND_END;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;
use std::ops::Range;

const BLOCK: u64 = BLOCK_BYTES as u64;

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    pub(super) fn allocate_range(
        &mut self,
        ino: Ino,
        how: Allocate,
        offset: u64,
        length: u64,
        caller: &Caller,
    ) -> Result<()> {
        let size_bytes = self.file(ino)?.size_bytes;
        if length == 0 {
            return Err(Error::Invalid("a range of no bytes"));
        }
        self.store.keep_inode(ino)?;
        let end = offset.checked_add(length).filter(|end| *end <= MAX_FILE_BYTES).ok_or(Error::TooLarge)?;
        let new_size = match how {
            Allocate::Reserve { keep_size } => {
                self.reserve(ino, offset / BLOCK..end.div_ceil(BLOCK))?;
                if keep_size { size_bytes } else { end }
            }
            Allocate::Punch | Allocate::Zero { keep_size: true } => {
                self.punch(ino, offset..end)?;
                size_bytes
            }
            Allocate::Zero { keep_size: false } => {
                self.punch(ino, offset..end)?;
                end
            }
        };
        self.clear_tail(ino, new_size)?;
        self.note_change(ino, new_size, caller)?;
        if how == (Allocate::Reserve { keep_size: true }) && end > size_bytes {
            // The file is marked last: if power is cut before that, the next mount removes the blocks beyond the end.
            self.note_reserved_beyond_end(ino)?;
        }
        self.flush_if_needed()
    }

    /// Reserves the holes within a range of blocks. If there is not enough free space, the reserved blocks become
    /// holes again.
    fn reserve(&mut self, ino: Ino, blocks: Range<u64>) -> Result<()> {
        let free = self.store.capacity_blocks().saturating_sub(self.store.used_blocks());
        let holes = self.holes(ino, blocks, free)?;
        let reserved = self.store.reserve(ino, &holes);
        if reserved.is_err() {
            self.free_beyond_end(ino)?;
        }
        reserved
    }

    /// Marks the file as having reserved blocks beyond its end, so that these survive a mount.
    fn note_reserved_beyond_end(&mut self, ino: Ino) -> Result<()> {
        if self.file(ino)?.related != RESERVED_BEYOND_END {
            let mut changes = Changes::default();
            changes.inode(&self.store.region, ino)?.related = RESERVED_BEYOND_END;
            self.store.commit(changes)?;
        }
        Ok(())
    }

    /// Returns the holes within a range of blocks.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if the holes have more than `max` blocks.
    fn holes(&self, ino: Ino, blocks: Range<u64>, max: u64) -> Result<Vec<Range<u64>>> {
        let region = &self.store.region;
        let (mut holes, mut counted, mut at) = (Vec::new(), 0, blocks.start);
        while let Some(start) = region.next_block(ino, at, blocks.end, false)? {
            // The search is limited to the free space, because a hole may be long.
            let look_until = blocks.end.min(start + (max - counted) + 1);
            at = region.next_block(ino, start, look_until, true)?.unwrap_or(look_until);
            counted += at - start;
            if counted > max {
                return Err(Error::NoSpace("too few blocks are free"));
            }
            holes.push(start..at);
        }
        Ok(holes)
    }

    /// Makes a range read as zeros: whole blocks become holes, and partly covered blocks stay and are zeroed there.
    fn punch(&mut self, ino: Ino, range: Range<u64>) -> Result<()> {
        let whole = range.start.next_multiple_of(BLOCK)..range.end / BLOCK * BLOCK;
        if whole.start > whole.end {
            return self.store.zero(ino, range);
        }
        self.store.zero(ino, range.start..whole.start)?;
        self.store.zero(ino, whole.end..range.end)?;
        self.store.remove_blocks(ino, whole.start / BLOCK, whole.end / BLOCK)
    }

    pub(super) fn seek_block(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        let size_bytes = self.file(ino)?.size_bytes;
        if offset >= size_bytes {
            return Err(Error::NoDataOrHole);
        }
        let (first, end) = (offset / BLOCK, size_bytes.div_ceil(BLOCK));
        let found = self.store.region.next_block(ino, first, end, what == Seek::Data)?;
        match (found, what) {
            (Some(block), _) => Ok(offset.max(block * BLOCK)),
            (None, Seek::Data) => Err(Error::NoDataOrHole),
            (None, Seek::Hole) => Ok(size_bytes),
        }
    }
}
