//! Commands from layers above whose effect must survive a power cycle.

use crate::layer::{Command, Layer, LayerExt, Payload};

/// State set by commands. It must be restored after a power cut, because layers above do not notice the cut and do not
/// repeat their commands.
#[derive(Debug, Default)]
pub(super) struct LastingCommands {
    /// Ends of the partitions to which moves are attributed.
    ends: Option<Vec<u32>>,
    counts_moves: bool,
    /// Number of logs above that are cleaning.
    logs_cleaning_above: u32,
}

impl LastingCommands {
    /// Records a command that is about to be sent to the FTL.
    pub fn record<P>(&mut self, command: &Command<'_, P>) {
        match command {
            Command::SetPartitions { ends } => self.ends = Some(ends.to_vec()),
            Command::CountMoves => self.counts_moves = true,
            Command::CleaningAbove { begins: true } => self.logs_cleaning_above += 1,
            Command::CleaningAbove { begins: false } => {
                self.logs_cleaning_above = self.logs_cleaning_above.saturating_sub(1);
            }
            Command::WriteAtomic { .. }
            | Command::WriteRun { .. }
            | Command::TrimRun { .. }
            | Command::CleanWhileIdle
            | Command::FinishZone { .. } => {}
        }
    }

    /// Sends the commands again to an FTL that has just been recovered.
    pub fn repeat<P: Payload>(&self, ftl: &mut impl Layer<P>) {
        if let Some(ends) = &self.ends {
            ftl.set_partitions(ends);
        }
        if self.counts_moves {
            ftl.count_moves();
        }
        (0..self.logs_cleaning_above).for_each(|_| ftl.notify_cleaning_above(true));
    }
}
