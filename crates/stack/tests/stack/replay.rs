//! Mapping of a trace's addresses and volumes to pages of the drive, checked by the number of pages that reach the
//! drive.

use crate::common::{scenario, try_run};
use std::fs;
use std::path::PathBuf;
use wearwell_stack::{RunError, RunResult};

/// A trace in Wearwell's CSV format, from lines of `op,volume,offset,length`.
struct Trace {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Trace {
    fn new(lines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        let mut text = String::from("time_ns,op,volume,offset_bytes,length_bytes,hint\n");
        for (at, line) in lines.iter().enumerate() {
            text += &format!("{at},{line},0\n");
        }
        fs::write(&path, text).unwrap();
        Trace { _folder: folder, path }
    }

    /// Replays one pass, preconditioning not measured, on a drive of 100 pages of 4096 bytes.
    fn replay(&self, settings: &str) -> Result<RunResult, RunError> {
        try_run(&scenario(&format!(
            r#"
            [device]
            capacity = 409600
            blocks_per_plane = 20
            pages_per_block = 8
            [trace]
            path = "{}"
            {settings}
            [precondition]
            fill = "none"
            [measure]
            warm_up = 0
            drive_writes = 0.01
            "#,
            self.path.display()
        )))
    }

    /// Returns the pages written, read and trimmed in one pass, and the pages that hold data after it.
    fn pages(&self, settings: &str) -> [u64; 4] {
        let result = self.replay(settings).unwrap();
        assert_eq!(result.phases.trace_passes, Some(1));
        let layer = &result.layers[0];
        let mapped = (layer.mapped_share * f64::from(result.device.logical_pages)).round() as u64;
        [layer.incoming["write"], layer.incoming["read"], layer.incoming["trim"], mapped]
    }

