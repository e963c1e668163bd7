//! `wearwell model`: what else follows from sizes and times alone.

mod ftl;

use crate::exit::Failure;

/// Calculates what FTLs need besides flash writes, without simulating
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
