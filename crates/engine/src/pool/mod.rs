//! The pool of blocks under every log and every FTL: which blocks are erased, open, closed, failed or gone for good, and what
//! was sent to the medium that they lie on.
//!
//! A block's life is one circle. *Erased* blocks wait in the order in which they were erased. `Pool::take_erased` and
//! `Pool::open` make one the *frontier* of a stream, `Pool::program` and `Pool::move_frontier` fill it, and full it is
//! *closed*: a candidate, of which `Pool::take_victim` picks one to be emptied by its owner. `Pool::give_back` erases it
//! into the pool again. Two ways lead out of the circle: an erase that wears the block out, and a program that fails, after
//! which the block is *set aside* until it is emptied and retired. With too few blocks left the drive's life ends
//! (`Pool::end_of_life`).
//!
//! The pool does not know where logical pages are: whose pages a block holds, and how they get away, is for the log or the
//! FTL above, which owns the pool.

mod abilities;
mod check;
mod faults;
mod levelling;
mod marks;
mod migration;
mod moves;
mod program;
mod remains;
#[cfg(test)]
mod tests;
mod victims;

pub use faults::SetAside;
pub use levelling::Levelling;
pub use marks::{FreeBlocks, Marks};
pub(crate) use migration::{Judge, Mover};
pub use migration::{Migration, Verdict};
pub use moves::Moves;
pub(crate) use program::Purpose;
pub use remains::Remains;
pub use victims::NoVictims;

use crate::counters::Counters;
use crate::layer::Medium;
use crate::units::{BlockId, StreamId};
use crate::victim::{Blocks, VictimPolicy};
use std::collections::VecDeque;

/// An open block and the page it takes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frontier {
    /// The block.
    pub block: BlockId,
    /// The page.
    pub page: u32,
}

/// What a pool is made for.
#[derive(Clone, Copy, Debug)]
pub struct PoolConfig {
    /// Logical pages kept on the blocks, those of metadata included.
    pub pages: u32,
    /// Streams, each with an open block of its own.
    pub streams: usize,
    /// Sequence number of the first page.
    pub first_sequence: u64,
    /// When cleaning begins and ends; `None` for a store that reclaims in place and keeps no erased blocks.
    pub marks: Option<Marks>,
    /// Whether a block whose program failed can be emptied, which takes pages with owners and erased blocks to move them to.
    pub survives_failed_programs: bool,
}

/// The blocks of a medium `M`, of which a policy `V` picks victims.
pub struct Pool<M, V> {
    /// What the blocks lie on.
    pub(crate) medium: M,
    /// What was sent there, and what came in from above.
    pub(crate) counters: Counters,
    /// Pages appended so far, moved ones included.
    pub(crate) sequence: u64,
    /// Pages still to come of the atomic group in hand; 0 if there is none.
    group_left: usize,
    /// Whether there is one.
    in_group: bool,
    /// Valid pages of every block, and which are candidates.
    pub(crate) blocks: Blocks,
    /// Who picks victims.
    pub(crate) victim: V,
    /// The open block of each stream.
    pub(crate) frontiers: Vec<Option<Frontier>>,
    /// Erased blocks, in the order in which they were erased.
    pub(crate) erased: VecDeque<BlockId>,
    /// Blocks closed before they were full, which wait to be emptied.
    pub(crate) set_aside: Vec<SetAside>,
    /// Blocks that are not bad.
    pub(crate) usable_blocks: u32,
    /// Blocks that were not bad when the pool was made.
    first_usable_blocks: u32,
    /// Blocks without which cleaning cannot go on; the owner says.
    pub(crate) needed_blocks: u32,
    /// When cleaning begins and ends.
    pub(crate) marks: Option<Marks>,
    /// Logs above that are cleaning.
    cleaning_above: u32,
    /// How often cleaning was put off for their sake.
    pub(crate) deferrals: u64,
    /// How wear is levelled, if it is.
    pub(crate) levelling: Option<Box<Levelling>>,
    /// How many pages each victim held: `victim_valid_pages[valid]`, victims.
    pub(crate) victim_valid_pages: Vec<u64>,
    /// Whose pages were moved, and how often.
    pub(crate) moves: Moves,
    survives_failed_programs: bool,
    /// Whether the policy wants to know which pages are programmed where.
    tells_programs: bool,
    /// Whether this is what a power cut left of a pool.
    pub(crate) is_recovered: bool,
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// All blocks of `medium` that are not bad, as erased ones.
    pub(crate) fn new(medium: M, victim: V, config: PoolConfig) -> Self {
        let (count, pages_per_block) = (medium.blocks(), medium.pages_per_block());
        let mut erased = VecDeque::with_capacity(count as usize);
        erased.extend((0..count).map(BlockId).filter(|&block| !medium.is_bad(block)));
        let usable_blocks = erased.len() as u32;
        let tells_programs = victim.needs().programs;
        Pool {
            counters: Counters::default(),
            sequence: config.first_sequence,
            group_left: 0,
            in_group: false,
            blocks: Blocks::new(count, pages_per_block, config.pages, victim.needs()),
            victim,
            frontiers: vec![None; config.streams],
            erased,
            set_aside: Vec::new(),
            usable_blocks,
            first_usable_blocks: usable_blocks,
            needed_blocks: 0,
            marks: config.marks,
            cleaning_above: 0,
            deferrals: 0,
            levelling: None,
            victim_valid_pages: vec![0; pages_per_block as usize + 1],
            moves: Moves::default(),
            survives_failed_programs: config.survives_failed_programs,
            tells_programs,
            is_recovered: false,
            medium,
        }
    }