    fn error_of(&self, settings: &str) -> String {
        self.replay(settings).expect_err("must be refused").to_string()
    }
}

#[test]
fn requests_are_rounded_out_and_trims_rounded_in_to_pages() {
    let trace = Trace::new(&["W,0,0,4096", "W,0,5000,4096", "W,0,12288,1", "R,0,4000,200", "T,0,4095,8194"]);
    // The trace writes pages 0 and 1, and 2 and 3; reads 0 and 1; the trim covers pages 1 and 2 completely.
    assert_eq!(trace.pages(""), [4, 2, 2, 2]);
    assert_eq!(trace.pages("trim = false"), [4, 2, 0, 4]);
}

#[test]
fn direct_addresses_beyond_drive_are_refused() {
    let trace = Trace::new(&["W,0,0,8192", "W,0,405504,8192"]);
    let message = trace.error_of("");
    assert!(message.contains("request 2 ends at byte 413696, the drive has 409600"), "{message}");
    assert!(message.contains("wrap, scale or compact"), "{message}");
}

#[test]
fn addresses_past_the_end_wrap_around() {
    // The second request writes page 99 and, wrapped around, page 0 again.
    let trace = Trace::new(&["W,0,0,4096", "W,0,405504,8192"]);
    assert_eq!(trace.pages("address = \"wrap\""), [3, 0, 0, 2]);
}

#[test]
fn scaled_addresses_fill_the_drive() {
    // The trace has 200 pages and the drive 100: each pair of neighbours maps to one page, which a request touches
    // once.
    let trace = Trace::new(&["W,0,0,819200"]);
    assert_eq!(trace.pages("address = \"scale\""), [100, 0, 0, 100]);
    // The trace has 50 pages and the drive 100: every other page of the drive is written.
    let trace = Trace::new(&["W,0,0,204800"]);
    assert_eq!(trace.pages("address = \"scale\""), [50, 0, 0, 50]);
}

#[test]
fn compact_addresses_are_numbered_in_order_of_first_access() {
    let far = 4096u64 << 30;
    let lines =
        [format!("W,0,{far},8192"), "W,0,0,4096".into(), format!("R,0,{far},4096"), "T,0,40960,4096".into()];
    let trace = Trace::new(&lines.each_ref().map(String::as_str));
    // The trim of a page that was neither read nor written is skipped, with a warning.
    assert_eq!(trace.pages("address = \"compact\""), [3, 1, 0, 3]);
    let warnings = trace.replay("address = \"compact\"").unwrap().warnings;
    assert!(
        warnings.iter().any(|warning| warning.starts_with("1 pages of the trace's discards")),
        "{warnings:?}"
    );
    let trace = Trace::new(&["W,0,0,409600", "W,0,409600,4096"]);
    let message = trace.error_of("address = \"compact\"");
    assert!(
        message.contains("request 2") && message.contains("more than the drive's 100 pages"),
        "{message}"
    );
    // A single request that is longer than the drive is refused like many short ones.
    let message = Trace::new(&["W,0,0,413696"]).error_of("address = \"compact\"");
    assert!(
        message.contains("request 1") && message.contains("more than the drive's 100 pages"),
        "{message}"
    );
}

#[test]
fn volumes_are_single_side_by_side_or_overlaid() {
    let trace = Trace::new(&["W,3,0,8192", "W,1,0,4096", "W,3,8192,4096"]);
    let message = trace.error_of("");
    assert!(message.contains("request 2 is for volume 1, earlier ones for volume 3"), "{message}");
    assert_eq!(trace.pages("volume_rule = \"side_by_side\""), [4, 0, 0, 4]);
    assert_eq!(trace.pages("volume_rule = \"overlay\""), [4, 0, 0, 3]);
    assert_eq!(trace.pages("volumes = [3]"), [3, 0, 0, 3]);
    assert_eq!(trace.pages("volumes = [1]"), [1, 0, 0, 1]);
}

#[test]
fn volumes_side_by_side_are_scaled_and_compacted_together() {
    // The volumes have 150 and 50 pages, the drive has 100 pages.
    let trace = Trace::new(&["W,0,0,614400", "W,1,0,204800"]);
    assert_eq!(trace.pages("volume_rule = \"side_by_side\"\naddress = \"scale\""), [100, 0, 0, 100]);
    let trace = Trace::new(&["W,0,4096000,4096", "W,1,4096000,4096"]);
    assert_eq!(trace.pages("volume_rule = \"side_by_side\"\naddress = \"compact\""), [2, 0, 0, 2]);
    assert_eq!(trace.pages("volume_rule = \"overlay\"\naddress = \"compact\""), [2, 0, 0, 1]);
}

/// A discard far longer than the touched range only processes the touched pages, in the order of the trace.
#[test]
fn compacted_discard_of_whole_disk_frees_touched_pages() {
    let whole = 1u64 << 62;
    let trim = format!("T,0,0,{whole}");
    let trace = Trace::new(&["W,0,49152,4096", "W,0,40960,8192", "R,0,81920,4096", &trim, "W,0,45056,4096"]);
    // Pages 12, 10, 11 and 20 are numbered 0 to 3; all are trimmed, and 11 is written again.
    assert_eq!(trace.pages("address = \"compact\""), [4, 1, 4, 1]);
    let warnings = trace.replay("address = \"compact\"").unwrap().warnings;
    let skipped_discards = format!("{} pages of the trace's discards", whole / 4096 - 4);
    assert!(warnings.iter().any(|warning| warning.starts_with(&skipped_discards)), "{warnings:?}");
}

#[test]
fn trace_without_writes_is_refused() {
    let message = Trace::new(&["R,0,0,4096"]).error_of("");
    assert!(message.contains("nothing was written"), "{message}");
}

#[test]
fn bad_lines_are_refused_with_position_or_counted() {
    let trace = Trace::new(&["W,0,0,4096", "Z,0,0,4096", "W,0,4096,4096"]);
    let message = trace.error_of("");
    assert!(message.contains("trace.csv, line 3") && message.contains("R, W, T or F"), "{message}");
    let result = trace.replay("skip_bad = true").unwrap();
    assert_eq!((result.phases.skipped_lines, result.layers[0].incoming["write"]), (1, 2));
}

#[test]
fn read_only_trace_is_measured_by_passes_in_timed_mode_and_refused_otherwise() {
    let trace = Trace::new(&["R,0,0,4096", "R,0,8192,8192", "F,0,0,0"]);
    let error = trace.error_of("");
    assert!(error.contains("nothing was written in the last 3 pages"), "{error}");
    let times = "[timing]\narrivals = \"closed\"\nread_us = 50.0\nprogram_us = 200.0\nerase_us = 1000.0\nchannel_mb_per_s = 400.0\n";
    let result = trace.replay(times).unwrap();
    let reads = &result.timing.as_ref().unwrap().requests["read"];
    // One pass detects that nothing is written, another pass is measured.
    assert_eq!((result.phases.trace_passes, reads.requests, reads.pages), (Some(1), 2, 3));
    let flushes = Trace::new(&["F,0,0,0"]);
    assert!(flushes.replay(times).unwrap_err().to_string().contains("no request writes, reads or trims"));
}
