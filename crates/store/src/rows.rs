//! All that is in a store.

use crate::file::{Found, entries};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use wearwell_stack::RunResult;
use wearwell_study::{BUILD, PointResult, StoreError, identity};

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
    let wrong = |problem: &str| StoreError { place: folder.display().to_string(), problem: problem.into() };
    if !folder.is_dir() {
        let problem =
            if folder.exists() { "is a file; a store is a folder" } else { "there is no such folder" };
        return Err(wrong(problem));
    }
    let mut points: HashMap<String, PointResult> = HashMap::new();
    let mut foreign = 0;
    let mut found = entries(folder, |entry| {
        if entry.version != BUILD {
            return;
        }
        let settings: Option<BTreeMap<String, Value>> = serde_json::from_str(&entry.settings).ok();
        let result = serde_json::from_str(&entry.result).ok().and_then(|value| RunResult::read(value).ok());
        match (settings, result.filter(|result| identity(&result.scenario) == entry.identity)) {
            (Some(settings), Some(result)) => {
                points.entry(entry.identity).or_insert(PointResult {
                    settings,
                    replica: entry.replica,
                    result,
                });
            }
            _ => foreign += 1,
        }
    })?;
    if foreign > 0 {
        found.rows -= foreign;
        found.unreadable.push(format!("{}: {foreign} rows are no results of this program", folder.display()));
    }
    let mut points: Vec<_> = points.into_iter().collect();
    points.sort_by(|(one, first), (other, second)| {
        let by_settings = in_order(&first.settings, &second.settings);
        by_settings.then(first.replica.cmp(&second.replica)).then_with(|| one.cmp(other))
    });
    Ok(Stored { points: points.into_iter().map(|(_, point)| point).collect(), found })
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
