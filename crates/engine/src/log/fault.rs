//! Blocks that are emptied for another reason than to win space: a program failed in them, they suffer from being read, or
//! wear levelling names them.
//!
//! Needs pages with identities and a pool of erased blocks: in a store without, a failed program is the error that ends the
//! run.

use super::directory::Directory;
use super::store::LogStore;
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, Medium, Pages};
use crate::placement::{PageContext, Placement};
use crate::pool::SetAside;
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::{Blocks, VictimPolicy};

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Empties blocks set aside and writes anew what was read too often, as far as there is room.
    pub(super) fn tend(&mut self, stream: StreamId) -> Result<(), LayerError> {
        loop {
            if self.can_empty_set_aside() {
                self.while_cleaning(|store| store.empty_set_aside(0))?;
            } else if !self.refresh_one()? {
                break;
            }
            self.clean_if_due(stream)?;
        }
        // Once, as what it moves is written too, and would let it name another.
        if self.level_wear()? { self.clean_if_due(stream) } else { Ok(()) }
    }

    /// Whether a block was set aside, and there is an erased one to move its pages to.
    pub(super) fn can_empty_set_aside(&self) -> bool {
        !self.pool.set_aside.is_empty() && !self.pool.erased.is_empty()
    }

    /// Moves the live pages of the `at`-th block set aside elsewhere, and erases or retires it.
    pub(super) fn empty_set_aside(&mut self, at: usize) -> Result<(), LayerError> {
        let SetAside { block, written, .. } = self.pool.set_aside[at];
        self.stage(block, written)?;
        self.staged.from = None;
        if let Err(error) = self.redistribute() {
            return Err(self.give_up_moving(block, written, error));
        }
        // One that is to be retired is struck off as it is given back.
        self.pool.set_aside.retain(|aside| aside.block != block || aside.failed);
        self.give_back(block)
    }

    /// Pages on their way out of `block` found no room: those that did not get away stay in it.
    pub(super) fn give_up_moving(&mut self, block: BlockId, written: u32, error: LayerError) -> LayerError {
        let rest = self.staged.len();
        self.staged.drop_front(rest);
        let moved = self.directory.forget_moved(block, written);
        self.pool.blocks.invalidate_many(block, moved);
        if error == LayerError::NoSpace { self.pool.no_space() } else { error }
    }

    /// Moves the pages of the block that wear levelling names elsewhere, and erases it; whether it named one.
    fn level_wear(&mut self) -> Result<bool, LayerError> {
        let Some(block) = self.pool.next_wear_move(Blocks::is_candidate) else { return Ok(false) };
        self.pool.take_candidate(block);
        self.staged.from = None;
        self.moving_for = Cause::WearLevelling;
        let emptied = self.while_cleaning(|store| store.empty_full(block));
        self.moving_for = Cause::Cleaning;
        emptied.map(|()| true)
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
        let Some(block) = self.pool.medium.take_disturbed() else { return Ok(false) };
        self.resume_if_cut_short()?;
        if self.pool.blocks.is_candidate(block) {
            self.refreshing = true;
            let refreshed = self.refresh(block);
            self.refreshing = false;
            refreshed?;
        }
        Ok(true)
    }

    fn refresh(&mut self, block: BlockId) -> Result<(), LayerError> {
        let written = self.pool.pages_per_block();
        let (mut owners, mut pages) = (vec![Lpn(0); written as usize], vec![0; written as usize]);
        let found = self.directory.gather_listed(block, written, &mut owners, &mut pages);
        pages.truncate(found);
        owners.truncate(self.pool.blocks.valid_pages(block) as usize);
        let mut data = Vec::with_capacity(owners.len());
        let cause = Cause::WearLevelling;
        self.pool.medium.read(block, Pages::Listed(&pages), cause, &mut data)?;
        self.pool.counters.add_outgoing(cause, Operation::Read, pages.len() as u64);
        for (page, data) in owners.iter().zip(&data) {
            let stream = match self.placement.cleaning_stream() {
                Some(fixed) if self.pool.marks.is_some() || self.pool.frontiers[fixed.index()].is_some() => {
                    fixed
                }
                // In place, cleaning has no open block at times, and only the host can have one made.
                Some(_) => StreamId(0),
                None => {
                    let (now, cause) = (self.pool.blocks.now(), Cause::Cleaning);
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
