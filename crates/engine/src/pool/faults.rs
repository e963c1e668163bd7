//! Failed blocks, and the end of a drive's life.
//!
//! A block in which a program failed accepts no more pages. Its pages stay there until an erased block is available to
//! which they can be moved; then the failed block is retired.

use super::{Frontier, Pool};
use crate::layer::{LayerError, Medium};
use crate::units::{BlockId, StreamId};
use crate::victim::VictimPolicy;

/// A block that was closed before it was full and is still to be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingBlock {
    /// The block.
    pub block: BlockId,
    /// Number of readable pages, from the first.
    pub written: u32,
    /// True if the block is to be retired and not erased.
    pub is_failed: bool,
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Sets aside the open block of `stream` after a failed program. The block holds `programmed` more pages than its
    /// frontier indicates, accepts no more pages, and is emptied later.
    #[cold]
    pub(crate) fn close_failed_block(&mut self, stream: StreamId, frontier: Frontier, programmed: u32) {
        self.frontiers[stream.index()] = None;
        self.add_failed_block(frontier, programmed);
    }

    /// Sets aside a failed block that is the frontier of no stream.
    #[cold]
    pub(crate) fn add_failed_block(&mut self, frontier: Frontier, programmed: u32) {
        let written = frontier.page + programmed;
        self.pending_blocks.push(PendingBlock { block: frontier.block, written, is_failed: true });
    }

    /// True if a program failed in `block`, which is still to be emptied.
    pub(crate) fn has_failed(&self, block: BlockId) -> bool {
        self.pending_blocks.iter().any(|pending| pending.block == block && pending.is_failed)
    }

    /// If a program failed in `block`, removes the block from the blocks set aside, and returns true.
    pub(crate) fn take_failed(&mut self, block: BlockId) -> bool {
        let failed = self.has_failed(block);
        if failed {
            self.pending_blocks.retain(|pending| pending.block != block);
        }
        failed
    }

    /// Returns the next block that was read too often. An open block is returned if it can be closed and emptied: with
    /// an erased block for its pages, and outside an atomic group. Otherwise it waits until that is so, or until it is
    /// full. A block that was erased meanwhile is dropped.
    pub(crate) fn take_disturbed(&mut self) -> Option<BlockId> {
        while let Some(block) = self.medium.take_disturbed() {
            self.disturbed.retain(|&(waiting, _)| waiting != block);
            self.disturbed.push((block, self.medium.erases(block)));
        }
        let Pool { medium, disturbed, .. } = self;
        disturbed.retain(|&(block, erases)| medium.erases(block) == erases);
        let can_close = self.watermarks.is_some() && !self.erased.is_empty() && !self.in_group;
        let at = self.disturbed.iter().position(|&(block, _)| can_close || !self.is_open(block))?;
        Some(self.disturbed.remove(at).0)
    }

    /// Closes `block` before it is full, if it is open; returns its frontier.
    pub(crate) fn close_early(&mut self, block: BlockId) -> Option<Frontier> {
        let open =
            self.frontiers.iter_mut().find(|open| open.is_some_and(|frontier| frontier.block == block));
        open.and_then(Option::take)
    }

    /// Retires a failed block that holds no more data.
    pub(crate) fn retire(&mut self, block: BlockId) {
        self.medium.retire(block);
        self.blocks.erased(block);
        self.usable_blocks -= 1;
    }

    /// Returns an error if fewer blocks are usable than cleaning needs.
    pub(crate) fn check_end_of_life(&self) -> Result<(), LayerError> {
        if self.usable_blocks < self.needed_blocks { Err(self.end_of_life()) } else { Ok(()) }
    }

    /// Returns the end-of-life error. If erased blocks ran out while cleaning still had the blocks that it needs, the
    /// error reports one more block as needed.
    pub(crate) fn end_of_life(&self) -> LayerError {
        let usable_blocks = self.usable_blocks;
        LayerError::EndOfLife { usable_blocks, needed_blocks: self.needed_blocks.max(usable_blocks + 1) }
    }

    /// True if the drive lacks usable blocks because some blocks have failed.
    fn has_lost_blocks(&self) -> bool {
        self.pending_blocks.iter().any(|pending| pending.is_failed)
            || self.usable_blocks < self.first_usable_blocks.max(self.needed_blocks)
    }

    /// Returns the error for a lack of free space: end of life if blocks were lost, otherwise [`LayerError::NoSpace`]
    /// (the drive was too small from the start).
    pub(crate) fn no_space(&self) -> LayerError {
        if self.has_lost_blocks() { self.end_of_life() } else { LayerError::NoSpace }
    }

    /// Returns the error for a block to be cleaned whose `live` pages have no destination: [`LayerError::ReserveTorn`]
    /// if pages torn by a power cut used up the reserve, and otherwise the error of [`Self::no_space`].
    pub(crate) fn no_room_for(&self, live: u32) -> LayerError {
        if self.is_recovered && !self.has_lost_blocks() {
            return LayerError::ReserveTorn { room: self.open_room(), live };
        }
        self.no_space()
    }
}
