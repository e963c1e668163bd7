//! `wearwell nvmfs stats`.

use super::devices::{open_to_read, option_failure, record};
use crate::exit::Failure;
use crate::output::print;
use crate::report::{grid, pretty};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::options::Options;
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::Caching;
use wearwell_nvmfs::stats::{STATS_XATTR, Stats};
use wearwell_nvmfs::store::Store;

/// Largest report, in bytes.
const MAX_REPORT_BYTES: usize = 64 << 10;

/// Shows the statistics of a mounted file system since its mount, or the fill level of an unmounted one
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Directory of the mount
    #[arg(value_name = "DIR", required_unless_present = "nvram", conflicts_with_all = ["nvram", "ssd"])]
    directory: Option<PathBuf>,
    /// NVRAM of a file system that is not mounted, which is not changed; several times if it consists of several files
    #[arg(long, value_name = "FILE", requires = "ssd")]
    nvram: Vec<PathBuf>,
    /// SSD of that file system: a file, a block device, or a scenario
    #[arg(long, value_name = "FILE", requires = "nvram")]
    ssd: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
    /// Print metrics of a mounted file system in the text format of Prometheus
    #[cfg(feature = "serve")]
    #[arg(long, requires = "directory", conflicts_with = "json")]
    prometheus: bool,
}

const HELP: &str = "\
Examples:
  wearwell nvmfs stats /mnt
  wearwell nvmfs stats /mnt --json | jq .counts.ssd_written_blocks
  wearwell nvmfs stats /mnt --prometheus > /var/lib/node_exporter/nvmfs.prom    for its textfile collector
  wearwell nvmfs stats --nvram /dev/shm/nvram --ssd ssd.img
  wearwell nvmfs stats --nvram /dev/shm/nvram --ssd my.toml     and what the simulated drive did";

/// Statistics of a file system that is not mounted.
#[derive(Serialize)]
struct ImageStats {
    /// Identifier that NVRAM and SSD have in common.
    id: String,
    /// Size of the NVRAM in bytes.
    nvram_bytes: u64,
    /// Size of the SSD in blocks.
    ssd_blocks: u64,
    /// Placement of data.
    placement: PlacementKind,
    /// Number of mounts.
    mounts: u64,
    /// True if the file system was unmounted cleanly.
    was_closed: bool,
    /// Number of files that the next mount removes.
    orphans: usize,
    /// Number of problems with blocks that fsck would report.
    problem_count: u64,
    /// Extents of the SSD by number of valid blocks, from 0 to 128.
    extents_by_valid_blocks: Vec<u32>,
    /// Fill level.
    #[serde(flatten)]
    stats: Stats,
    /// Statistics of the last mount, if the drive is simulated and the file system was unmounted cleanly.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_mount: Option<Stats>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    #[cfg(feature = "serve")]
    if let (true, Some(directory)) = (args.prometheus, &args.directory) {
        let stats =
            report(directory).map_err(|error| option_failure(&directory.display().to_string(), error))?;
        return print(&super::metrics::text(&stats));
    }
    let (json, text) = match (&args.directory, &args.nvram[..], &args.ssd) {
        (Some(directory), ..) => {
            let stats =
                report(directory).map_err(|error| option_failure(&directory.display().to_string(), error))?;
            (
                serde_json::to_value(&stats),
                table(
                    [usage_rows(&stats), event_rows(&stats), checksum_rows(&stats), drive_rows(&stats)]
                        .concat(),
                ),
            )
        }
        (None, nvram @ [_, ..], Some(ssd)) => {
            let image = image(nvram, ssd)?;
            let last = image
                .last_mount
                .iter()
                .flat_map(|stats| [event_rows(stats), checksum_rows(stats), drive_rows(stats)].concat());
            let rows = [image_rows(&image), usage_rows(&image.stats), last.collect()].concat();
            (serde_json::to_value(&image), table(rows))
        }
        _ => return Err(Failure::usage("give a directory, or --nvram and --ssd")),
    };
    let json = json.expect("plain data");
    print(&if args.json { pretty(&json) } else { text })
}

