//! What an FTL was told from above, and still holds for it in its next life.

use crate::layer::{Command, Layer, LayerExt, Payload};

/// The layers above do not notice that power was lost, and say nothing twice.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The ends of the partitions that are told apart.
    ends: Option<Vec<u32>>,
    counts_moves: bool,
    /// Logs above that are cleaning.
    cleaning_above: u32,
}

impl Told {
    /// The FTL is about to be told this.
    pub fn note<P>(&mut self, command: &Command<'_, P>) {
        match command {
            Command::Divide { ends } => self.ends = Some(ends.to_vec()),
            Command::CountMoves => self.counts_moves = true,
            Command::CleaningAbove { begins: true } => self.cleaning_above += 1,
            Command::CleaningAbove { begins: false } => {
                self.cleaning_above = self.cleaning_above.saturating_sub(1);
            }
            Command::WriteAtomic { .. }
            | Command::WriteRun { .. }
            | Command::TrimRun { .. }
            | Command::CleanAhead
            | Command::FinishZone { .. } => {}
        }
    }

    /// Tells the FTL again, which has just come back.
    pub fn repeat<P: Payload>(&self, ftl: &mut impl Layer<P>) {
        if let Some(ends) = &self.ends {
            ftl.divide(ends);
        }
        if self.counts_moves {
            ftl.count_moves();
        }
        (0..self.cleaning_above).for_each(|_| ftl.cleaning_above(true));
    }
}
