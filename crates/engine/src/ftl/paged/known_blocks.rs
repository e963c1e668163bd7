//! Blocks that a victim policy sees: all, or only those with a known number of valid pages.

use crate::counters::Cause;
use crate::seed::{Random, Seed};
use crate::table::filled;
use crate::units::{BlockId, Lpn};
use crate::validity::PageSet;
use crate::victim::{Blocks, LowerLayerView, Needs, VictimPolicy, draw_block};
use rand::RngCore;
use std::collections::{BTreeSet, VecDeque};

/// Choice of victims.
pub enum VictimChooser {
    /// A policy that sees all blocks.
    All(Box<dyn VictimPolicy>),
    /// A policy that sees only blocks with a known number of valid pages.
    KnownBlocks(Box<KnownBlocks>),
}

/// A separate table of the blocks with a known number of valid pages. The policy sees only its rows.
///
/// A user block is added after a query of the validity store. The block is removed when it becomes a victim, or when
/// more blocks are known than may be remembered and the block has the most valid pages. Metadata blocks are added when
/// they are closed.
pub struct KnownBlocks {
    policy: Box<dyn VictimPolicy>,
    random: Random,
    /// Maximum number of user blocks remembered from one victim to the next.
    remembered: usize,
    /// Number of blocks drawn for each victim.
    choices: u32,
    table: Blocks,
    rows: Vec<Row>,
    free: Vec<u32>,
    /// Row of each block, plus 1; 0 without a row.
    row_of: Vec<u32>,
    /// Number of known user blocks.
    sampled: usize,
    fullest_rows: FullestRows,
    /// Blocks queried since the last victim, with the answers.
    answers: Vec<(BlockId, PageSet)>,
    spare_sets: Vec<PageSet>,
    /// Closed metadata blocks without invalid pages. If these blocks had rows, a policy based on closing order would
    /// always choose them and never a user block, which is only known during one selection.
    full_metadata: BTreeSet<BlockId>,
    /// Blocks with the most recently reported invalid pages.
    recently_reported: VecDeque<BlockId>,
}

/// Content of a row.
#[derive(Clone, Copy, Debug)]
struct Row {
    block: BlockId,
    is_metadata: bool,
}

const NO_BLOCK: BlockId = BlockId(u32::MAX);

/// Sizes of a table of known blocks.
#[derive(Clone, Copy, Debug)]
pub struct KnownBlocksSize {
    /// Number of all blocks.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Number of logical pages.
    pub logical_pages: u32,
    /// Maximum number of user blocks remembered.
    pub remembered: u32,
    /// Number of blocks drawn for each victim.
    pub choices: u32,
    /// Expected number of metadata blocks in the table; the table grows if there are more.
    pub metadata: u32,
}

impl KnownBlocks {
    /// Creates an empty table.
    pub fn new(policy: Box<dyn VictimPolicy>, size: KnownBlocksSize, seed: Seed) -> Self {
        let KnownBlocksSize { blocks, pages_per_block, logical_pages, remembered, choices, metadata } = size;
        let rows = remembered.saturating_add(choices).saturating_add(metadata).min(blocks);
        // This assumes that blocks in the table are as full as the average block of the drive.
        let pages = u64::from(logical_pages) * u64::from(rows) / u64::from(blocks.max(1));
        KnownBlocks {
            random: seed.derive("known blocks").random(),
            remembered: remembered as usize,
            choices,
            table: Blocks::new(rows, pages_per_block, pages as u32, policy.needs()),
            rows: vec![Row { block: NO_BLOCK, is_metadata: false }; rows as usize],
            free: (0..rows).rev().collect(),
            row_of: filled(blocks as usize, 0),
            sampled: 0,
            fullest_rows: FullestRows::new(rows as usize, pages_per_block),
            answers: Vec::new(),
            spare_sets: Vec::new(),
            full_metadata: BTreeSet::new(),
            recently_reported: VecDeque::new(),
            policy,
        }
    }

    /// Returns the number of blocks drawn for each victim.
    pub fn choices(&self) -> u32 {
        self.choices
    }

    /// True if the block's number of valid pages is known.
    pub fn is_known(&self, block: BlockId) -> bool {
        self.row_of[block.index()] > 0
    }

    /// Draws a user block that is a candidate: one with a recently reported page if `reported`, otherwise uniformly
    /// at random.
    pub fn draw(
        &mut self,
        blocks: &Blocks,
        reported: bool,
        is_user: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        let is_suitable = |block: &BlockId| blocks.is_candidate(*block) && is_user(*block);
        let recent = if reported { self.recently_reported.pop_back() } else { None };
        recent.filter(is_suitable).or_else(|| draw_block(&mut self.random, blocks, &is_user))
    }

