//! A store as a study uses it.

use crate::column::Column;
use crate::file::{
    Found, IDENTITY, REPLICA, RESULT, SETTINGS, UNFINISHED_BEGIN, UNFINISHED_END, VERSION, entries, name_of,
    remove,
};
use crate::parquet;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use wearwell_stack::RunResult;
use wearwell_study::{BUILD, PointResult, Row, Store, StoreError, identity, made_by, summary};

/// What finished runs may have taken of a core before they are written, seconds: no more than that can be lost.
const MOST_AT_RISK_S: f64 = 1.0;

/// Runs that are written to one file.
pub(crate) const MOST_ROWS: usize = 1000;

const POISON: &str = "no thread panics while it holds the lock";

/// The seed of a run, in a column of its own: settings do not say which one a replica has.
const SEED: &str = "seed";

/// What of a summary is text, so that it is also where it is absent from the first row.
const TEXTS: [&str; 1] = ["theory_layer"];

/// A folder of finished runs.
#[derive(Debug)]
pub struct ResultStore {
    folder: PathBuf,
    /// Results in JSON, by identity.
    known: HashMap<String, String>,
    found: Found,
    pending: Mutex<Pending>,
}

/// What is still to be written.
#[derive(Debug, Default)]
struct Pending {
    rows: Vec<PointResult>,
    seconds: f64,
    /// What is varied by numbers alone.
    numeric: BTreeMap<String, bool>,
}

impl ResultStore {
    /// Opens the store in `folder`, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// A folder that cannot be made, read and written. Damaged files in it are no error: see [`ResultStore::found`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| wrong(folder, error);
        if folder.exists() && !folder.is_dir() {
            return Err(wrong(folder, "is a file; finished runs are kept in a folder"));
        }
        if !folder.exists() {
            std::fs::create_dir(folder).map_err(failed)?;
        }
        // Said before anything runs.
        temporary(folder).map_err(failed)?;
        let mut known = HashMap::new();
        let found = entries(folder, |entry| {
            if entry.version == BUILD {
                // A run that was kept twice may have its time series once.
                let longer =
                    known.get(&entry.identity).is_none_or(|had: &String| had.len() < entry.result.len());
                if longer {
                    known.insert(entry.identity, entry.result);
                }
            }
        })?;
        Ok(ResultStore { folder: folder.to_owned(), known, found, pending: Mutex::default() })
    }

    /// What was there when the store was opened.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Identities of the runs that were there when the store was opened.
    pub fn known(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    /// Removes all runs; what else is in the folder stays, and so does the folder then.
    ///
    /// # Errors
    ///
    /// A file that cannot be removed: some of the runs may still be there.
    pub fn remove(self) -> Result<(), StoreError> {
        remove(&self.folder).map_err(|error| wrong(&self.folder, error))
    }

    fn write(&self, pending: &mut Pending) -> Result<(), StoreError> {
        if pending.rows.is_empty() {
            return Ok(());
        }
        write_rows(&self.folder, &pending.rows, &pending.numeric, &[])?;
        pending.rows.clear();
        pending.seconds = 0.0;
        Ok(())
    }
}

impl Store for ResultStore {
    fn expect(&self, settings: &mut dyn Iterator<Item = &BTreeMap<String, Value>>) {
        note_numbers(&mut self.pending.lock().expect(POISON).numeric, settings);
    }

    fn find(&self, identity: &str) -> Option<RunResult> {
        let result = RunResult::read(serde_json::from_str(self.known.get(identity)?).ok()?).ok()?;
        // What stands under the name of another run was not written by us.
        (wearwell_study::identity(&result.scenario) == identity).then_some(result)
    }

    fn keep(&self, point: &PointResult) -> Result<(), StoreError> {
        let mut pending = self.pending.lock().expect(POISON);
        pending.seconds += point.result.performance.seconds;
        pending.rows.push(point.clone());
        match pending.seconds >= MOST_AT_RISK_S || pending.rows.len() >= MOST_ROWS {
            true => self.write(&mut pending),
            false => Ok(()),
        }
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.write(&mut self.pending.lock().expect(POISON))
    }
}

