//! `wearwell nvmfs fsck`.

use super::devices::Devices;
use crate::exit::Failure;
use crate::output::print;
use serde_json::json;
use std::sync::Arc;
use wearwell_nvmfs::options::Options;
use wearwell_nvmfs::store::{Found, Store};

/// Checks a file system that is not mounted
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Puts right what is wrong
    #[arg(long)]
    repair: bool,
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

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let not_checked =
        |error: &dyn std::fmt::Display| Failure::Checked(NOT_CHECKED, format!("error: {error}"));
    let opened = |failure: Failure| match failure {
        Failure::Run(message) => not_checked(&message),
        other => other,
    };
    let nvram = args.devices.open_nvram().map_err(opened)?;
    let ssd = Arc::new(args.devices.open_ssd().map_err(opened)?);
    let store = Store::open_damaged(nvram, ssd, Options::default());
    let (mut store, found) = store.map_err(|error| not_checked(&error))?;
    print(&if args.json { as_json(&found, args.repair) } else { as_text(&found) })?;
    if found.scan.problem_count == 0 {
        if found.was_closed {
            store.close();
        }
        return Ok(());
    }
    if !args.repair {
        let message = format!("{} problems were left; --repair corrects them", found.scan.problem_count);
        return Err(Failure::Checked(LEFT, message));
    }
    store.repair(&found.scan);
    Err(Failure::Checked(CORRECTED, format!("{} problems were corrected", found.scan.problem_count)))
}

fn as_text(found: &Found) -> String {
    let mut text = String::new();
    for problem in &found.scan.problems {
        text += &format!("{problem}\n");
    }
    let state = if found.was_closed { "unmounted properly" } else { "not unmounted properly" };
    text + &format!("{state}; {} inodes in use, {} problems\n", found.scan.inodes, found.scan.problem_count)
}

fn as_json(found: &Found, repaired: bool) -> String {
    let problems: Vec<String> = found.scan.problems.iter().map(ToString::to_string).collect();
    let report = json!({
        "was_closed": found.was_closed,
        "inodes": found.scan.inodes,
        "orphans": found.scan.orphans.len(),
        "problem_count": found.scan.problem_count,
        "problems": problems,
        "repaired": repaired && found.scan.problem_count > 0,
    });
    serde_json::to_string_pretty(&report).expect("plain data") + "\n"
}
