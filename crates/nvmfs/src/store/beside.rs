//! Reading the SSD beside other requests.
//!
//! A request that needs blocks of the SSD is refused with [`Error::Wait`] before it has changed anything, the blocks are read
//! while others use the file system, and it is asked again. It finds them by their place. Whatever is written to a place makes
//! stale what was being read from there, so that a block that moved, and another that came to its place, are read anew.

use super::sums::data_sum;
use super::{Region, Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{EXTENT_BLOCKS, Place};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

/// How often a request waits for blocks, which may be elsewhere once they are read; then it reads them while all others wait.
const MOST_FETCHES: u32 = 8;
/// Blocks that are read at once at most.
const PIECE_BLOCKS: u64 = EXTENT_BLOCKS / 2;

/// Blocks that lie one after the other on the SSD.
struct Piece {
    first: u64,
    /// Whose they are, each the block of its file.
    owners: Vec<(Ino, u32)>,
    /// Something else was written there since, or is being written.
    is_stale: AtomicBool,
    content: OnceLock<Content>,
}

/// What was read, and its checksums, if blocks have them.
struct Content {
    bytes: Vec<u8>,
    sums: Vec<u32>,
}

impl Piece {
    fn places(&self) -> Range<u64> {
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
        // Nobody else reads the same piece.
        let _ = self.content.set(Content { bytes, sums });
        Ok(())
    }
}

/// Blocks of the SSD that a request waits for.
pub struct Fetch<S> {
    /// How often the request waited for blocks, and how much of it is done.
    fetches: u32,
    done: usize,
    pieces: Vec<Arc<Piece>>,
    has_sums: bool,
    ssd: Arc<S>,
}

impl<S: Ssd> Fetch<S> {
    /// Reads them. The file system may be used meanwhile.
    ///
    /// # Errors
    /// Those of the SSD.
    pub fn read(&self) -> io::Result<()> {
        self.pieces.iter().try_for_each(|piece| piece.read(&*self.ssd, self.has_sums))
    }
}

#[cfg(test)]
impl<S> Fetch<S> {
    /// As if something else were written to where it reads.
    pub fn tell_stale(&self) {
        self.pieces.iter().for_each(|piece| piece.is_stale.store(true, Relaxed));
    }
}

/// What requests read beside others.
#[derive(Default)]
pub(super) struct Beside {
    /// Whether the present request may be refused with [`Error::Wait`].
    may_wait: bool,
    /// Whether it may wait until there is room for all of it.
    may_wait_for_room: bool,
    /// How often it waited for blocks.
    fetches: u32,
    /// Bytes of a read that were read before it last let others go first.
    done: usize,
    /// It waits until something was flushed.
    wants_room: bool,
    /// What it has to wait for.
    wanted: Vec<Arc<Piece>>,
    /// What was read for it, by place.
    fetched: Vec<Arc<Piece>>,
    /// What is being read or was read for any, as long as somebody has it.
    all: Vec<Weak<Piece>>,
}

impl Beside {
    /// Whether the present request may wait until there is room for all of it.
    pub fn may_wait_for_room(&self) -> bool {
        self.may_wait_for_room
    }

    /// Something is going to be written to blocks.
    pub fn overwrite(&mut self, places: &Range<u64>) {
        self.all.retain(|piece| {
            let Some(piece) = piece.upgrade() else { return false };
            let here = piece.places();
            if here.start < places.end && places.start < here.end {
                piece.is_stale.store(true, Relaxed);
            }
            true
        });
    }

    /// The piece with this block that was read for the present request.
    fn fetched(&self, place: u64) -> Option<&Arc<Piece>> {
        let after = self.fetched.partition_point(|piece| piece.first <= place);
        let piece = self.fetched.get(after.checked_sub(1)?)?;
        (piece.places().contains(&place) && !piece.is_stale()).then_some(piece)
    }

    /// A block that is to be read.
    fn want(&mut self, place: u64, owner: (Ino, u32)) {
        match self.wanted.last_mut().and_then(Arc::get_mut) {
            Some(last) if last.places().end == place && (last.owners.len() as u64) < PIECE_BLOCKS => {
                last.owners.push(owner);
            }
            _ => self.wanted.push(Arc::new(Piece {
                first: place,
                owners: vec![owner],
                is_stale: AtomicBool::new(false),
                content: OnceLock::new(),
            })),
        }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Whether the request that comes may be refused with [`Error::Wait`]. Where none may, which is so unless this is called, the
    /// SSD is read at once. What was read for the last request is forgotten.
    pub fn allow_waiting(&mut self, may_wait: bool) {
        (self.beside.may_wait, self.beside.may_wait_for_room) = (may_wait, may_wait);
        (self.beside.fetches, self.beside.done) = (0, 0);
        self.beside.wants_room = false;
        self.beside.wanted.clear();
        self.beside.fetched.clear();
    }

    /// The request that comes does not wait until there is room for all of it.
    pub fn wait_for_no_room(&mut self) {
        self.beside.may_wait_for_room = false;
    }

    /// Whether the request that was refused with [`Error::Wait`] waits until something was flushed.
    pub fn is_room_wanted(&self) -> bool {
        self.beside.wants_room
    }

    /// The blocks that the request that was refused with [`Error::Wait`] waits for.
    pub fn begin_fetch(&mut self) -> Fetch<S> {
        let wanted = std::mem::take(&mut self.beside.wanted);
        self.beside.all.retain(|piece| piece.strong_count() > 0);
        self.beside.all.extend(wanted.iter().map(Arc::downgrade));
        let mut pieces = std::mem::take(&mut self.beside.fetched);
        let fetches = self.beside.fetches + u32::from(!wanted.is_empty());
        pieces.extend(wanted);
        let done = self.beside.done;
        Fetch { fetches, done, pieces, has_sums: self.region.areas.has_sums(), ssd: Arc::clone(&self.ssd) }
    }

    /// Blocks of no request that are to be read, each with whose it is.
    pub(super) fn begin_reading(&mut self, blocks: &[(u64, (Ino, u32))]) -> Fetch<S> {
        self.allow_waiting(false);
        for (place, (ino, block)) in blocks {
            self.beside.want(*place, (self.region.file_of(*ino), *block));
        }
        self.begin_fetch()
    }

    /// It was read, and is there for the request that comes.
    ///
    /// # Errors
    /// That of reading, unless there is something else now where it failed.
    pub fn end_fetch(&mut self, fetch: Fetch<S>, outcome: io::Result<()>) -> Result<()> {
        let is_there = |piece: &Arc<Piece>| !piece.is_stale() && piece.content.get().is_some();
        if let Err(error) = outcome
            && !fetch.pieces.iter().any(|piece| piece.is_stale())
        {
            return Err(error.into());
        }
        (self.beside.fetches, self.beside.done) = (fetch.fetches, fetch.done);
        self.beside.fetched = fetch.pieces.into_iter().filter(is_there).collect();
        self.beside.fetched.sort_unstable_by_key(|piece| piece.first);
        Ok(())
    }

    /// Refuses the present request if it may wait; something has to be flushed first.
    pub(super) fn wait_for_flush(&mut self) -> Result<()> {
        self.beside.wants_room = self.beside.may_wait;
        if self.beside.may_wait { Err(Error::Wait) } else { Ok(()) }
    }

    /// Refuses the present request if it may wait and these blocks of a file, each under the number that `whose` says, are to be
    /// read first.
    ///
    /// # Errors
    /// [`Error::Wait`]; [`Error::Damaged`].
    pub(super) fn wait_for(
        &mut self,
        whose: &impl Fn(&Region<N>, u64) -> Result<Ino>,
        blocks: impl Iterator<Item = u64>,
    ) -> Result<()> {
        if !self.beside.may_wait || self.beside.fetches >= MOST_FETCHES {
            return Ok(());
        }
        for block in blocks {
            let ino = whose(&self.region, block)?;
            if let Place::Ssd(place) = self.region.place_of(ino, block)?
                && self.beside.fetched(place).is_none()
            {
                self.beside.want(place, (self.region.file_of(ino), block as u32));
            }
        }
        if self.beside.wanted.is_empty() { Ok(()) } else { Err(Error::Wait) }
    }

    /// Bytes of the present read that were read in an earlier attempt.
    pub(super) fn done_before(&self) -> usize {
        self.beside.done
    }

    /// So many bytes of the present read are done, which is long: others go first, if it is one that waited before.
    pub(super) fn let_others_go_first(&mut self, done: usize) -> Result<()> {
        if self.beside.may_wait && self.beside.fetches > 0 {
            self.beside.done = done;
            return Err(Error::Wait);
        }
        Ok(())
    }

    /// Reads blocks of files that lie one after the other on the SSD, and compares them with their checksums.
    ///
    /// # Errors
    /// [`Error::Ssd`]; [`Error::Damaged`] if a checksum is wrong.
    pub(super) fn read_ssd(&mut self, first: u64, out: &mut [u8]) -> Result<()> {
        let (mut place, mut rest) = (first, out);
        while !rest.is_empty() {
            let blocks = rest.len() / BLOCK_BYTES;
            let piece = self.beside.fetched(place).cloned();
            let ahead = match &piece {
                Some(piece) => (piece.places().end - place) as usize,
                None => (1..blocks)
                    .find(|ahead| self.beside.fetched(place + *ahead as u64).is_some())
                    .unwrap_or(blocks),
            };
            let (now, after) = rest.split_at_mut(ahead.min(blocks) * BLOCK_BYTES);
            match piece {
                Some(piece) => self.take_fetched(&piece, place, now)?,
                None => self.read_now(place, now)?,
            }
            (place, rest) = (place + (now.len() / BLOCK_BYTES) as u64, after);
        }
        Ok(())
    }

    fn read_now(&mut self, first: u64, out: &mut [u8]) -> Result<()> {
        self.ssd.read(first, out)?;
        for (place, content) in (first..).zip(out.chunks(BLOCK_BYTES)) {
            let (ino, block) = extents::owner_of(&self.region, place);
            self.check_data(ino, block, place, |ino, block| data_sum(ino, block, content))?;
        }
        Ok(())
    }

    fn take_fetched(&mut self, piece: &Piece, first: u64, out: &mut [u8]) -> Result<()> {
        let content = piece.content.get().expect("only what was read is kept");
        let skip = (first - piece.first) as usize;
        out.copy_from_slice(&content.bytes[skip * BLOCK_BYTES..][..out.len()]);
        for (number, place) in (skip..).zip(first..first + (out.len() / BLOCK_BYTES) as u64) {
            let (ino, block) = extents::owner_of(&self.region, place);
            let owner = (self.region.file_of(ino), block);
            let bytes = &content.bytes[number * BLOCK_BYTES..][..BLOCK_BYTES];
            self.check_data(owner.0, owner.1, place, |ino, block| match content.sums.get(number) {
                Some(sum) if piece.owners[number] == owner => *sum,
                _ => data_sum(ino, block, bytes),
            })?;
        }
        Ok(())
    }
}
