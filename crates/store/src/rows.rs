//! All that is in a store.

use crate::file::{Entry, Found, entries};
use crate::store::wrong;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use wearwell_stack::RunResult;
use wearwell_study::{BUILD, PointResult, StoreError, fingerprint, identity};

/// What is in a store.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The runs of this version, each once, by their settings.
    pub points: Vec<PointResult>,
    /// What else was found.
    pub found: Found,
}

/// Reads the store in `folder`.
///
/// # Errors
///
/// A folder that is not there or cannot be read.
pub fn read(folder: &Path) -> Result<Stored, StoreError> {
    check_folder(folder)?;
    let mut points = Points::default();
    let mut foreign = 0;
    let mut found = entries(folder, |entry| {
        let is_ours = entry.version == BUILD;
        match Run::of(entry) {
            Some(run) => points.add(run),
            None => foreign += usize::from(is_ours),
        }
    })?;
    if foreign > 0 {
        found.rows -= foreign;
        found.unreadable.push(format!("{}: {foreign} rows are no results of this program", folder.display()));
    }
    Ok(Stored { points: points.in_order(), found })
}

/// Refuses what is no folder.
pub(crate) fn check_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    let problem = if folder.exists() { "is a file; a store is a folder" } else { "there is no such folder" };
    Err(wrong(folder, problem))
}

/// A run of this build.
pub(crate) struct Run {
    identity: String,
    /// Which of several copies counts: that with the longest result in JSON, and of those of one length always the same.
    rank: (usize, String),
    point: PointResult,
}

impl Run {
    /// What is in a row; nothing if it is of another version, or no result of this program.
    pub fn of(entry: Entry) -> Option<Run> {
        let Entry { identity: key, version, settings: kept, replica, result: text } = entry;
        let settings: BTreeMap<String, Value> = serde_json::from_str(&kept).ok()?;
        let result = RunResult::read(serde_json::from_str(&text).ok()?).ok()?;
        let is_ours = version == BUILD && identity(&result.scenario) == key;
        let rank = (text.len(), fingerprint(format!("{kept}\n{replica}\n{text}").as_bytes()));
        let point = PointResult { settings, replica, result };
        is_ours.then_some(Run { identity: key, rank, point })
    }
}

/// Runs, each once.
#[derive(Default)]
pub(crate) struct Points(HashMap<String, Run>);

impl Points {
    /// Adds a run; one that was kept twice may have its time series once. The names of files decide nothing, which change.
    pub fn add(&mut self, run: Run) {
        if self.0.get(&run.identity).is_none_or(|had| had.rank < run.rank) {
            self.0.insert(run.identity.clone(), run);
        }
    }

    /// All, by their settings.
    pub fn in_order(self) -> Vec<PointResult> {
        let mut runs: Vec<Run> = self.0.into_values().collect();
        runs.sort_by(|one, other| {
            let by_settings = in_order(&one.point.settings, &other.point.settings);
            let by_replica = one.point.replica.cmp(&other.point.replica);
            by_settings.then(by_replica).then_with(|| one.identity.cmp(&other.identity))
        });
        runs.into_iter().map(|run| run.point).collect()
    }
}

/// Settings by their keys, then value by value, numbers by size.
fn in_order(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>) -> Ordering {
    let value = |(one, other): (&Value, &Value)| match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => one.to_string().cmp(&other.to_string()),
    };
    let values = || one.values().zip(other.values()).map(value).find(|order| order.is_ne());
    one.keys().cmp(other.keys()).then_with(|| values().unwrap_or(Ordering::Equal))
}
