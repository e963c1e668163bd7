//! Reads of the SSD that run concurrently with other requests.
//!
//! A request that needs blocks of the SSD returns [`Error::Wait`] before it has changed anything. The blocks are read
//! while other requests use the file system. Then the request is repeated, and finds the blocks that were read by
//! their location. Writing to a location invalidates the reads of it that are in progress. Therefore a block that
//! moved, or was replaced by another block, is read again.

use super::sums::data_sum;
use super::{Region, Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{BlockLocation, EXTENT_BLOCKS};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

/// Maximum number of times that a request waits for blocks, since they may move while they are being read. After
/// that, the request reads its blocks while all other requests wait.
const MAX_FETCHES: u32 = 8;
/// Maximum number of blocks in one read.
const PIECE_BLOCKS: u64 = EXTENT_BLOCKS / 2;

/// Contiguous blocks of the SSD.
struct Piece {
    first: u64,
    /// Owner of each block: the file, and the number of the block within the file.
    owners: Vec<(Ino, u32)>,
    /// True if the location is being overwritten, or was overwritten after the read began.
    is_stale: AtomicBool,
    content: OnceLock<Content>,
}

/// Content that was read, and the checksums of its blocks if they have any.
struct Content {
    bytes: Vec<u8>,
    sums: Vec<u32>,
}

impl Piece {
    fn locations(&self) -> Range<u64> {
        self.first..self.first + self.owners.len() as u64
    }

    fn is_stale(&self) -> bool {
        self.is_stale.load(Relaxed)
    }

    fn read<S: Ssd>(&self, ssd: &S, has_sums: bool) -> io::Result<()> {
        if self.content.get().is_some() {
            return Ok(());
        }
        let mut bytes = vec![0; self.owners.len() * BLOCK_BYTES];
        ssd.read(self.first, &mut bytes)?;
        let summed = if has_sums { &self.owners[..] } else { &[] };
        let blocks = summed.iter().zip(bytes.chunks(BLOCK_BYTES));
        let sums = blocks.map(|((ino, block), content)| data_sum(*ino, *block, content)).collect();
        // `set` cannot fail, because no other thread reads the same piece.
        let _ = self.content.set(Content { bytes, sums });
        Ok(())
    }
}

/// Blocks of the SSD for which a request waits.
pub struct Fetch<S> {
    /// Number of times that the request has waited for blocks.
    fetches: u32,
    /// Number of bytes of the request that are complete.
    done_bytes: usize,
    pieces: Vec<Arc<Piece>>,
    has_sums: bool,
    ssd: Arc<S>,
}

impl<S: Ssd> Fetch<S> {
    /// Reads the blocks. The file system may be used meanwhile.
    ///
    /// # Errors
    /// Errors of the SSD.
    pub fn read(&self) -> io::Result<()> {
        self.pieces.iter().try_for_each(|piece| piece.read(&*self.ssd, self.has_sums))
    }
}

#[cfg(test)]
impl<S> Fetch<S> {
    /// Simulates an overwrite of the locations that are being read.
    pub fn mark_stale(&self) {
        self.pieces.iter().for_each(|piece| piece.is_stale.store(true, Relaxed));
    }
}

/// State of concurrent reads.
#[derive(Default)]
pub(super) struct ConcurrentReads {
    /// True if the current request may return [`Error::Wait`].
    may_wait: bool,
    /// True if the current request may wait until there is free space for all of its data.
    may_wait_for_room: bool,
    /// Number of times that the current request waited for blocks.
    fetches: u32,
    /// Number of bytes of the current read that were complete when the read last yielded to other requests.
    done_bytes: usize,
    /// True if the current request waits for a flush.
    needs_flush: bool,
    /// Blocks for which the current request must wait.
    to_fetch: Vec<Arc<Piece>>,
    /// Blocks that were read for the current request, sorted by location.
    fetched: Vec<Arc<Piece>>,
    /// All pieces that are being read or are held for a request.
    pieces: Vec<Weak<Piece>>,
}

impl ConcurrentReads {
    /// True if the current request may wait until there is free space for all of its data.
    pub fn may_wait_for_room(&self) -> bool {
        self.may_wait_for_room
    }

    /// Invalidates reads of blocks that are about to be overwritten.
    pub fn overwrite(&mut self, locations: &Range<u64>) {
        self.pieces.retain(|piece| {
            let Some(piece) = piece.upgrade() else { return false };
            let piece_range = piece.locations();
            if piece_range.start < locations.end && locations.start < piece_range.end {
                piece.is_stale.store(true, Relaxed);
            }
            true
        });
    }

    /// Returns the piece that was read for the current request and contains this block.
    fn fetched(&self, location: u64) -> Option<&Arc<Piece>> {
        let after = self.fetched.partition_point(|piece| piece.first <= location);
        let piece = self.fetched.get(after.checked_sub(1)?)?;
        (piece.locations().contains(&location) && !piece.is_stale()).then_some(piece)
    }

    /// Adds a block to the blocks that must be read.
    fn request_block(&mut self, location: u64, owner: (Ino, u32)) {
        match self.to_fetch.last_mut().and_then(Arc::get_mut) {
            Some(last) if last.locations().end == location && (last.owners.len() as u64) < PIECE_BLOCKS => {
                last.owners.push(owner);
            }
            _ => self.to_fetch.push(Arc::new(Piece {
                first: location,
                owners: vec![owner],
                is_stale: AtomicBool::new(false),
                content: OnceLock::new(),
            })),
        }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Sets if the next request may return [`Error::Wait`], and discards the blocks that were read for the previous
    /// request. By default, requests do not wait, and the SSD is read synchronously.
    pub fn allow_waiting(&mut self, may_wait: bool) {
        (self.reads.may_wait, self.reads.may_wait_for_room) = (may_wait, may_wait);
        (self.reads.fetches, self.reads.done_bytes) = (0, 0);
        self.reads.needs_flush = false;
        self.reads.to_fetch.clear();
        self.reads.fetched.clear();
    }

    /// Prevents the next request from waiting until there is free space for all of its data.
    pub fn forbid_waiting_for_room(&mut self) {
        self.reads.may_wait_for_room = false;
    }

    /// True if the request that returned [`Error::Wait`] waits for a flush.
    pub fn is_waiting_for_flush(&self) -> bool {
        self.reads.needs_flush
    }

    /// Returns the blocks for which the request that returned [`Error::Wait`] waits.
    pub fn begin_fetch(&mut self) -> Fetch<S> {
        let to_fetch = std::mem::take(&mut self.reads.to_fetch);
        self.reads.pieces.retain(|piece| piece.strong_count() > 0);
        self.reads.pieces.extend(to_fetch.iter().map(Arc::downgrade));
        let mut pieces = std::mem::take(&mut self.reads.fetched);
        let fetches = self.reads.fetches + u32::from(!to_fetch.is_empty());
        pieces.extend(to_fetch);
        let done = self.reads.done_bytes;
        Fetch {
            fetches,
            done_bytes: done,
            pieces,
            has_sums: self.region.areas.has_sums(),
            ssd: Arc::clone(&self.ssd),
        }
    }

    /// Starts a read of blocks, each with its owner, outside of any request.
    pub(super) fn begin_reading(&mut self, blocks: &[(u64, (Ino, u32))]) -> Fetch<S> {
        self.allow_waiting(false);
        for (location, (ino, block)) in blocks {
            self.reads.request_block(*location, (self.region.file_of(*ino), *block));
        }
        self.begin_fetch()
    }

    /// Makes the blocks of a completed read available to the next request.
    ///
    /// # Errors
    /// The error of the read, unless one of the locations was overwritten meanwhile.
    pub fn end_fetch(&mut self, fetch: Fetch<S>, outcome: io::Result<()>) -> Result<()> {
        let is_there = |piece: &Arc<Piece>| !piece.is_stale() && piece.content.get().is_some();
        if let Err(error) = outcome
            && !fetch.pieces.iter().any(|piece| piece.is_stale())
        {
            return Err(error.into());
        }
        (self.reads.fetches, self.reads.done_bytes) = (fetch.fetches, fetch.done_bytes);
        self.reads.fetched = fetch.pieces.into_iter().filter(is_there).collect();
        self.reads.fetched.sort_unstable_by_key(|piece| piece.first);
        Ok(())
    }

    /// Returns [`Error::Wait`] if the current request may wait; the caller then flushes pages before the request is
    /// repeated.
    pub(super) fn wait_for_flush(&mut self) -> Result<()> {
        self.reads.needs_flush = self.reads.may_wait;
        if self.reads.may_wait { Err(Error::Wait) } else { Ok(()) }
    }

    /// Returns [`Error::Wait`] if the current request may wait and some of these blocks must be read from the SSD
    /// first. `inode_of` returns the inode number that the block is stored under.
    ///
    /// # Errors
    /// [`Error::Wait`]; [`Error::Damaged`].
    pub(super) fn wait_for(
        &mut self,
        inode_of: &impl Fn(&Region<N>, u64) -> Result<Ino>,
        blocks: impl Iterator<Item = u64>,
    ) -> Result<()> {
        if !self.reads.may_wait || self.reads.fetches >= MAX_FETCHES {
            return Ok(());
        }
        for block in blocks {
            let ino = inode_of(&self.region, block)?;
            if let BlockLocation::Ssd(location) = self.region.location_of(ino, block)?
                && self.reads.fetched(location).is_none()
            {
                self.reads.request_block(location, (self.region.file_of(ino), block as u32));
            }
        }
        if self.reads.to_fetch.is_empty() { Ok(()) } else { Err(Error::Wait) }
    }

    /// Returns the number of bytes of the current read that were completed in an earlier attempt.
    pub(super) fn done_before(&self) -> usize {
        self.reads.done_bytes
    }

    /// Yields to other requests after `done_bytes` bytes of a long read, if the read has already waited.
    pub(super) fn yield_to_requests(&mut self, done_bytes: usize) -> Result<()> {
        if self.reads.may_wait && self.reads.fetches > 0 {
            self.reads.done_bytes = done_bytes;
            return Err(Error::Wait);
        }
        Ok(())
    }

    /// Reads file blocks that are contiguous on the SSD, and verifies their checksums.
    ///
    /// # Errors
    /// [`Error::Ssd`]; [`Error::Damaged`] if a checksum is wrong.
    pub(super) fn read_ssd(&mut self, first: u64, out: &mut [u8]) -> Result<()> {
        let (mut location, mut rest) = (first, out);
        while !rest.is_empty() {
            let blocks = rest.len() / BLOCK_BYTES;
            let piece = self.reads.fetched(location).cloned();
            let ahead = match &piece {
                Some(piece) => (piece.locations().end - location) as usize,
                None => (1..blocks)
                    .find(|ahead| self.reads.fetched(location + *ahead as u64).is_some())
                    .unwrap_or(blocks),
            };
            let (now, after) = rest.split_at_mut(ahead.min(blocks) * BLOCK_BYTES);
            match piece {
                Some(piece) => self.take_fetched(&piece, location, now)?,
                None => self.read_now(location, now)?,
            }
            (location, rest) = (location + (now.len() / BLOCK_BYTES) as u64, after);
        }
        Ok(())
    }

    fn read_now(&mut self, first: u64, out: &mut [u8]) -> Result<()> {
        self.ssd.read(first, out)?;
        for (location, content) in (first..).zip(out.chunks(BLOCK_BYTES)) {
            let (ino, block) = extents::owner_of(&self.region, location);
            self.check_data(ino, block, location, |ino, block| data_sum(ino, block, content))?;
        }
        Ok(())
    }

    fn take_fetched(&mut self, piece: &Piece, first: u64, out: &mut [u8]) -> Result<()> {
        let content = piece.content.get().expect("only what was read is kept");
        let skip = (first - piece.first) as usize;
        out.copy_from_slice(&content.bytes[skip * BLOCK_BYTES..][..out.len()]);
        for (number, location) in (skip..).zip(first..first + (out.len() / BLOCK_BYTES) as u64) {
            let (ino, block) = extents::owner_of(&self.region, location);
            let owner = (self.region.file_of(ino), block);
            let bytes = &content.bytes[number * BLOCK_BYTES..][..BLOCK_BYTES];
            self.check_data(owner.0, owner.1, location, |ino, block| match content.sums.get(number) {
                Some(sum) if piece.owners[number] == owner => *sum,
                _ => data_sum(ino, block, bytes),
            })?;
        }
        Ok(())
    }
}
