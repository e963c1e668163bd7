//! Reads and writes of file content.

use super::Nvmfs;
use crate::api::{BLOCK_BYTES, Caller, Error, Ino, MAX_FILE_BYTES, Result};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

const BLOCK: u64 = BLOCK_BYTES as u64;

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    pub(super) fn read_file(
        &mut self,
        ino: Ino,
        offset: u64,
        out: &mut [u8],
        caller: &Caller,
    ) -> Result<usize> {
        let inode = self.file(ino)?;
        if out.is_empty() {
            return Ok(0);
        }
        let length = inode.size_bytes.saturating_sub(offset).min(out.len() as u64) as usize;
        self.store.read(ino, offset, &mut out[..length])?;
        self.note_access(ino, &inode, caller)?;
        if self.store.is_adaptive() {
            // A read can shorten the dirty list, so a flush may be needed. If flushing fails, pages stay dirty, and
            // the next write returns the error.
            let _ = self.flush_if_needed();
        }
        Ok(length)
    }

    pub(super) fn write_file(
        &mut self,
        ino: Ino,
        offset: u64,
        data: &[u8],
        caller: &Caller,
    ) -> Result<usize> {
        self.file(ino)?;
        if data.is_empty() {
            return Ok(0);
        }
        if offset >= MAX_FILE_BYTES {
            return Err(Error::TooLarge);
        }
        self.clear_tail(ino, offset)?;
        let written = match self.store.write(ino, offset, data) {
            Ok(written) => written,
            Err(error) => {
                self.free_beyond_end(ino)?;
                return Err(error);
            }
        };
        self.note_change(ino, offset + written as u64, caller)?;
        self.flush_if_needed()?;
        Ok(written)
    }

    /// Zeroes the bytes from the end of a file to `until` within the last block, before the file grows to `until`.
    /// Bytes of the last block beyond the end of the file are undefined.
    pub(super) fn clear_tail(&mut self, ino: Ino, until: u64) -> Result<()> {
        let size_bytes = self.file(ino)?.size_bytes;
        let end = until.min(size_bytes.next_multiple_of(BLOCK));
        if size_bytes < end { self.store.zero(ino, size_bytes..end) } else { Ok(()) }
    }

    /// Frees the blocks beyond the end of the file that a failed operation left, except reserved blocks.
    pub(super) fn free_beyond_end(&mut self, ino: Ino) -> Result<()> {
        let blocks = self.file(ino)?.size_bytes.div_ceil(BLOCK);
        self.store.remove_unfinished(ino, blocks)
    }

    /// Flushes if necessary, unless a background thread flushes. A lack of space is reported by the next write.
    pub(super) fn flush_if_needed(&mut self) -> Result<()> {
        if !self.auto_flush {
            return Ok(());
        }
        match self.store.flush_and_recycle() {
            Err(Error::NoSpace(_)) => Ok(()),
            result => result,
        }
    }
}
