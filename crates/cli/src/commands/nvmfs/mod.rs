//! `wearwell nvmfs`: a file system over NVRAM and an SSD.

mod devices;
mod fsck;
#[cfg(feature = "serve")]
mod metrics;
mod mkfs;
mod mount;
mod options;
mod snapshot;
mod stats;
mod umount;

use crate::exit::Failure;
#[cfg(feature = "serve")]
pub use stats::report;

/// Makes, mounts and checks NVMFS, a file system over NVRAM and an SSD
#[derive(clap::Subcommand)]
pub enum Command {
    Mkfs(mkfs::Args),
    Mount(mount::Args),
    Umount(umount::Args),
    Fsck(fsck::Args),
    Stats(stats::Args),
    #[command(subcommand)]
    Snapshot(snapshot::Command),
}

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Mkfs(args) => mkfs::run(args),
        Command::Mount(args) => mount::run(args),
        Command::Umount(args) => umount::run(args),
        Command::Fsck(args) => fsck::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Snapshot(command) => snapshot::run(command),
    }
}
