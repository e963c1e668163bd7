//! Blocks that fail, and the end of a drive's life.
//!
//! A block in which a program failed takes no more pages. What was written to it stays where it is until there is an erased
//! block to move it to; then the block is retired.

use super::{Frontier, Pool};
use crate::layer::{LayerError, Medium};
use crate::units::{BlockId, StreamId};
use crate::victim::VictimPolicy;

/// A block that was closed before it was full, and waits to be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The block.
    pub block: BlockId,
    /// Pages that can be read, all from the first on.
    pub written: u32,
    /// Whether it is to be retired and not erased.
    pub failed: bool,
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// A program failed in the open block of `stream`, which holds `taken` pages more than its frontier says: it takes no
    /// more, and waits to be emptied.
    #[cold]
    pub(crate) fn set_aside_failed(&mut self, stream: StreamId, frontier: Frontier, taken: u32) {
        self.frontiers[stream.index()] = None;
        self.note_failed(frontier, taken);
    }

    /// The same of a block that is the frontier of no stream.
    #[cold]
    pub(crate) fn note_failed(&mut self, frontier: Frontier, taken: u32) {
        let written = frontier.page + taken;
        self.set_aside.push(SetAside { block: frontier.block, written, failed: true });
    }

    /// Whether a program failed in `block`, which is still to be emptied.
    pub(crate) fn has_failed(&self, block: BlockId) -> bool {
        self.set_aside.iter().any(|aside| aside.block == block && aside.failed)
    }

    /// Strikes `block` off the blocks set aside if a program failed in it; whether it had.
    pub(crate) fn take_failed(&mut self, block: BlockId) -> bool {
        let failed = self.has_failed(block);
        if failed {
            self.set_aside.retain(|aside| aside.block != block);
        }
        failed
    }

    /// Gives up a block that has failed and holds nothing any more.
    pub(crate) fn retire(&mut self, block: BlockId) {
        self.medium.retire(block);
        self.blocks.erased(block);
        self.usable_blocks -= 1;
    }

    /// Refuses to go on with fewer blocks than cleaning needs.
    pub(crate) fn check_life(&self) -> Result<(), LayerError> {
        if self.usable_blocks < self.needed_blocks { Err(self.end_of_life()) } else { Ok(()) }
    }

    /// The error that ends a drive's life. Where the erased blocks ran out before the usable ones fell below what cleaning
    /// needs, one block more is what it would have taken.
    pub(crate) fn end_of_life(&self) -> LayerError {
        let usable_blocks = self.usable_blocks;
        LayerError::EndOfLife { usable_blocks, needed_blocks: self.needed_blocks.max(usable_blocks + 1) }
    }

    /// Whether blocks have failed that would be needed now.
    fn has_lost_blocks(&self) -> bool {
        self.set_aside.iter().any(|aside| aside.failed)
            || self.usable_blocks < self.first_usable_blocks.max(self.needed_blocks)
    }

    /// Why there is no room: lost blocks have eaten it, or there never was enough.
    pub(crate) fn no_space(&self) -> LayerError {
        if self.has_lost_blocks() { self.end_of_life() } else { LayerError::NoSpace }
    }

    /// Why `live` pages of a block that is to be cleaned can go nowhere: lost blocks have eaten the reserve, or pages that were
    /// torn while it was in use.
    pub(crate) fn no_room_for(&self, live: u32) -> LayerError {
        if self.is_recovered && !self.has_lost_blocks() {
            return LayerError::ReserveTorn { room: self.open_room(), live };
        }
        self.no_space()
    }
}
