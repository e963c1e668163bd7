//! The pool of blocks that every log and every FTL uses: states of blocks (erased, open, closed, failed, bad), and all
//! operations on the medium.
//!
//! The states of a block form a cycle. *Erased* blocks wait in the order in which they were erased. `Pool::take_erased`
//! and `Pool::open` make one the *frontier* of a stream; `Pool::program` and `Pool::advance_frontier` fill it. A full
//! block is *closed* and becomes a candidate. `Pool::take_victim` selects a candidate, which the log or FTL empties,
//! and `Pool::reclaim` erases the candidate into the pool again. A block leaves the cycle by an erase that wears it out
//! or by a failed program. After a failed program, the block is *set aside* until it is emptied and retired. With too
//! few blocks left, the drive's life ends (`Pool::end_of_life`).
//!
//! The pool does not know the locations of logical pages. The log or FTL that owns the pool keeps the map of pages and
//! moves them.

mod abilities;
mod check;
mod faults;
mod levelling;
mod migration;
mod moves;
mod program;
mod surviving_flash;
#[cfg(test)]
mod tests;
mod victims;
mod watermarks;

pub use faults::PendingBlock;
pub use levelling::Levelling;
pub use migration::{Decision, MigrationPolicy};
pub(crate) use migration::{MigrationExecutor, PageMover};
pub use moves::Moves;
pub(crate) use program::Purpose;
pub use surviving_flash::SurvivingFlash;
pub use victims::NoVictims;
pub use watermarks::{FreeBlocks, Watermarks};

use crate::counters::Counters;
use crate::layer::Medium;
use crate::units::{BlockId, StreamId};
use crate::victim::{Blocks, VictimPolicy};
use std::collections::VecDeque;

/// An open block and its next page to be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frontier {
    /// The block.
    pub block: BlockId,
    /// Index of the next page within the block.
    pub page: u32,
}

/// Parameters of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolConfig {
    /// Logical pages stored on the blocks, including those of metadata.
    pub pages: u32,
    /// Number of streams, each with its own open block.
    pub streams: usize,
    /// Sequence number of the first page.
    pub first_sequence: u64,
    /// Start and end of cleaning; `None` for a store that reclaims in place and has no reserve of erased blocks.
    pub watermarks: Option<Watermarks>,
    /// True if a block with a failed program can be emptied, which requires page owners and erased blocks.
    pub survives_failed_programs: bool,
}

/// The blocks of a medium `M`, with victims selected by a policy `V`.
pub struct Pool<M, V> {
    /// Medium of the blocks.
    pub(crate) medium: M,
    /// Operations sent to the medium, and operations received from above.
    pub(crate) counters: Counters,
    /// Number of pages appended so far, including moved pages.
    pub(crate) sequence: u64,
    /// Number of pages that the current atomic group still lacks; 0 outside a group.
    group_left: usize,
    /// True during an atomic group.
    in_group: bool,
    /// Number of valid pages of every block, and the candidates.
    pub(crate) blocks: Blocks,
    /// Victim policy.
    pub(crate) victim: V,
    /// The open block of each stream.
    pub(crate) frontiers: Vec<Option<Frontier>>,
    /// Erased blocks, in the order in which they were erased.
    pub(crate) erased: VecDeque<BlockId>,
    /// Blocks that were closed before they were full and are still to be emptied.
    pub(crate) pending_blocks: Vec<PendingBlock>,
    /// Blocks that were read too often, each with its number of erases at that time.
    disturbed: Vec<(BlockId, u32)>,
    /// Number of blocks that are not bad.
    pub(crate) usable_blocks: u32,
    /// Number of blocks that were not bad when the pool was created.
    first_usable_blocks: u32,
    /// Number of blocks without which cleaning is impossible, set by the log or FTL above.
    pub(crate) needed_blocks: u32,
    /// Start and end of cleaning.
    pub(crate) watermarks: Option<Watermarks>,
    /// Number of logs above that are cleaning.
    cleaning_above: u32,
    /// Number of times cleaning was deferred for a log above.
    pub(crate) deferrals: u64,
    /// Wear levelling, if enabled.
    pub(crate) levelling: Option<Box<Levelling>>,
    /// Number of victims by their valid pages: `victim_valid_pages[valid]`.
    pub(crate) victim_valid_pages: Vec<u64>,
    /// Attribution and counts of moved pages.
    pub(crate) moves: Moves,
    survives_failed_programs: bool,
    /// True if the victim policy is notified of programmed pages.
    reports_programs: bool,
    /// True if the pool was recovered after a power cut.
    pub(crate) is_recovered: bool,
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Creates a pool of all blocks of `medium` that are not bad; all are erased.
    pub(crate) fn new(medium: M, victim: V, config: PoolConfig) -> Self {
        let (count, pages_per_block) = (medium.blocks(), medium.pages_per_block());
        let mut erased = VecDeque::with_capacity(count as usize);
        erased.extend((0..count).map(BlockId).filter(|&block| !medium.is_bad(block)));
        let usable_blocks = erased.len() as u32;
        let reports_programs = victim.needs().programs;
        Pool {
            counters: Counters::default(),
            sequence: config.first_sequence,
            group_left: 0,
            in_group: false,
            blocks: Blocks::new(count, pages_per_block, config.pages, victim.needs()),
            victim,
            frontiers: vec![None; config.streams],
            erased,
            pending_blocks: Vec::new(),
            disturbed: Vec::new(),
            usable_blocks,
            first_usable_blocks: usable_blocks,
            needed_blocks: 0,
            watermarks: config.watermarks,
            cleaning_above: 0,
            deferrals: 0,
            levelling: None,
            victim_valid_pages: vec![0; pages_per_block as usize + 1],
            moves: Moves::default(),
            survives_failed_programs: config.survives_failed_programs,
            reports_programs,
            is_recovered: false,
            medium,
        }
    }

