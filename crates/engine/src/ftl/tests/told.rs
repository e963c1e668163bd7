//! Settings made by commands survive power cycles of an FTL.

use super::super::told::Told;
use crate::layer::{Abilities, Answer, Command, Layer, LayerError, Query, Reports};
use crate::units::Lpn;

/// A layer that logs the commands it receives.
#[derive(Default)]
struct Listener(Vec<String>);

impl Layer<()> for Listener {
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
    fn final_draw(&mut self) -> u64 {
        0
    }
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

fn repeated(commands: &[Command<'_, ()>]) -> Vec<String> {
    let (mut told, mut listener) = (Told::default(), Listener::default());
    commands.iter().for_each(|command| told.note(command));
    told.repeat(&mut listener);
    listener.0
}

#[test]
fn lasting_commands_are_repeated() {
    let (begins, ends) = (Command::CleaningAbove { begins: true }, Command::CleaningAbove { begins: false });
    assert!(repeated(&[Command::CleanAhead, begins, ends]).is_empty(), "it is over");
    assert_eq!(repeated(&[begins, begins, ends]), ["CleaningAbove { begins: true }"], "one log cleans still");
    assert_eq!(repeated(&[begins, begins]).len(), 2);
    let divided = [Command::CountMoves, Command::Divide { ends: &[3] }, Command::Divide { ends: &[3, 8] }];
    assert_eq!(repeated(&divided), ["Divide { ends: [3, 8] }", "CountMoves"]);
}
