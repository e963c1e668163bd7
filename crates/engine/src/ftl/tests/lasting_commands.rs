//! Settings made by commands survive power cycles of an FTL.

use super::super::lasting_commands::LastingCommands;
use crate::layer::{Abilities, Answer, Command, Layer, LayerError, Query, Reports};
use crate::units::Lpn;

/// A layer that logs the commands it receives.
#[derive(Default)]
struct CommandLogger(Vec<String>);

impl Layer<()> for CommandLogger {
    fn logical_pages(&self) -> u32 {
        8
    }
    fn write(&mut self, _: &[Lpn], _: &[()], _: u16) -> Result<(), LayerError> {
        Ok(())
    }
    fn read(&mut self, _: &[Lpn], _: &mut Vec<()>) -> Result<(), LayerError> {
        Ok(())
    }
    fn trim(&mut self, _: &[Lpn]) -> Result<(), LayerError> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), LayerError> {
        Ok(())
    }
    fn abilities(&self) -> Abilities {
        Abilities::NONE
    }
    fn query(&self, _: Query<'_>) -> Answer {
        Answer::Nothing
    }
    fn command(&mut self, command: Command<'_, ()>) -> Result<Answer, LayerError> {
        self.0.push(format!("{command:?}"));
        Ok(Answer::Nothing)
    }
    fn describe(&self, _: &mut Reports) {}
    fn written_pages(&self) -> u64 {
        0
    }
    fn final_draw(&mut self) -> u64 {
        0
    }
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

fn repeat_after_cycle(commands: &[Command<'_, ()>]) -> Vec<String> {
    let (mut commands_kept, mut logger) = (LastingCommands::default(), CommandLogger::default());
    commands.iter().for_each(|command| commands_kept.record(command));
    commands_kept.repeat(&mut logger);
    logger.0
}

#[test]
fn lasting_commands_are_repeated() {
    let (begins, ends) = (Command::CleaningAbove { begins: true }, Command::CleaningAbove { begins: false });
    assert!(repeat_after_cycle(&[Command::CleanWhileIdle, begins, ends]).is_empty(), "it is over");
    assert_eq!(
        repeat_after_cycle(&[begins, begins, ends]),
        ["CleaningAbove { begins: true }"],
        "one log cleans still"
    );
    assert_eq!(repeat_after_cycle(&[begins, begins]).len(), 2);
    let settings = [
        Command::CountMoves,
        Command::SetPartitions { ends: &[3] },
        Command::SetPartitions { ends: &[3, 8] },
    ];
    assert_eq!(repeat_after_cycle(&settings), ["SetPartitions { ends: [3, 8] }", "CountMoves"]);
}
