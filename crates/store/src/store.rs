//! Store of finished runs for studies.

use crate::column::Column;
use crate::file::{
    IDENTITY, Inventory, REPLICA, RESULT, SETTINGS, UNFINISHED_PREFIX, UNFINISHED_SUFFIX, VERSION,
    file_name_of, read_entries, remove,
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
use wearwell_study::{BUILD, PointResult, Row, Store, StoreError, build_of, identity, summary_row};

/// Maximum core time in seconds of finished runs that are not written yet; a crash loses no more than this.
const MAX_UNWRITTEN_SECONDS: f64 = 1.0;

/// Maximum number of runs per file.
pub(crate) const MAX_FILE_ROWS: usize = 1000;

const POISON: &str = "no thread panics while it holds the lock";

/// Column with the seed of a run, because the settings do not include the seeds of replicas.
const SEED: &str = "seed";

/// Columns of a summary that contain text even if the first row has no value.
const TEXT_COLUMNS: [&str; 1] = ["theory_layer"];

/// Folder with finished runs.
#[derive(Debug)]
pub struct ResultStore {
    folder: PathBuf,
    /// Results as JSON, by the identity of the run.
    results: HashMap<String, String>,
    inventory: Inventory,
    pending: Mutex<Pending>,
}

/// Runs that are not written yet.
#[derive(Debug, Default)]
struct Pending {
    rows: Vec<PointResult>,
    seconds: f64,
    /// For each varied key, true if all its values are numbers.
    numeric: BTreeMap<String, bool>,
}

impl ResultStore {
    /// Opens the store in `folder`, creating the folder if necessary.
    ///
    /// # Errors
    ///
    /// Returns an error for a folder that cannot be created, read or written. Damaged files are not an error: see
    /// [`ResultStore::inventory`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| store_error(folder, error);
        if folder.exists() && !folder.is_dir() {
            return Err(store_error(folder, "is a file; finished runs are kept in a folder"));
        }
        if !folder.exists() {
            std::fs::create_dir(folder).map_err(failed)?;
        }
        // If the folder is not writable, this fails before any run starts.
        create_temporary(folder).map_err(failed)?;
        let mut results = HashMap::new();
        let found = read_entries(folder, |entry| {
            if entry.version == BUILD {
                // Among several copies of a run, one may have a time series.
                let is_longer = results
                    .get(&entry.identity)
                    .is_none_or(|existing: &String| existing.len() < entry.result.len());
                if is_longer {
                    results.insert(entry.identity, entry.result);
                }
            }
        })?;
        Ok(ResultStore { folder: folder.to_owned(), results, inventory: found, pending: Mutex::default() })
    }

    /// Returns the inventory of the folder when the store was opened.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Returns the identities of the runs in the store when it was opened.
    pub fn identities(&self) -> impl Iterator<Item = &str> {
        self.results.keys().map(String::as_str)
    }

    /// Removes all runs. If the folder contains other files, these and the folder remain.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be removed; some runs may then remain.
    pub fn remove(self) -> Result<(), StoreError> {
        remove(&self.folder).map_err(|error| store_error(&self.folder, error))
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
    fn declare_settings(&self, settings: &mut dyn Iterator<Item = &BTreeMap<String, Value>>) {
        note_numeric_keys(&mut self.pending.lock().expect(POISON).numeric, settings);
    }

    fn find(&self, identity: &str) -> Option<RunResult> {
        let result = RunResult::read(serde_json::from_str(self.results.get(identity)?).ok()?).ok()?;
        // A result that is stored under the identity of another run was not written by Wearwell.
        (wearwell_study::identity(&result.scenario) == identity).then_some(result)
    }

    fn put(&self, point: &PointResult) -> Result<(), StoreError> {
        let mut pending = self.pending.lock().expect(POISON);
        pending.seconds += point.result.performance.seconds;
        pending.rows.push(point.clone());
        match pending.seconds >= MAX_UNWRITTEN_SECONDS || pending.rows.len() >= MAX_FILE_ROWS {
            true => self.write(&mut pending),
            false => Ok(()),
        }
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.write(&mut self.pending.lock().expect(POISON))
    }
}

/// Records for each setting if all its values are numbers.
pub(crate) fn note_numeric_keys<'a>(
    numeric: &mut BTreeMap<String, bool>,
    settings: impl Iterator<Item = &'a BTreeMap<String, Value>>,
) {
    for (key, value) in settings.flatten() {
        *numeric.entry(key.clone()).or_insert(true) &= value.is_number();
    }
}

