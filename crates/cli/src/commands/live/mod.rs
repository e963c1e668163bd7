//! `wearwell live`.

mod demo;
mod writers;

use crate::exit::Failure;

/// What live software does to flash, shown on this machine
#[derive(clap::Subcommand)]
pub enum Command {
    Demo(demo::Args),
}

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::run(args),
    }
}
