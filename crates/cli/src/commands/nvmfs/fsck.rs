//! `wearwell nvmfs fsck`.

use super::devices::{Devices, now_ns, option_failure, random};
use crate::exit::Failure;
use crate::output::print;
use crate::report::pretty;
use serde::Serialize;
use std::sync::Arc;
use wearwell_nvmfs::api::Caller;
use wearwell_nvmfs::fs::{Nvmfs, check_snapshots};
use wearwell_nvmfs::names;
use wearwell_nvmfs::names::check::NameProblem;
use wearwell_nvmfs::nvram::Nvram;
use wearwell_nvmfs::options::Options;
use wearwell_nvmfs::ssd::Ssd;
use wearwell_nvmfs::store::{OpenReport, Store};

/// Checks a file system that is not mounted
///
/// Checks all inodes, their checksums and block pointers; then all names and the inodes that they refer to; then the
/// data on the SSD against its checksums, and the names in each snapshot. Changes nothing without --repair. With
/// --repair, invalid pointers become holes, files without a name get one in /lost+found, and contents of NVRAM with a
/// wrong checksum are accepted. Data on the SSD with a wrong checksum is left: reading it is an error until it is
/// overwritten or deleted.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Correct errors
    #[arg(long)]
    repair: bool,
    /// Accept NVRAM and SSD of different mounts as a pair: changes between these mounts are lost or wrong
    ///
    /// For a copy that is all that is left. Files that were not written since the copy was made are intact.
    #[arg(long, requires = "repair")]
    unpaired: bool,
    /// Skip the data on the SSD, whose check takes as long as reading it
    #[arg(long)]
    quick: bool,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  wearwell nvmfs fsck --nvram /dev/shm/nvram --ssd ssd.img
  wearwell nvmfs fsck --nvram /dev/shm/nvram --ssd ssd.img --repair

Exit codes:
  0  nothing is wrong
  1  something was, and was corrected
  4  something is, and was left
  8  it could not be checked";

/// Exit code for corrected errors.
const EXIT_CORRECTED: u8 = 1;
/// Exit code for errors that remain.
const EXIT_UNCORRECTED: u8 = 4;
/// Exit code for a file system that cannot be checked.
const EXIT_NOT_CHECKED: u8 = 8;

/// Result of a check.
#[derive(Serialize)]
struct Report {
    /// True if the file system was unmounted cleanly.
    was_closed: bool,
    /// Inodes in use.
    inodes: u32,
    /// Files without a name that the next mount removes; some are usual after an unclean end.
    orphans: usize,
    /// Number of problems.
    problem_count: u64,
    /// Descriptions of problems, limited in number.
    problems: Vec<String>,
    /// True if the problems were corrected, except those in `uncorrected`.
    repaired: bool,
    /// Problems that cannot be corrected: lost data, and names in snapshots.
    uncorrected: u64,
    /// Part of `uncorrected` that concerns names in snapshots; these problems end when the snapshots are deleted.
    uncorrected_in_snapshots: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let report = if args.repair { repair(args) } else { check(args) };
    let report = report.map_err(|failure| match failure {
        Failure::Run(message) => Failure::CheckFailed(EXIT_NOT_CHECKED, format!("error: {message}")),
        other => other,
    })?;
    print(&if args.json { pretty(&report) } else { as_text(&report) })?;
    let (count, uncorrected) = (report.problem_count, report.uncorrected);
    match (count, args.repair) {
        (0, _) => Ok(()),
        (_, true) if uncorrected > 0 => {
            Err(Failure::CheckFailed(EXIT_UNCORRECTED, uncorrected_message(&report)))
        }
        (_, true) => {
            Err(Failure::CheckFailed(EXIT_CORRECTED, format!("corrected: {}", plural(count, "problem"))))
        }
        (_, false) => Err(Failure::CheckFailed(
            EXIT_UNCORRECTED,
            format!("left: {}; --repair corrects what it can", plural(count, "problem")),
        )),
    }
}

/// Returns a message about the remaining problems, with a hint.
fn uncorrected_message(report: &Report) -> String {
    let (blocks, names) =
        (report.uncorrected - report.uncorrected_in_snapshots, report.uncorrected_in_snapshots);
    let data = "of data, which is lost: bring these files back from a copy, or delete them";
    let kinds = [
        (blocks, format!("{} {data}", plural(blocks, "block"))),
        (names, format!("{} in snapshots, which go when these are deleted", plural(names, "problem"))),
    ];
    let parts: Vec<String> =
        kinds.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    format!(
        "corrected: {}; left: {}",
        plural(report.problem_count - report.uncorrected, "problem"),
        parts.join("; ")
    )
}

