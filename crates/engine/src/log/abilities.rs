//! Optional abilities of a store beyond the mandatory layer interface, with their queries and commands.

use super::directory::Directory;
use super::store::LogStore;
use crate::layer::{
    Abilities, Ability, Answer, Command, LayerError, Medium, MediumExt, Query, check_range, check_run,
};
use crate::placement::Placement;
use crate::units::{BlockId, Lpn};
use crate::victim::VictimPolicy;

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Returns the abilities, which depend on the store's parts. Attribution needs a directory with page identities;
    /// deferral and idle cleaning need a pool of erased blocks. The store writes each call in as few runs as possible, so
    /// it needs whole requests if the layer below does.
    pub(super) fn supported_abilities(&self) -> Abilities {
        let below = self.pool.medium.abilities_below();
        Abilities::of(&[
            (Ability::AtomicGroups, self.max_group_pages() > 0),
            (Ability::WholeRequests, below.has(Ability::WholeRequests)),
            (Ability::Attribution, D::PAGE_EXACT),
            (Ability::MoveCounts, D::PAGE_EXACT),
            (Ability::Deferral, self.config.deferred_low.is_some() || below.has(Ability::Deferral)),
            (Ability::IdleCleaning, self.config.idle_high.is_some() || below.has(Ability::IdleCleaning)),
            (Ability::LeftValid, true),
            (Ability::Prefetch, self.prefetch),
            (Ability::Runs, true),
        ])
    }

    #[inline]
    pub(super) fn answer(&self, query: Query<'_>) -> Answer {
        match query {
            Query::Prefetch { pages, second_pass } => {
                if self.prefetch {
                    pages
                        .iter()
                        .for_each(|&page| self.directory.prefetch(page, second_pass, &self.pool.blocks));
                }
                Answer::Nothing
            }
            Query::AtomicPages => match self.max_group_pages() {
                0 => Answer::Nothing,
                pages => Answer::Pages(pages.into()),
            },
            Query::MovedPages(pages) => self.pool.moves.answer(pages),
            Query::LeftValid(pages) => self.count_left_valid(pages),
            Query::Zone(_) => Answer::Nothing,
        }
    }

    pub(super) fn execute(&mut self, command: Command<'_, M::Payload>) -> Result<Answer, LayerError> {
        match command {
            Command::WriteAtomic { pages, data, hint } => {
                assert_eq!(pages.len(), data.len(), "content for every page");
                check_range(pages, self.config.logical_pages)?;
                self.pool.moves.begin(pages);
                self.append_group(pages, data, hint)?;
            }
            Command::WriteRun { first, data, hint } => {
                check_run(first, data.len(), self.config.logical_pages)?;
                self.pool.moves.begin(&[first]);
                self.append_host_run(first, data, hint)?;
            }
            Command::TrimRun { first, pages } => {
                check_run(first, pages as usize, self.config.logical_pages)?;
                self.trim_host_run(first, pages);
            }
            Command::SetPartitions { ends } if D::PAGE_EXACT => self.pool.moves.set_partitions(ends),
            Command::CountMoves if D::PAGE_EXACT => {
                self.pool.moves.count(self.config.logical_pages + self.pool.medium.metadata_pages());
            }
            Command::CleaningAbove { begins } => {
                self.pool.note_cleaning_above(begins);
                self.pool.medium.notify_cleaning(begins);
            }
            Command::CleanWhileIdle if self.supported_abilities().has(Ability::IdleCleaning) => {
                return Ok(Answer::Done(self.clean_while_idle()? || self.pool.medium.clean_while_idle()?));
            }
            other => return other.unsupported(),
        }
        Ok(Answer::Nothing)
    }

    fn count_left_valid(&self, pages: &[Lpn]) -> Answer {
        let mut blocks: Vec<BlockId> =
            pages.iter().filter_map(|&page| self.directory.block_of(page)).collect();
        let trimmed = blocks.len() as u64;
        blocks.sort_unstable();
        blocks.dedup();
        let size = self.pool.pages_per_block();
        // The block table counts unwritten pages of an open block as valid, but these pages hold no data.
        let valid = |&block: &BlockId| self.pool.blocks.valid_pages(block) - (size - self.written(block));
        let valid: u64 = blocks.iter().map(|block| u64::from(valid(block))).sum();
        Answer::LeftValid { valid_pages: valid - trimmed, block_pages: blocks.len() as u64 * u64::from(size) }
    }
}
