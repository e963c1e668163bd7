//! What an FTL with its map in flash can beyond what every layer must.

use super::store::PagedFtl;
use crate::layer::{Abilities, Ability, Answer, Command, LayerError, Query};
use crate::nand::Flash;
use crate::units::{BlockId, Lpn, Slot};

impl<F: Flash> PagedFtl<F> {
    pub(super) fn own_abilities(&self) -> Abilities {
        self.space.pool.abilities().with(Ability::LeftValid, true)
    }

    pub(super) fn answer(&self, query: Query<'_>) -> Answer {
        match query {
            Query::MovedPages(pages) => self.space.pool.moves.answer(pages),
            Query::LeftValid(pages) => self.left_valid(pages),
            _ => Answer::Nothing,
        }
    }

    /// What a page of the user is charged for includes the moves, but not the translation pages and the validity that go with them.
    pub(super) fn obey(&mut self, command: Command<'_, F::Payload>) -> Result<Answer, LayerError> {
        match command {
            Command::CleanAhead if self.own_abilities().has(Ability::IdleCleaning) => {
                self.clean_in_idle_time().map(Answer::Done)
            }
            other => self.space.pool.obey(other, self.config.logical_pages),
        }
    }

    /// Where pages are, the cache says or else the translation page in flash. Reading that is not counted: the answer is for
    /// the policy of a log above, which would ask the drive by a command of its own that no drive has, and what that cost is not
    /// known. Valid is what the counters of blocks say is: pages that died and that nobody has reported yet are among it.
    fn left_valid(&self, pages: &[Lpn]) -> Answer {
        let places = pages.iter().map(|&page| self.place(page)).filter(|&at| at != Slot::NONE);
        let mut holders: Vec<BlockId> = places.map(|at| self.space.split(at).0).collect();
        let trimmed = holders.len() as u64;
        holders.sort_unstable();
        holders.dedup();
        let size = self.space.pages_per_block();
        // The pages that an open block still takes count as valid, but hold nothing.
        let valid = |&block: &BlockId| {
            let unwritten = size - self.space.end_of(block);
            u64::from(self.space.pool.blocks.valid_pages(block).saturating_sub(unwritten))
        };
        let valid: u64 = holders.iter().map(valid).sum();
        let held_pages = holders.len() as u64 * u64::from(size);
        Answer::Left { valid_pages: valid.saturating_sub(trimmed), held_pages }
    }
}
