//! `wearwell nvmfs snapshot`.

use super::devices::{about, now_ns, open_to_read, random};
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
use wearwell_nvmfs::stats::{ORDER_XATTR, SnapshotStats};
use wearwell_nvmfs::store::Store;

/// Makes, lists and deletes snapshots, which are visible in `.snapshots` of a mount or can be mounted read-only
#[derive(clap::Subcommand)]
pub enum Command {
    /// Makes a snapshot, in constant time for any size of the file system
    ///
    /// Old versions of data that the file system changes later stay on the devices until the snapshot is deleted. A
    /// mount shows the snapshot as `.snapshots/NAME` in its root; listings of the root omit `.snapshots`.
    #[command(after_help = HELP)]
    Create(One),
    /// Deletes a snapshot, and frees the blocks that only it uses
    ///
    /// If the file system is mounted, the blocks are freed in the background, and the command returns when all are free.
    #[command(after_help = HELP)]
    Delete(One),
    /// Lists the snapshots, the oldest first, with the number of 4 KiB blocks that only that snapshot uses
    #[command(after_help = HELP)]
    List(List),
}

/// A file system, mounted or not.
#[derive(Args)]
struct Which {
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
pub struct One {
    #[command(flatten)]
    which: Which,
    /// Name of the snapshot: 1 to 100 letters, digits and `-_.:@+`
    #[arg(value_name = "NAME")]
    name: String,
}

/// Arguments for all snapshots.
#[derive(Args)]
pub struct List {
    #[command(flatten)]
    which: Which,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Interval between checks whether all blocks are free.
const TICK: Duration = Duration::from_millis(20);

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
        Command::Create(one) => order(one, "create"),
        Command::Delete(one) => order(one, "delete"),
        Command::List(list) => tell(list),
    }
}

/// Makes or deletes a snapshot.
fn order(one: &One, what: &str) -> Result<(), Failure> {
    check_snapshot_name(&one.name).map_err(|error| about(&one.name, error))?;
    match (&one.which.on, &one.which.ssd) {
        (Some(directory), _) => tell_mount(directory, what, &one.name),
        (None, Some(ssd)) => change(&one.which.nvram, ssd, what, &one.name),
        (None, None) => Err(Failure::usage("give --on, or --nvram and --ssd")),
    }
}

/// Requests the change from the server of a mount. The kernel's dirty pages are written first.
fn tell_mount(directory: &Path, what: &str, name: &str) -> Result<(), Failure> {
    let shown = directory.display().to_string();
    // Without this check, the attribute would be set on an ordinary directory.
    report(directory).map_err(|error| about(&shown, error))?;
    let open = File::open(directory).map_err(|error| about(&shown, error))?;
    rustix::fs::syncfs(&open).map_err(|error| about(&shown, error))?;
    let order = format!("{what} {name}");
    let set = rustix::fs::fsetxattr(&open, ORDER_XATTR, order.as_bytes(), XattrFlags::empty());
    drop(open);
    set.map_err(|error| match error {
        Errno::EXIST => about(name, "there is such a snapshot"),
        Errno::NOENT => about(name, "there is no such snapshot"),
        Errno::NOSPC => about(name, "there is no room for another snapshot"),
        error => about(&shown, error),
    })?;
    // The server frees blocks while it serves requests.
    while report(directory).is_ok_and(|stats| stats.snapshots_being_deleted > 0) {
        if interrupted() {
            return Err(about(name, "it was deleted, and what it had is still being freed"));
        }
        std::thread::sleep(TICK);
    }
    Ok(())
}

/// Changes a file system that is not mounted.
fn change(nvram: &[PathBuf], ssd: &Path, what: &str, name: &str) -> Result<(), Failure> {
    let nvram = MappedNvram::open_set(nvram, Persistence::Auto).map_err(|error| about("--nvram", error))?;
    let ssd = FileSsd::open(ssd, Caching::Cached).map_err(|error| about("--ssd", error))?;
    let options = Options { mark: random()?, ..Options::default() };
    let mounted = Nvmfs::mount(nvram, Arc::new(ssd), options);
    let (mut fs, _) = mounted.map_err(|error| about("--nvram, --ssd", error))?;
    let done = match what {
        "create" => fs.create_snapshot(name, now_ns()),
        _ => fs.delete_snapshot(name),
    };
    fs.close();
    done.map_err(|error| match error {
        wearwell_nvmfs::api::Error::Exists => about(name, "there is such a snapshot"),
        wearwell_nvmfs::api::Error::NotFound => about(name, "there is no such snapshot"),
        error => about(name, error),
    })
}

/// Prints the snapshots.
fn tell(list: &List) -> Result<(), Failure> {
    let snapshots = match (&list.which.on, &list.which.ssd) {
        (Some(directory), _) => {
            report(directory).map_err(|error| about(&directory.display().to_string(), error))?.snapshots
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
    let (store, _) = opened.map_err(|error| about("--nvram, --ssd", error))?;
    let fs = Nvmfs::open_for_repair(store).map_err(Failure::run)?;
    fs.snapshots().map_err(Failure::run)
}
