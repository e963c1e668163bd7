//! Tests of a file system on top of a stack: start and length of the measurement, and its counts.

use serde_json::{Value, json};
use std::ops::ControlFlow;
use wearwell_nvmfs::top::{TopReport, resolve, run};
use wearwell_stack::{Observer, Progress, RunResult, Scenario};

const DISK_BYTES: u64 = 32 << 20;

struct EndlessObserver;

impl Observer for EndlessObserver {
    fn progress(&mut self, _progress: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Returns a scenario with a small drive and a file system; `top` overrides the default settings.
fn scenario(top: Value, measure: Value) -> Scenario {
    let mut all = json!({
        "seed": 1,
        "device": {
            "channels": 1, "ways": 1, "dies": 1, "planes": 1, "capacity": "32 MiB", "over_provisioning": 0.1,
            "pages_per_block": 64, "page_size": "4 KiB"
        },
        "ftl": { "victim": "greedy" },
        "precondition": { "fill": "none" },
        "measure": measure,
        "top": { "kind": "nvmfs", "workload": { "kind": "iozone", "utilisation": 0.6 } },
    });
    for (key, value) in top.as_object().unwrap() {
        all["top"][key] = value.clone();
    }
    Scenario::read(&all).unwrap()
}

fn play(top: Value, measure: Value) -> (RunResult, TopReport) {
    let result = run(&scenario(top, measure), &mut EndlessObserver).unwrap();
    let report = serde_json::from_value(result.top.clone().expect("there is a file system")).unwrap();
    (result, report)
}

fn error_of(top: Value, measure: Value) -> String {
    run(&scenario(top, measure), &mut EndlessObserver)
        .err()
        .map_or_else(String::new, |error| error.to_string())
}

/// Returns the bytes written to the drive during the measurement.
fn drive_bytes(result: &RunResult) -> u64 {
    result.layers[0].incoming["write"] * 4096
}

#[test]
fn count_from_mkfs_counts_everything() {
    let (result, report) =
        play(json!({ "nvram_share": 1.0 / 6.0, "count_from": "mkfs", "written": 0.5 }), json!({}));
    let counts = report.stats.counts;
    assert!(report.set_up && report.measured.counts == counts, "{report:?}");
    // The measurement includes the set-up; the writes after the set-up determine the length of the run.
    assert_eq!(report.measured.played.created, 1);
    assert_eq!(report.played.created, 0);
    let written_bytes = DISK_BYTES / 2;
    assert!((written_bytes..written_bytes + 4096).contains(&report.played.written_bytes), "{report:?}");
    assert_eq!(report.measured.played.written_bytes, 4096 * counts.written_blocks);
    // The label of the SSD is one more block.
    assert_eq!(drive_bytes(&result), 4096 * (counts.ssd_written_blocks + 1));
    let traffic = counts.ssd_written_blocks as f64 / counts.written_blocks as f64;
    assert!((report.measured.traffic.unwrap() - traffic).abs() < 1e-12);
}

#[test]
fn count_from_set_up_counts_only_the_workload() {
    let (result, report) =
        play(json!({ "nvram": "5 MiB", "count_from": "set_up", "written": 1.0 }), json!({}));
    assert_eq!(report.measured.played, report.played);
    assert!((DISK_BYTES..DISK_BYTES + 4096).contains(&report.played.written_bytes), "{report:?}");
    assert_eq!(drive_bytes(&result), 4096 * report.measured.counts.ssd_written_blocks);
    assert!(report.measured.counts.ssd_written_blocks < report.stats.counts.ssd_written_blocks);
    // Without other settings, the length of the run is set by the pages that the drive receives.
    let top = json!({ "nvram": "5 MiB", "count_from": "set_up" });
    let (result, _) = play(top, json!({ "drive_writes": 0.5 }));
    let written_bytes = DISK_BYTES / 2;
    assert!(
        (written_bytes..written_bytes + (2 << 20)).contains(&drive_bytes(&result)),
        "{}",
        drive_bytes(&result)
    );
}

#[test]
fn requested_bytes_are_written_after_warm_up() {
    let (result, report) = play(json!({ "nvram": "5 MiB", "written": 0.25 }), json!({ "warm_up": 1.0 }));
    let written = report.measured.played.written_bytes;
    assert!((DISK_BYTES / 4..DISK_BYTES / 4 + 4096).contains(&written), "{report:?}");
    assert_eq!(drive_bytes(&result), 4096 * report.measured.counts.ssd_written_blocks);
    // Without `written`, the length of the run is the same, and the measured counts are reported, too.
    let (result, report) = play(json!({ "nvram": "5 MiB" }), json!({ "warm_up": 1.0, "drive_writes": 0.5 }));
    assert_eq!(drive_bytes(&result), 4096 * report.measured.counts.ssd_written_blocks);
}

#[test]
fn without_cache_all_writes_are_sent() {
    let workload = json!({ "kind": "iozone", "utilisation": 0.6, "order": "zipf", "skew": 0.9 });
    let traffic = |caching: &str| {
        let options = json!({ "caching": caching, "small_file_bytes": 0 });
        let top = json!({ "nvram_share": 0.25, "placement": "conquest", "count_from": "set_up", "written": 1.0,
            "options": options, "workload": workload });
        play(top, json!({})).1.measured.traffic.unwrap()
    };
    let [back, periodic, through] = ["write_back", "periodic", "write_through"].map(traffic);
    assert!((through - 1.0).abs() < 1e-12, "{through}");
    assert!(back < periodic && periodic < through, "{back} {periodic}");
}

#[test]
fn timed_run_counts_bytes_sent_to_drive() {
    let top = || json!({ "nvram_share": 0.125, "count_from": "mkfs", "written": 0.25 });
    let (counted, plain) = play(top(), json!({}));
    let mut timed = scenario(top(), json!({}));
    timed.device.preset = Some("x25_e".into());
    let mut value = serde_json::to_value(&timed).unwrap();
    for key in ["channels", "ways", "dies", "planes"] {
        value["device"].as_object_mut().unwrap().remove(key);
    }
    value["device"]["capacity"] = json!("40 MiB");
    value["timing"] = json!({ "queue_depth": 1 });
    let timed = run(&Scenario::read(&value).unwrap(), &mut EndlessObserver).unwrap();
    let report: TopReport = serde_json::from_value(timed.top.clone().unwrap()).unwrap();
    assert_eq!(drive_bytes(&timed), 4096 * (report.stats.counts.ssd_written_blocks + 1));
    assert!(report.played.written_bytes > 0 && plain.played.written_bytes > 0 && drive_bytes(&counted) > 0);
    assert!(timed.timing.is_some());
}

#[test]
fn invalid_settings_are_rejected_with_their_key() {
    for (top, measure, part) in [
        (json!({}), json!({}), "top.nvram"),
        (json!({ "nvram": "5 MiB", "nvram_share": 0.1 }), json!({}), "nvram_share"),
        (json!({ "nvram_share": 0.0 }), json!({}), "top.nvram_share"),
        (json!({ "nvram_share": 1.5 }), json!({}), "at most 1"),
        (json!({ "nvram": "5 MiB", "written": 0.0 }), json!({}), "top.written"),
        (json!({ "nvram": "5 MiB", "count_from": "mkfs" }), json!({ "warm_up": 1.0 }), "measure.warm_up"),
        (json!({ "nvram": "5 MiB", "options": { "caching": "write_through" } }), json!({}), "conquest"),
        (json!({ "nvram": "5 MiB", "workload": { "kind": "iozone", "skew": 0.9 } }), json!({}), "order"),
        (json!({ "nvram": "5 MiB", "workload": { "kind": "fio", "order": "zipf" } }), json!({}), "skew"),
        (
            json!({ "nvram": "5 MiB", "workload": { "kind": "fio", "order": "permuted", "skew": 1.0 } }),
            json!({}),
            "skew",
        ),
    ] {
        let problem = error_of(top.clone(), measure);
        assert!(problem.contains(part), "{top}: {problem}");
    }
}

#[test]
fn nvram_share_is_resolved_against_drive_size() {
    let resolved = resolve(&scenario(json!({ "nvram_share": 0.125 }), json!({}))).unwrap();
    let top = resolved.top.unwrap();
    assert_eq!((&top["count_from"], &top["options"]["caching"]), (&json!("steady"), &json!("write_back")));
}
