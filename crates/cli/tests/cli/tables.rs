//! Tests of tables and help at the width of a terminal: no word and no number is split.

use crate::common::{small, wearwell};
use std::collections::BTreeSet;

/// A width at which every table fits.
const UNLIMITED_WIDTH: &str = "4000";

fn at_width(arguments: &[&str], width: &str) -> String {
    let output = wearwell(arguments).env("COLUMNS", width).output().expect("the command runs");
    assert!(output.status.success(), "{arguments:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the words of a text without table borders, and without words that describe the machine instead of the
/// result.
fn words(text: &str) -> BTreeSet<String> {
    // The row about the machine ends at the last border of its table. The width of a chart over time varies, so the
    // chart is left out.
    let machine =
        text.find("│ Simulation ").map_or(0..0, |from| from..from + text[from..].find('╰').unwrap_or(0));
    let mut text = text.to_owned();
    text.replace_range(machine, "");
    let lines = text.lines().filter(|line| !line.contains("each column") && !line.contains("┆ up to "));
    let unframed = lines.collect::<Vec<_>>().join("\n").replace(|letter| ('─'..='╿').contains(&letter), " ");
    let unframed_text = unframed.replace(|letter| ('▁'..='█').contains(&letter), " ");
    unframed_text.split_whitespace().map(str::to_owned).collect()
}

/// Checks that the command prints the same words at 80 and at 60 columns as at any width, and no line that is wider.
fn assert_fits(arguments: &[&str]) {
    let expected = words(&at_width(arguments, UNLIMITED_WIDTH));
    for width in [80, 60] {
        let text = at_width(arguments, &width.to_string());
        let found = words(&text);
        let missing: Vec<_> = expected.difference(&found).collect();
        assert!(missing.is_empty(), "{arguments:?} at {width}: broken {missing:?}\n{text}");
        // A command to be pasted may be longer.
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("wearwell "));
        let longest = lines.map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest <= width, "{arguments:?}: {longest} of {width}\n{text}");
    }
}

const SHORT_RUN: [&str; 4] = ["--set", "measure.drive_writes=1.0", "--set", "measure.warm_up=1.0"];

fn assert_short_run_fits(arguments: &[&str]) {
    assert_fits(&[arguments, &SHORT_RUN].concat());
}

#[test]
fn results_fit() {
    for scenario in ["gecko", "cagc", "two_logs_one_ftl", "f2fs_6_logs"] {
        let path = format!("scenarios/{scenario}.toml");
        assert_short_run_fits(&["run", &path, "--capacity", "256 MiB", "--set", "measure.tolerance=1.0"]);
    }
    assert_short_run_fits(&["run", "scenarios/latency.toml", "--capacity", "64 MiB"]);
    assert_fits(&["power", "scenarios/power.toml", "--every", "4000"]);
}

#[test]
fn tables_of_many_runs_fit() {
    let (directory, path) = small();
    let axes = ["--vary", "device.spare_factor=0.1:0.4:0.05", "--vary", "ftl.victim=greedy,fifo,random"];
    assert_short_run_fits(
        &[&["sweep", &path, "--set", "device.endurance_cycles=12345678"], &axes[..]].concat(),
    );
    let results = ["greedy", "d_choices"].map(|victim| {
        let file = directory.path().join(format!("{victim}.json")).display().to_string();
        at_width(
            &[&["run", &path, "--victim", victim, "--output", &file], &SHORT_RUN[..]].concat(),
            UNLIMITED_WIDTH,
        );
        file
    });
    assert_fits(&["compare", &results[0], &results[1], "--all"]);
    assert_fits(&["check", "theory", "--points", "3", "--runs", "2", "--blocks", "500"]);
}

#[test]
fn advice_fits() {
    let log = "[[log]]\nname = \"a_store\"\nsegment_size = \"128 KiB\"\nspare_factor = 0.2\n\n[workload]";
    let (_directory, path) = small();
    let text = std::fs::read_to_string(&path).unwrap().replace("[workload]", log);
    std::fs::write(&path, text).unwrap();
    let arguments = ["--only", "trim,segments,victim", "--replicas", "2", "--set", "measure.tolerance=0.5"];
    assert_short_run_fits(&[&["advise", &path], &arguments[..]].concat());
}

#[test]
#[cfg(target_os = "linux")]
fn file_system_statistics_fit() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let [nvram, ssd] = ["nvram", "ssd"].map(|name| directory.path().join(name).display().to_string());
    let devices = ["--nvram", &nvram, "--ssd", &ssd];
    let sizes = ["--size", "8 MiB", "--ssd-size", "64 MiB"];
    at_width(&[&["nvmfs", "mkfs"], &devices[..], &sizes[..]].concat(), UNLIMITED_WIDTH);
    assert_fits(&[&["nvmfs", "stats"], &devices[..]].concat());
}

#[test]
fn theory_and_models_fit() {
    for command in [
        "model ftl",
        "theory double --pages-per-block 32 --hot-writes 0.8 --hot-space 0.2",
        "theory double --pages-per-block 16 --zipf 0.99 --logical-pages 28800",
        "theory transient --pages-per-block 8 --hot-writes 0.9 --hot-space 0.1 --drive-writes 8 --points 8",
        "theory optimal-choices --max-choices 40 --pages-per-block 16 --hot-writes 0.8 --hot-space 0.2",
        "theory --scenario scenarios/canonical.toml",
        "drive --capacity 1.92TB --raw-capacity 2TiB --tbw 3504 --warranty 5y --cells tlc --per-day 800GB",
        "drive --smart docs/samples/nvme-june.json --smart docs/samples/nvme-july.json --cells tlc --tbw 3504",
        "trace describe traces/rocksdb-pgbench-ext4.blkparse.zst",
        "trace columns traces/samples/msr.csv",
        "list victims",
        "list log-layouts",
    ] {
        assert_fits(&command.split(' ').collect::<Vec<_>>());
    }
}

/// Checks that examples are whole commands, continued with a backslash.
#[test]
fn help_examples_are_whole_commands() {
    for command in [
        "",
        "run",
        "sweep",
        "compare",
        "advise",
        "power",
        "drive",
        "theory",
        "theory double",
        "model ftl",
        "trace",
        "nvmfs",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let commands = |width| {
            let text = at_width(&arguments, width).replace(" \\\n      ", " ");
            let examples = text.lines().filter(|line| line.starts_with("  wearwell "));
            let words =
                |line: &str| line.split("   ").find(|part| !part.trim().is_empty()).map(collapse_spaces);
            examples.filter_map(words).collect::<BTreeSet<_>>()
        };
        let (wide, narrow) = (commands("100"), commands("80"));
        assert_eq!(wide, narrow, "{command}");
    }
}

fn collapse_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
