//! Resumption of cleaning that a power cut interrupted. This cleaning must finish before any other write.
//!
//! Between two requests, the pool has as many erased blocks as cleaning needs. Cleaning takes erased blocks and returns
//! the erased victim. After a power cut in between, the pool lacks erased blocks, and the rest of the victim's pages
//! must go to the free pages of the open blocks. If other writes used these free pages, the drive could never free a
//! block again.

use super::directory::Directory;
use super::store::LogStore;
use crate::layer::{LayerError, Medium};
use crate::placement::Placement;
use crate::pool::PendingBlock;
use crate::units::BlockId;
use crate::victim::VictimPolicy;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Determines, after a power cut, if cleaning was interrupted.
    pub(super) fn detect_interrupted_cleaning(&mut self) {
        self.pool.is_recovered = true;
        self.is_cleaning_interrupted = self.lacks_reserve();
    }

    fn lacks_reserve(&self) -> bool {
        self.pool.watermarks.is_some_and(|marks| self.pool.erased.len() < marks.low as usize)
    }

    /// Finishes cleaning that a power cut interrupted; called before every write.
    #[inline(always)]
    pub(super) fn resume_if_interrupted(&mut self) -> Result<(), LayerError> {
        if self.is_cleaning_interrupted { self.resume_cleaning() } else { Ok(()) }
    }

    /// Empties blocks until the reserve is complete; takes the blocks with the fewest live pages first, regardless of
    /// the victim policy.
    #[cold]
    fn resume_cleaning(&mut self) -> Result<(), LayerError> {
        while self.lacks_reserve() {
            let Some((live, block)) = self.emptiest().filter(|&(live, _)| live < self.pool.pages_per_block())
            else {
                break;
            };
            if self.pool.erased.is_empty() && live > self.pool.open_room() {
                return Err(self.pool.no_room_for(live));
            }
            self.while_cleaning(|store| store.empty_closed_block(block))?;
        }
        self.is_cleaning_interrupted = false;
        Ok(())
    }

    /// Returns the closed block (full or set aside) with the fewest live pages, and their number.
    fn emptiest(&self) -> Option<(u32, BlockId)> {
        let blocks = &self.pool.blocks;
        let full = blocks.iter_candidates().map(|block| (blocks.valid_pages(block), block));
        let set_aside = self.pool.pending_blocks.iter().filter(|aside| !aside.is_failed);
        let aside = set_aside.map(|&PendingBlock { block, written, .. }| {
            (blocks.valid_pages(block) - (blocks.pages_per_block() - written), block)
        });
        full.chain(aside).min()
    }

    fn empty_closed_block(&mut self, block: BlockId) -> Result<(), LayerError> {
        if self.pool.blocks.is_candidate(block) {
            self.pool.take_candidate(block);
            self.pool.count_victim(block);
            let written = self.pool.pages_per_block();
            self.pool.pending_blocks.push(PendingBlock { block, written, is_failed: false });
        }
        let at = self.pool.pending_blocks.iter().position(|aside| aside.block == block);
        self.empty_set_aside_block(at.expect("it was closed before it was full, or has just been set aside"))
    }
}