/// Checks a copy of the NVRAM. Names are checked after repairing the blocks in the copy.
fn check(args: &Args) -> Result<Report, Failure> {
    let (nvram, ssd) = args.devices.open_to_read()?;
    let opened = Store::open_damaged(nvram, Arc::new(ssd), Options::default());
    let (fs, mut report) = with_corrected_blocks(opened.map_err(Failure::run)?)?;
    report.add_problems(&names::check::check(&fs.store().region).map_err(Failure::run)?);
    report.check_data(&fs, args.quick)?;
    report.check_snapshot_names(fs.into_store());
    Ok(report)
}

/// Corrects all errors, and completes interrupted operations.
fn repair(args: &Args) -> Result<Report, Failure> {
    let (nvram, ssd) = (args.devices.open_nvram()?, Arc::new(args.devices.open_ssd()?));
    let options = Options { nonce: random()?, ..Options::default() };
    let opened = match args.unpaired {
        true => Store::open_unpaired(nvram, ssd, options),
        false => Store::open_damaged(nvram, ssd, options),
    };
    let mut opened = opened.map_err(Failure::run)?;
    // Repairs change the devices from here on, so an earlier copy of one device no longer matches the other device.
    opened.0.begin_epoch().map_err(|error| option_failure("--ssd", error))?;
    let (mut fs, mut report) = with_corrected_blocks(opened)?;
    let caller = Caller { now_ns: now_ns(), ..Caller::default() };
    // The repair also removes orphans.
    report.add_problems(&wearwell_nvmfs::fs::repair(&mut fs, &caller).map_err(Failure::run)?);
    report.repaired = report.problem_count > 0;
    report.check_data(&fs, args.quick)?;
    let has_snapshots = fs.store().has_snapshots();
    fs.close();
    if has_snapshots {
        let (nvram, ssd) = args.devices.open_to_read()?;
        let opened = Store::open_damaged(nvram, Arc::new(ssd), Options::default());
        report.check_snapshot_names(opened.map_err(Failure::run)?.0);
    }
    Ok(report)
}

/// Returns the file system with all block pointers corrected where possible.
fn with_corrected_blocks<N: Nvram, S: Ssd>(
    (mut store, opened): (Store<N, S>, OpenReport),
) -> Result<(Nvmfs<N, S>, Report), Failure> {
    let OpenReport { was_closed, scan } = opened;
    let problems = scan.descriptions();
    let (scan, problem_count) = store.repair_all(scan).map_err(Failure::run)?;
    let (inodes, orphans) = (scan.inodes, scan.orphans.len());
    let report = Report {
        was_closed,
        inodes,
        orphans,
        problem_count,
        problems,
        repaired: false,
        uncorrected: 0,
        uncorrected_in_snapshots: 0,
    };
    Ok((Nvmfs::open_for_repair(store).map_err(Failure::run)?, report))
}

impl Report {
    fn add_problems(&mut self, problems: &[NameProblem]) {
        self.problem_count += problems.len() as u64;
        self.problems.extend(problems.iter().map(ToString::to_string));
    }

    /// Checks the names in each snapshot, in a store over a copy of the NVRAM. Errors found there are not corrected.
    fn check_snapshot_names<N: Nvram, S: Ssd>(&mut self, store: Store<N, S>) {
        let problems = match check_snapshots(store) {
            Ok(problems) => {
                problems.iter().map(|(name, problem)| format!("snapshot {name}: {problem}")).collect()
            }
            Err(error) => vec![format!("snapshots: {error}")],
        };
        self.uncorrected_in_snapshots = problems.len() as u64;
        self.uncorrected += self.uncorrected_in_snapshots;
        self.problem_count += self.uncorrected_in_snapshots;
        self.problems.extend(problems);
    }

    /// Reads all data that has checksums.
    fn check_data<N: Nvram, S: Ssd>(&mut self, fs: &Nvmfs<N, S>, is_quick: bool) -> Result<(), Failure> {
        if !is_quick {
            let problems = fs.store().check_all_data().map_err(|error| option_failure("--ssd", error))?;
            self.uncorrected = problems.len() as u64;
            self.problem_count += self.uncorrected;
            self.problems.extend(problems.iter().map(ToString::to_string));
        }
        Ok(())
    }
}

fn as_text(report: &Report) -> String {
    let mut text = String::new();
    for problem in &report.problems {
        text += &format!("{problem}\n");
    }
    let state = if report.was_closed { "unmounted properly" } else { "not unmounted properly" };
    let inodes = plural(report.inodes.into(), "inode");
    text + &format!("{state}; {inodes} in use, {}\n", plural(report.problem_count, "problem"))
}

fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
