//! `wearwell model`: figures that follow from sizes and times alone.

mod ftl;

use crate::exit::Failure;

/// Calculates properties of FTLs besides flash writes, without simulation
#[derive(clap::Subcommand)]
pub enum Command {
    Ftl(ftl::Args),
}

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Ftl(args) => ftl::run(args),
    }
}
