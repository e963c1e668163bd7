//! Tests of `wearwell reproduce`: its list, outputs, repeated runs and refusals.

use crate::common::{json, outcome, wearwell};
use serde_json::Value;
use std::path::Path;

/// A fast item.
const CHEAP: &str = "cagc/figure-8";

/// An item that needs traces, which are not part of the repository.
const TRACES: &str = "hot_cold/traces";

fn reproduce(arguments: &[&str], output: &Path, code: i32) -> (String, String) {
    let command = [&["reproduce"], arguments, &["--output", output.to_str().expect("UTF-8")]].concat();
    outcome(&command, code)
}

fn modified(path: &Path) -> std::time::SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

#[test]
fn every_item_is_listed_with_its_paper_and_verdict() {
    let (table, _) = outcome(&["reproduce"], 0);
    let (text, _) = outcome(&["reproduce", "--format", "json"], 0);
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    for paper in ["log_on_log", "cagc", "hot_cold", "nvmfs", "geckoftl", "answers", "beyond"] {
        let of_paper = |row: &&Value| row["item"].as_str().unwrap().starts_with(&format!("{paper}/"));
        let items: Vec<&Value> = rows.iter().filter(of_paper).collect();
        assert!(items.len() > 3, "{paper}: {items:?}");
        assert!(items.iter().all(|row| row["verdict"].is_string() && row["says"].is_string()));
        assert!(table.contains(items[0]["item"].as_str().unwrap()));
    }
    let (csv, _) = outcome(&["reproduce", "--format", "csv"], 0);
    assert_eq!(csv::Reader::from_reader(csv.as_bytes()).records().count(), rows.len());
}

#[test]
fn finished_item_has_data_verdict_and_page_and_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let (table, _) = reproduce(&[CHEAP, "--quick"], folder.path(), 0);
    assert!(table.contains(&format!("{CHEAP}: ")) && table.contains("README.md"), "{table}");
    let item = folder.path().join(CHEAP);
    let record = json(&item.join("item.json"));
    assert_eq!((record["item"].as_str(), record["effort"].as_str()), (Some(CHEAP), Some("quick")));
    let tables = record["shown"].as_array().expect("what the item shows");
    assert!(!tables.is_empty());
    let page = std::fs::read_to_string(folder.path().join("cagc/README.md")).unwrap();
    assert!(page.contains(record["command"].as_str().unwrap()), "{page}");

    let data = std::fs::read_dir(&item).unwrap().map(|entry| entry.unwrap().path());
    let data = data.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "csv")).unwrap();
    let before = modified(&data);
    reproduce(&[CHEAP, "--quick"], folder.path(), 0);
    assert_eq!(modified(&data), before, "a finished item is run again only if asked");
    reproduce(&[CHEAP, "--quick", "--again"], folder.path(), 0);
    assert!(modified(&data) > before);

    let (rejudged, _) = reproduce(&[CHEAP, "--judge"], folder.path(), 0);
    assert_eq!(rejudged, table);
}

#[test]
fn failed_item_does_not_stop_other_items() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["reproduce", TRACES, CHEAP, "--quick", "--output", folder.path().to_str().unwrap()];
    let output = wearwell(&arguments).env_remove("WEARWELL_TRACES").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(err.contains(&format!("{TRACES}: WEARWELL_TRACES does not name a folder of traces")), "{err}");
    assert!(out.contains(&format!("{CHEAP}: ")), "{out}");
    assert!(folder.path().join(CHEAP).join("item.json").is_file());
}

#[test]
fn items_with_missing_programs_are_skipped_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let item = "nvmfs/throughput-by-clock";
    let arguments = ["reproduce", item, "--quick", "--output", folder.path().to_str().unwrap()];
    let output = wearwell(&arguments).env("PATH", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("skipped") && err.contains("linux.uml"), "{err}");
    assert!(!folder.path().join(item).exists());
}

/// Runs a job outside the virtual machine, as a timed measurement runs it inside.
#[test]
fn job_is_replayed_in_a_directory_and_reports_counts() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job.toml");
    let text = "capacity_bytes = 4194304\nseed = 1\nmain_bytes = 65536\n[workload]\nkind = \"fio\"\nutilisation = 0.5\n";
    std::fs::write(&job, text).unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let (out, _) = outcome(&["reproduce", "--play", job.to_str().unwrap(), root.to_str().unwrap()], 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "job: set up", "{out}");
    let report: Value = serde_json::from_str(lines[1].strip_prefix("job: report ").unwrap()).unwrap();
    assert_eq!(report["counts"]["write_requests"], 64, "{out}");
    assert!(report["counts"]["written_bytes"].as_u64() >= Some(65_536));
    assert!(std::fs::read_dir(root).unwrap().next().is_some());
}

#[test]
fn unwritable_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "a file").unwrap();
    let (_, error) = reproduce(&[CHEAP], &taken, 1);
    assert!(error.contains("taken: ") && error.matches(CHEAP).count() == 0, "{error}");
    std::fs::create_dir(folder.path().join("here")).unwrap();
    std::fs::write(folder.path().join("here/cagc"), "a file").unwrap();
    let (_, error) = reproduce(&[CHEAP], &folder.path().join("here"), 1);
    assert_eq!(error.matches(&format!("{CHEAP}: ")).count(), 1, "{error}");
    assert!(error.contains("here/cagc"), "{error}");
}

#[test]
fn impossible_items_are_reported_and_others_run() {
    let folder = tempfile::tempdir().unwrap();
    let (table, _) = reproduce(&[CHEAP, "cagc/prototype", "--quick"], folder.path(), 0);
    assert!(table.contains("cagc/prototype: impossible here: "), "{table}");
    let (rejudged, _) = reproduce(&[CHEAP, "cagc/table-1", "--judge"], folder.path(), 0);
    assert!(rejudged.contains("cagc/table-1: no data\n"), "{rejudged}");
}

#[test]
fn unknown_names_are_refused_with_valid_names() {
    let folder = tempfile::tempdir().unwrap();
    let error = |arguments: &[&str]| reproduce(arguments, folder.path(), 2).1;
    assert!(error(&["cagc/figure-99"]).contains("it has table-1, "));
    assert!(error(&["flash"]).contains("geckoftl"));
    assert!(error(&[CHEAP, "--assume", "cagc/erase-us"]).contains("NAME=VALUE"));
    assert!(error(&[CHEAP, "--assume", "cagc/erase-us=soon"]).contains("`soon` is no number"));
    assert!(error(&[CHEAP, "--assume", "cagc/erase=3"]).contains("cagc/erase-us"));
    assert!(error(&["--vary-assumptions"]).contains("name items"));
    assert!(error(&["cagc/traces"]).contains("cagc/traces: impossible here: "));
    let invalid = error(&["hot_cold/table-1", "--set", "swept=12"]);
    assert!(
        invalid.contains("hot_cold/table-1: settings: unknown field `swept`, expected `runs` or `length`"),
        "{invalid}"
    );
    assert_eq!(invalid.matches("hot_cold/table-1").count(), 1, "{invalid}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "a refusal leaves nothing behind");
}