    /// Returns an empty set to be filled with the invalid pages of a block.
    pub fn empty_set(&mut self, pages: u32) -> PageSet {
        let mut set = self.spare_sets.pop().unwrap_or_else(|| PageSet::new(pages));
        set.clear();
        set
    }

    /// Adds a user block with the validity store's answer.
    pub fn add_answer(&mut self, block: BlockId, invalid: PageSet, blocks: &Blocks) {
        self.add_row(block, invalid.pages() - invalid.count(), false, blocks);
        self.answers.push((block, invalid));
    }

    /// Adds a closed metadata block; a block without invalid pages gets a row only when one of its pages is
    /// invalidated.
    pub fn add_metadata(&mut self, block: BlockId, blocks: &Blocks) {
        let valid = blocks.valid_pages(block);
        if valid < blocks.pages_per_block() {
            self.add_row(block, valid, true, blocks);
        } else {
            self.full_metadata.insert(block);
        }
    }

    /// Returns the invalid pages of the victim, if it was queried since the last victim.
    pub fn take_answer(&mut self, victim: BlockId) -> Option<PageSet> {
        let at = self.answers.iter().position(|(block, _)| *block == victim)?;
        Some(self.answers.swap_remove(at).1)
    }

    /// Returns a set that is no longer needed, for reuse.
    pub fn recycle(&mut self, set: PageSet) {
        self.spare_sets.push(set);
    }

    /// Ends a selection, with or without a victim: drops all answers except that of the victim, and the blocks beyond
    /// the maximum number remembered, fullest first.
    pub fn end_round(&mut self, victim: Option<BlockId>) {
        for at in (0..self.answers.len()).rev() {
            if Some(self.answers[at].0) != victim {
                let (_, set) = self.answers.swap_remove(at);
                self.spare_sets.push(set);
            }
        }
        while self.sampled > self.remembered {
            let Some(row) = self.fullest_rows.pop(&self.table) else { break };
            self.table.take(row);
            self.policy.taken(row);
            self.release(row);
        }
    }

    /// Checks the table against the table of all blocks.
    pub fn check(&self, blocks: &Blocks) -> Result<(), String> {
        let mut user_rows = 0;
        for (row, &Row { block, is_metadata }) in (0u32..).zip(&self.rows) {
            if block == NO_BLOCK {
                continue;
            }
            user_rows += usize::from(!is_metadata);
            let (known_score, score) = (self.table.score(BlockId(row)), blocks.score(block));
            if known_score != score || self.row_of[block.index()] != row + 1 {
                return Err(format!("block {} is known with a score of {known_score}, not {score}", block.0));
            }
        }
        if user_rows != self.sampled || self.sampled > self.remembered + self.choices as usize {
            return Err(format!("{user_rows} blocks of the user are known, {} counted", self.sampled));
        }
        Ok(())
    }

    fn add_row(&mut self, block: BlockId, valid: u32, is_metadata: bool, blocks: &Blocks) {
        let row = BlockId(self.free.pop().unwrap_or_else(|| self.grow()));
        self.rows[row.index()] = Row { block, is_metadata };
        self.row_of[block.index()] = row.0 + 1;
        if !is_metadata {
            self.sampled += 1;
            self.fullest_rows.push(row, valid);
        }
        self.table.set_row(row, valid, block, blocks);
        self.policy.closed(row, &self.table);
    }

    /// Adds rows and returns a free one.
    #[cold]
    fn grow(&mut self) -> u32 {
        let (old, all) = (self.rows.len() as u32, self.row_of.len() as u32);
        let new = (old + old / 2 + 8).min(all);
        self.table.add_rows(new);
        self.rows.resize(new as usize, Row { block: NO_BLOCK, is_metadata: false });
        self.fullest_rows.generations.resize(new as usize, 0);
        self.free.extend((old..new).rev());
        self.free.pop().expect("a row for every block")
    }

    /// Frees the row. Returns the block that it contained.
    fn release(&mut self, row: BlockId) -> BlockId {
        let Row { block, is_metadata } = self.rows[row.index()];
        self.rows[row.index()].block = NO_BLOCK;
        self.row_of[block.index()] = 0;
        self.table.clear_row(row);
        self.free.push(row.0);
        if !is_metadata {
            self.sampled -= 1;
            self.fullest_rows.discard(row);
        }
        block
    }

    fn row(&self, block: BlockId) -> Option<BlockId> {
        self.row_of[block.index()].checked_sub(1).map(BlockId)
    }

