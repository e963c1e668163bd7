//! `wearwell nvmfs mkfs`.

use super::devices::{Devices, now_ns, option_failure, random_id};
use crate::exit::Failure;
use crate::output::print;
use crate::scenario_args::size;
use clap::ValueEnum;
use std::sync::Arc;
use wearwell_nvmfs::api::BLOCK_BYTES;
use wearwell_nvmfs::backing::{Existing, is_blank};
use wearwell_nvmfs::layout::Checksums;
use wearwell_nvmfs::nvram::Guarantee;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::Ssd;
use wearwell_nvmfs::store::Store;
use wearwell_stack::ByteSize;

/// Makes a file system over NVRAM and an SSD
///
/// Missing files are created if their size is given; existing file systems and data are refused without --force, which
/// destroys them. docs/nvmfs.md explains how to choose the sizes.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Size of the NVRAM, for a new file; the sum if there are several
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Devices")]
    size: Option<ByteSize>,
    /// Size of the NVRAM as a share of the SSD, above 0 and at most 1
    #[arg(
        long,
        value_name = "SHARE",
        conflicts_with = "size",
        allow_negative_numbers = true,
        help_heading = "Devices"
    )]
    nvram_share: Option<f64>,
    /// Size of the SSD, for a new file
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Devices")]
    ssd_size: Option<ByteSize>,
    /// Overwrite existing content
    #[arg(long, help_heading = "Devices")]
    force: bool,
    /// Initial number of inodes; one per 4 KiB of NVRAM unless given. More are added when needed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..), help_heading = "File system")]
    inodes: Option<u32>,
    /// Share of the SSD that is kept free for cleaning
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.05,
        allow_negative_numbers = true,
        help_heading = "File system"
    )]
    reserve: f64,
    /// Placement of data
    #[arg(long, value_enum, default_value_t = Placement::Nvmfs, help_heading = "File system")]
    placement: Placement,
    /// Store checksums of metadata only
    ///
    /// With checksums of data, damage is found when data is read from the SSD, by fsck, and, for data on NVRAM, at the next mount.
    #[arg(long, help_heading = "File system")]
    no_data_checksums: bool,
}

/// Placement of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Placement {
    /// By use: hot data stays on NVRAM, data that cools moves to the SSD
    Nvmfs,
    /// By size: small files stay on NVRAM, large ones on the SSD, in place
    Conquest,
}

const HELP: &str = "\
Examples:
  wearwell nvmfs mkfs --nvram /dev/shm/nvram --size '256 MiB' --ssd ssd.img --ssd-size '4 GiB'
  wearwell nvmfs mkfs --nvram /dev/shm/nvram --nvram-share 0.125 --ssd ssd.img --ssd-size '4 GiB'
  wearwell nvmfs mkfs --nvram /dev/dax0.0 --ssd /dev/nvme0n1 --force
  wearwell nvmfs mkfs --nvram /dev/dax0.0 --nvram /dev/dax1.0 --ssd /dev/nvme0n1 --force
  wearwell nvmfs mkfs --nvram /dev/shm/nvram --size '256 MiB' --ssd my.toml     on a simulated drive";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let format = Format {
        id: random_id()?,
        inodes: args.inodes,
        reserve: args.reserve,
        placement: match args.placement {
            Placement::Nvmfs => PlacementKind::Nvmfs,
            Placement::Conquest => PlacementKind::Conquest,
        },
        now_ns: now_ns(),
        checksums: if args.no_data_checksums { Checksums::Metadata } else { Checksums::All },
    };
    format.check().map_err(|error| Failure::Usage(format!("--{error}")))?;
    if let Some(share) = args.nvram_share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
        return Err(Failure::Usage(format!("--nvram-share: is {share}; it must be above 0 and at most 1")));
    }
    // Files created by this command are removed if it fails.
    let new: Vec<_> = args.devices.files().into_iter().filter(|path| !path.exists()).collect();
    let guarantee = make(args, &format).inspect_err(|_| {
        new.iter().for_each(|path| {
            let _ = std::fs::remove_file(path);
        });
    })?;
    if let Some(record) = args.devices.record() {
        // The statistics belong to the file system that was overwritten.
        let _ = std::fs::remove_file(record);
    }
    print(&format!("made; what is in the NVRAM {guarantee}\n"))
}

/// Makes the file system, and returns the guarantee of its NVRAM.
fn make(args: &Args, format: &Format) -> Result<Guarantee, Failure> {
    let existing = if args.force { Existing::Overwrite } else { Existing::Refuse };
    let ssd = args.devices.create_ssd(args.ssd_size.map(|size| size.0), existing)?;
    if !args.force {
        refuse_content(&ssd)?;
    }
    let share = |share: f64| (ssd.blocks() as f64 * share) as u64 * BLOCK_BYTES as u64;
    let nvram_bytes = args.nvram_share.map(share).or(args.size.map(|size| size.0));
    let nvram = args.devices.create_nvram(nvram_bytes, existing)?;
    let guarantee = nvram.guarantee();
    let store = Store::format(nvram, Arc::new(ssd), format, Options::default());
    store.map_err(|error| option_failure("--nvram, --ssd", error))?.close();
    Ok(guarantee)
}

/// Refuses to overwrite content without `--force`.
fn refuse_content(ssd: &impl Ssd) -> Result<(), Failure> {
    let mut first = [0; BLOCK_BYTES];
    ssd.read(0, &mut first).map_err(|error| option_failure("--ssd", error))?;
    if is_blank(&first) {
        return Ok(());
    }
    Err(option_failure("--ssd", "holds something already; --force destroys its content"))
}
