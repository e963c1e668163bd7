//! Truncated and damaged results, and finished runs of a sweep, as inputs.

use super::Case;
use crate::common::SMALL;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use wearwell_stack::{Draft, Progress, RunResult};
use wearwell_store::{Column, ResultStore, file_name_of, parquet};
use wearwell_study::{Axis, PointResult, Store, Sweep, SweepObserver, SweepOptions, identity};

/// Returns a short scenario, whose result is short as well.
fn scenario() -> Draft {
    let text = SMALL
        .replace("warm_up = 5.0", "warm_up = 1.0\nwindow = 1.0")
        .replace("drive_writes = 5.0", "drive_writes = 2.0");
    Draft::from_toml(&text, "small.toml").expect("a scenario")
}

/// Sets all measured speeds in `value` to fixed numbers: the test and its worker make the same cases.
fn with_fixed_speeds(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let within = field.take();
                *field = match (key.as_str(), within) {
                    ("seconds" | "page_writes_per_second" | "memory_bytes", Value::Number(_)) => json!(1),
                    (_, within) => with_fixed_speeds(within),
                };
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = with_fixed_speeds(value.take())),
        _ => {}
    }
    value
}

/// Returns the result of the short scenario, as it is written to a file.
fn result() -> Value {
    let scenario = scenario().scenario().expect("a scenario");
    let result = wearwell_stack::run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()));
    with_fixed_speeds(serde_json::to_value(result.expect("a result")).expect("plain data"))
}

/// Observer that ignores all events.
struct NullObserver;

impl SweepObserver for NullObserver {
    fn begin(&self, _: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn finished(&self, _: usize, _: usize) {}
}

/// Returns the two finished runs of the sweep that `sweep_case` repeats.
fn points() -> Vec<PointResult> {
    let axes = [Axis::parse("seed=1,2").expect("an axis")];
    let sweep = Sweep::plan(&scenario(), &axes, 1).expect("a sweep");
    let options = SweepOptions { threads: Some(1), ..Default::default() };
    let points = sweep.run(&options, &NullObserver).expect("it runs").into_iter();
    let with_fixed_speeds_of = |mut point: PointResult| {
        let result = with_fixed_speeds(serde_json::to_value(&point.result).expect("plain data"));
        point.result = RunResult::read(result).expect("a result");
        point
    };
    points.map(|point| with_fixed_speeds_of(point.expect("a run"))).collect()
}

/// Returns the contents of a store's file with these runs.
fn stored_file(points: &[PointResult]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let store = ResultStore::open(folder.path()).expect("a store");
    points.iter().for_each(|point| store.put(point).expect("room"));
    store.flush().expect("room");
    let mut files = std::fs::read_dir(folder.path()).expect("a folder");
    std::fs::read(files.next().expect("a file").expect("a file").path()).expect("a file")
}

/// Collects JSON pointers to all values.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| pointers(value, &format!("{path}/{key}"), found));
        }
        Value::Array(values) => {
            values
                .iter()
                .take(2)
                .enumerate()
                .for_each(|(at, value)| pointers(value, &format!("{path}/{at}"), found));
        }
        _ => {}
    }
}

/// Returns replacements for values.
fn values() -> Vec<Value> {
    vec![json!(null), json!("x"), json!(-1), json!(1e300), json!([]), json!({}), json!(u64::MAX), json!(true)]
}

fn compare_case(what: String, good: &str, bad: impl Into<Vec<u8>>) -> Case {
    Case::new(what, ["compare", "good.json", "bad.json"])
        .file("good.json", good)
        .file("bad.json", bad)
        .expect_words(["bad.json"])
}

/// Returns a case in which the sweep continues from a file with these contents under the correct name.
fn sweep_case(what: String, runs: impl Into<Vec<u8>>) -> Case {
    let runs = runs.into();
    let name = file_name_of(&runs);
    sweep_case_from(what, &name, runs)
}

/// Returns a case in which the sweep continues from a file of this name.
fn sweep_case_from(what: String, name: &str, runs: Vec<u8>) -> Case {
    let small = toml::to_string(&scenario().scenario().expect("a scenario")).expect("a scenario is TOML");
    Case::new(what, ["sweep", "small.toml", "--vary", "seed=1,2", "--threads", "1", "--store", "runs"])
        .file("small.toml", small)
        .file(&format!("runs/{name}"), runs)
        .expect_words([name])
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let (result, points) = (result(), points());
    let runs = stored_file(&points);
    let good = serde_json::to_string(&result).expect("plain data");
    let mut paths = Vec::new();
    pointers(&result, "", &mut paths);
    let mut cases = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let values = values();
        for (turn, value) in values.iter().enumerate() {
            let mut bad = result.clone();
            *bad.pointer_mut(path).expect("a place") = value.clone();
            let bad = bad.to_string();
            let what = format!("{path} is {value}");
            // Adds cases for all values of the scenario, and for a selection of the figures.
            if path.starts_with("/scenario") {
                let run = Case::new(format!("run: {what}"), ["run", "--quiet", "bad.json"])
                    .file("bad.json", bad.clone());
                cases.push(run.expect_words(["bad.json"]));
            } else if (at + turn) % 3 != 0 {
                continue;
            }
            cases.push(compare_case(what, &good, bad));
        }
    }
    for end in (0..good.len()).step_by(good.len() / 150) {
        cases.push(
            compare_case(format!("a result cut at {end}"), &good, &good.as_bytes()[..end]).expect_failure(),
        );
    }
    for end in (0..runs.len()).step_by(runs.len() / 60) {
        cases.push(sweep_case_from(format!("runs cut at {end}"), &file_name_of(&runs), runs[..end].into()));
        cases.push(sweep_case(format!("a whole file of runs cut at {end}"), &runs[..end]));
        let mut bad = runs.clone();
        bad[end] ^= 0x55;
        cases.push(sweep_case(format!("runs with another byte at {end}"), bad));
    }
    let first = serde_json::to_value(&points[0].result).expect("plain data");
    let mut paths = Vec::new();
    pointers(&first, "", &mut paths);
    for (at, path) in paths.iter().enumerate() {
        let values = values();
        let mut bad = first.clone();
        *bad.pointer_mut(path).expect("a place") = values[at % values.len()].clone();
        let columns = [
            ("point", Column::Text(vec![Some(identity(&points[0].result.scenario))])),
            ("version", Column::Text(vec![Some(points[0].result.version.clone())])),
            ("settings", Column::Text(vec![Some("{}".into())])),
            ("replica", Column::Count(vec![Some(0)])),
            ("result", Column::Text(vec![Some(bad.to_string())])),
        ]
        .map(|(name, column)| (name.to_owned(), column));
        let mut file = Vec::new();
        parquet::write(&mut file, &columns, &[]).expect("in memory");
        cases.push(sweep_case(format!("a run whose {path} is {}", values[at % values.len()]), file));
    }
    for (what, runs) in [("zeros", vec![0; 4096]), ("no UTF-8", vec![0xff; 100]), ("lines", vec![b'\n'; 100])]
    {
        cases.push(sweep_case(format!("runs that are {what}"), runs.clone()));
        cases.push(compare_case(format!("a result of {what}"), &good, runs).expect_failure());
    }
    let deep = format!("{{\"scenario\": {}", "[".repeat(200_000));
    cases.push(compare_case("a deep result".into(), &good, deep.clone()).expect_failure());
    cases.push(sweep_case("a deep run".into(), deep));
    cases
}
