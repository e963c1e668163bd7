//! `wearwell live`.

mod demo;
mod writers;

use crate::exit::Failure;

/// Shows the effect of live software on flash, on this machine
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
