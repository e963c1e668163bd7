//! Abilities that the pool gives to every FTL whose physical pages have known owners.

use super::Pool;
use crate::layer::{Abilities, Ability, Answer, Command, LayerError, Medium};
use crate::victim::VictimPolicy;

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Returns the abilities: attribution of moves and, depending on the watermarks, deferral for a log above and idle
    /// cleaning.
    pub(crate) fn abilities(&self) -> Abilities {
        let watermarks = self.watermarks;
        Abilities::of(&[
            (Ability::Attribution, true),
            (Ability::MoveCounts, true),
            (Ability::Deferral, watermarks.is_some_and(|marks| marks.deferred_low.is_some())),
            (Ability::IdleCleaning, watermarks.is_some_and(|marks| marks.idle_high.is_some())),
        ])
    }

    /// Executes commands of these abilities, except cleaning itself; `pages` is the number of pages of the FTL.
    pub(crate) fn execute<P>(&mut self, command: Command<'_, P>, pages: u32) -> Result<Answer, LayerError> {
        match command {
            Command::SetPartitions { ends } => self.moves.set_partitions(ends),
            Command::CountMoves => self.moves.count(pages),
            Command::CleaningAbove { begins } => self.note_cleaning_above(begins),
            other => return other.unsupported(),
        }
        Ok(Answer::Nothing)
    }
}