    /// Returns the number of pages per block.
    #[inline(always)]
    pub(crate) fn pages_per_block(&self) -> u32 {
        self.medium.pages_per_block()
    }

    /// Returns the number of free pages of the frontier's block.
    #[inline(always)]
    pub(crate) fn room(&self, frontier: Frontier) -> u32 {
        self.pages_per_block() - frontier.page
    }

    /// Returns the number of free pages in all open blocks.
    pub(crate) fn open_room(&self) -> u32 {
        self.frontiers.iter().flatten().map(|&frontier| self.room(frontier)).sum()
    }

    /// Returns the frontier in `block`, if the block is open.
    pub(crate) fn frontier_in(&self, block: BlockId) -> Option<Frontier> {
        self.frontiers.iter().flatten().find(|frontier| frontier.block == block).copied()
    }

    /// True if pages can still be appended to `block`.
    pub(crate) fn is_open(&self, block: BlockId) -> bool {
        self.frontier_in(block).is_some()
    }

    /// Returns the number of pages of `block` written since its erase.
    pub(crate) fn written(&self, block: BlockId) -> u32 {
        if let Some(frontier) = self.frontier_in(block) {
            return frontier.page;
        }
        if self.blocks.is_candidate(block) {
            return self.pages_per_block();
        }
        self.pending_blocks.iter().find(|pending| pending.block == block).map_or(0, |aside| aside.written)
    }

    /// Makes the erased `block` the frontier of `stream`.
    #[inline]
    pub(crate) fn open(&mut self, stream: StreamId, block: BlockId) -> Frontier {
        let frontier = Frontier { block, page: 0 };
        self.frontiers[stream.index()] = Some(frontier);
        self.blocks.open(block);
        self.blocks.set_stream(block, stream);
        frontier
    }

    /// Advances the stream's frontier by `pages`; returns true if the block is now full. The caller then decides about
    /// closing the block, because some blocks must not become candidates.
    #[inline]
    pub(crate) fn advance_frontier(&mut self, stream: StreamId, frontier: Frontier, pages: u32) -> bool {
        let page = frontier.page + pages;
        let is_full = page >= self.pages_per_block();
        self.frontiers[stream.index()] = (!is_full).then_some(Frontier { page, ..frontier });
        is_full
    }

    /// Makes the full block a candidate.
    #[inline]
    pub(crate) fn close(&mut self, block: BlockId) {
        self.blocks.close(block);
        self.victim.closed(block, &self.blocks);
    }
}
