//! `wearwell sweep`: one table, whatever the threads and the interruptions.

use crate::common::{outcome, small};

const GRID: [&str; 4] = ["--vary", "device.spare_factor=0.1:0.3:0.1", "--vary", "ftl.victim=greedy,fifo"];

fn sweep(arguments: &[&str], code: i32) -> (String, String) {
    let (_directory, scenario) = small();
    let all: Vec<&str> =
        ["sweep", &scenario].into_iter().chain(GRID).chain(arguments.iter().copied()).collect();
    outcome(&all, code)
}

#[test]
fn every_combination_is_a_row_whatever_the_threads() {
    let (one, _) = sweep(&["--threads", "1", "--format", "csv"], 0);
    let (two, _) = sweep(&["--threads", "2", "--format", "csv"], 0);
    assert_eq!(one, two);
    let mut reader = csv::Reader::from_reader(one.as_bytes());
    let head: Vec<_> = reader.headers().unwrap().iter().take(3).map(str::to_owned).collect();
    assert_eq!(head, ["device.spare_factor", "ftl.victim", "replicas"]);
    let settings: Vec<_> =
        reader.records().map(|row| row.unwrap()).map(|row| format!("{} {}", &row[0], &row[1])).collect();
    assert_eq!(settings, ["0.1 greedy", "0.1 fifo", "0.2 greedy", "0.2 fifo", "0.3 greedy", "0.3 fifo"]);
}

#[test]
fn finished_runs_are_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole", "cut"].map(|name| directory.path().join(name));
    let (whole_name, cut_name) = (whole.display().to_string(), cut.display().to_string());
    sweep(&["--output", &whole_name, "--replicas", "2"], 0);
    let journal = std::fs::read_to_string(whole.join("runs.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 12);
    // As an interruption leaves it: some runs, the last one cut off.
    std::fs::create_dir(&cut).unwrap();
    let half: String = journal.split_inclusive('\n').take(5).collect();
    std::fs::write(cut.join("runs.jsonl"), format!("{half}{{\"settings\":{{\"d")).unwrap();
    sweep(&["--output", &cut_name, "--replicas", "2"], 0);
    let table = |directory: &std::path::Path| std::fs::read_to_string(directory.join("table.csv")).unwrap();
    assert_eq!(table(&whole), table(&cut));
    assert!(std::fs::read_to_string(cut.join("runs.jsonl")).unwrap().starts_with(&half));
    assert!(whole.join("table.parquet").exists());
}

#[test]
fn the_file_of_finished_runs_goes_with_the_last_one() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("table.json").display().to_string();
    sweep(&["--output", &table], 0);
    let rows: serde_json::Value = crate::common::json(std::path::Path::new(&table));
    assert_eq!(rows.as_array().unwrap().len(), 6);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn finished_runs_of_another_sweep_stay() {
    let directory = tempfile::tempdir().unwrap();
    let [table, other] = ["table.csv", "other"].map(|name| directory.path().join(name).display().to_string());
    // Two runs of a larger sweep were finished when it was interrupted.
    sweep(&["--output", &other, "--replicas", "2"], 0);
    let journal = std::fs::read_to_string(directory.path().join("other/runs.jsonl")).unwrap();
    let half: String =
        journal.split_inclusive('\n').filter(|line| line.contains("\"replica\":1")).take(2).collect();
    let beside = directory.path().join("table.csv.runs.jsonl");
    std::fs::write(&beside, &half).unwrap();
    let (_, said) = sweep(&["--output", &table], 0);
    assert!(said.contains("it holds 2 finished runs of another sweep"), "{said}");
    assert!(std::fs::read_to_string(&beside).unwrap().starts_with(&half));
}

#[test]
fn mistakes_end_with_2_before_anything_runs() {
    for (axis, message) in [
        ("device.lode=0.5", "unknown field `lode`"),
        ("device.load=0.5,1.5", "with device.load=1.5: "),
        ("device.load", "write key=values"),
        ("device.load=0.1:0.5:0", "step does not lead"),
        ("ftl.victim=greedy,gredy", "gredy"),
    ] {
        let (_directory, scenario) = small();
        let (out, err) = outcome(&["sweep", &scenario, "--vary", axis], 2);
        assert_eq!(out, "");
        assert!(err.contains(message), "{axis}: {err}");
    }
}