pub fn report(directory: &Path) -> Result<Stats, String> {
    let mut text = vec![0; MAX_REPORT_BYTES];
    let length = rustix::fs::getxattr(directory, STATS_XATTR, &mut text).map_err(|error| {
        format!(
            "no NVMFS is mounted on it ({error}); give the directory that `wearwell nvmfs mount` was given"
        )
    })?;
    serde_json::from_slice(&text[..length]).map_err(|error| error.to_string())
}

fn image(nvram: &[PathBuf], ssd: &Path) -> Result<ImageStats, Failure> {
    let record = record(ssd);
    let (nvram, ssd) = open_to_read(nvram, ssd, Caching::Cached)?;
    let opened = Store::open_damaged(nvram, Arc::new(ssd), Options::default());
    let (store, found) = opened.map_err(|error| option_failure("--nvram, --ssd", error))?;
    let fs = Nvmfs::open_for_repair(store).map_err(Failure::run)?;
    let superblock = fs.store().superblock();
    Ok(ImageStats {
        id: format!("{:032x}", superblock.id),
        nvram_bytes: superblock.nvram_bytes,
        ssd_blocks: superblock.ssd_blocks,
        placement: superblock.placement,
        mounts: fs.store().epoch().count,
        was_closed: found.was_closed,
        orphans: found.scan.orphans.len(),
        problem_count: found.scan.problem_count,
        extents_by_valid_blocks: fs.store().extent_histogram(),
        stats: fs.stats(),
        // After a crash, the record belongs to an earlier mount.
        last_mount: record.filter(|_| found.was_closed).and_then(|path| last_mount(&path)),
    })
}

/// Reads the statistics that were stored at the last unmount.
fn last_mount(path: &Path) -> Option<Stats> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// A name and a value.
type Row = (&'static str, String);

fn share(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.1} %", share * 100.0))
}

fn part_with_percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

fn part_of_whole(part: impl Into<u64>, whole: impl Into<u64>) -> String {
    format!("{} of {}", part.into(), whole.into())
}

fn image_rows(image: &ImageStats) -> Vec<Row> {
    vec![
        ("Number", image.id.clone()),
        ("NVRAM, bytes", image.nvram_bytes.to_string()),
        ("SSD, blocks of 4 KiB", image.ssd_blocks.to_string()),
        ("Mounted, times", image.mounts.to_string()),
        ("Unmounted properly", if image.was_closed { "yes" } else { "no" }.into()),
        ("Problems of blocks", image.problem_count.to_string()),
        ("Files to be removed", image.orphans.to_string()),
    ]
}

fn usage_rows(stats: &Stats) -> Vec<Row> {
    vec![
        ("Blocks of data in use", part_of_whole(stats.used_blocks, stats.capacity_blocks)),
        ("  reserved and not written yet", stats.reserved_blocks.to_string()),
        ("  of snapshots, with what leads to them", snapshots_text(stats)),
        ("  that can still be had", stats.available_blocks.to_string()),
        ("  that can be written over", overwritable_blocks(stats)),
        ("Inodes in use", part_of_whole(stats.inodes, stats.inode_limit)),
        ("NVRAM: dirty pages", part_of_whole(stats.dirty_pages, stats.pages)),
        ("  length of the dirty list", part_of_whole(stats.dirty_list_pages, stats.pages)),
        ("  clean pages", stats.clean_pages.to_string()),
        ("  of them read once or not yet", stats.probation_pages.to_string()),
        (
            "  pages of metadata",
            part_of_whole(stats.metadata_pages, stats.metadata_pages + stats.free_metadata_pages),
        ),
        ("  pages of inodes", stats.inode_pages.to_string()),
        ("SSD: free extents", part_of_whole(stats.free_extents, stats.extents)),
        ("  valid blocks", stats.ssd_valid_blocks.to_string()),
    ]
}

