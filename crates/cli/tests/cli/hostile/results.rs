//! Truncated and damaged results, and finished runs of a sweep, as inputs.

use super::Case;
use crate::common::SMALL;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use wearwell_stack::{Draft, Progress, RunResult};
use wearwell_store::{Column, ResultStore, name_of, parquet};
use wearwell_study::{Axis, PointResult, Store, Sweep, SweepObserver, SweepOptions, identity};

/// Returns a short scenario, whose result is short as well.
fn scenario() -> Draft {
    let text = SMALL
        .replace("warm_up = 5.0", "warm_up = 1.0\nwindow = 1.0")
        .replace("drive_writes = 5.0", "drive_writes = 2.0");
    Draft::from_toml(&text, "small.toml").expect("a scenario")
}

/// Sets all measured speeds in `value` to fixed numbers: the test and its worker make the same cases.
fn at_rest(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let within = field.take();
                *field = match (key.as_str(), within) {
                    ("seconds" | "page_writes_per_second" | "memory_bytes", Value::Number(_)) => json!(1),
                    (_, within) => at_rest(within),
                };
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = at_rest(value.take())),
        _ => {}
    }
    value
}

/// Returns the result as it is written to a file.
fn result() -> Value {
    let scenario = scenario().scenario().expect("a scenario");
    let result = wearwell_stack::run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()));
    at_rest(serde_json::to_value(result.expect("a result")).expect("plain data"))
}

/// Observer that ignores all events.
struct Nobody;

impl SweepObserver for Nobody {
    fn begin(&self, _: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn finished(&self, _: usize, _: usize) {}
}

/// Returns the two finished runs of the sweep that `swept` repeats.
fn points() -> Vec<PointResult> {
    let axes = [Axis::parse("seed=1,2").expect("an axis")];
    let sweep = Sweep::plan(&scenario(), &axes, 1).expect("a sweep");
    let options = SweepOptions { threads: Some(1), ..Default::default() };
    let points = sweep.run(&options, &Nobody).expect("it runs").into_iter();
    let resting = |mut point: PointResult| {
        let result = at_rest(serde_json::to_value(&point.result).expect("plain data"));
        point.result = RunResult::read(result).expect("a result");
        point
    };
    points.map(|point| resting(point.expect("a run"))).collect()
}

/// Returns the contents of a store's file with these runs.
fn stored(points: &[PointResult]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let store = ResultStore::open(folder.path()).expect("a store");
    points.iter().for_each(|point| store.keep(point).expect("room"));
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

fn compared(what: String, good: &str, bad: impl Into<Vec<u8>>) -> Case {
    Case::new(what, ["compare", "good.json", "bad.json"])
        .file("good.json", good)
        .file("bad.json", bad)
        .named(["bad.json"])
}

/// Returns a case in which the sweep continues from a file with these contents under the correct name.
fn swept(what: String, runs: impl Into<Vec<u8>>) -> Case {
    let runs = runs.into();
    let name = name_of(&runs);
    swept_from(what, &name, runs)
}

/// Returns a case in which the sweep continues from a file of this name.
fn swept_from(what: String, name: &str, runs: Vec<u8>) -> Case {
    let small = toml::to_string(&scenario().scenario().expect("a scenario")).expect("a scenario is TOML");
    Case::new(what, ["sweep", "small.toml", "--vary", "seed=1,2", "--threads", "1", "--store", "runs"])
        .file("small.toml", small)
        .file(&format!("runs/{name}"), runs)
        .named([name])
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let (result, points) = (result(), points());
    let runs = stored(&points);
    let good = serde_json::to_string(&result).expect("plain data");
    let mut places = Vec::new();
    pointers(&result, "", &mut places);
    let mut cases = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let values = values();
        for (turn, value) in values.iter().enumerate() {
            let mut bad = result.clone();
            *bad.pointer_mut(place).expect("a place") = value.clone();
            let bad = bad.to_string();
            let what = format!("{place} is {value}");
            // All values of the scenario, and a selection of the figures.
            if place.starts_with("/scenario") {
                let run = Case::new(format!("run: {what}"), ["run", "--quiet", "bad.json"])
                    .file("bad.json", bad.clone());
                cases.push(run.named(["bad.json"]));
            } else if (at + turn) % 3 != 0 {
                continue;
            }
            cases.push(compared(what, &good, bad));
        }
    }
    for end in (0..good.len()).step_by(good.len() / 150) {
        cases.push(compared(format!("a result cut at {end}"), &good, &good.as_bytes()[..end]).fails());
    }
    for end in (0..runs.len()).step_by(runs.len() / 60) {
        cases.push(swept_from(format!("runs cut at {end}"), &name_of(&runs), runs[..end].into()));
        cases.push(swept(format!("a whole file of runs cut at {end}"), &runs[..end]));
        let mut bad = runs.clone();
        bad[end] ^= 0x55;
        cases.push(swept(format!("runs with another byte at {end}"), bad));
    }
    let first = serde_json::to_value(&points[0].result).expect("plain data");
    let mut places = Vec::new();
    pointers(&first, "", &mut places);
    for (at, place) in places.iter().enumerate() {
        let values = values();
        let mut bad = first.clone();
        *bad.pointer_mut(place).expect("a place") = values[at % values.len()].clone();
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
        cases.push(swept(format!("a run whose {place} is {}", values[at % values.len()]), file));
    }
    for (what, runs) in [("zeros", vec![0; 4096]), ("no UTF-8", vec![0xff; 100]), ("lines", vec![b'\n'; 100])]
    {
        cases.push(swept(format!("runs that are {what}"), runs.clone()));
        cases.push(compared(format!("a result of {what}"), &good, runs).fails());
    }
    let deep = format!("{{\"scenario\": {}", "[".repeat(200_000));
    cases.push(compared("a deep result".into(), &good, deep.clone()).fails());
    cases.push(swept("a deep run".into(), deep));
    cases
}