    fn invalidated(&mut self, block: BlockId, blocks: &Blocks) {
        match self.row(block) {
            Some(row) => {
                let score = self.table.invalidate(row);
                self.policy.invalidated(row, score, &self.table);
            }
            None if self.full_metadata.remove(&block) => {
                self.add_row(block, blocks.valid_pages(block), true, blocks);
            }
            None => {
                if self.recently_reported.len() >= self.choices as usize {
                    self.recently_reported.pop_front();
                }
                self.recently_reported.push_back(block);
            }
        }
    }

    fn taken(&mut self, block: BlockId) {
        self.full_metadata.remove(&block);
        if let Some(row) = self.row(block) {
            self.table.take(row);
            self.policy.taken(row);
            self.release(row);
        }
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        self.table.set_now(blocks.now());
        let row = self.policy.select(&self.table);
        self.table.take(row);
        self.release(row)
    }
}

impl VictimPolicy for VictimChooser {
    fn needs(&self) -> Needs {
        match self {
            VictimChooser::All(policy) => policy.needs(),
            VictimChooser::KnownBlocks(known) => known.policy.needs(),
        }
    }

    fn closed(&mut self, block: BlockId, blocks: &Blocks) {
        if let VictimChooser::All(policy) = self {
            policy.closed(block, blocks);
        }
    }

    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, score: u32, blocks: &Blocks) {
        match self {
            VictimChooser::All(policy) => policy.invalidated(block, score, blocks),
            VictimChooser::KnownBlocks(known) => known.invalidated(block, blocks),
        }
    }

    fn programmed(&mut self, block: BlockId, first: u32, pages: &[Lpn], cause: Cause, blocks: &Blocks) {
        // A policy that sees only known blocks uses row numbers as block numbers, so it is not notified.
        if let VictimChooser::All(policy) = self {
            policy.programmed(block, first, pages, cause, blocks);
        }
    }

    fn taken(&mut self, block: BlockId) {
        match self {
            VictimChooser::All(policy) => policy.taken(block),
            VictimChooser::KnownBlocks(known) => known.taken(block),
        }
    }

    fn select(&mut self, blocks: &Blocks) -> BlockId {
        match self {
            VictimChooser::All(policy) => policy.select(blocks),
            VictimChooser::KnownBlocks(known) => known.select(blocks),
        }
    }

    fn select_above(&mut self, blocks: &Blocks, below: &dyn LowerLayerView) -> BlockId {
        match self {
            VictimChooser::All(policy) => policy.select_above(blocks, below),
            // These FTLs run directly on flash, so there is no layer below whose answers the policy could use.
            VictimChooser::KnownBlocks(known) => known.select(blocks),
        }
    }

    fn likely_victim(&self, blocks: &Blocks) -> Option<BlockId> {
        match self {
            VictimChooser::All(policy) => policy.likely_victim(blocks),
            VictimChooser::KnownBlocks(_) => None,
        }
    }

    fn final_draw(&mut self) -> u64 {
        match self {
            VictimChooser::All(policy) => policy.final_draw(),
            VictimChooser::KnownBlocks(known) => known.policy.final_draw() ^ known.random.next_u64(),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            VictimChooser::All(policy) => policy.memory_bytes(),
            VictimChooser::KnownBlocks(known) => {
                let rows = known.rows.len() * (size_of::<Row>() + 8) + 4 * known.row_of.len();
                known.policy.memory_bytes() + known.table.memory_bytes() + rows
            }
        }
    }
}

/// Finds the row with the most valid pages. There is a stack for each number of valid pages; a row is on the stack of
/// the number that it had when it was last examined. A row that has changed is moved to its stack when it comes to the
/// top.
struct FullestRows {
    stacks: Vec<Vec<(BlockId, u32)>>,
    /// Number of times each row was reused; an entry of a stack with another number belongs to an earlier block.
    generations: Vec<u32>,
    entries: usize,
    highest: usize,
}

impl FullestRows {
    fn new(rows: usize, pages_per_block: u32) -> Self {
        let stacks = vec![Vec::new(); pages_per_block as usize + 1];
        FullestRows { stacks, generations: vec![0; rows], entries: 0, highest: 0 }
    }

    fn push(&mut self, row: BlockId, valid: u32) {
        // Rows that were removed in other ways leave stale entries behind.
        if self.entries > 2 * self.generations.len() + 64 {
            let stamps = &self.generations;
            self.stacks
                .iter_mut()
                .for_each(|stack| stack.retain(|(row, stamp)| stamps[row.index()] == *stamp));
            self.entries = self.stacks.iter().map(Vec::len).sum();
        }
        self.stacks[valid as usize].push((row, self.generations[row.index()]));
        self.highest = self.highest.max(valid as usize);
        self.entries += 1;
    }

