//! The block table that policies look at and only the engine changes.

use crate::table::{filled, prefetch};
use crate::units::{BlockId, StreamId};

/// Added to the count of a block that is no candidate, so that it loses every comparison
/// and the search for a victim needs no second test.
const NOT_CANDIDATE: u32 = 1 << 31;

/// What a policy wants to know beyond valid pages; what nobody wants is not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// When each block was closed.
    pub age: bool,
    /// How often each block was erased.
    pub erases: bool,
    /// The stream of each block, and how many blocks the placement wants in each.
    pub streams: bool,
    /// Which pages are programmed where: `VictimPolicy::programmed`.
    pub programs: bool,
}

/// Valid pages of every block, and which blocks are candidates for cleaning: the full, closed ones.
///
/// Erased, open and bad blocks are no candidates.
#[derive(Clone, Debug)]
pub struct Blocks {
    pages_per_block: u32,
    logical_pages: u32,
    candidates: u32,
    /// Host pages written to the layer so far: the clock by which age is measured.
    now: u64,
    counts: Vec<u32>,
    closed_at: Vec<u64>,
    erases: Vec<u32>,
    streams: Vec<StreamId>,
    /// Blocks that the placement wants in each of its first streams.
    wanted: Vec<u32>,
}

impl Blocks {
    /// All blocks erased.
    pub fn new(blocks: u32, pages_per_block: u32, logical_pages: u32, needs: Needs) -> Self {
        let kept = |wanted: bool| if wanted { blocks as usize } else { 0 };
        Blocks {
            pages_per_block,
            logical_pages,
            candidates: 0,
            now: 0,
            counts: filled(blocks as usize, NOT_CANDIDATE),
            closed_at: vec![0; kept(needs.age)],
            erases: vec![0; kept(needs.erases)],
            streams: vec![StreamId(0); kept(needs.streams)],
            wanted: Vec::new(),
        }
    }

