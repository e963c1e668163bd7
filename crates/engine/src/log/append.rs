//! Appending: host writes go to the open block of their stream, in runs that end at the end of the block.

use super::directory::{Directory, Writes};
use super::store::LogStore;
use crate::counters::{Cause, Operation};
use crate::layer::{Invalidation, Layer, LayerError, Medium, MediumExt};
use crate::placement::{PageContext, Placement};
use crate::pool::{Frontier, Pool};
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;

/// Prefetch distance, in pages, for the map entries of pages that are about to be invalidated.
const INVALIDATIONS_AHEAD: usize = 32;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Appends host writes; the placement chooses the stream of each page.
    #[inline]
    pub(super) fn append_host(
        &mut self,
        pages: &[Lpn],
        data: &[M::Payload],
        hint: u16,
    ) -> Result<(), LayerError> {
        self.resume_if_interrupted()?;
        if pages.is_empty() {
            return Ok(());
        }
        if let Some(stream) = self.placement.host_stream() {
            return self.append_run(stream, pages, data, Cause::Host);
        }
        for at in 0..pages.len() {
            let (now, page) = (self.pool.blocks.now(), pages[at]);
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

    /// Appends host writes of consecutive pages starting at `first`. Runs without stored pages take a fast path: their
    /// page numbers are listed once, directly in the directory's owner table.
    pub(super) fn append_host_run(
        &mut self,
        mut first: Lpn,
        mut data: &[M::Payload],
        hint: u16,
    ) -> Result<(), LayerError> {
        self.resume_if_interrupted()?;
        while !data.is_empty() {
            let accepted = match self.placement.host_stream() {
                Some(stream) if D::PAGE_EXACT => self.append_unstored(stream, first, data)?,
                _ => 0,
            };
            if accepted == 0 {
                let pages: Vec<Lpn> = (first.0..).map(Lpn).take(data.len()).collect();
                return self.write(&pages, data, hint);
            }
            (first, data) = (Lpn(first.0 + accepted as u32), &data[accepted..]);
        }
        Ok(())
    }

    /// Appends as many pages as fit in the open block of `stream`, if none of them is stored yet. Returns the number of
    /// appended pages; 0 if one of the pages is stored.
    fn append_unstored(
        &mut self,
        stream: StreamId,
        first: Lpn,
        data: &[M::Payload],
    ) -> Result<usize, LayerError> {
        if self.pool.frontiers[stream.index()].is_none() {
            self.append_run(stream, &[], &[], Cause::Host)?;
        }
        let frontier = self.pool.frontiers[stream.index()].ok_or(LayerError::NoSpace)?;
        let room = self.pool.room(frontier) as usize;
        let mut length = self.limit_to_checkpoint(Cause::Host, room.min(data.len()));
        if !self.directory.are_unstored(first, length) {
            return Ok(0);
        }
        let owners = self.directory.enter_owners(frontier.block, frontier.page, first, length);
        match self.pool.program_unrecorded(
            stream,
            frontier,
            Some(owners),
            &data[..length],
            Cause::Host.into(),
        ) {
            Ok(()) => {
                self.pool.counters.add_incoming(Operation::Write, length as u64);
                self.pool.moves.run_written(first, length);
                self.directory.record_run(frontier.block, frontier.page, first, length);
                self.pool.blocks.advance(length as u64);
                self.advance(stream, frontier, length as u32);
            }
            Err(error) => {
                let pages = owners.to_vec();
                length = self.handle_failed_run(stream, frontier, &pages, Cause::Host, error)?;
            }
        }
        self.checkpoint_if_due()?;
        Ok(length)
    }

    /// Appends pages of the host or of the log itself. With an empty list of pages, only opens a block for the stream
    /// if none is open.
    ///
    /// Opening a block is no separate function: the code has a single caller and is inlined here, which makes in-place
    /// reclaim about 10 % faster.
    pub(super) fn append_run(
        &mut self,
        stream: StreamId,
        mut pages: &[Lpn],
        mut data: &[M::Payload],
        cause: Cause,
    ) -> Result<(), LayerError> {
        loop {
            let frontier = self.frontier_for_host(stream)?;
            if pages.is_empty() {
                return Ok(());
            }
            let room = self.pool.room(frontier) as usize;
            let length = self.limit_to_checkpoint(cause, room.min(pages.len()));
            let owners = D::PAGE_EXACT.then_some(&pages[..length]);
            self.notify_invalidations(&pages[..length]);
            let length = match self.pool.program(stream, frontier, owners, &data[..length], cause) {
                Ok(()) => {
                    self.record_writes(frontier, pages, length, cause);
                    self.advance(stream, frontier, length as u32);
                    length
                }
                Err(error) => self.handle_failed_run(stream, frontier, &pages[..length], cause, error)?,
            };
            (pages, data) = (&pages[length..], &data[length..]);
            if cause == Cause::Host {
                self.checkpoint_if_due()?;
            }
            if pages.is_empty() {
                return Ok(());
            }
        }
    }

    /// Records that the first `length` of `pages` are now on flash, starting at `frontier`.
    #[inline(always)]
    fn record_writes(&mut self, frontier: Frontier, pages: &[Lpn], length: usize, cause: Cause) {
        // Writes are counted here and not on arrival, so that writes rejected by a failing drive are not counted.
        if cause == Cause::Host {
            self.pool.counters.add_incoming(Operation::Write, length as u64);
        }
        let writes = Writes { pages, length, prefetch: self.prefetch };
        let Pool { blocks, victim, .. } = &mut self.pool;
        let on_invalidate = |block, score, blocks: &_| victim.invalidated(block, score, blocks);
        self.directory.record_writes(frontier.block, frontier.page, writes, blocks, on_invalidate);
        if cause == Cause::Host {
            self.pool.blocks.advance(length as u64);
        }
    }

    /// Handles a run whose program failed with `error`: records the pages that the medium accepted before the
    /// failure, and sets the block aside. Returns the number of those pages; returns the error if it ends the operation.
    ///
    /// This path is separate from that of successful runs, which would otherwise have to handle two lengths.
    #[cold]
    fn handle_failed_run(
        &mut self,
        stream: StreamId,
        frontier: Frontier,
        pages: &[Lpn],
        cause: Cause,
        error: LayerError,
    ) -> Result<usize, LayerError> {
        let owners = D::PAGE_EXACT.then_some(pages);
        match self.pool.programmed_before_failure(frontier, (owners, pages.len()), cause, error) {
            Ok(accepted) => {
                self.record_writes(frontier, pages, accepted, cause);
                self.pool.close_failed_block(stream, frontier, accepted as u32);
                Ok(accepted)
            }
            Err(error) => {
                let accepted = self.pool.accepted_before_failure(frontier, owners, cause, &error);
                if accepted > 0 {
                    self.record_writes(frontier, pages, accepted, cause);
                    self.advance(stream, frontier, accepted as u32);
                }
                Err(error)
            }
        }
    }

    /// Notifies the medium that the current physical pages of `pages` are about to become invalid, if the medium needs
    /// such notifications.
    #[inline(always)]
    pub(super) fn notify_invalidations(&mut self, pages: &[Lpn]) {
        if !self.pool.medium.wants_invalidations() {
            return;
        }
        self.invalidations.clear();
        for (at, &page) in pages.iter().enumerate() {
            if self.prefetch
                && let Some(&later_page) = pages.get(at + INVALIDATIONS_AHEAD)
            {
                self.directory.prefetch(later_page, false, &self.pool.blocks);
            }
            if let Some((block, index)) = self.directory.location_of(page) {
                self.invalidations.push(Invalidation { owner: page, block, page: index });
            }
        }
        self.pool.medium.on_invalidate(&self.invalidations);
    }

    /// Advances the stream's write pointer by `pages`; closes the block when it is full.
    #[inline]
    pub(super) fn advance(&mut self, stream: StreamId, frontier: Frontier, pages: u32) {
        if self.pool.advance_frontier(stream, frontier, pages) {
            self.pool.close(frontier.block);
        }
    }

    /// Returns the open block of a stream for host writes; opens one if needed, which may require cleaning.
    #[inline]
    fn frontier_for_host(&mut self, stream: StreamId) -> Result<Frontier, LayerError> {
        match self.pool.frontiers[stream.index()] {
            Some(frontier) => Ok(frontier),
            None => self.new_frontier_for_host(stream),
        }
    }

    fn new_frontier_for_host(&mut self, stream: StreamId) -> Result<Frontier, LayerError> {
        if !self.can_spare_block_during_checkpoint() {
            self.clean_if_due(stream)?;
            self.maintain(stream)?;
        }
        // Cleaning may have opened a block for the same stream.
        if let Some(frontier) = self.pool.frontiers[stream.index()] {
            return Ok(frontier);
        }
        let block = self.pool.take_erased(Cause::Host).ok_or_else(|| self.pool.no_space())?;
        Ok(self.open(stream, block))
    }

    /// Cleans if the number of erased blocks is at most the low watermark.
    pub(super) fn clean_if_due(&mut self, stream: StreamId) -> Result<(), LayerError> {
        if !self.pool.must_clean() {
            self.pool.count_deferral();
            return Ok(());
        }
        self.while_cleaning(|store| store.clean_for(stream))
    }

    /// Runs `clean` and notifies the layers below when cleaning begins and ends.
    pub(super) fn while_cleaning(
        &mut self,
        clean: impl FnOnce(&mut Self) -> Result<(), LayerError>,
    ) -> Result<(), LayerError> {
        self.pool.medium.notify_cleaning(true);
        let result = clean(self);
        self.pool.medium.notify_cleaning(false);
        result
    }

    fn clean_for(&mut self, stream: StreamId) -> Result<(), LayerError> {
        match self.pool.current_watermarks() {
            Some((low, high)) => self.refill_pool(stream, low, high),
            None => self.reclaim_in_place(),
        }
    }

    /// Makes the erased `block` the frontier of `stream`.
    #[inline]
    pub(super) fn open(&mut self, stream: StreamId, block: BlockId) -> Frontier {
        let frontier = self.pool.open(stream, block);
        self.directory.open(block);
        if let Some(history) = self.block_history.get_mut(block.index()) {
            *history = (stream, self.pool.blocks.now());
        }
        frontier
    }
}
