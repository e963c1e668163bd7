//! Flash that fails while it is programmed, and blocks that suffer from being read.
//!
//! A block that fails takes no more pages. What was written to it stays where it is until there is an erased block to
//! move it to; then the block is retired. Needs pages with identities and a pool of erased blocks: in a store without, the
//! failure is the error that ends the run.

use super::config::Reclaim;
use super::directory::Directory;
use super::store::{Frontier, LogStore};
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, Medium, MediumError, Pages};
use crate::placement::{PageContext, Placement};
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;

/// A block that was closed before it was full, and waits to be emptied.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetAside {
    pub block: BlockId,
    /// Pages that can be read, all from the first on.
    pub written: u32,
    /// Whether it is to be retired and not erased.
    pub failed: bool,
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Of a run of `pages` pages that the medium did not take with this error, those at its beginning that it did take.
    #[cold]
    pub(super) fn taken_before(
        &mut self,
        frontier: Frontier,
        pages: usize,
        cause: Cause,
        error: LayerError,
    ) -> Result<usize, LayerError> {
        let LayerError::Medium(MediumError::ProgramFailed { page: failed, .. }) = error else {
            return Err(error);
        };
        if !D::PAGE_EXACT || self.config.reclaim == Reclaim::InPlace {
            return Err(error);
        }
        let taken = failed - frontier.page;
        let below = &mut self.below;
        below.sequence += pages as u64;
        below.counters.add_outgoing(cause, Operation::Write, u64::from(taken));
        if below.in_group {
            below.group_left += pages - taken as usize;
        }
        Ok(taken as usize)
    }

    /// Moves the stream's write pointer on by the pages that were taken, or sets the block aside if those were not all.
    #[inline]
    pub(super) fn advance_by(&mut self, stream: StreamId, frontier: Frontier, taken: usize, wanted: usize) {
        if taken == wanted {
            self.advance(stream, frontier, taken as u32);
        } else {
            let written = frontier.page + taken as u32;
            self.set_aside(stream, SetAside { block: frontier.block, written, failed: true });
        }
    }

    fn set_aside(&mut self, stream: StreamId, aside: SetAside) {
        self.frontiers[stream.index()] = None;
        self.set_aside.push(aside);
    }

    /// Empties blocks set aside and writes anew what was read too often, as far as there is room.
    pub(super) fn tend(&mut self, stream: StreamId) -> Result<(), LayerError> {
        loop {
            if !self.set_aside.is_empty() && !self.free.is_empty() {
                self.while_cleaning(Self::empty_set_aside)?;
            } else if !self.refresh_one()? {
                return Ok(());
            }
            self.clean_if_due(stream)?;
        }
    }

    /// Moves the live pages of the first block set aside elsewhere, and erases or retires it.
    fn empty_set_aside(&mut self) -> Result<(), LayerError> {
        let SetAside { block, written, failed } = self.set_aside[0];
        self.stage(block, written)?;
        self.staged.from = None;
        if let Err(error) = self.redistribute() {
            return Err(self.give_up_moving(block, written, error));
        }
        self.set_aside.remove(0);
        if !failed {
            if self.erase(block)? {
                self.free.push_back(block);
            }
            return Ok(());
        }
        self.below.medium.retire(block);
        self.blocks.erased(block);
        self.usable_blocks -= 1;
        if self.usable_blocks < self.needed_blocks() { Err(self.end_of_life()) } else { Ok(()) }
    }

    /// Pages on their way out of `block` found no room: those that did not get away stay in it.
    pub(super) fn give_up_moving(&mut self, block: BlockId, written: u32, error: LayerError) -> LayerError {
        let rest = self.staged.len();
        self.staged.drop_front(rest);
        let moved = self.directory.forget_moved(block, written);
        self.blocks.invalidate_many(block, moved);
        if error == LayerError::NoSpace { self.no_space() } else { error }
    }

    /// Why there is no room: faults have eaten it, or there never was enough.
    pub(super) fn no_space(&self) -> LayerError {
        if self.set_aside.is_empty() { LayerError::NoSpace } else { self.end_of_life() }
    }

    /// Writes anew all blocks that were read too often.
    pub(super) fn refresh_disturbed(&mut self) -> Result<(), LayerError> {
        while self.refresh_one()? {}
        Ok(())
    }

    /// Appends the live pages of a block that was read too often, if there is one; whether there was. What is left of it
    /// is cleaned in its turn. An open block is left, since its pages might go there again.
    fn refresh_one(&mut self) -> Result<bool, LayerError> {
        if self.refreshing || !D::PAGE_EXACT {
            return Ok(false);
        }
        let Some(block) = self.below.medium.take_disturbed() else { return Ok(false) };
        if self.blocks.is_candidate(block) {
            self.refreshing = true;
            let refreshed = self.refresh(block);
            self.refreshing = false;
            refreshed?;
        }
        Ok(true)
    }

    fn refresh(&mut self, block: BlockId) -> Result<(), LayerError> {
        let written = self.below.medium.pages_per_block();
        let mut owners = vec![Lpn(0); written as usize];
        self.directory.gather(block, written, &mut owners);
        owners.truncate(self.blocks.valid_pages(block) as usize);
        let mut data = Vec::with_capacity(owners.len());
        let mut pages = Vec::new();
        self.directory.list_valid(block, written, &mut pages);
        let cause = Cause::WearLevelling;
        self.below.medium.read(block, Pages::Listed(&pages), cause, &mut data)?;
        self.below.counters.add_outgoing(cause, Operation::Read, pages.len() as u64);
        for (page, data) in owners.iter().zip(&data) {
            let stream = match self.placement.cleaning_stream() {
                Some(fixed) => fixed,
                None => {
                    let (now, cause) = (self.blocks.now(), Cause::Cleaning);
                    let context = PageContext { page: *page, cause, now, from: None, hint: 0, references: 1 };
                    self.placement.place(&context)
                }
            };
            let (page, data) = (std::slice::from_ref(page), std::slice::from_ref(data));
            self.append_run(stream, page, data, cause)?;
        }
        Ok(())
    }
}
