//! Tests of `wearwell advise`: the ranking, its confidence, and the commands that repeat it.

use crate::common::{outcome, repository};
use serde_json::Value;
use wearwell_study::advise::{FAMILIES, SOFTWARE};

/// A log without TRIM whose segments differ in size from those of the FTL.
const STACK: &str = r#"
[device]
blocks_per_plane = 160
pages_per_block = 16
load = 0.85
endurance_cycles = 3000

[[log]]
name = "store"
segment_size = "128 KiB"
spare_factor = 0.25
trim = false

[workload]
kind = "hot_cold"
hot_writes = 0.9
hot_space = 0.1

[measure]
warm_up = 15.0
drive_writes = 30.0
tolerance = 0.2
"#;

fn run_advise(arguments: &[&str], code: i32) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("it's a stack.toml");
    std::fs::write(&path, STACK).unwrap();
    let path = path.display().to_string();
    let all: Vec<&str> = ["advise", &path].into_iter().chain(arguments.iter().copied()).collect();
    outcome(&all, code)
}

/// Splits a command into words like a shell.
fn words(command: &str) -> Vec<String> {
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("for word in {command}; do printf '%s\\n' \"$word\"; done")])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn table_ranks_changes_and_has_conclusion() {
    let (out, _) = run_advise(&["--only", "trim,segments", "--replicas", "5"], 0);
    assert!(out.starts_with("as it is: write amplification 3.0"), "{out}");
    for part in ["saves", "costs", "× 1.", "Best, saving ", "change does not fit this stack", "    # 2.7"] {
        assert!(out.contains(part), "no {part} in\n{out}");
    }
    assert!(
        out.contains("half-widths of 95 % intervals that hold for all 5 changes at once, by 5 seeds"),
        "{out}"
    );
}

#[test]
fn printed_commands_reproduce_the_figures() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("it's a stack.toml");
    std::fs::write(&path, STACK).unwrap();
    let path = path.display().to_string();
    let overrides = ["--seed", "7", "--victim", "d_choices", "--set", "measure.warm_up=14.0"];
    let parsed =
        ["advise", &path, "--quick", "--replicas", "2", "--only", "capacity,trim", "--format", "json"];
    let all: Vec<&str> = parsed.into_iter().chain(overrides).collect();
    let advice: Value = serde_json::from_str(&outcome(&all, 0).0).unwrap();
    let changes = advice["changes"].as_array().unwrap();
    assert!(changes.len() >= 4, "{advice}");
    for change in changes {
        let words = words(change["command"].as_str().unwrap());
        assert_eq!(words[..3], ["wearwell".to_owned(), "run".to_owned(), path.clone()]);
        let mut words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        words.extend(["--format", "json"]);
        let result: Value = serde_json::from_str(&outcome(&words, 0).0).unwrap();
        assert_eq!(result["write_amplification"], change["write_amplifications"][0], "{words:?}");
        assert_eq!(result["scenario"]["measure"]["drive_writes"], 2.0);
    }
}

