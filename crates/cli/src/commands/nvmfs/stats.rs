//! `wearwell nvmfs stats`.

use super::devices::about;
use crate::exit::Failure;
use crate::output::print;
use crate::report::grid;
use std::path::PathBuf;
use wearwell_nvmfs::mount::REPORT_XATTR;
use wearwell_nvmfs::stats::Stats;

/// Largest report, bytes.
const MOST_BYTES: usize = 64 << 10;

/// What a mounted file system did since it was mounted, and how full it is
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The directory on which it is mounted
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Prints JSON, for programs
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  wearwell nvmfs stats /mnt
  wearwell nvmfs stats /mnt --json | jq .counts.ssd_written_blocks";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let report = report(args).map_err(|error| about(&args.directory.display().to_string(), error))?;
    print(&if args.json {
        serde_json::to_string_pretty(&report).expect("plain data") + "\n"
    } else {
        table(&report)
    })
}

fn report(args: &Args) -> Result<Stats, String> {
    let mut text = vec![0; MOST_BYTES];
    let length = rustix::fs::getxattr(&args.directory, REPORT_XATTR, &mut text).map_err(|error| {
        format!(
            "no NVMFS is mounted on it ({error}); give the directory that `wearwell nvmfs mount` was given"
        )
    })?;
    serde_json::from_slice(&text[..length]).map_err(|error| error.to_string())
}

/// What people ask first.
fn table(stats: &Stats) -> String {
    let share = |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.1} %", share * 100.0));
    let of = |part: u64, whole: u64| format!("{part} of {whole}");
    let counts = &stats.counts;
    let rows = [
        ("Blocks of data in use", of(stats.used_blocks, stats.capacity_blocks)),
        ("Inodes in use", of(stats.inodes.into(), stats.inode_limit.into())),
        ("NVRAM: dirty pages", of(stats.dirty_pages.into(), stats.pages.into())),
        ("  clean pages", stats.clean_pages.to_string()),
        ("  pages of metadata", stats.metadata_pages.to_string()),
        ("SSD: free extents", of(stats.free_extents.into(), stats.extents.into())),
        ("  valid blocks", stats.ssd_valid_blocks.to_string()),
        ("Blocks read", counts.read_blocks.to_string()),
        ("  of them on NVRAM", share(stats.read_hit_ratio)),
        ("Blocks written", counts.written_blocks.to_string()),
        ("  of them on NVRAM", share(stats.write_hit_ratio)),
        ("Blocks written to the SSD", counts.ssd_written_blocks.to_string()),
        ("  in requests", counts.ssd_writes.to_string()),
        ("Blocks read from the SSD", (counts.ssd_read_blocks + counts.cleaning_read_blocks).to_string()),
        ("Extents recycled", counts.recycled_extents.to_string()),
        ("  cleaning efficiency", share(stats.cleaning_efficiency)),
    ];
    grid(&[], rows.map(|(name, value)| vec![name.to_owned(), value]).into(), &[1]) + "\n"
}
