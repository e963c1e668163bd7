//! Appending: host writes go to the open block of their stream, in runs as long as the block has room.

use super::config::Reclaim;
use super::directory::{Directory, Writes};
use super::store::{Frontier, LogStore};
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, Medium};
use crate::placement::{PageContext, Placement};
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Appends host writes, each to the stream that the placement names.
    #[inline]
    pub(super) fn append_host(
        &mut self,
        pages: &[Lpn],
        data: &[M::Payload],
        hint: u16,
    ) -> Result<(), LayerError> {
        if let Some(stream) = self.placement.host_stream() {
            return self.append_run(stream, pages, data, Cause::Host);
        }
        for at in 0..pages.len() {
            let (now, page) = (self.blocks.now(), pages[at]);
            let stream = self.placement.place(&PageContext {
                page,
                cause: Cause::Host,
                now,
                from: None,
                hint,
                references: 1,
            });
            self.append_run(stream, &pages[at..=at], &data[at..=at], Cause::Host)?;
        }
        Ok(())
    }

    /// Appends pages of the host, or of the log itself.
    pub(super) fn append_run(
        &mut self,
        stream: StreamId,
        mut pages: &[Lpn],
        mut data: &[M::Payload],
        cause: Cause,
    ) -> Result<(), LayerError> {
        while !pages.is_empty() {
            let frontier = self.frontier_for_host(stream)?;
            let room = (self.below.medium.pages_per_block() - frontier.page) as usize;
            let length = self.until_checkpoint(cause, room.min(pages.len()));
            let owners = D::PAGE_EXACT.then_some(&pages[..length]);
            self.tell_deaths(&pages[..length]);
            let wanted = length;
            let length = match self.below.program(stream, frontier, owners, &data[..wanted], cause) {
                Ok(()) => wanted,
                Err(error) => self.taken_before(frontier, wanted, cause, error)?,
            };
            // Counted here and not with the call, so that what a dying drive no longer took is not counted at all.
            if cause == Cause::Host {
                self.below.counters.add_incoming(Operation::Write, length as u64);
            }
            let writes = Writes { pages, length, prefetch: self.prefetch };
            let victim = &mut self.victim;
            self.directory.place(
                frontier.block,
                frontier.page,
                writes,
                &mut self.blocks,
                |block, score, blocks| {
                    victim.invalidated(block, score, blocks);
                },
            );
            if cause == Cause::Host {
                self.blocks.advance(length as u64);
            }
            self.advance_by(stream, frontier, length, wanted);
            self.note_moves(&pages[..length], cause);
            (pages, data) = (&pages[length..], &data[length..]);
            if M::MAY_KEEP_METADATA && cause == Cause::Host {
                self.checkpoint_if_due()?;
            }
        }
        Ok(())
    }

    /// Tells the medium, if it wants to hear of it, that the places of `pages` are about to die.
    #[inline(always)]
    pub(super) fn tell_deaths(&mut self, pages: &[Lpn]) {
        if !M::MAY_HEAR_OF_DEATHS || !self.below.medium.hears_of_deaths() {
            return;
        }
        for &page in pages {
            if let (Some(block), Some(index)) =
                (self.directory.block_of(page), self.directory.page_in_block(page))
            {
                self.below.medium.died(page, block, index);
            }
        }
    }

    /// Moves the stream's write pointer on by `pages`; closes the block when it is full.
    #[inline]
    pub(super) fn advance(&mut self, stream: StreamId, frontier: Frontier, pages: u32) {
        let page = frontier.page + pages;
        if page < self.below.medium.pages_per_block() {
            self.frontiers[stream.index()] = Some(Frontier { page, ..frontier });
        } else {
            self.frontiers[stream.index()] = None;
            self.blocks.close(frontier.block);
            self.victim.closed(frontier.block, &self.blocks);
        }
    }

    /// The open block of a stream that the host writes to, cleaning first if that is what it takes.
    #[inline]
    fn frontier_for_host(&mut self, stream: StreamId) -> Result<Frontier, LayerError> {
        match self.frontiers[stream.index()] {
            Some(frontier) => Ok(frontier),
            None => self.new_frontier_for_host(stream),
        }
    }

    fn new_frontier_for_host(&mut self, stream: StreamId) -> Result<Frontier, LayerError> {
        self.clean_if_due(stream)?;
        self.tend(stream)?;
        // Cleaning may have opened a block for this very stream.
        if let Some(frontier) = self.frontiers[stream.index()] {
            return Ok(frontier);
        }
        let block = self.free.pop_front().ok_or_else(|| self.no_space())?;
        Ok(self.open(stream, block))
    }

    /// Cleans if erased blocks run low.
    pub(super) fn clean_if_due(&mut self, stream: StreamId) -> Result<(), LayerError> {
        if !self.must_clean() {
            return Ok(());
        }
        self.while_cleaning(|store| store.clean_for(stream))
    }

    /// Whether erased blocks run low; counts how often that is left as it is because a log above cleans.
    fn must_clean(&mut self) -> bool {
        let (Reclaim::FreePool { low, .. }, Some((mark, _))) = (self.config.reclaim, self.marks()) else {
            return self.free.is_empty();
        };
        let must = self.free.len() <= mark as usize;
        self.deferrals += u64::from(!must && self.free.len() <= low as usize);
        must
    }

    /// Cleans as `clean` does, and lets the layers below know for how long.
    pub(super) fn while_cleaning(
        &mut self,
        clean: impl FnOnce(&mut Self) -> Result<(), LayerError>,
    ) -> Result<(), LayerError> {
        self.below.medium.cleaning(true);
        let done = clean(self);
        self.below.medium.cleaning(false);
        done
    }

    fn clean_for(&mut self, stream: StreamId) -> Result<(), LayerError> {
        match self.marks() {
            Some((low, high)) => self.refill_pool(stream, low, high),
            None => self.reclaim_in_place(),
        }
    }

    /// The marks of the pool, if there is one, that hold now: while a log above cleans, those of a store that waits for it.
    pub(super) fn marks(&self) -> Option<(u32, u32)> {
        match (self.config.reclaim, self.config.deferred_low) {
            (Reclaim::InPlace, _) => None,
            (Reclaim::FreePool { .. }, Some(low)) if self.cleaning_above > 0 => Some((low, low)),
            (Reclaim::FreePool { low, high }, _) => Some((low, high)),
        }
    }

    /// Makes the erased `block` the frontier of `stream`.
    pub(super) fn open(&mut self, stream: StreamId, block: BlockId) -> Frontier {
        let frontier = Frontier { block, page: 0 };
        self.frontiers[stream.index()] = Some(frontier);
        self.blocks.open(block);
        self.directory.open(block);
        if let Some(history) = self.history.get_mut(block.index()) {
            *history = (stream, self.blocks.now());
        }
        frontier
    }
}
