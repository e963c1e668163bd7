//! Emptying blocks for reasons other than space: a failed program, read disturb, or wear levelling.
//!
//! Needs a directory with page identities and a pool of erased blocks. In a store without them, a failed program ends
//! the run with an error.

use super::directory::Directory;
use super::store::LogStore;
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, Medium, Pages};
use crate::placement::{PageContext, Placement};
use crate::pool::PendingBlock;
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::{Blocks, VictimPolicy};

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Empties blocks that were set aside and rewrites blocks with too many reads, as far as free space permits.
    pub(super) fn maintain(&mut self, stream: StreamId) -> Result<(), LayerError> {
        loop {
            if self.can_empty_set_aside_block() {
                self.while_cleaning(|store| store.empty_set_aside_block(0))?;
            } else if !self.refresh_one()? {
                break;
            }
            self.clean_if_due(stream)?;
        }
        // Wear levelling runs only once per call: the pages that it moves are writes, too, and could trigger it
        // endlessly.
        if self.level_wear()? { self.clean_if_due(stream) } else { Ok(()) }
    }

    /// True if a block was set aside and an erased block is available for its pages.
    pub(super) fn can_empty_set_aside_block(&self) -> bool {
        !self.pool.pending_blocks.is_empty() && !self.pool.erased.is_empty()
    }

    /// Moves the live pages of the `at`-th block set aside, then erases or retires the block.
    pub(super) fn empty_set_aside_block(&mut self, at: usize) -> Result<(), LayerError> {
        let PendingBlock { block, written, .. } = self.pool.pending_blocks[at];
        self.stage(block, written)?;
        self.staged.from = None;
        if let Err(error) = self.redistribute() {
            return Err(self.abort_moving(block, written, error));
        }
        // A block to be retired is removed from the list by `Pool::reclaim`.
        self.pool.pending_blocks.retain(|aside| aside.block != block || aside.is_failed);
        self.erase_or_retire(block)
    }

    /// Ends an attempt to empty `block` that failed for lack of space: pages that were not moved stay in the block.
    /// Returns the error to report.
    pub(super) fn abort_moving(&mut self, block: BlockId, written: u32, error: LayerError) -> LayerError {
        let rest = self.staged.len();
        self.staged.drop_front(rest);
        let moved = self.directory.invalidate_moved(block, written);
        self.pool.blocks.invalidate_many(block, moved);
        if error == LayerError::NoSpace { self.pool.no_space() } else { error }
    }

    /// Empties and erases the block that wear levelling chooses. Returns false if wear levelling chose no block.
    fn level_wear(&mut self) -> Result<bool, LayerError> {
        let Some(block) = self.pool.next_wear_move(Blocks::is_candidate) else { return Ok(false) };
        self.pool.take_candidate(block);
        self.staged.from = None;
        self.move_cause = Cause::WearLevelling;
        let emptied = self.while_cleaning(|store| store.empty_full_block(block));
        self.move_cause = Cause::Cleaning;
        emptied.map(|()| true)
    }

    /// Rewrites all blocks that were read too often.
    pub(super) fn refresh_disturbed(&mut self) -> Result<(), LayerError> {
        while self.refresh_one()? {}
        Ok(())
    }

    /// Moves the live pages of a block that was read too often. Returns false if there is no such block. The emptied
    /// block is cleaned later like any other. An open block is closed and erased, so that its pages are not appended to
    /// it again.
    fn refresh_one(&mut self) -> Result<bool, LayerError> {
        if self.is_refreshing || !D::PAGE_EXACT {
            return Ok(false);
        }
        let Some(block) = self.pool.take_disturbed() else { return Ok(false) };
        self.resume_if_interrupted()?;
        if self.pool.blocks.is_candidate(block) {
            if self.pool.blocks.valid_pages(block) == 0 {
                return Ok(true);
            }
            self.is_refreshing = true;
            let refreshed = self.refresh(block);
            self.is_refreshing = false;
            refreshed?;
        } else if let Some(frontier) = self.pool.close_early(block) {
            let written = frontier.page;
            self.pool.pending_blocks.push(PendingBlock { block, written, is_failed: false });
            // Without an erased block, it is emptied later like any other that was set aside.
            if self.can_empty_set_aside_block() {
                let at = self.pool.pending_blocks.len() - 1;
                (self.is_refreshing, self.move_cause) = (true, Cause::WearLevelling);
                let emptied = self.while_cleaning(|store| store.empty_set_aside_block(at));
                (self.is_refreshing, self.move_cause) = (false, Cause::Cleaning);
                emptied?;
            }
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
                Some(fixed)
                    if self.pool.watermarks.is_some() || self.pool.frontiers[fixed.index()].is_some() =>
                {
                    fixed
                }
                // With in-place reclaim, cleaning may have no open block, and a block can only be opened for the host
                // (stream 0).
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