    /// Pages in each block.
    #[inline(always)]
    pub(crate) fn pages_per_block(&self) -> u32 {
        self.medium.pages_per_block()
    }

    /// Pages that the frontier still takes.
    #[inline(always)]
    pub(crate) fn room(&self, frontier: Frontier) -> u32 {
        self.pages_per_block() - frontier.page
    }

    /// Pages that all open blocks still take.
    pub(crate) fn open_room(&self) -> u32 {
        self.frontiers.iter().flatten().map(|&frontier| self.room(frontier)).sum()
    }

    /// The frontier that is in `block`, if the block is open.
    pub(crate) fn frontier_in(&self, block: BlockId) -> Option<Frontier> {
        self.frontiers.iter().flatten().find(|frontier| frontier.block == block).copied()
    }

    /// Whether pages may still be appended to `block`.
    pub(crate) fn is_open(&self, block: BlockId) -> bool {
        self.frontier_in(block).is_some()
    }

    /// Pages of `block` written since its erase.
    pub(crate) fn written(&self, block: BlockId) -> u32 {
        if let Some(frontier) = self.frontier_in(block) {
            return frontier.page;
        }
        if self.blocks.is_candidate(block) {
            return self.pages_per_block();
        }
        self.set_aside.iter().find(|aside| aside.block == block).map_or(0, |aside| aside.written)
    }

    /// Makes the erased `block` the frontier of `stream`.
    #[inline]
    pub(crate) fn open(&mut self, stream: StreamId, block: BlockId) -> Frontier {
        let frontier = Frontier { block, page: 0 };
        self.frontiers[stream.index()] = Some(frontier);
        self.blocks.open(block);
        self.blocks.give_to(block, stream);
        frontier
    }

    /// Moves the stream's write pointer on by `pages`; whether the block is full now. Closing it is the caller's, who may know
    /// blocks that are no candidates.
    #[inline]
    pub(crate) fn move_frontier(&mut self, stream: StreamId, frontier: Frontier, pages: u32) -> bool {
        let page = frontier.page + pages;
        let is_full = page >= self.pages_per_block();
        self.frontiers[stream.index()] = (!is_full).then_some(Frontier { page, ..frontier });
        is_full
    }

    /// The full block becomes a candidate.
    #[inline]
    pub(crate) fn close(&mut self, block: BlockId) {
        self.blocks.close(block);
        self.victim.closed(block, &self.blocks);
    }
}