    fn discard(&mut self, row: BlockId) {
        self.generations[row.index()] = self.generations[row.index()].wrapping_add(1);
    }

    /// Returns the row with the most valid pages according to `table`.
    fn pop(&mut self, table: &Blocks) -> Option<BlockId> {
        loop {
            let Some((row, stamp)) = self.stacks[self.highest].pop() else {
                self.highest = self.highest.checked_sub(1)?;
                continue;
            };
            self.entries -= 1;
            if self.generations[row.index()] != stamp {
                continue;
            }
            let valid = table.valid_pages(row);
            if valid as usize == self.highest {
                return Some(row);
            }
            self.push(row, valid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StoreSize;
    use crate::seed::random_below;
    use crate::victim::VictimConfig;

    fn build_known_blocks(remembered: u32, choices: u32) -> (KnownBlocks, Blocks) {
        let size = StoreSize { blocks: 40, pages_per_block: 8, logical_pages: 200, seed: Seed(1) };
        let policy = VictimConfig::default().build_boxed(&size).unwrap();
        let sizes = KnownBlocksSize {
            blocks: 40,
            pages_per_block: 8,
            logical_pages: 200,
            remembered,
            choices,
            metadata: 3,
        };
        let mut blocks = Blocks::new(40, 8, 200, Needs::default());
        for block in (0..40).map(BlockId) {
            blocks.open(block);
            blocks.close(block);
        }
        (KnownBlocks::new(policy, sizes, Seed(1)), blocks)
    }

    fn set(invalid: u32) -> PageSet {
        let mut set = PageSet::new(8);
        (0..invalid).for_each(|page| set.insert(page));
        set
    }

    /// Comparison with a simple list: the block with the fewest valid pages is chosen, and the emptiest of the other
    /// blocks are remembered.
    #[test]
    fn blocks_with_fewest_valid_pages_are_chosen_and_remembered() {
        for (remembered, choices) in [(0, 1), (0, 4), (1, 2), (5, 3), (12, 1)] {
            let (mut known, mut blocks) = build_known_blocks(remembered, choices);
            let mut random = Seed(9).random();
            let mut list: Vec<BlockId> = Vec::new();
            for _ in 0..300 {
                for _ in 0..choices {
                    let block = known.draw(&blocks, false, |block| block.0 >= 2).unwrap();
                    assert!(block.0 >= 2, "what is asked for");
                    if !known.is_known(block) {
                        known.add_answer(block, set(8 - blocks.valid_pages(block)), &blocks);
                        list.push(block);
                    }
                }
                let victim = known.select(&blocks);
                let fewest = list.iter().map(|&block| blocks.score(block)).min().unwrap();
                assert_eq!(blocks.score(victim), fewest);
                list.retain(|&block| block != victim);
                known.end_round(None);
                let mut retained_list: Vec<BlockId> =
                    list.iter().copied().filter(|&block| known.is_known(block)).collect();
                assert_eq!(retained_list.len(), list.len().min(remembered as usize));
                let max_valid = retained_list.iter().map(|&block| blocks.score(block)).max().unwrap_or(0);
                let dropped = list.iter().filter(|block| !retained_list.contains(block));
                assert!(dropped.into_iter().all(|&block| blocks.score(block) >= max_valid));
                std::mem::swap(&mut list, &mut retained_list);
                // The victim is rewritten, and random pages are invalidated.
                blocks.take(victim);
                blocks.open(victim);
                blocks.close(victim);
                for _ in 0..6 {
                    let block = BlockId(random_below(&mut random, 40) as u32);
                    if blocks.valid_pages(block) > 0 {
                        blocks.invalidate(block);
                        known.invalidated(block, &blocks);
                    }
                }
                known.check(&blocks).unwrap();
            }
        }
    }

    #[test]
    fn metadata_blocks_with_invalid_pages_are_known() {
        let (mut known, mut blocks) = build_known_blocks(0, 1);
        (0..30).for_each(|block| known.add_metadata(BlockId(block), &blocks));
        assert!((0..40).all(|block| !known.is_known(BlockId(block))), "nothing of them is dead");
        for block in (0..30).map(BlockId) {
            blocks.invalidate(block);
            known.invalidated(block, &blocks);
        }
        known.taken(BlockId(4));
        known.taken(BlockId(35));
        known.end_round(None);
        known.check(&blocks).unwrap();
        assert!((0..40).all(|block| known.is_known(BlockId(block)) == (block < 30 && block != 4)));
    }
}
