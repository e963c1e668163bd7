//! Reading of whole stores.

use crate::file::{Inventory, StoredRow, read_entries};
use crate::store::store_error;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use wearwell_stack::RunResult;
use wearwell_study::{BUILD, PointResult, StoreError, fingerprint, identity};

/// Content of a store.
#[derive(Clone, Debug)]
pub struct StoreContents {
    /// Distinct runs of this build, ordered by settings.
    pub points: Vec<PointResult>,
    /// Inventory of the folder.
    pub inventory: Inventory,
}

/// Reads the store in `folder`.
///
/// # Errors
///
/// Returns an error for a folder that does not exist or cannot be read.
pub fn read(folder: &Path) -> Result<StoreContents, StoreError> {
    check_folder(folder)?;
    let mut points = DistinctRuns::default();
    let mut foreign = 0;
    let mut found = read_entries(folder, |entry| {
        let is_ours = entry.version == BUILD;
        match StoredRun::of(entry) {
            Some(run) => points.add(run),
            None => foreign += usize::from(is_ours),
        }
    })?;
    if foreign > 0 {
        found.rows -= foreign;
        found.unreadable.push(format!("{}: {foreign} rows are no results of this program", folder.display()));
    }
    Ok(StoreContents { points: points.into_sorted(), inventory: found })
}

/// Refuses a path that is not a folder.
pub(crate) fn check_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    let problem = if folder.exists() { "is a file; a store is a folder" } else { "there is no such folder" };
    Err(store_error(folder, problem))
}

/// Run of this build.
pub(crate) struct StoredRun {
    identity: String,
    /// Rank among copies of a run: the copy with the longest result in JSON is kept; among equal lengths, a hash
    /// decides.
    rank: (usize, String),
    point: PointResult,
}

impl StoredRun {
    /// Parses a row; `None` for a row of another version, and for data that is not a result of Wearwell.
    pub fn of(entry: StoredRow) -> Option<StoredRun> {
        let StoredRow { identity: key, version, settings: kept, replica, result: text } = entry;
        let settings: BTreeMap<String, Value> = serde_json::from_str(&kept).ok()?;
        let result = RunResult::read(serde_json::from_str(&text).ok()?).ok()?;
        let is_ours = version == BUILD && identity(&result.scenario) == key;
        let rank = (text.len(), fingerprint(format!("{kept}\n{replica}\n{text}").as_bytes()));
        let point = PointResult { settings, replica, result };
        is_ours.then_some(StoredRun { identity: key, rank, point })
    }
}

/// Distinct runs.
#[derive(Default)]
pub(crate) struct DistinctRuns(HashMap<String, StoredRun>);

impl DistinctRuns {
    /// Adds a run. Among several copies of a run, one may have a time series. Which copy is kept does not depend on
    /// file names, which change.
    pub fn add(&mut self, run: StoredRun) {
        if self.0.get(&run.identity).is_none_or(|existing| existing.rank < run.rank) {
            self.0.insert(run.identity.clone(), run);
        }
    }

    /// Returns all runs, sorted by settings.
    pub fn into_sorted(self) -> Vec<PointResult> {
        let mut runs: Vec<StoredRun> = self.0.into_values().collect();
        runs.sort_by(|one, other| {
            let by_settings = compare_settings(&one.point.settings, &other.point.settings);
            let by_replica = one.point.replica.cmp(&other.point.replica);
            by_settings.then(by_replica).then_with(|| one.identity.cmp(&other.identity))
        });
        runs.into_iter().map(|run| run.point).collect()
    }
}

/// Compares settings by their keys, then by their values; numbers are compared numerically.
fn compare_settings(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>) -> Ordering {
    let value = |(one, other): (&Value, &Value)| match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => one.to_string().cmp(&other.to_string()),
    };
    let values = || one.values().zip(other.values()).map(value).find(|order| order.is_ne());
    one.keys().cmp(other.keys()).then_with(|| values().unwrap_or(Ordering::Equal))
}