/// Writes runs to a new file. `numeric` tells which keys have only numeric values, and `metadata` are added to the
/// metadata of the file.
pub(crate) fn write_rows(
    folder: &Path,
    rows: &[PointResult],
    numeric: &BTreeMap<String, bool>,
    metadata: &[(String, String)],
) -> Result<(), StoreError> {
    let mut all_metadata = vec![("wearwell.version".to_owned(), BUILD.to_owned())];
    all_metadata.extend_from_slice(metadata);
    let mut bytes = Vec::new();
    parquet::write(&mut bytes, &columns(rows, numeric), &all_metadata)
        .map_err(|error| store_error(folder, error))?;
    let path = folder.join(file_name_of(&bytes));
    let write = || -> std::io::Result<()> {
        let mut file = create_temporary(folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(|error| store_error(folder, format!("{error}; what was stored before stays")))
}

pub(crate) fn store_error(folder: &Path, problem: impl std::fmt::Display) -> StoreError {
    StoreError { place: folder.display().to_string(), problem: problem.to_string() }
}

/// Creates a temporary file; readers of the store ignore such files.
fn create_temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    // The umask of the process applies, as it does for any new file.
    let permissions = Permissions::from_mode(0o666);
    tempfile::Builder::new()
        .prefix(UNFINISHED_PREFIX)
        .suffix(UNFINISHED_SUFFIX)
        .permissions(permissions)
        .tempfile_in(folder)
}

/// Returns the columns of a table of runs. A column has the same type in all files of a study, so that the files can
/// be read as one table. A varied key is numeric if all its values are numbers. Figures are stored in double
/// precision, even if they are integers.
fn columns(points: &[PointResult], numeric: &BTreeMap<String, bool>) -> Vec<(String, Column)> {
    let mut names: Vec<String> = Vec::new();
    let mut rows: Vec<BTreeMap<String, Value>> = Vec::new();
    for point in points {
        let mut known = BTreeMap::new();
        for (name, value) in row(point) {
            if !names.contains(&name) {
                names.push(name.clone());
            }
            // A varied seed is stored as the seed of the run, not as a figure.
            known.entry(name).or_insert(value);
        }
        rows.push(known);
    }
    let column = |name: String| {
        let values: Vec<&Value> = rows.iter().map(|row| row.get(&name).unwrap_or(&Value::Null)).collect();
        let column = typed_column(&name, &values, numeric.get(&name).copied());
        (name, column)
    };
    names.into_iter().map(column).collect()
}

fn typed_column(name: &str, values: &[&Value], is_number: Option<bool>) -> Column {
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
        None if TEXT_COLUMNS.contains(&name) => Column::Text(values.iter().map(text).collect()),
        None => match Column::of(values) {
            Column::Count(_) => Column::Number(values.iter().map(|value| value.as_f64()).collect()),
            other => other,
        },
    }
}

/// Returns a run as a row: its identity, the varied settings, the figures, and the whole result as JSON.
fn row(point: &PointResult) -> Row {
    let result = &point.result;
    let mut row = vec![
        (IDENTITY.to_owned(), json!(identity(&result.scenario))),
        (VERSION.to_owned(), json!(build_of(result))),
        (REPLICA.to_owned(), json!(point.replica)),
        (SEED.to_owned(), json!(result.scenario.seed)),
        (SETTINGS.to_owned(), json!(json!(point.settings).to_string())),
    ];
    row.extend(point.settings.iter().map(|(key, value)| (key.clone(), value.clone())));
    row.extend(summary_row(result));
    row.push((RESULT.to_owned(), json!(serde_json::to_string(result).expect("results are plain data"))));
    row
}

#[cfg(test)]
pub(crate) mod tests;
