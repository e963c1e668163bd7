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

/// Makes, lists and deletes snapshots: the file system as it was, in `.snapshots` of a mount, or to be mounted read-only
#[derive(clap::Subcommand)]
pub enum Command {
    /// Makes a snapshot: at once, however large the file system is
    ///
    /// What it has and the file system changes later stays on the devices until it is deleted. On a mount it is found as
    /// `.snapshots/NAME` in the root, which no listing shows.
    #[command(after_help = HELP)]
    Create(One),
    /// Deletes a snapshot, and frees what it alone has
    ///
    /// Of a mount that is used meanwhile: what it has is freed by and by, and the command returns when all is.
    #[command(after_help = HELP)]
    Delete(One),
    /// Lists the snapshots, the oldest first, with the blocks of 4 KiB that each has for itself
    #[command(after_help = HELP)]
    List(List),
}

/// A file system, mounted or not.
#[derive(Args)]
struct Which {
    /// NVRAM of one that is not mounted; several times if it lies in several files
    #[arg(long, value_name = "FILE", requires = "ssd")]
    nvram: Vec<PathBuf>,
    /// Its SSD: a file or a block device; of the drive of a scenario while it is mounted alone
    #[arg(long, value_name = "FILE", requires = "nvram")]
    ssd: Option<PathBuf>,
    /// The directory on which it is mounted
    #[arg(long, value_name = "DIR", required_unless_present = "nvram", conflicts_with_all = ["nvram", "ssd"])]
    on: Option<PathBuf>,
}

/// What one snapshot is asked for.
#[derive(Args)]
pub struct One {
    #[command(flatten)]
    which: Which,
    /// Its name: 1 to 100 letters, digits and `-_.:@+`
    #[arg(value_name = "NAME")]
    name: String,
}

/// What all are asked for.
#[derive(Args)]
pub struct List {
    #[command(flatten)]
    which: Which,
    /// Prints JSON, for programs
    #[arg(long)]
    json: bool,
}

/// How often is looked whether all is freed.
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

/// Makes or deletes one.
fn order(one: &One, what: &str) -> Result<(), Failure> {
    check_snapshot_name(&one.name).map_err(|error| about(&one.name, error))?;
    match (&one.which.on, &one.which.ssd) {
        (Some(directory), _) => tell_mount(directory, what, &one.name),
        (None, Some(ssd)) => change(&one.which.nvram, ssd, what, &one.name),
        (None, None) => Err(Failure::usage("give --on, or --nvram and --ssd")),
    }
}

/// Has the server of a mount do it. What the kernel has still to write is written first.
fn tell_mount(directory: &Path, what: &str, name: &str) -> Result<(), Failure> {
    let shown = directory.display().to_string();
    // Else the attribute would be one of the directory.
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
    // What it had is freed beside requests.
    while report(directory).is_ok_and(|stats| stats.snapshots_being_deleted > 0) {
        if interrupted() {
            return Err(about(name, "it was deleted, and what it had is still being freed"));
        }
        std::thread::sleep(TICK);
    }
    Ok(())
}

/// Does it where nobody has it mounted.
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

/// Prints which there are.
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

/// Those of a file system that is not mounted, which is left as it is.
fn of_image(nvram: &[PathBuf], ssd: &Path) -> Result<Vec<SnapshotStats>, Failure> {
    let (nvram, ssd) = open_to_read(nvram, ssd, Caching::Cached)?;
    let opened = Store::open_damaged(nvram, Arc::new(ssd), Options::default());
    let (store, _) = opened.map_err(|error| about("--nvram, --ssd", error))?;
    let fs = Nvmfs::to_repair(store).map_err(Failure::run)?;
    fs.snapshots().map_err(Failure::run)
}
