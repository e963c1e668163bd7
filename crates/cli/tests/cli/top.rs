//! Tests of runs with a file system at the top of a stack.

use crate::common::{json, outcome, repository};
use serde_json::Value;

/// Small enough for a test, and long enough that extents are recycled.
const SMALL_RUN: [&str; 12] = [
    "--set",
    "device.capacity=64 MiB",
    "--set",
    "top.nvram=6 MiB",
    "--set",
    "top.workload.max_bytes=131072",
    "--set",
    "top.workload.min_bytes=131072",
    "--set",
    "measure.warm_up=1.0",
    "--set",
    "measure.drive_writes=2.0",
];

fn scenario() -> String {
    repository().join("scenarios/nvmfs.toml").display().to_string()
}

fn run(more: &[&str]) -> Value {
    let scenario = scenario();
    let (out, _) = outcome(&[&["run", &scenario, "--format", "json"], &SMALL_RUN[..], more].concat(), 0);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
}

#[test]
fn file_system_writes_and_stack_counts_agree() {
    let result = run(&[]);
    let counts = &result["top"]["stats"]["counts"];
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}"));
    assert_eq!(result["top"]["set_up"], true);
    assert!(number(&counts["recycled_extents"]) > 0, "{counts}");
    let share = result["top"]["stats"]["cleaning_efficiency"].as_f64().unwrap();
    let moved = number(&counts["moved_blocks"]) as f64;
    assert!((share - (1.0 - moved / (128.0 * number(&counts["recycled_extents"]) as f64))).abs() < 1e-12);
    // The host pages of the stack are the blocks that the file system sent, its label included; at most one
    // batch is in flight.
    let sent = number(&counts["ssd_written_blocks"]);
    let windows = result["windows"].as_array().unwrap();
    let host_pages = number(&windows.last().unwrap()["host_pages"]);
    assert!(host_pages <= sent + 1 && sent + 1 - host_pages <= 4096 + 128, "{host_pages} of {sent}");
    let warnings = result["warnings"].to_string();
    assert!(!warnings.contains("own"), "the scenario repeats the run: {warnings}");
}

#[test]
fn run_is_reproducible_and_sweep_compares_placements() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("first.json"), directory.path().join("second.json"));
    let scenario = scenario();
    let [from, to] = [&first, &second].map(|path| path.display().to_string());
    outcome(&[&["run", &scenario, "--output", &from], &SMALL_RUN[..]].concat(), 0);
    outcome(&["run", &from, "--output", &to], 0);
    for part in ["top", "layers", "nand", "final_draw", "scenario"] {
        assert_eq!(json(&first)[part], json(&second)[part], "{part}");
    }
    let sweep = ["sweep", &scenario, "--vary", "top.placement=nvmfs,conquest", "--format", "csv"];
    let (out, _) = outcome(&[&sweep[..], &SMALL_RUN].concat(), 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(lines[0].contains("top_stats_counts_ssd_written_blocks"), "{out}");
    assert!(lines[2].contains("conquest"), "{out}");
}

#[test]
fn table_shows_both_devices() {
    let scenario = scenario();
    let (out, _) = outcome(&[&["run", &scenario], &SMALL_RUN[..]].concat(), 0);
    for part in ["NVMFS", "Found on NVRAM", "cleaning efficiency", "extents of 512 KiB"] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
}

#[test]
fn impossible_setting_is_refused_by_its_key() {
    let scenario = scenario();
    for (setting, part) in [
        ("top.nvrams=1", "nvrams"),
        ("top.nvram=1 MiB", "too few"),
        ("top.nvram=0", "not 0"),
        ("top.nvram=1024 TiB", "of memory to simulate it in"),
        ("top.workload.kind=dance", "postmark"),
        ("top.options.flush_above=2", "flush_above"),
        ("top.placement=anywhere", "conquest"),
        ("workload.kind=uniform", "top"),
        ("device.mapping_unit=8192", "mapping_unit"),
    ] {
        let arguments = ["run", &scenario, "--set", setting];
        let page = ["--set", "device.page_size=16384"];
        let arguments =
            if part == "mapping_unit" { [&arguments[..], &page].concat() } else { arguments.to_vec() };
        let (_, err) = outcome(&arguments, 2);
        assert!(err.contains(part), "{setting}: {err}");
    }
    let (_, err) = outcome(&["run", &scenario, "--set", "top.workload.operations=10"], 1);
    assert!(err.contains("ended"), "{err}");
}

#[test]
fn check_fills_in_defaults() {
    let scenario = scenario();
    let (out, _) = outcome(&["scenario", "check", &scenario], 0);
    for part in ["[top.options]", "flush_above = 0.8", "grouping = \"update_likelihood\""] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
}
