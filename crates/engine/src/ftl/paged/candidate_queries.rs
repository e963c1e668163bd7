//! Queries of the validity store about blocks whose number of valid pages is not in RAM.

use super::known_blocks::VictimChooser;
use super::space::BlockGroup;
use super::store::PagedFtl;
use crate::layer::LayerError;
use crate::nand::Flash;
use crate::units::BlockId;

/// Limits of draws that find no invalid page: minimum number of rounds, draws per candidate, and maximum number of
/// draws. Beyond them, dirty entries are synchronised, so that the previous locations of their pages become known as
/// invalid. A synchronisation writes a page, so on a drive with few candidates all of them are queried first.
const MIN_FRUITLESS_ROUNDS: u64 = 8;
const DRAWS_PER_CANDIDATE: u64 = 4;
const MAX_DRAWS: u64 = 256;

impl<F: Flash> PagedFtl<F> {
    /// Queries some candidates before a victim is chosen among the known blocks. Each query reads from the validity
    /// store, and these reads are counted. After `fruitless` victims without invalid pages, prefers blocks with
    /// recently reported pages.
    pub(super) fn query_candidates(&mut self, fruitless: u64) -> Result<(), LayerError> {
        let VictimChooser::KnownBlocks(known) = &self.space.pool.victim else { return Ok(()) };
        for _ in 0..known.choices() {
            let Some(block) = self.draw(fruitless > 0) else { break };
            self.query_block(block)?;
        }
        Ok(())
    }

    /// Draws a user block from the candidates.
    fn draw(&mut self, reported: bool) -> Option<BlockId> {
        let (users, space) = (self.space.user_streams(), &mut self.space);
        let VictimChooser::KnownBlocks(known) = &mut space.pool.victim else { return None };
        let (streams, failed) = (&space.streams, &space.pool.pending_blocks);
        known.draw(&space.pool.blocks, reported, |block| {
            streams[block.index()].index() < users && !failed.iter().any(|aside| aside.block == block)
        })
    }

    fn query_block(&mut self, block: BlockId) -> Result<(), LayerError> {
        let pages = self.space.pages_per_block();
        let VictimChooser::KnownBlocks(known) = &mut self.space.pool.victim else { return Ok(()) };
        if known.is_known(block) {
            return Ok(());
        }
        let mut invalid = known.empty_set(pages);
        self.validity.query(block, &mut invalid, &mut self.space)?;
        self.events.blocks_queried += 1;
        // Pages that were reported twice after a power cut were counted twice; the validity store has the exact number.
        self.approximate_blocks.remove(&block);
        let space = &mut self.space;
        space.pool.blocks.set_valid_pages(block, pages - invalid.count());
        if let VictimChooser::KnownBlocks(known) = &mut space.pool.victim {
            known.add_answer(block, invalid, &space.pool.blocks);
        }
        Ok(())
    }

    /// True if the search for a block with invalid pages has reached its limit.
    pub(super) fn is_search_exhausted(&self, fruitless: u64) -> bool {
        let VictimChooser::KnownBlocks(known) = &self.space.pool.victim else { return false };
        let candidates = u64::from(self.space.pool.blocks.candidates());
        let needed_draws = (DRAWS_PER_CANDIDATE * candidates).min(MAX_DRAWS);
        let draws = fruitless * u64::from(known.choices());
        fruitless >= MIN_FRUITLESS_ROUNDS && draws >= needed_draws && self.cache.oldest_dirty().is_some()
    }

    /// Ends a search with its victim, if one was found: removes the known blocks beyond the maximum number remembered.
    pub(super) fn drop_unremembered(&mut self, victim: Option<BlockId>) {
        if let VictimChooser::KnownBlocks(known) = &mut self.space.pool.victim {
            known.end_round(victim);
        }
    }

    /// Finds the invalid pages of a block that will be emptied; queries the validity store unless the block was just
    /// queried.
    pub(super) fn find_invalid(&mut self, victim: BlockId) -> Result<(), LayerError> {
        self.invalid.clear();
        if let VictimChooser::KnownBlocks(known) = &mut self.space.pool.victim
            && let Some(answer) = known.take_answer(victim)
        {
            known.recycle(std::mem::replace(&mut self.invalid, answer));
            return Ok(());
        }
        self.validity.query(victim, &mut self.invalid, &mut self.space)
    }

    /// Counts the valid pages of these user blocks for the simulation's own statistics; no reads are counted.
    pub(super) fn count_for_statistics(&mut self, blocks: &[BlockId]) {
        for &block in blocks {
            debug_assert_eq!(self.space.group(block), BlockGroup::User);
            self.invalid.clear();
            self.validity.peek(block, &self.space, &mut self.invalid);
            self.space.pool.blocks.invalidate_many(block, self.invalid.count());
        }
        self.invalid.clear();
    }
}