fn event_rows(stats: &Stats) -> Vec<Row> {
    let counts = &stats.counts;
    vec![
        ("Blocks read", counts.read_blocks.to_string()),
        ("  of them on NVRAM", part_with_percent(counts.read_hits, counts.read_blocks)),
        ("  on the SSD", part_with_percent(counts.read_misses(), counts.read_blocks)),
        ("  nowhere: holes", part_with_percent(counts.read_holes, counts.read_blocks)),
        ("Blocks written, to NVRAM", counts.written_blocks.to_string()),
        ("  over one on NVRAM", part_with_percent(counts.write_hits, counts.written_blocks)),
        ("  over one on the SSD", part_with_percent(counts.write_misses(), counts.written_blocks)),
        ("  new ones", part_with_percent(counts.written_holes, counts.written_blocks)),
        ("Blocks written to the SSD", counts.ssd_written_blocks.to_string()),
        ("  in requests", counts.ssd_writes.to_string()),
        ("Blocks read from the SSD", (counts.ssd_read_blocks + counts.cleaning_read_blocks).to_string()),
        ("Used again soon after flushed", counts.dirty_ghost_hits.to_string()),
        ("  soon after evicted", counts.clean_ghost_hits.to_string()),
        ("Refused for lack of room", refusals(stats)),
        ("Extents recycled", counts.recycled_extents.to_string()),
        ("  cleaning efficiency", share(stats.cleaning_efficiency)),
    ]
}

/// Returns the results of checksum verification.
fn checksum_rows(stats: &Stats) -> Vec<Row> {
    let Some(of) = &stats.checksums else { return Vec::new() };
    let last_error = match &of.last_mismatch {
        Some(last) => format!("{}; the last time {last}", of.mismatches),
        None => of.mismatches.to_string(),
    };
    vec![
        ("Checksums", if of.covers_data { "metadata and data" } else { "metadata" }.into()),
        ("  found to be wrong, times", last_error),
        ("  all looked at, times", of.passes.to_string()),
        ("  inodes and pages looked at", of.checked_metadata.to_string()),
        ("  blocks of the SSD looked at", of.checked_blocks.to_string()),
    ]
}

/// Returns the statistics of a simulated drive.
fn drive_rows(stats: &Stats) -> Vec<Row> {
    let Some(drive) = &stats.drive else { return Vec::new() };
    let amplification = drive.write_amplification.map_or("-".into(), |of| format!("{of:.3}"));
    let mut rows = vec![
        ("Drive: pages programmed", drive.programs.to_string()),
        ("  write amplification", amplification),
    ];
    for layer in &drive.layers {
        let share = |pages: u64| pages as f64 / (layer.written_pages.max(1)) as f64;
        let causes = layer.writes_below.iter().map(|(cause, pages)| format!("{cause} {:.3}", share(*pages)));
        let causes = causes.collect::<Vec<_>>().join(", ");
        rows.push(("  of layer, by cause", format!("{}: {causes}", layer.name)));
    }
    rows.extend([
        ("  blocks erased", drive.erases.to_string()),
        (
            "  erases of a block",
            format!("{} to {}, {:.2} in the mean", drive.min_erases, drive.max_erases, drive.mean_erases),
        ),
        ("  bad blocks", part_of_whole(drive.bad_blocks, drive.blocks)),
    ]);
    rows
}

fn snapshots_text(stats: &Stats) -> String {
    match stats.snapshots_being_deleted {
        0 => stats.snapshot_blocks.to_string(),
        going => format!("{}; snapshots being deleted: {going}", stats.snapshot_blocks),
    }
}

/// Formats the number of blocks that can safely be overwritten.
fn overwritable_blocks(stats: &Stats) -> String {
    match stats.snapshots.last() {
        Some(newest) => {
            format!("{}, and those changed since the snapshot {}", stats.available_blocks, newest.name)
        }
        None => "all".into(),
    }
}

/// Formats the number of requests refused for lack of space, and the full device.
fn refusals(stats: &Stats) -> String {
    match &stats.last_no_space {
        Some(reason) => format!("{}; the last time {reason}", stats.no_space),
        None => stats.no_space.to_string(),
    }
}

fn table(rows: Vec<Row>) -> String {
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    grid(&[], rows.collect(), &[1]) + "\n"
}
