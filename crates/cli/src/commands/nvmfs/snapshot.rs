//! `wearwell nvmfs snapshot`.

use super::devices::{now_ns, open_to_read, option_failure, random};
use super::stats::report;
use crate::exit::Failure;
use crate::interrupt::interrupted;
use crate::output::print;
use crate::report::grid;
use clap::Args;
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::check_snapshot_name;
use wearwell_nvmfs::nvram::{MappedNvram, Persistence};
use wearwell_nvmfs::options::Options;
use wearwell_nvmfs::ssd::{Caching, FileSsd};
use wearwell_nvmfs::stats::{SNAPSHOT_XATTR, SnapshotStats};
use wearwell_nvmfs::store::Store;

/// Makes, lists and deletes snapshots, which are visible in `.snapshots` of a mount or can be mounted read-only
#[derive(clap::Subcommand)]
pub enum Command {
    /// Makes a snapshot, in constant time for any size of the file system
    ///
    /// Old versions of data that the file system changes later stay on the devices until the snapshot is deleted. A
    /// mount shows the snapshot as `.snapshots/NAME` in its root; listings of the root omit `.snapshots`.
    #[command(after_help = HELP)]
    Create(SnapshotArgs),
    /// Deletes a snapshot, and frees the blocks that only it uses
    ///
    /// If the file system is mounted, the blocks are freed in the background, and the command returns when all are free.
    #[command(after_help = HELP)]
    Delete(SnapshotArgs),
    /// Lists the snapshots, the oldest first, with the number of 4 KiB blocks that only that snapshot uses
    #[command(after_help = HELP)]
    List(ListArgs),
}

/// A file system, mounted or not.
#[derive(Args)]
struct FileSystemArgs {
    /// NVRAM of a file system that is not mounted; several times if it consists of several files
    #[arg(long, value_name = "FILE", requires = "ssd")]
    nvram: Vec<PathBuf>,
    /// SSD of that file system: a file or a block device; snapshots of a simulated drive need a mounted file system
    #[arg(long, value_name = "FILE", requires = "nvram")]
    ssd: Option<PathBuf>,
    /// Directory of the mount
    #[arg(long, value_name = "DIR", required_unless_present = "nvram", conflicts_with_all = ["nvram", "ssd"])]
    on: Option<PathBuf>,
}

/// Arguments for one snapshot.
#[derive(Args)]
pub struct SnapshotArgs {
    #[command(flatten)]
    which: FileSystemArgs,
    /// Name of the snapshot: 1 to 100 letters, digits and `-_.:@+`
    #[arg(value_name = "NAME")]
    name: String,
}

/// Arguments for all snapshots.
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    which: FileSystemArgs,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Interval between checks whether all blocks are free.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const HELP: &str = "\
Examples:
  wearwell nvmfs snapshot create --on /mnt monday
  wearwell nvmfs snapshot list --on /mnt
  cp /mnt/.snapshots/monday/file /mnt/file
  wearwell nvmfs snapshot delete --nvram /dev/shm/nvram --ssd ssd.img monday
  wearwell nvmfs mount --nvram /dev/shm/nvram --ssd ssd.img --snapshot monday /old";

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Create(one) => change_snapshot(one, "create"),
        Command::Delete(one) => change_snapshot(one, "delete"),
        Command::List(list) => print_list(list),
    }
}

/// Makes or deletes a snapshot.
fn change_snapshot(one: &SnapshotArgs, operation: &str) -> Result<(), Failure> {
    check_snapshot_name(&one.name).map_err(|error| option_failure(&one.name, error))?;
    match (&one.which.on, &one.which.ssd) {
        (Some(directory), _) => request_change(directory, operation, &one.name),
        (None, Some(ssd)) => change(&one.which.nvram, ssd, operation, &one.name),
        (None, None) => Err(Failure::usage("give --on, or --nvram and --ssd")),
    }
}

