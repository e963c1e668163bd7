//! `wearwell nvmfs fsck`.

use super::devices::{Devices, about, now_ns, random};
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
use wearwell_nvmfs::store::{Found, Store};

/// Checks a file system that is not mounted
///
/// First all inodes, their checksums and where their blocks lie, then all names and what they lead to, then the data on the SSD
/// against its checksums, and the names in each snapshot. Changes nothing without --repair. With it, pointers that lead nowhere become holes, files that no name
/// leads to get one in /lost+found, and what has a wrong checksum on NVRAM is taken as it is. Data on the SSD that has a wrong
/// one is left: reading it is an error until it is written anew or deleted.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Puts right what is wrong
    #[arg(long)]
    repair: bool,
    /// Takes NVRAM and SSD of different mounts for a pair: what was changed between them is wrong
    ///
    /// For a copy that is all that is left. Files that were not written since it was made are as they were.
    #[arg(long, requires = "repair")]
    unpaired: bool,
    /// Leaves out the data on the SSD, which takes as long as reading it
    #[arg(long)]
    quick: bool,
    /// Prints JSON, for programs
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

/// Exit code for what was corrected.
const CORRECTED: u8 = 1;
/// Exit code for what was left.
const LEFT: u8 = 4;
/// Exit code for what could not be checked.
const NOT_CHECKED: u8 = 8;

/// What was found.
#[derive(Serialize)]
struct Report {
    /// It had been unmounted.
    was_closed: bool,
    /// Inodes in use.
    inodes: u32,
    /// Files that nobody wants, and that the next mount removes; some are usual when it was not unmounted.
    orphans: usize,
    /// How many problems there were.
    problem_count: u64,
    /// Problems, not all where there are many.
    problems: Vec<String>,
    /// They were corrected, but for those that are left.
    repaired: bool,
    /// Problems that nothing can correct: data that is lost, and names in snapshots.
    left: u64,
    /// Those of them that are of names in snapshots, which go with these.
    left_in_snapshots: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let report = if args.repair { repair(args) } else { check(args) };
    let report = report.map_err(|failure| match failure {
        Failure::Run(message) => Failure::Checked(NOT_CHECKED, format!("error: {message}")),
        other => other,
    })?;
    print(&if args.json { pretty(&report) } else { as_text(&report) })?;
    let (count, left) = (report.problem_count, report.left);
    match (count, args.repair) {
        (0, _) => Ok(()),
        (_, true) if left > 0 => Err(Failure::Checked(LEFT, of_those_left(&report))),
        (_, true) => Err(Failure::Checked(CORRECTED, format!("corrected: {}", counted(count, "problem")))),
        (_, false) => Err(Failure::Checked(
            LEFT,
            format!("left: {}; --repair corrects what it can", counted(count, "problem")),
        )),
    }
}

/// What is left, and what helps.
fn of_those_left(report: &Report) -> String {
    let (left, names) = (report.left - report.left_in_snapshots, report.left_in_snapshots);
    let data = "of data, which is lost: bring these files back from a copy, or delete them";
    let kinds = [
        (left, format!("{} {data}", counted(left, "block"))),
        (names, format!("{} in snapshots, which go when these are deleted", counted(names, "problem"))),
    ];
    let told: Vec<String> = kinds.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    format!(
        "corrected: {}; left: {}",
        counted(report.problem_count - report.left, "problem"),
        told.join("; ")
    )
}

/// Looks at a copy of the NVRAM. Names are looked at as they are when the blocks are right.
fn check(args: &Args) -> Result<Report, Failure> {
    let (nvram, ssd) = args.devices.open_to_read()?;
    let opened = Store::open_damaged(nvram, Arc::new(ssd), Options::default());
    let (fs, mut report) = with_right_blocks(opened.map_err(Failure::run)?)?;
    report.tell(&names::check::check(&fs.store().region).map_err(Failure::run)?);
    report.look_at_data(&fs, args.quick)?;
    report.look_at_snapshots(fs.into_store());
    Ok(report)
}

/// Puts right all that is wrong, and finishes what was interrupted.
fn repair(args: &Args) -> Result<Report, Failure> {
    let (nvram, ssd) = (args.devices.open_nvram()?, Arc::new(args.devices.open_ssd()?));
    let options = Options { mark: random()?, ..Options::default() };
    let opened = match args.unpaired {
        true => Store::open_unpaired(nvram, ssd, options),
        false => Store::open_damaged(nvram, ssd, options),
    };
    let mut opened = opened.map_err(Failure::run)?;
    // What changes from here on makes any copy of before another's.
    opened.0.begin_epoch().map_err(|error| about("--ssd", error))?;
    let (mut fs, mut report) = with_right_blocks(opened)?;
    let caller = Caller { now_ns: now_ns(), ..Caller::default() };
    // Removes orphans too.
    report.tell(&wearwell_nvmfs::fs::repair(&mut fs, &caller).map_err(Failure::run)?);
    report.repaired = report.problem_count > 0;
    report.look_at_data(&fs, args.quick)?;
    let has_snapshots = fs.store().has_snapshots();
    fs.close();
    if has_snapshots {
        let (nvram, ssd) = args.devices.open_to_read()?;
        let opened = Store::open_damaged(nvram, Arc::new(ssd), Options::default());
        report.look_at_snapshots(opened.map_err(Failure::run)?.0);
    }
    Ok(report)
}

/// The file system with all blocks where they can be.
fn with_right_blocks<N: Nvram, S: Ssd>(
    (mut store, found): (Store<N, S>, Found),
) -> Result<(Nvmfs<N, S>, Report), Failure> {
    let Found { was_closed, scan } = found;
    let problems = scan.told();
    let (scan, problem_count) = store.repair_all(scan).map_err(Failure::run)?;
    let (inodes, orphans) = (scan.inodes, scan.orphans.len());
    let report = Report {
        was_closed,
        inodes,
        orphans,
        problem_count,
        problems,
        repaired: false,
        left: 0,
        left_in_snapshots: 0,
    };
    Ok((Nvmfs::to_repair(store).map_err(Failure::run)?, report))
}

impl Report {
    fn tell(&mut self, problems: &[NameProblem]) {
        self.problem_count += problems.len() as u64;
        self.problems.extend(problems.iter().map(ToString::to_string));
    }

    /// Looks at the names in snapshots, each as it was, in a store over a copy of the NVRAM. What is wrong there is left.
    fn look_at_snapshots<N: Nvram, S: Ssd>(&mut self, store: Store<N, S>) {
        let problems = match check_snapshots(store) {
            Ok(problems) => {
                problems.iter().map(|(name, problem)| format!("snapshot {name}: {problem}")).collect()
            }
            Err(error) => vec![format!("snapshots: {error}")],
        };
        self.left_in_snapshots = problems.len() as u64;
        self.left += self.left_in_snapshots;
        self.problem_count += self.left_in_snapshots;
        self.problems.extend(problems);
    }

    /// Reads the data that has checksums.
    fn look_at_data<N: Nvram, S: Ssd>(&mut self, fs: &Nvmfs<N, S>, is_quick: bool) -> Result<(), Failure> {
        if !is_quick {
            let problems = fs.store().check_all_data().map_err(|error| about("--ssd", error))?;
            self.left = problems.len() as u64;
            self.problem_count += self.left;
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
    let inodes = counted(report.inodes.into(), "inode");
    text + &format!("{state}; {inodes} in use, {}\n", counted(report.problem_count, "problem"))
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
