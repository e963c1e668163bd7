//! The command line of Wearwell as a library: a test can call it many times within one process.

mod cluster;
mod commands;
mod exit;
mod help;
mod interrupt;
mod messages;
mod output;
mod page;
mod progress;
mod report;
mod results;
mod scenario_args;
mod study_args;
mod study_command;
#[cfg(feature = "nvmfs")]
mod top;
#[cfg(not(feature = "nvmfs"))]
#[path = "no_top.rs"]
mod top;

use crate::commands::{Command, HELP};
use crate::exit::Failure;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// A laboratory for flash storage stacks
///
/// Describe a drive, its software and a workload or a real trace; the result shows the effect on the flash:
/// write amplification by layer and cause, erases and wear, lifetime.
#[derive(Parser)]
#[command(name = "wearwell", version, arg_required_else_help = true, after_help = HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The program with its commands.
pub struct Program(clap::Command);

impl Default for Program {
    fn default() -> Self {
        Program(help::fit_to_terminal(Cli::command()))
    }
}

impl Program {
    /// Returns the commands with their arguments.
    pub fn commands(&self) -> &clap::Command {
        &self.0
    }

    /// Runs the command that `arguments` give, of which the first is the program's name, and returns the exit code.
    pub fn run(&mut self, arguments: impl IntoIterator<Item = OsString>) -> u8 {
        let parsed = self.0.try_get_matches_from_mut(arguments);
        match parsed.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches)) {
            Ok(cli) => cli.command.run().map_or_else(Failure::report, |()| 0),
            Err(error) => report_parser_message(&error),
        }
    }
}

/// Prints the message of the parser, which can also be help or the version.
fn report_parser_message(error: &clap::Error) -> u8 {
    let code = u8::try_from(error.exit_code()).unwrap_or(1);
    match error.print() {
        Err(problem) if !error.use_stderr() => output::failed(&problem).report(),
        _ => code,
    }
}

/// Runs the program as a process, with its arguments, signals and exit code.
pub fn main() -> ExitCode {
    interrupt::listen();
    ExitCode::from(Program::default().run(std::env::args_os()))
}
