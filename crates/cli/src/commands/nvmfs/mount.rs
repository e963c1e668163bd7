//! `wearwell nvmfs mount`.

use super::devices::{Devices, option_failure, random};
use super::options::MountOptions;
use crate::exit::Failure;
use crate::interrupt::{interrupted, wait_for_cleanup};
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wearwell_mount::{FileNvmfs, FileNvmfsMount};

/// Mounts a file system on a directory, by FUSE
///
/// Serves the file system until it is unmounted: with `wearwell nvmfs umount`, `umount`, Ctrl-C or SIGTERM. Data is in
/// the NVRAM when the write returns. It survives the end of the process and, on persistent memory, a power cut.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Directory for the mount
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Options, separated by commas
    ///
    /// `allow_other`: other users have access. `ro`: read-only. `direct_io`: the kernel caches no pages.
    /// `writeback_cache`: the kernel collects writes, and only fsync makes them durable. `noexec`: no programs can be
    /// executed; nosuid and nodev always apply. `no_scrub`: checksums are not verified in the background. `threads=N`:
    /// number of threads for requests; half of the processors, at most 4, unless given. `snapshot=NAME`: same as
    /// --snapshot. Options of the file system: lists=fixed|adaptive, flush_above=0.8, flush_below=0.5,
    /// recycle_fragmentation=0.1, recycle_free=0.02, grouping=update_likelihood|lru, trim=true,
    /// small_file_bytes=1048576, caching=write_back|periodic|write_through, write_out_share=0.1, index_bytes=67108864.
    #[arg(short, long, value_name = "OPTIONS", default_value = "", hide_default_value = true)]
    options: MountOptions,
    /// Mount a snapshot, read-only, instead of the current state
    ///
    /// Neither NVRAM nor SSD is changed: changes since the snapshot are undone in memory. Several snapshots can be
    /// mounted at the same time, but not together with the file system itself.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
    /// Return once mounted, and serve in the background
    #[arg(long)]
    background: bool,
    /// Print nothing once mounted: used by the process that `--background` starts
    #[arg(long, hide = true)]
    quiet_once_mounted: bool,
}

const HELP: &str = "\
Examples:
  wearwell nvmfs mount --nvram /dev/shm/nvram --ssd ssd.img /mnt
  wearwell nvmfs mount --nvram /dev/dax0.0 --ssd /dev/nvme0n1 -o allow_other,flush_above=0.7 --background /mnt
  wearwell nvmfs stats /mnt; wearwell nvmfs umount /mnt
  wearwell nvmfs mount --nvram /dev/shm/nvram --ssd ssd.img --snapshot monday /mnt";

/// Interval between checks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.directory.metadata().is_ok_and(|of| !of.is_dir()) {
        return Err(option_failure(&args.directory.display().to_string(), "is not a directory"));
    }
    if args.background {
        return in_background(&args.directory);
    }
    let snapshot = args.snapshot.as_ref().or(args.options.snapshot.as_ref());
    let usual = wearwell_mount::Options::default();
    let options = wearwell_mount::Options {
        source: source(&args.devices.nvram[0]).display().to_string(),
        allow_other: args.options.allow_other,
        read_only: args.options.read_only || snapshot.is_some(),
        direct_io: args.options.direct_io,
        writeback_cache: args.options.writeback_cache,
        no_exec: args.options.no_programs,
        scrub: !args.options.no_scrub,
        threads: args.options.threads.map_or(usual.threads, usize::from),
        ..usual
    };
    let file_system =
        wearwell_nvmfs::options::Options { nonce: random()?, ..args.options.file_system.clone() };
    let (file_system, guarantee) = open(&args.devices, file_system, snapshot)?;
    let directory = args.directory.display();
    let mounted = file_system
        .mount(&args.directory, &options)
        .map_err(|error| option_failure(&directory.to_string(), error))?;
    crate::messages::print_message(format_args!("mounted on {directory}; {guarantee}"));
    if args.quiet_once_mounted {
        // Redirect the outputs: a process that reads our pipe would otherwise wait for the end of this process.
        let null_device = std::fs::File::options().write(true).open("/dev/null").map_err(Failure::run)?;
        rustix::stdio::dup2_stderr(&null_device).map_err(Failure::run)?;
    }
    serve(mounted, &args.directory, args.devices.record().filter(|_| snapshot.is_none()).as_deref())
}

