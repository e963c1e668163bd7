//! Optional abilities of a tree beyond the mandatory layer interface.

use super::tree::LsmTree;
use crate::layer::{Abilities, Ability, Answer, Command, LayerError, Payload, Query};
use crate::units::{Lpn, Slot};
use std::collections::BTreeSet;

impl<P: Payload> LsmTree<P> {
    /// Returns the abilities. The tree itself neither defers cleaning nor cleans in idle time, but the layer below
    /// may. The tree writes the records of each call together to its log, so it needs whole requests if the layer below
    /// does.
    ///
    /// The tree's equivalent of a block is an extent: each table has its own, and is merged and then trimmed as a
    /// whole.
    pub(super) fn supported_abilities(&self) -> Abilities {
        let below = self.tables.lower.abilities();
        Abilities::of(&[
            (Ability::WholeRequests, below.has(Ability::WholeRequests)),
            (Ability::Attribution, true),
            (Ability::MoveCounts, true),
            (Ability::Deferral, below.has(Ability::Deferral)),
            (Ability::IdleCleaning, below.has(Ability::IdleCleaning)),
            (Ability::LeftValid, true),
        ])
    }

    pub(super) fn answer(&self, query: Query<'_>) -> Answer {
        match query {
            Query::MovedPages(pages) => self.tables.moves.answer(pages),
            Query::LeftValid(pages) => self.left_valid(pages),
            _ => Answer::Nothing,
        }
    }

    pub(super) fn execute(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        match command {
            Command::SetPartitions { ends } => self.tables.moves.set_partitions(ends),
            Command::CountMoves => self.tables.moves.count(self.config.logical_pages),
            Command::CleaningAbove { .. } | Command::CleanWhileIdle => {
                return self.tables.lower.command(command);
            }
            other => return other.unsupported(),
        }
        Ok(Answer::Nothing)
    }

    /// Returns the number of pages that would stay valid on the extents that store any of `pages` if `pages` were
    /// trimmed. Records that are only in the memtable are on no extent.
    fn left_valid(&self, pages: &[Lpn]) -> Answer {
        let size = self.tables.extent_pages;
        let slots = pages.iter().map(|page| self.tables.locations[page.index()]);
        let storing_extents: Vec<u32> =
            slots.filter(|&slot| slot != Slot::NONE).map(|slot| slot.0 / size).collect();
        let extents: BTreeSet<u32> = storing_extents.iter().copied().collect();
        let live: u64 = extents.iter().map(|&extent| u64::from(self.tables.live[extent as usize])).sum();
        let block_pages = extents.len() as u64 * u64::from(size);
        Answer::LeftValid { valid_pages: live - storing_extents.len() as u64, block_pages }
    }
}