    /// Candidates with the given valid pages, ages and erases.
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
            wanted: Vec::new(),
        }
    }

    /// Number of blocks, candidates or not.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.counts.len() as u32
    }

    /// Whether there are no blocks at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Number of candidates.
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// Pages in each block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Logical pages of the layer.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Host pages written to the layer so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// What is compared to find the block with the fewest valid pages: a candidate's valid pages,
    /// and for any other block a number above every candidate's.
    #[inline(always)]
    pub fn score(&self, block: BlockId) -> u32 {
        self.counts[block.index()]
    }

    /// Brings the block's score into the cache. A hint: no effect on any result.
    #[inline(always)]
    pub fn prefetch_score(&self, block: BlockId) {
        prefetch(self.counts.as_ptr().wrapping_add(block.index()));
    }

    /// The scores of all blocks.
    #[inline(always)]
    pub fn scores(&self) -> &[u32] {
        &self.counts
    }

    /// Whether `score` is that of a candidate.
    #[inline(always)]
    pub fn is_candidate_score(score: u32) -> bool {
        score < NOT_CANDIDATE
    }

    /// Whether the block is full, closed and not bad.
    #[inline(always)]
    pub fn is_candidate(&self, block: BlockId) -> bool {
        Self::is_candidate_score(self.score(block))
    }

    /// Valid pages of any block.
    #[inline(always)]
    pub fn valid_pages(&self, block: BlockId) -> u32 {
        self.counts[block.index()] & !NOT_CANDIDATE
    }

    /// Host pages written since the block was closed; 0 unless the policy needs ages.
    pub fn age(&self, block: BlockId) -> u64 {
        self.closed_at.get(block.index()).map_or(0, |&closed_at| self.now - closed_at)
    }

    /// Erases of the block; 0 unless the policy needs them.
    pub fn erases(&self, block: BlockId) -> u32 {
        self.erases.get(block.index()).copied().unwrap_or(0)
    }

    /// The stream that the block belongs to or last belonged to; 0 unless the policy needs streams.
    pub fn stream(&self, block: BlockId) -> StreamId {
        self.streams.get(block.index()).copied().unwrap_or_default()
    }

    /// How many blocks the placement wants in each of its first streams, the others sharing what is left; empty if it does not
    /// say, or unless the policy needs streams.
    pub fn wanted(&self) -> &[u32] {
        &self.wanted
    }

    /// The candidates.
    pub fn iter_candidates(&self) -> impl Iterator<Item = BlockId> + '_ {
        let candidate = |&(_, &score): &(usize, &u32)| Self::is_candidate_score(score);
        self.counts.iter().enumerate().filter(candidate).map(|(block, _)| BlockId(block as u32))
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        4 * self.counts.len() + 8 * self.closed_at.len() + 4 * self.erases.len() + self.streams.len()
    }

    /// Lets time pass.
    #[inline]
    pub(crate) fn advance(&mut self, host_pages: u64) {
        self.now += host_pages;
    }

    /// The block is erased and takes pages from now on: all of them count as valid until they die, so that a
    /// page written and overwritten while the block is open costs the same single decrement as any other.
    pub(crate) fn open(&mut self, block: BlockId) {
        self.counts[block.index()] = self.pages_per_block | NOT_CANDIDATE;
    }

    /// The block, which is open, belongs to `stream`.
    pub(crate) fn give_to(&mut self, block: BlockId, stream: StreamId) {
        if let Some(of) = self.streams.get_mut(block.index()) {
            *of = stream;
        }
    }

    /// What the placement wants, in blocks of each of its first streams.
    pub(crate) fn want(&mut self, wanted: &[u32]) {
        if !self.streams.is_empty() && self.wanted != wanted {
            self.wanted.clear();
            self.wanted.extend_from_slice(wanted);
        }
    }

    /// The block is full and becomes a candidate.
    pub(crate) fn close(&mut self, block: BlockId) {
        self.counts[block.index()] &= !NOT_CANDIDATE;
        self.candidates += 1;
        let now = self.now;
        if let Some(closed_at) = self.closed_at.get_mut(block.index()) {
            *closed_at = now;
        }
    }

    /// The block was selected and is a candidate no more; its valid pages are kept.
    pub(crate) fn take(&mut self, block: BlockId) {
        debug_assert!(self.is_candidate(block));
        self.counts[block.index()] |= NOT_CANDIDATE;
        self.candidates -= 1;
    }

    /// The block holds nothing.
    pub(crate) fn erased(&mut self, block: BlockId) {
        self.counts[block.index()] = NOT_CANDIDATE;
        if let Some(erases) = self.erases.get_mut(block.index()) {
            *erases += 1;
        }
    }

    /// The block, which keeps its place among the candidates or outside, turns out to have so many valid pages.
    pub(crate) fn recount(&mut self, block: BlockId, valid: u32) {
        let count = &mut self.counts[block.index()];
        *count = *count & NOT_CANDIDATE | valid;
    }

    /// What the host has written so far, in a table that shows only some of the blocks.
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// A row of such a table shows `block` of the table of all blocks, as a candidate with so many valid pages.
    pub(crate) fn show(&mut self, row: BlockId, valid: u32, block: BlockId, all: &Blocks) {
        self.counts[row.index()] = valid;
        self.candidates += 1;
        self.now = all.now;
        if let Some(closed_at) = self.closed_at.get_mut(row.index()) {
            *closed_at = all.now - all.age(block);
        }
        if let Some(erases) = self.erases.get_mut(row.index()) {
            *erases = all.erases(block);
        }
        self.give_to(row, all.stream(block));
    }

    /// Adds rows that show nothing, the average block being as full as before.
    pub(crate) fn grow(&mut self, rows: u32) {
        let pages = u64::from(self.logical_pages) * u64::from(rows) / u64::from(self.len().max(1));
        self.logical_pages = pages as u32;
        self.counts.resize(rows as usize, NOT_CANDIDATE);
        let kept = |table: usize| if table > 0 { rows as usize } else { 0 };
        self.closed_at.resize(kept(self.closed_at.len()), 0);
        self.erases.resize(kept(self.erases.len()), 0);
        self.streams.resize(kept(self.streams.len()), StreamId(0));
    }

    /// A row that was taken shows nothing.
    pub(crate) fn hide(&mut self, row: BlockId) {
        self.counts[row.index()] = NOT_CANDIDATE;
    }

    /// So many pages of the block died; returns the new score.
    pub(crate) fn invalidate_many(&mut self, block: BlockId, pages: u32) -> u32 {
        let count = &mut self.counts[block.index()];
        *count -= pages;
        *count
    }

    /// A page of the block died; returns the new score.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, block: BlockId) -> u32 {
        let count = &mut self.counts[block.index()];
        *count -= 1;
        *count
    }
}
