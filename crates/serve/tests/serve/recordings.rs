//! Tests that the replay of a recording has the same counters as the live drive.

use crate::agreement::counts;
use crate::common::{PAGE, SMALL, Step, device, page_steps, run_step, scenario};
use std::ops::ControlFlow;
use std::path::Path;
use wearwell_stack::{CustomParts, Progress, RunResult, run_with};

/// Replays the recording once on a new drive.
fn replay(text: &str, recording: &Path) -> RunResult {
    // The measured phase consists of exactly the recording.
    let once =
        "[precondition]\nfill = \"none\"\n[measure]\nwarm_up = 0.0\ndrive_writes = 0.001\npasses = 1\n";
    let trace = format!("[trace]\npath = {:?}\naddress = \"direct\"\n", recording.display().to_string());
    let scenario = scenario(&format!("{text}\n{once}{trace}"));
    let run = run_with(&scenario, CustomParts::default(), &mut |_: &Progress| ControlFlow::Continue(()));
    run.unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// Returns requests of whole pages, and some of partial pages, for which the device first reads pages.
fn steps(bytes: u64) -> Vec<Step> {
    let mut steps = page_steps(bytes, 3000, 9);
    for (at, step) in steps.iter_mut().enumerate().filter(|(at, _)| at % 10 == 0) {
        let offset = at as u64 * 997 % (bytes - 4 * PAGE);
        *step = match at % 30 {
            0 => Step::Read(offset, 5000),
            10 => Step::Trim(offset, 3 * PAGE),
            _ => Step::Write(offset, vec![at as u8; 3000]),
        };
    }
    steps
}

#[test]
fn replayed_recording_has_counts_of_live_drive() {
    let folder = tempfile::tempdir().unwrap();
    let dedup = format!("{SMALL}[ftl]\ndedup = \"cagc\"\n");
    let fs = format!("{SMALL}[[log]]\nname = \"fs\"\nsegment_blocks = 1\nspare_factor = 0.2\n");
    let dftl = format!("{SMALL}[ftl]\nstructure = \"dftl\"\n");
    for (at, text) in [SMALL.to_owned(), dftl, dedup, fs].iter().enumerate() {
        let path = folder.path().join(format!("{at}{}", if at % 2 == 0 { ".csv" } else { ".csv.zst" }));
        let mut device = device(text);
        device.record(&path).unwrap();
        assert!(device.record(&path).is_err(), "a recording is not written over");
        for step in &steps(device.bytes()) {
            run_step(&mut device, step).unwrap();
        }
        assert!(device.end_recording().unwrap().unwrap() > 3000);
        let live = device.result().unwrap();
        assert!(live.nand.erases > 100, "{text}");
        assert_eq!(counts(&live), counts(&replay(text, &path)), "{text}");
    }
}