/// Requests the change from the server of a mount. The kernel's dirty pages are written first.
fn request_change(directory: &Path, operation: &str, name: &str) -> Result<(), Failure> {
    let shown = directory.display().to_string();
    // Without this check, the attribute would be set on an ordinary directory.
    report(directory).map_err(|error| option_failure(&shown, error))?;
    let open = File::open(directory).map_err(|error| option_failure(&shown, error))?;
    rustix::fs::syncfs(&open).map_err(|error| option_failure(&shown, error))?;
    let order = format!("{operation} {name}");
    let set = rustix::fs::fsetxattr(&open, SNAPSHOT_XATTR, order.as_bytes(), XattrFlags::empty());
    drop(open);
    set.map_err(|error| match error {
        Errno::EXIST => option_failure(name, "there is such a snapshot"),
        Errno::NOENT => option_failure(name, "there is no such snapshot"),
        Errno::NOSPC => option_failure(name, "there is no room for another snapshot"),
        error => option_failure(&shown, error),
    })?;
    // The server frees blocks while it serves requests.
    while report(directory).is_ok_and(|stats| stats.snapshots_being_deleted > 0) {
        if interrupted() {
            return Err(option_failure(name, "it was deleted, and what it had is still being freed"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Changes a file system that is not mounted.
fn change(nvram: &[PathBuf], ssd: &Path, operation: &str, name: &str) -> Result<(), Failure> {
    let nvram =
        MappedNvram::open_set(nvram, Persistence::Auto).map_err(|error| option_failure("--nvram", error))?;
    let ssd = FileSsd::open(ssd, Caching::Cached).map_err(|error| option_failure("--ssd", error))?;
    let options = Options { nonce: random()?, ..Options::default() };
    let mounted = Nvmfs::mount(nvram, Arc::new(ssd), options);
    let (mut fs, _) = mounted.map_err(|error| option_failure("--nvram, --ssd", error))?;
    let done = match operation {
        "create" => fs.create_snapshot(name, now_ns()),
        _ => fs.delete_snapshot(name),
    };
    fs.close();
    done.map_err(|error| match error {
        wearwell_nvmfs::api::Error::Exists => option_failure(name, "there is such a snapshot"),
        wearwell_nvmfs::api::Error::NotFound => option_failure(name, "there is no such snapshot"),
        error => option_failure(name, error),
    })
}

/// Prints the snapshots.
fn print_list(list: &ListArgs) -> Result<(), Failure> {
    let snapshots = match (&list.which.on, &list.which.ssd) {
        (Some(directory), _) => {
            report(directory)
                .map_err(|error| option_failure(&directory.display().to_string(), error))?
                .snapshots
        }
        (None, Some(ssd)) => of_image(&list.which.nvram, ssd)?,
        (None, None) => return Err(Failure::usage("give --on, or --nvram and --ssd")),
    };
    if list.json {
        return print(&(serde_json::to_string_pretty(&snapshots).expect("plain data") + "\n"));
    }
    let rows = snapshots.into_iter().map(|one| {
        let time = chrono::DateTime::from_timestamp_nanos(one.created_ns)
            .format("%Y-%m-%d %H:%M:%S UTC")
            .to_string();
        vec![one.name, time, one.blocks.to_string()]
    });
    print(&grid(&["Name", "Made", "Blocks"], rows.collect(), &[2]))
}

/// Returns the snapshots of a file system that is not mounted, without changing it.
fn of_image(nvram: &[PathBuf], ssd: &Path) -> Result<Vec<SnapshotStats>, Failure> {
    let (nvram, ssd) = open_to_read(nvram, ssd, Caching::Cached)?;
    let opened = Store::open_damaged(nvram, Arc::new(ssd), Options::default());
    let (store, _) = opened.map_err(|error| option_failure("--nvram, --ssd", error))?;
    let fs = Nvmfs::open_for_repair(store).map_err(Failure::run)?;
    fs.snapshots().map_err(Failure::run)
}