#[test]
fn advice_is_equal_for_any_threads_and_interruptions() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("advice.csv");
    let name = file.display().to_string();
    let arguments = ["--only", "trim,capacity", "--quick", "--format", "csv", "--set", "seed=3"];
    let advice_with = |more: &[&str]| {
        let all: Vec<&str> = arguments.iter().chain(more).copied().collect();
        // Only the commands contain the path of the scenario, which changes from run to run.
        let rows = run_advise(&all, 0).0;
        rows.lines().map(|row| row.split("wearwell run").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let one = advice_with(&["--threads", "1"]);
    assert_eq!(one, advice_with(&["--threads", "2", "--output", &name]));
    assert!(one[0].starts_with("kind,rank,family,change,verdict,saving,"), "{}", one[0]);
    assert_eq!(one.len(), std::fs::read_to_string(&file).unwrap().lines().count());
    // The file of finished runs is removed when the last run ends.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn advice_without_improvement_states_it() {
    let by_page = ["--set", "log[0].trim={unit=\"page\"}", "--only", "trim", "--replicas", "5"];
    let (out, _) = run_advise(&by_page, 0);
    assert!(out.contains("Nothing that was tried can be told to save wear."), "{out}");
    assert!(!out.contains("To repeat"), "{out}");
}

/// A merge tree, which causes nearly all of the amplification.
const TREE: &str = r#"
[device]
capacity = "16 MiB"
over_provisioning = 0.1
pages_per_block = 16

[[log]]
name = "tree"
structure = { kind = "lsm", memtable_size = "128 KiB", table_size = "64 KiB", write_ahead_log = "256 KiB" }

[workload]
kind = "uniform"

[measure]
warm_up = 3.0
drive_writes = 2.0
tolerance = 1.0
"#;

#[test]
fn merge_tree_advice_names_rocksdb_options_and_costs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tree.toml");
    std::fs::write(&path, TREE).unwrap();
    let path = path.display().to_string();
    let (out, _) = outcome(&["advise", &path, "--only", "merge_tree", "--replicas", "3", "--depth", "1"], 0);
    for part in [
        "most of it: `tree` writes 11.",
        "at the price of",
        "at the price of capacity -",
        "A change at the price of capacity is held against the stack as it is with no more capacity.",
        "Best, saving ",
        "In the software's own words, merge tree `tree`: ",
        "@@ RocksDB (`tree`): OPTIONS, [CFOptions \"default\"]\n-",
        "\n+write_buffer_size=",
        "RocksDB: a record is a page",
    ] {
        assert!(out.contains(part), "no {part} in\n{out}");
    }
    // Changes without an effect are listed behind changes with a cost.
    let at = |part: &str| out.find(part).unwrap_or(usize::MAX);
    assert!(at("costs") < at("no difference that can be told"), "{out}");
    let rows = outcome(
        &["advise", &path, "--only", "merge_tree", "--replicas", "1", "--depth", "1", "--format", "csv"],
        0,
    )
    .0;
    let mut reader = csv::Reader::from_reader(rows.as_bytes());
    let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let column = |name: &str| head.iter().position(|title| title == name).unwrap();
    let tiered = reader
        .records()
        .map(Result::unwrap)
        .find(|row| row[column("change")].contains("tiered with 4"))
        .unwrap();
    assert!(tiered[column("price")].starts_with("capacity -"), "{tiered:?}");
    assert!(tiered[column("options")].contains("+compaction_style=kCompactionStyleUniversal"), "{tiered:?}");
    assert!(tiered[column("reference_write_amplification")].parse::<f64>().unwrap() > 5.0, "{tiered:?}");
}

#[test]
fn invalid_options_are_refused_with_valid_choices() {
    let (out, err) = run_advise(&["--only", "segmets"], 2);
    assert_eq!(out, "");
    assert!(err.contains("--only: \"segmets\" is no family of changes; one of segments, "), "{err}");
    for (setting, message) in [
        ("device.lode=1", "lode"),
        ("measure.until_worn_out_blocks=1", "measures a life and no steady state"),
    ] {
        let (_, err) = run_advise(&["--set", setting], 2);
        assert!(err.contains(message), "{setting}: {err}");
    }
}

#[test]
fn every_family_is_in_the_help_and_the_docs() {
    let (help, _) = outcome(&["advise", "--help"], 0);
    let page = std::fs::read_to_string(repository().join("docs/advise.md")).unwrap();
    for family in FAMILIES {
        assert!(help.contains(family.name), "--help does not name {}", family.name);
        assert!(page.contains(&format!("\n| `{}` |", family.name)), "docs/advise.md: {}", family.name);
    }
    for software in SOFTWARE {
        assert!(page.contains(&format!("\n| {} |", software.name)), "docs/advise.md: {}", software.name);
    }
}
