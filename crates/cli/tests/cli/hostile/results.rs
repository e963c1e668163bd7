//! Results and the finished runs of a sweep, as inputs: cut off and damaged.

use super::Case;
use crate::common::SMALL;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use wearwell_stack::{Draft, Progress};
use wearwell_study::{Axis, Sweep, SweepObserver, SweepOptions};

/// Short, so that its result is.
fn scenario() -> Draft {
    let text = SMALL
        .replace("warm_up = 5.0", "warm_up = 1.0\nwindow = 1.0")
        .replace("drive_writes = 5.0", "drive_writes = 2.0");
    Draft::from_toml(&text, "small.toml").expect("a scenario")
}

/// `value` with the same speed whenever it was made: the test and its worker make the same cases.
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

/// The result as a file.
fn result() -> Value {
    let scenario = scenario().scenario().expect("a scenario");
    let result = wearwell_stack::run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()));
    at_rest(serde_json::to_value(result.expect("a result")).expect("plain data"))
}

/// Nobody looks.
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

/// The finished runs of the sweep that `swept` repeats.
fn journal() -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.jsonl");
    let axes = [Axis::parse("seed=1,2").expect("an axis")];
    let sweep = Sweep::plan(&scenario(), &axes, 1).expect("a sweep");
    let options = SweepOptions { journal: Some(&path), threads: Some(1), ..Default::default() };
    sweep.run(&options, &Nobody).expect("it runs");
    let text = std::fs::read_to_string(path).expect("the runs");
    let line = |line: &str| at_rest(serde_json::from_str(line).expect("JSON")).to_string() + "\n";
    text.lines().map(line).collect()
}

/// Pointers to all values.
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

/// What stands for a value.
fn values() -> Vec<Value> {
    vec![json!(null), json!("x"), json!(-1), json!(1e300), json!([]), json!({}), json!(u64::MAX), json!(true)]
}

fn compared(what: String, good: &str, bad: impl Into<Vec<u8>>) -> Case {
    Case::new(what, ["compare", "good.json", "bad.json"])
        .file("good.json", good)
        .file("bad.json", bad)
        .named(["bad.json"])
}

/// The sweep goes on from the runs.
fn swept(what: String, runs: impl Into<Vec<u8>>) -> Case {
    let small = toml::to_string(&scenario().scenario().expect("a scenario")).expect("a scenario is TOML");
    Case::new(what, ["sweep", "small.toml", "--vary", "seed=1,2", "--threads", "1", "--output", "t.csv"])
        .file("small.toml", small)
        .file("t.csv.runs.jsonl", runs)
        .named(["t.csv.runs.jsonl"])
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let (result, journal) = (result(), journal());
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
            // Of a scenario within, all; of figures some.
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
    for end in (0..journal.len()).step_by(journal.len() / 100) {
        cases.push(swept(format!("runs cut at {end}"), &journal.as_bytes()[..end]));
    }
    let first: Value = serde_json::from_str(journal.lines().next().expect("a run")).expect("JSON");
    let mut places = Vec::new();
    pointers(&first, "", &mut places);
    for (at, place) in places.iter().enumerate() {
        let values = values();
        let mut bad = first.clone();
        *bad.pointer_mut(place).expect("a place") = values[at % values.len()].clone();
        cases
            .push(swept(format!("a run whose {place} is {}", values[at % values.len()]), format!("{bad}\n")));
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
