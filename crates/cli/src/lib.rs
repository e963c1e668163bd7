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

use crate::exit::Failure;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
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

const HELP: &str = "\
Examples:
  wearwell run                                    the canonical scenario, in seconds
  wearwell run --victim fifo --spare-factor 0.2   the same with another policy and more spare space
  wearwell scenario new > my.toml                 a commented scenario to start from
  wearwell run my.toml --output result.json       run it and keep the result
  wearwell run result.json                        repeat a result, bit for bit
  wearwell sweep my.toml --vary ftl.victim=greedy,fifo --vary device.spare_factor=0.05:0.3:0.05
  wearwell results runs/                          the table of all runs that a store holds
  wearwell compare before.json after.json         what differs, and whether it is more than chance
  wearwell report result.json --output result.html   figures, for a browser
  wearwell plot result.json --figure course --output course.pdf   a figure, for a paper
  wearwell play --lesson cagc-figure-8 --output cagc.html   an example of a paper, step by step
  wearwell drive --capacity 1.92TB --dwpd 1 --warranty 5y --cells tlc   what a data sheet comes to
  wearwell fleet docs/samples/fleet.toml          when a fleet wears out, and what each tenant costs
  wearwell power my.toml --every 1000             cut its power, and look for what was lost
  wearwell advise my.toml --quick                 what would make it wear well
  wearwell explore                                sliders in a browser: theory as you drag, simulations on request
  wearwell serve my.toml --nbd unix:drive.sock    the drive as a block device, for fio, QEMU and file systems
  wearwell live demo                              a small live drive, what writing does to it, and what would be better
  wearwell top unix:control.sock                  what a live drive does just now, in the terminal
  wearwell image fsck drive                       whether a kept drive can be recovered from its flash
  wearwell pull-plug drive --after 500 --torn     its power cut in the middle of the work
  wearwell theory double --hot-writes 0.8 --hot-space 0.2   what it must be, by calculation alone
  wearwell model ftl --capacity '8 TiB'           RAM and recovery of FTLs, side by side
  wearwell nvmfs mkfs --nvram /dev/shm/n --size '256 MiB' --ssd ssd.img --ssd-size '4 GiB'   a file system to mount
  wearwell reproduce geckoftl/figure-1 --quick    a figure of a paper, with data, plot and verdict
  wearwell check theory                           hold theory and simulation against each other
  wearwell trace describe my-trace.csv.gz --trace-format msr
  wearwell list victims                           every policy with its source

Exit codes:
  0    done
  1    the run failed (a trace that cannot be read, a drive that died, a file that cannot be written)
  2    the command line or the scenario is wrong
  3    with --strict only: the result is not steady, or would mean nothing
  130  interrupted by Ctrl-C; nothing is left half written";

#[derive(Subcommand)]
enum Command {
    Run(commands::run::Args),
    Sweep(commands::sweep::Args),
    Results(commands::results::Args),
    Compare(commands::compare::Args),
    Report(commands::report::Args),
    Plot(commands::plot::Args),
    Play(commands::play::Args),
    Drive(Box<commands::drive::Args>),
    Fleet(commands::fleet::Args),
    Power(commands::power::Args),
    Advise(commands::advise::Args),
    Explore(commands::explore::Args),
    Serve(commands::serve::Args),
    Top(commands::top::Args),
    #[cfg_attr(feature = "serve", command(subcommand))]
    Live(commands::live::Command),
    #[cfg_attr(feature = "serve", command(subcommand))]
    Image(commands::image::Command),
    PullPlug(commands::pull_plug::Args),
    Reproduce(commands::reproduce::Args),
    Limit(commands::limit::Args),
    List(commands::list::Args),
    Theory(Box<commands::theory::Args>),
    #[command(subcommand)]
    Model(commands::model::Command),
    #[cfg_attr(all(target_os = "linux", feature = "nvmfs"), command(subcommand))]
    Nvmfs(commands::nvmfs::Command),
    #[command(subcommand)]
    Check(commands::check::Command),
    #[command(subcommand)]
    Trace(commands::trace::Command),
    #[command(subcommand)]
    Scenario(commands::scenario::Command),
    Completions(commands::shell::CompletionArgs),
    Man(commands::shell::ManArgs),
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
            Ok(cli) => run(cli.command).map_or_else(Failure::report, |()| 0),
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

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => commands::run::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Results(args) => commands::results::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Plot(args) => commands::plot::run(&args),
        Command::Play(args) => commands::play::run(&args),
        Command::Drive(args) => commands::drive::run(&args),
        Command::Fleet(args) => commands::fleet::run(&args),
        Command::Power(args) => commands::power::run(&args),
        Command::Advise(args) => commands::advise::run(&args),
        Command::Explore(args) => commands::explore::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Live(command) => commands::live::run(&command),
        Command::Image(command) => commands::image::run(&command),
        Command::PullPlug(args) => commands::pull_plug::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Limit(args) => commands::limit::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Theory(args) => commands::theory::run(&args),
        Command::Model(command) => commands::model::run(&command),
        Command::Nvmfs(command) => commands::nvmfs::run(&command),
        Command::Check(command) => commands::check::run(&command),
        Command::Trace(command) => commands::trace::run(&command),
        Command::Scenario(command) => commands::scenario::run(&command),
        Command::Completions(args) => commands::shell::completions::<Cli>(&args),
        Command::Man(args) => commands::shell::man::<Cli>(&args),
    }
}

/// Runs the program as a process, with its arguments, signals and exit code.
pub fn main() -> ExitCode {
    interrupt::listen();
    ExitCode::from(Program::default().run(std::env::args_os()))
}
