//! One file per command, and the table of commands.

pub mod advise;
pub mod check;
pub mod compare;
pub mod drive;
#[cfg(feature = "explore")]
pub mod explore;
pub mod fleet;
#[cfg(feature = "serve")]
pub mod image;
pub mod limit;
pub mod list;
#[cfg(feature = "serve")]
pub mod live;
#[allow(unused_macros, reason = "nothing is absent where every command is there")]
mod missing;
pub mod model;
#[cfg(all(target_os = "linux", feature = "nvmfs"))]
pub mod nvmfs;
#[cfg(feature = "play")]
pub mod play;
#[cfg(feature = "plot")]
pub mod plot;
pub mod power;
#[cfg(feature = "serve")]
pub mod pull_plug;
pub mod report;
#[cfg(all(target_os = "linux", feature = "reproduce"))]
pub mod reproduce;
#[cfg(feature = "parquet")]
pub mod results;
pub mod run;
pub mod scenario;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shell;
pub mod sweep;
pub mod theory;
#[cfg(feature = "serve")]
pub mod top;
pub mod trace;

#[allow(unused_imports, reason = "nothing is absent where every command is there")]
pub use missing::*;

use crate::Cli;
use crate::exit::Failure;

/// End of the main help.
pub const HELP: &str = "\
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

/// Defines `Command` from a table with a row per command: the variant, from which the name of the command is derived,
/// its arguments, and the function that runs it.
macro_rules! commands {
    ($($(#[$attribute:meta])* $variant:ident($arguments:ty) => $run:expr,)*) => {
        /// A command with its arguments.
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($(#[$attribute])* $variant($arguments),)*
        }

        impl Command {
            /// Runs the command.
            pub fn run(&self) -> Result<(), Failure> {
                match self {
                    $(Command::$variant(arguments) => ($run)(arguments),)*
                }
            }
        }
    };
}

// The commands, in the order of the main help. Commands that have subcommands need the attribute `command(subcommand)`.
commands! {
    Run(run::Args) => run::run,
    Sweep(sweep::Args) => sweep::run,
    Results(results::Args) => results::run,
    Compare(compare::Args) => compare::run,
    Report(report::Args) => report::run,
    Plot(plot::Args) => plot::run,
    Play(play::Args) => play::run,
    Drive(Box<drive::Args>) => drive::run,
    Fleet(fleet::Args) => fleet::run,
    Power(power::Args) => power::run,
    Advise(advise::Args) => advise::run,
    Explore(explore::Args) => explore::run,
    Serve(serve::Args) => serve::run,
    Top(top::Args) => top::run,
    #[cfg_attr(feature = "serve", command(subcommand))]
    Live(live::Command) => live::run,
    #[cfg_attr(feature = "serve", command(subcommand))]
    Image(image::Command) => image::run,
    PullPlug(pull_plug::Args) => pull_plug::run,
    Reproduce(reproduce::Args) => reproduce::run,
    Limit(limit::Args) => limit::run,
    List(list::Args) => list::run,
    Theory(Box<theory::Args>) => theory::run,
    #[command(subcommand)]
    Model(model::Command) => model::run,
    #[cfg_attr(all(target_os = "linux", feature = "nvmfs"), command(subcommand))]
    Nvmfs(nvmfs::Command) => nvmfs::run,
    #[command(subcommand)]
    Check(check::Command) => check::run,
    #[command(subcommand)]
    Trace(trace::Command) => trace::run,
    #[command(subcommand)]
    Scenario(scenario::Command) => scenario::run,
    Completions(shell::CompletionArgs) => shell::completions::<Cli>,
    Man(shell::ManArgs) => shell::man::<Cli>,
}
