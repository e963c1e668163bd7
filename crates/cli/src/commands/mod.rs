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
  wearwell run                                    run the default scenario (seconds)
  wearwell run --victim fifo --spare-factor 0.2   run it with another policy and more spare space
  wearwell scenario new > my.toml                 write a commented scenario to start from
  wearwell run my.toml --output result.json       run a scenario and keep the result
  wearwell run result.json                        repeat a result, bit for bit
  wearwell sweep my.toml --vary ftl.victim=greedy,fifo --vary device.spare_factor=0.05:0.3:0.05
  wearwell results runs/                          list all runs in a store
  wearwell compare before.json after.json         compare two results and test the differences
  wearwell report result.json --output result.html   show a result in a browser
  wearwell plot result.json --figure course --output course.pdf   draw a figure for a paper
  wearwell play --lesson cagc-figure-8 --output cagc.html   show an example of a paper step by step
  wearwell drive --capacity 1.92TB --dwpd 1 --warranty 5y --cells tlc   calculate write amplification from a data sheet
  wearwell fleet docs/samples/fleet.toml          calculate the lifetime of a fleet and the cost of each tenant
  wearwell power my.toml --every 1000             cut the power repeatedly and check for lost data
  wearwell advise my.toml --quick                 find settings that reduce wear
  wearwell explore                                change settings in a browser; theory at once, simulations on request
  wearwell serve my.toml --nbd unix:drive.sock    serve the drive as a block device to fio, QEMU or file systems
  wearwell live demo                              serve a small drive, write to it, and get advice
  wearwell top unix:control.sock                  show the activity of a served drive in the terminal
  wearwell image fsck drive                       check that a saved drive can be recovered from its flash
  wearwell pull-plug drive --after 500 --torn     cut the power of a served drive during an operation
  wearwell theory double --hot-writes 0.8 --hot-space 0.2   calculate write amplification without simulation
  wearwell model ftl --capacity '8 TiB'           compare RAM and recovery time of FTLs
  wearwell nvmfs mkfs --nvram /dev/shm/n --size '256 MiB' --ssd ssd.img --ssd-size '4 GiB'   create a file system to mount
  wearwell reproduce geckoftl/figure-1 --quick    reproduce a figure of a paper, with data, plot and verdict
  wearwell check theory                           compare theory with simulation
  wearwell trace describe my-trace.csv.gz --trace-format msr
  wearwell list victims                           list every policy with its source

Exit codes:
  0    done
  1    the run failed (for example: an unreadable trace, a worn-out drive, a file that cannot be written)
  2    the command line or the scenario is wrong
  3    with --strict only: the result is not steady or not meaningful
  130  interrupted by Ctrl-C; no file is left incomplete";

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