/// Opens the file system, or a snapshot of it. Also returns a message for the user.
fn open(
    devices: &Devices,
    options: wearwell_nvmfs::options::Options,
    snapshot: Option<&String>,
) -> Result<(FileNvmfs, String), Failure> {
    if let Some(name) = snapshot {
        let (nvram, ssd) = devices.open_to_read()?;
        let opened = FileNvmfs::open_snapshot(nvram, Box::new(ssd), options, name);
        let (file_system, _) = opened.map_err(|error| option_failure("--snapshot", error))?;
        return Ok((file_system, format!("snapshot {name}, to be read")));
    }
    let (nvram, ssd) = (devices.open_nvram()?, devices.open_ssd()?);
    let guarantee = nvram.guarantee();
    let opened = FileNvmfs::open(nvram, ssd, options);
    let (file_system, found) = opened.map_err(|error| option_failure("--nvram, --ssd", error))?;
    if !found.was_closed {
        crate::messages::print_message(format_args!(
            "it was not unmounted before; everything acknowledged is there"
        ));
    }
    Ok((file_system, format!("what is in the NVRAM {guarantee}")))
}

/// Returns the source for the mount table: the path of the NVRAM, or of its first file if it has several.
/// `nvmfs umount` finds the NVRAM by this path.
fn source(nvram: &Path) -> PathBuf {
    nvram.canonicalize().unwrap_or_else(|_| nvram.to_owned())
}

/// Waits until Ctrl-C or SIGTERM. On a terminal, open files delay the end, with a message; a service ends at once.
fn serve(mounted: FileNvmfsMount, directory: &Path, record: Option<&Path>) -> Result<(), Failure> {
    wait_for_cleanup();
    let directory = directory.display();
    let waits = std::io::stderr().is_terminal();
    let mut is_notified = false;
    while !mounted.has_ended() {
        if interrupted()
            && let Err(error) = mounted.unmount()
            && !is_notified
        {
            if !waits {
                store_statistics(&mounted, record);
                return mounted.end().map_err(|error| option_failure(&directory.to_string(), error));
            }
            crate::messages::print_message(format_args!(
                "{directory}: {error}; waiting. Ctrl-C again ends at once, without loss; then `umount -l {directory}`"
            ));
            is_notified = true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    store_statistics(&mounted, record);
    mounted.join().map_err(|error| option_failure(&directory.to_string(), error))
}

/// Stores the statistics of a simulated drive for `stats`, because the drive ends with the mount.
fn store_statistics(mounted: &FileNvmfsMount, record: Option<&Path>) {
    if let (Some(path), Some(report)) = (record, mounted.report())
        && let Err(error) = std::fs::write(path, report)
    {
        crate::messages::print_message(format_args!(
            "{}: {error}; `stats` will not tell what the drive did",
            path.display()
        ));
    }
}

/// Starts the same command without `--background`, and waits until the directory is on another file system.
fn in_background(directory: &Path) -> Result<(), Failure> {
    let shown = directory.display().to_string();
    let device = || directory.metadata().map(|of| of.dev()).map_err(|error| option_failure(&shown, error));
    let before = device()?;
    let program = std::env::current_exe().map_err(Failure::run)?;
    let arguments = std::env::args_os().skip(1).map(|argument| match argument.to_str() {
        Some("--background") => "--quiet-once-mounted".into(),
        _ => argument,
    });
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(Failure::run)?;
    while device()? == before {
        if child.try_wait().map_err(Failure::run)?.is_some() {
            return Err(Failure::Run(format!("{shown}: it was not mounted")));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
