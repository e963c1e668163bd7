//! The command line of Wearwell.

mod commands;
mod exit;
mod help;
mod interrupt;
mod output;
mod progress;
mod report;
mod scenario_args;
mod tell;
#[cfg(feature = "nvmfs")]
mod top;
#[cfg(not(feature = "nvmfs"))]
#[path = "no_top.rs"]
mod top;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use std::process::ExitCode;

/// A laboratory for flash storage stacks
///
/// Describe a drive, what runs on it and a workload or a real trace; get back what that does to the flash: write
/// amplification by layer and cause, erases and wear, lifetime.
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
  wearwell compare before.json after.json         what differs, and whether it is more than chance
  wearwell drive --capacity 1.92TB --dwpd 1 --warranty 5y --cells tlc   what a data sheet comes to
  wearwell power my.toml --every 1000             cut its power, and look for what was lost
  wearwell advise my.toml --quick                 what would make it wear well
  wearwell theory double --hot-writes 0.8 --hot-space 0.2   what it must be, by calculation alone
  wearwell model ftl --capacity '8 TiB'           RAM and recovery of FTLs, side by side
  wearwell nvmfs mkfs --nvram /dev/shm/n --size '256 MiB' --ssd ssd.img --ssd-size '4 GiB'   a file system to mount
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
    Compare(commands::compare::Args),
    Drive(Box<commands::drive::Args>),
    Power(commands::power::Args),
    Advise(commands::advise::Args),
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

fn main() -> ExitCode {
    let matches = help::fitted(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    interrupt::listen();
    let outcome = match cli.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Drive(args) => commands::drive::run(&args),
        Command::Power(args) => commands::power::run(&args),
        Command::Advise(args) => commands::advise::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Theory(args) => commands::theory::run(&args),
        Command::Model(command) => commands::model::run(&command),
        Command::Nvmfs(command) => commands::nvmfs::run(&command),
        Command::Check(command) => commands::check::run(&command),
        Command::Trace(command) => commands::trace::run(&command),
        Command::Scenario(command) => commands::scenario::run(&command),
        Command::Completions(args) => commands::shell::completions::<Cli>(&args),
        Command::Man(args) => commands::shell::man::<Cli>(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
