//! The block table, read by policies and changed only by the engine.

use crate::table::{filled, prefetch};
use crate::units::{BlockId, StreamId};

/// Number added to the valid pages of a block that is not a candidate, so that the block loses every comparison and the
/// search for a victim needs no second test.
const NOT_CANDIDATE: u32 = 1 << 31;

/// Optional data of blocks, as used by a policy; the engine does not store data that the policy does not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Time at which each block was closed.
    pub age: bool,
    /// Erase count of each block.
    pub erases: bool,
    /// Stream of each block, and the placement's target number of blocks per stream.
    pub streams: bool,
    /// Calls of `VictimPolicy::programmed` with the pages programmed into each block.
    pub programs: bool,
}

impl Needs {
    /// No optional data.
    pub const NONE: Needs = Needs { age: false, erases: false, streams: false, programs: false };
}

/// Number of valid pages of every block, and the set of candidates for cleaning: full, closed blocks.
///
/// Erased, open and bad blocks are not candidates.
#[derive(Clone, Debug)]
pub struct Blocks {
    pages_per_block: u32,
    logical_pages: u32,
    candidates: u32,
    /// Number of host pages written to the layer so far, which is the clock for the ages of blocks.
    now: u64,
    counts: Vec<u32>,
    closed_at: Vec<u64>,
    erases: Vec<u32>,
    streams: Vec<StreamId>,
    /// Target number of blocks of each of the placement's first streams.
    target_blocks: Vec<u32>,
}

impl Blocks {
    /// Creates a table in which all blocks are erased.
    pub fn new(blocks: u32, pages_per_block: u32, logical_pages: u32, needs: Needs) -> Self {
        let len_if = |wanted: bool| if wanted { blocks as usize } else { 0 };
        Blocks {
            pages_per_block,
            logical_pages,
            candidates: 0,
            now: 0,
            counts: filled(blocks as usize, NOT_CANDIDATE),
            closed_at: vec![0; len_if(needs.age)],
            erases: vec![0; len_if(needs.erases)],
            streams: vec![StreamId(0); len_if(needs.streams)],
            target_blocks: Vec::new(),
        }
    }

    /// Creates a table of candidates with the given valid pages, ages and erases.
    #[cfg(test)]
    pub(crate) fn of_candidates(pages_per_block: u32, logical_pages: u32, rows: &[(u32, u64, u32)]) -> Self {
        let now = rows.iter().map(|&(_, age, _)| age).max().unwrap_or(0);
        Blocks {
            pages_per_block,
            logical_pages,
            candidates: rows.len() as u32,
            now,
            counts: rows.iter().map(|&(valid, _, _)| valid).collect(),
            closed_at: rows.iter().map(|&(_, age, _)| now - age).collect(),
            erases: rows.iter().map(|&(_, _, erases)| erases).collect(),
            streams: vec![StreamId(0); rows.len()],
            target_blocks: Vec::new(),
        }
    }

