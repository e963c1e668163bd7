//! Optional abilities of an FTL with its map in flash beyond the mandatory layer interface.

use super::store::PagedFtl;
use crate::layer::{Abilities, Ability, Answer, Command, LayerError, Query};
use crate::nand::Flash;
use crate::units::{BlockId, Lpn, Slot};

impl<F: Flash> PagedFtl<F> {
    pub(super) fn supported_abilities(&self) -> Abilities {
        self.space.pool.abilities().with(Ability::LeftValid, true)
    }

    pub(super) fn answer(&self, query: Query<'_>) -> Answer {
        match query {
            Query::MovedPages(pages) => self.space.pool.moves.answer(pages),
            Query::LeftValid(pages) => self.left_valid(pages),
            _ => Answer::Nothing,
        }
    }

    /// Executes a command. Moved pages are attributed to their users; translation and validity pages are attributed to
    /// no user.
    pub(super) fn execute(&mut self, command: Command<'_, F::Payload>) -> Result<Answer, LayerError> {
        match command {
            Command::CleanWhileIdle if self.supported_abilities().has(Ability::IdleCleaning) => {
                self.clean_in_idle_time().map(Answer::Done)
            }
            other => self.space.pool.execute(other, self.config.logical_pages),
        }
    }

    /// Answers from the cache or from the translation pages in flash, without counting these reads. The query serves
    /// the policy of a log above. Real drives have no such command, so its cost is unknown. Valid pages come from the
    /// block counters, which include invalid pages that are not identified yet.
    fn left_valid(&self, pages: &[Lpn]) -> Answer {
        let locations = pages.iter().map(|&page| self.peek_location(page)).filter(|&at| at != Slot::NONE);
        let mut blocks: Vec<BlockId> = locations.map(|at| self.space.split(at).0).collect();
        let trimmed = blocks.len() as u64;
        blocks.sort_unstable();
        blocks.dedup();
        let size = self.space.pages_per_block();
        // Unwritten pages of an open block count as valid, but they hold no data.
        let valid = |&block: &BlockId| {
            let unwritten = size - self.space.end_of(block);
            u64::from(self.space.pool.blocks.valid_pages(block).saturating_sub(unwritten))
        };
        let valid: u64 = blocks.iter().map(valid).sum();
        let block_pages = blocks.len() as u64 * u64::from(size);
        Answer::LeftValid { valid_pages: valid.saturating_sub(trimmed), block_pages }
    }
}