/// Notes of each setting whether it is varied by numbers alone.
pub(crate) fn note_numbers<'a>(
    numeric: &mut BTreeMap<String, bool>,
    settings: impl Iterator<Item = &'a BTreeMap<String, Value>>,
) {
    for (key, value) in settings.flatten() {
        *numeric.entry(key.clone()).or_insert(true) &= value.is_number();
    }
}

/// Writes runs to a file of their own, of which `numeric` says what is varied by numbers alone, and `notes` what else is to be noted
/// of it, by keys.
pub(crate) fn write_rows(
    folder: &Path,
    rows: &[PointResult],
    numeric: &BTreeMap<String, bool>,
    notes: &[(String, String)],
) -> Result<(), StoreError> {
    let mut noted = vec![("wearwell.version".to_owned(), BUILD.to_owned())];
    noted.extend_from_slice(notes);
    let mut bytes = Vec::new();
    parquet::write(&mut bytes, &columns(rows, numeric), &noted).map_err(|error| wrong(folder, error))?;
    let path = folder.join(name_of(&bytes));
    let write = || -> std::io::Result<()> {
        let mut file = temporary(folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(|error| wrong(folder, format!("{error}; what was stored before stays")))
}

pub(crate) fn wrong(folder: &Path, problem: impl std::fmt::Display) -> StoreError {
    StoreError { place: folder.display().to_string(), problem: problem.to_string() }
}

/// A file that no reader of the store looks at.
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    // The process's mask takes away from these permissions, as for any new file.
    let permissions = Permissions::from_mode(0o666);
    tempfile::Builder::new()
        .prefix(UNFINISHED_BEGIN)
        .suffix(UNFINISHED_END)
        .permissions(permissions)
        .tempfile_in(folder)
}

/// The columns of some runs. Each is of the same type in all files of a study, so that they are read as one table: what is varied
/// is of numbers if all its values are, and figures are of double precision whether or not they are whole.
fn columns(points: &[PointResult], numeric: &BTreeMap<String, bool>) -> Vec<(String, Column)> {
    let mut names: Vec<String> = Vec::new();
    let mut rows: Vec<BTreeMap<String, Value>> = Vec::new();
    for point in points {
        let mut known = BTreeMap::new();
        for (name, value) in row(point) {
            if !names.contains(&name) {
                names.push(name.clone());
            }
            // A varied seed is the run's own before it is a figure.
            known.entry(name).or_insert(value);
        }
        rows.push(known);
    }
    let column = |name: String| {
        let values: Vec<&Value> = rows.iter().map(|row| row.get(&name).unwrap_or(&Value::Null)).collect();
        let column = typed(&name, &values, numeric.get(&name).copied());
        (name, column)
    };
    names.into_iter().map(column).collect()
}

fn typed(name: &str, values: &[&Value], is_number: Option<bool>) -> Column {
    let text = |value: &&Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    match is_number {
        _ if [REPLICA, SEED].contains(&name) => {
            Column::Count(values.iter().map(|value| value.as_u64()).collect())
        }
        Some(false) => Column::Text(values.iter().map(text).collect()),
        Some(true) => Column::Number(values.iter().map(|value| value.as_f64()).collect()),
        None if TEXTS.contains(&name) => Column::Text(values.iter().map(text).collect()),
        None => match Column::of(values) {
            Column::Count(_) => Column::Number(values.iter().map(|value| value.as_f64()).collect()),
            other => other,
        },
    }
}

/// A run as a row: what it is known by, what is varied, its figures, and all of it as JSON.
fn row(point: &PointResult) -> Row {
    let result = &point.result;
    let mut row = vec![
        (IDENTITY.to_owned(), json!(identity(&result.scenario))),
        (VERSION.to_owned(), json!(made_by(result))),
        (REPLICA.to_owned(), json!(point.replica)),
        (SEED.to_owned(), json!(result.scenario.seed)),
        (SETTINGS.to_owned(), json!(json!(point.settings).to_string())),
    ];
    row.extend(point.settings.iter().map(|(key, value)| (key.clone(), value.clone())));
    row.extend(summary(result));
    row.push((RESULT.to_owned(), json!(serde_json::to_string(result).expect("results are plain data"))));
    row
}

#[cfg(test)]
pub(crate) mod tests;