    /// Returns the number of all blocks, including those that are not candidates.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.counts.len() as u32
    }

    /// True if there are no blocks at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the number of candidates.
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// Returns the number of pages per block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Returns the number of logical pages of the layer.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Returns the number of host pages written to the layer so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the sort key of the block in a search for the fewest valid pages: for a candidate, its number of valid
    /// pages; for any other block, a number above that of every candidate.
    #[inline(always)]
    pub fn score(&self, block: BlockId) -> u32 {
        self.counts[block.index()]
    }

    /// Prefetches the block's score. Does not affect any result.
    #[inline(always)]
    pub fn prefetch_score(&self, block: BlockId) {
        prefetch(self.counts.as_ptr().wrapping_add(block.index()));
    }

    /// Returns the scores of all blocks.
    #[inline(always)]
    pub fn scores(&self) -> &[u32] {
        &self.counts
    }

    /// True if `score` belongs to a candidate.
    #[inline(always)]
    pub fn is_candidate_score(score: u32) -> bool {
        score < NOT_CANDIDATE
    }

    /// True if the block is full, closed and not bad.
    #[inline(always)]
    pub fn is_candidate(&self, block: BlockId) -> bool {
        Self::is_candidate_score(self.score(block))
    }

    /// Returns the number of valid pages of a block, which need not be a candidate.
    #[inline(always)]
    pub fn valid_pages(&self, block: BlockId) -> u32 {
        self.counts[block.index()] & !NOT_CANDIDATE
    }

    /// Returns the number of host pages written since the block was closed; 0 unless the policy needs ages.
    pub fn age(&self, block: BlockId) -> u64 {
        self.closed_at.get(block.index()).map_or(0, |&closed_at| self.now - closed_at)
    }

    /// Returns the erase count of the block; 0 unless the policy needs erase counts.
    pub fn erases(&self, block: BlockId) -> u32 {
        self.erases.get(block.index()).copied().unwrap_or(0)
    }

    /// Returns the current or last stream of the block; 0 unless the policy needs streams.
    pub fn stream(&self, block: BlockId) -> StreamId {
        self.streams.get(block.index()).copied().unwrap_or_default()
    }

    /// Returns the placement's target number of blocks for each of its first streams; the other streams share the
    /// remaining blocks. Empty without targets, or unless the policy needs streams.
    pub fn target_blocks(&self) -> &[u32] {
        &self.target_blocks
    }

    /// Returns the candidates.
    pub fn iter_candidates(&self) -> impl Iterator<Item = BlockId> + '_ {
        let candidate = |&(_, &score): &(usize, &u32)| Self::is_candidate_score(score);
        self.counts.iter().enumerate().filter(candidate).map(|(block, _)| BlockId(block as u32))
    }

    /// Returns the memory used, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        4 * self.counts.len() + 8 * self.closed_at.len() + 4 * self.erases.len() + self.streams.len()
    }

    /// Advances the clock.
    #[inline]
    pub(crate) fn advance(&mut self, host_pages: u64) {
        self.now += host_pages;
    }

    /// Opens the erased block. All its pages count as valid until they are invalidated, so that a page that is
    /// overwritten while its block is open costs a single decrement, like any other page.
    pub(crate) fn open(&mut self, block: BlockId) {
        self.counts[block.index()] = self.pages_per_block | NOT_CANDIDATE;
    }

    /// Assigns the open block to `stream`.
    pub(crate) fn set_stream(&mut self, block: BlockId, stream: StreamId) {
        if let Some(current) = self.streams.get_mut(block.index()) {
            *current = stream;
        }
    }

    /// Sets the target number of blocks of the placement's first streams.
    pub(crate) fn set_target_blocks(&mut self, targets: &[u32]) {
        if !self.streams.is_empty() && self.target_blocks != targets {
            self.target_blocks.clear();
            self.target_blocks.extend_from_slice(targets);
        }
    }

    /// Makes the full block a candidate.
    pub(crate) fn close(&mut self, block: BlockId) {
        self.counts[block.index()] &= !NOT_CANDIDATE;
        self.candidates += 1;
        let now = self.now;
        if let Some(closed_at) = self.closed_at.get_mut(block.index()) {
            *closed_at = now;
        }
    }

    /// Removes the selected block from the candidates; its valid pages are kept.
    pub(crate) fn take(&mut self, block: BlockId) {
        debug_assert!(self.is_candidate(block));
        self.counts[block.index()] |= NOT_CANDIDATE;
        self.candidates -= 1;
    }

    /// Marks the block as erased.
    pub(crate) fn erased(&mut self, block: BlockId) {
        self.counts[block.index()] = NOT_CANDIDATE;
        if let Some(erases) = self.erases.get_mut(block.index()) {
            *erases += 1;
        }
    }

    /// Sets the number of valid pages of the block, without changing its candidate state.
    pub(crate) fn set_valid_pages(&mut self, block: BlockId, valid: u32) {
        let count = &mut self.counts[block.index()];
        *count = *count & NOT_CANDIDATE | valid;
    }

    /// Sets the clock, in a table that shows only some of the blocks.
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// In a table that shows only some of the blocks, makes a row show `block` of the full table, as a candidate with
    /// `valid` valid pages.
    pub(crate) fn set_row(&mut self, row: BlockId, valid: u32, block: BlockId, all: &Blocks) {
        self.counts[row.index()] = valid;
        self.candidates += 1;
        self.now = all.now;
        if let Some(closed_at) = self.closed_at.get_mut(row.index()) {
            *closed_at = all.now - all.age(block);
        }
        if let Some(erases) = self.erases.get_mut(row.index()) {
            *erases = all.erases(block);
        }
        self.set_stream(row, all.stream(block));
    }

    /// Adds empty rows, keeping the mean number of valid pages per block.
    pub(crate) fn add_rows(&mut self, rows: u32) {
        let pages = u64::from(self.logical_pages) * u64::from(rows) / u64::from(self.len().max(1));
        self.logical_pages = pages as u32;
        self.counts.resize(rows as usize, NOT_CANDIDATE);
        let new_len = |table: usize| if table > 0 { rows as usize } else { 0 };
        self.closed_at.resize(new_len(self.closed_at.len()), 0);
        self.erases.resize(new_len(self.erases.len()), 0);
        self.streams.resize(new_len(self.streams.len()), StreamId(0));
    }

    /// Empties a row that was taken.
    pub(crate) fn clear_row(&mut self, row: BlockId) {
        self.counts[row.index()] = NOT_CANDIDATE;
    }

    /// Invalidates `pages` pages of the block; returns the new score.
    pub(crate) fn invalidate_many(&mut self, block: BlockId, pages: u32) -> u32 {
        let count = &mut self.counts[block.index()];
        *count -= pages;
        *count
    }

    /// Invalidates a page of the block; returns the new score.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, block: BlockId) -> u32 {
        let count = &mut self.counts[block.index()];
        *count -= 1;
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_table_tracks_a_block_and_stores_only_needed_data() {
        let block = BlockId(1);
        for (age, erases) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut blocks = Blocks::new(3, 4, 8, Needs { age, erases, ..Needs::default() });
            assert_eq!((blocks.len(), blocks.pages_per_block(), blocks.logical_pages()), (3, 4, 8));
            assert_eq!(blocks.memory_bytes(), 3 * (4 + if age { 8 } else { 0 } + if erases { 4 } else { 0 }));
            blocks.open(block);
            assert!(!blocks.is_candidate(block) && blocks.valid_pages(block) == 4, "until they die");
            blocks.advance(4);
            blocks.close(block);
            blocks.advance(5);
            assert_eq!((blocks.now(), blocks.age(block)), (9, if age { 5 } else { 0 }));
            assert!(blocks.iter_candidates().eq([block]) && blocks.candidates() == 1);
            assert_eq!((blocks.invalidate_many(block, 2), blocks.invalidate(block)), (2, 1));
            assert!(Blocks::is_candidate_score(blocks.scores()[1]) && blocks.score(block) == 1);
            blocks.take(block);
            assert_eq!(
                (blocks.candidates(), blocks.valid_pages(block)),
                (0, 1),
                "what it holds is known still"
            );
            blocks.erased(block);
            assert_eq!((blocks.valid_pages(block), blocks.erases(block)), (0, u32::from(erases)));
            assert!(blocks.scores().iter().all(|&score| !Blocks::is_candidate_score(score)));
        }
        assert!(
            Blocks::new(0, 4, 0, Needs::default()).is_empty()
                && !Blocks::new(1, 4, 0, Needs::default()).is_empty()
        );
    }
}
