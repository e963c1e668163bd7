//! Optional abilities of a hybrid FTL beyond the mandatory layer interface.

use super::HybridFtl;
use super::blocks::{HybridState, LogBlock};
use crate::layer::{Abilities, Ability, Answer, Command, LayerError, Query};
use crate::nand::Flash;
use crate::units::{BlockId, Lpn, Slot};
use std::collections::BTreeSet;

impl<F: Flash> HybridFtl<F> {
    pub(super) fn supported_abilities(&self) -> Abilities {
        self.state.pool.abilities().with(Ability::LeftValid, true)
    }

    pub(super) fn answer(&self, query: Query<'_>) -> Answer {
        match query {
            Query::MovedPages(pages) => self.state.pool.moves.answer(pages),
            Query::LeftValid(pages) => self.state.left_valid(pages),
            _ => Answer::Nothing,
        }
    }

    /// Executes a command. Padding pages written by merges are attributed to no user.
    pub(super) fn execute(&mut self, command: Command<'_, F::Payload>) -> Result<Answer, LayerError> {
        match command {
            Command::CleanWhileIdle if self.supported_abilities().has(Ability::IdleCleaning) => {
                self.state.merge_while_idle().map(Answer::Done)
            }
            other => self.state.pool.execute(other, self.state.config.logical_pages),
        }
    }
}

impl<F: Flash> HybridState<F> {
    /// Counts valid pages from the maps: in a data block, the pages without a newer copy in a log; in a log, the
    /// newest copies.
    fn left_valid(&self, pages: &[Lpn]) -> Answer {
        let storing_blocks: Vec<BlockId> =
            pages.iter().filter_map(|&page| self.locate(page)).map(|slot| self.block_of(slot).0).collect();
        let blocks: BTreeSet<BlockId> = storing_blocks.iter().copied().collect();
        // Logical blocks whose data blocks store any of the pages: the logical blocks of all pages that are not in
        // logs.
        let in_data = pages.iter().filter(|&&page| self.is_present(page) && !self.is_in_log(page));
        let logical: BTreeSet<u32> = in_data.map(|&page| self.split(page).0).collect();
        let of_data = |&logical: &u32| {
            let pages = self.offsets(logical).map(|offset| self.page_of(logical, offset));
            pages.filter(|&page| self.is_present(page) && !self.is_in_log(page)).count() as u64
        };
        let logs =
            self.dedicated_logs.values().chain(&self.shared_logs).filter(|log| blocks.contains(&log.block));
        let newest = |block: BlockId, at: u32, owner: &Lpn| {
            self.log_map.get(owner.index()).is_some_and(|&slot| slot == self.slot(block, at))
        };
        let of_log = |log: &LogBlock| {
            (0..).zip(&log.owners).filter(|&(at, owner)| newest(log.block, at, owner)).count() as u64
        };
        let valid = logical.iter().map(of_data).sum::<u64>() + logs.map(of_log).sum::<u64>();
        let block_pages = blocks.len() as u64 * u64::from(self.pages_per_block);
        Answer::LeftValid { valid_pages: valid - storing_blocks.len() as u64, block_pages }
    }

    fn is_in_log(&self, page: Lpn) -> bool {
        self.log_map[page.index()] != Slot::NONE
    }
}
