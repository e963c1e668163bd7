//! What every FTL can whose blocks are in a pool and whose pages have owners, because the pool can.

use super::Pool;
use crate::layer::{Abilities, Ability, Answer, Command, LayerError, Medium};
use crate::victim::VictimPolicy;

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// It tells whose pages are moved; and, where the marks say so, it waits for a log above and cleans in idle time.
    pub(crate) fn abilities(&self) -> Abilities {
        let marks = self.marks;
        Abilities::of(&[
            (Ability::Attribution, true),
            (Ability::MoveCounts, true),
            (Ability::Deferral, marks.is_some_and(|marks| marks.deferred_low.is_some())),
            (Ability::IdleCleaning, marks.is_some_and(|marks| marks.idle_high.is_some())),
        ])
    }

    /// Does what it is told of these, but for cleaning itself; `pages`: those of the FTL.
    pub(crate) fn obey<P>(&mut self, command: Command<'_, P>, pages: u32) -> Result<Answer, LayerError> {
        match command {
            Command::Divide { ends } => self.moves.divide(ends),
            Command::CountMoves => self.moves.count(pages),
            Command::CleaningAbove { begins } => self.note_cleaning_above(begins),
            other => return other.unable(),
        }
        Ok(Answer::Nothing)
    }
}
