//! Giving blocks to ranges of files, taking them, and finding them.

use super::Nvmfs;
use crate::api::{Allocate, BLOCK_BYTES, Caller, Error, Ino, MAX_FILE_BYTES, Result, Seek};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::FULL_OF_DATA;
use std::ops::Range;

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Blocks of zeros written at once.
const ZEROS: u64 = 64;

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
        let end = offset.checked_add(length).filter(|end| *end <= MAX_FILE_BYTES).ok_or(Error::TooLarge)?;
        let new_size = match how {
            Allocate::Reserve => {
                self.reserve(ino, offset / BLOCK..end.div_ceil(BLOCK))?;
                end
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
        self.settle()
    }

    /// Gives blocks of zeros to the holes of a range of blocks. If there is no room, they are holes again.
    fn reserve(&mut self, ino: Ino, blocks: Range<u64>) -> Result<()> {
        let free = self.store.capacity_blocks().saturating_sub(self.store.used_blocks());
        let holes = self.holes(ino, blocks, free)?;
        let zeros = vec![0; (ZEROS * BLOCK) as usize];
        for hole in &holes {
            let mut at = hole.start * BLOCK;
            let end = hole.end * BLOCK;
            while at < end {
                let length = (end - at).min(zeros.len() as u64) as usize;
                match self.store.write(ino, at, &zeros[..length]) {
                    Ok(written) if written > 0 => at += written as u64,
                    failed => {
                        for hole in holes {
                            self.store.cut(ino, hole.start, hole.end)?;
                        }
                        return Err(failed.err().unwrap_or(Error::NoSpace(FULL_OF_DATA)));
                    }
                }
            }
        }
        Ok(())
    }

    /// The holes of a range of blocks.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if they are more than `most` blocks.
    fn holes(&self, ino: Ino, blocks: Range<u64>, most: u64) -> Result<Vec<Range<u64>>> {
        let region = &self.store.region;
        let (mut holes, mut counted, mut at) = (Vec::new(), 0, blocks.start);
        while let Some(start) = region.next_block(ino, at, blocks.end, false)? {
            // No further than what there is room for: a hole may be long.
            let look_until = blocks.end.min(start + (most - counted) + 1);
            at = region.next_block(ino, start, look_until, true)?.unwrap_or(look_until);
            counted += at - start;
            if counted > most {
                return Err(Error::NoSpace("too few blocks are free"));
            }
            holes.push(start..at);
        }
        Ok(holes)
    }

    /// Makes a range read as zeros: whole blocks of it become holes, others keep their block.
    fn punch(&mut self, ino: Ino, range: Range<u64>) -> Result<()> {
        let whole = range.start.next_multiple_of(BLOCK)..range.end / BLOCK * BLOCK;
        if whole.start > whole.end {
            return self.store.zero(ino, range);
        }
        self.store.zero(ino, range.start..whole.start)?;
        self.store.zero(ino, whole.end..range.end)?;
        self.store.cut(ino, whole.start / BLOCK, whole.end / BLOCK)
    }

    pub(super) fn seek_block(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        let size_bytes = self.file(ino)?.size_bytes;
        if offset >= size_bytes {
            return Err(Error::NothingThere);
        }
        let (first, end) = (offset / BLOCK, size_bytes.div_ceil(BLOCK));
        let found = self.store.region.next_block(ino, first, end, what == Seek::Data)?;
        match (found, what) {
            (Some(block), _) => Ok(offset.max(block * BLOCK)),
            (None, Seek::Data) => Err(Error::NothingThere),
            (None, Seek::Hole) => Ok(size_bytes),
        }
    }
}
