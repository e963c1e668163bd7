//! Files of a store: names and content.

use bytes::Bytes;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use wearwell_study::{BUILD, StoreError, fingerprint};

/// Columns that the store reads; it writes the other columns for users only.
pub const IDENTITY: &str = "point";
pub const VERSION: &str = "version";
pub const SETTINGS: &str = "settings";
pub const REPLICA: &str = "replica";
pub const RESULT: &str = "result";

/// Prefix of the names of complete files.
const PREFIX: &str = "points-";
/// Suffix of the names of complete files.
const SUFFIX: &str = ".parquet";

/// Prefix of the names of unfinished files, which readers ignore.
pub const UNFINISHED_PREFIX: &str = ".wearwell-";
/// Suffix of the names of unfinished files.
pub const UNFINISHED_SUFFIX: &str = ".tmp";

/// Number of rows read at a time.
const BATCH_ROWS: usize = 1024;

/// Maximum plausible number of rows in a row group.
const MAX_ROW_GROUP_ROWS: i64 = 10_000_000;

/// Returns the name of the file with the content `bytes`.
pub fn file_name_of(bytes: &[u8]) -> String {
    format!("{PREFIX}{}{SUFFIX}", fingerprint(bytes))
}

/// Row of a store file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRow {
    pub identity: String,
    pub version: String,
    pub settings: String,
    pub replica: u32,
    pub result: String,
}

/// Inventory of a store's folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// Number of rows of this build.
    pub rows: usize,
    /// Number of rows of other versions and builds, which may compute different results and are not reused.
    pub rows_of_other_builds: BTreeMap<String, usize>,
    /// Files that are damaged or do not belong to a store, each with the problem, in the order of names.
    pub unreadable: Vec<String>,
}

impl Inventory {
    /// Returns messages for the user; there are none for an intact store.
    pub fn messages(&self) -> Vec<String> {
        let unreadable = self.unreadable.iter().map(|problem| format!("{problem}; it is left out"));
        let other_builds = self.rows_of_other_builds.iter().map(|(version, rows)| {
            let runs = if *rows == 1 { "run" } else { "runs" };
            format!("{rows} {runs} of version {version} are not taken for done by {BUILD}")
        });
        unreadable.chain(other_builds).collect()
    }
}

/// Calls `emit` for every entry in the files of `folder`, in the order of file names. A missing folder has no
/// entries.
pub fn read_entries(folder: &Path, mut emit: impl FnMut(StoredRow)) -> Result<Inventory, StoreError> {
    let (mut inventory, mut visited) = (Inventory::default(), BTreeSet::new());
    loop {
        let before = visited.len();
        for path in files(folder)? {
            if !visited.insert(path.clone()) {
                continue;
            }
            match entries_of(&path) {
                Ok(entries) => {
                    for entry in entries {
                        match entry.version == BUILD {
                            true => inventory.rows += 1,
                            false => {
                                *inventory.rows_of_other_builds.entry(entry.version.clone()).or_default() += 1
                            }
                        }
                        emit(entry);
                    }
                }
                Err(_) if std::fs::symlink_metadata(&path).is_err() => {}
                Err(problem) => inventory.unreadable.push(format!("{}: {problem}", path.display())),
            }
        }
        // A concurrent compaction may have merged files, so that the runs of files that disappeared are in a new
        // file. A listing made at that time may contain neither the old files nor the new one, so the folder is
        // listed until there are no new files.
        if visited.len() == before {
            return Ok(inventory);
        }
    }
}

/// Returns the number of store files in `folder`.
pub(crate) fn count(folder: &Path) -> Result<usize, StoreError> {
    let is_of_store =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    Ok(files(folder)?.iter().filter(is_of_store).count())
}

/// Returns all Parquet files of `folder`, including those that do not belong to a store; unfinished files have other
/// names.
pub(crate) fn files(folder: &Path) -> Result<BTreeSet<PathBuf>, StoreError> {
    let failed = |error: std::io::Error| StoreError {
        place: folder.display().to_string(),
        problem: error.to_string(),
    };
    if !folder.exists() {
        return Ok(BTreeSet::new());
    }
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(SUFFIX) && !name.starts_with('.') {
            found.insert(path);
        }
    }
    Ok(found)
}

/// Removes all files of a store from `folder`, and the folder itself if it is then empty.
pub fn remove(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_between = |begin: &str, end: &str| name.starts_with(begin) && name.ends_with(end);
        if is_between(PREFIX, SUFFIX) || is_between(UNFINISHED_PREFIX, UNFINISHED_SUFFIX) {
            std::fs::remove_file(&path)?;
        }
    }
    match std::fs::remove_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
        done => done,
    }
}

/// Reads the entries of a store file. If that is not possible, returns the problem.
pub(crate) fn entries_of(path: &Path) -> Result<Vec<StoredRow>, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with(PREFIX) {
        return Err("was not written by a store".into());
    }
    // Named pipes are refused, because reading a named pipe would block.
    if !path.is_file() {
        return Err("is no file".into());
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    if file_name_of(&bytes) != name {
        return Err(format!("is damaged: its {} bytes are not those that it was named after", bytes.len()));
    }
    parse(bytes.into()).map_err(|error| format!("is damaged: {error}"))
}

/// Parses the entries of a file.
pub fn parse(bytes: Bytes) -> Result<Vec<StoredRow>, ParquetError> {
    let reader = SerializedFileReader::new(bytes)?;
    let mut entries = Vec::new();
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number)?;
        let rows = group.metadata().num_rows();
        if !(0..=MAX_ROW_GROUP_ROWS).contains(&rows) {
            return Err(ParquetError::General(format!("{rows} rows")));
        }
        let mut texts = Vec::new();
        for name in [IDENTITY, VERSION, SETTINGS, RESULT] {
            texts.push(texts_of(&*group, name, rows as usize)?.into_iter());
        }
        for replica in numbers_of(&*group, REPLICA, rows as usize)? {
            let replica =
                u32::try_from(replica).map_err(|_| ParquetError::General(format!("replica {replica}")))?;
            let mut next = |column: usize| texts[column].next().unwrap_or_default();
            let (identity, version, settings, result) = (next(0), next(1), next(2), next(3));
            entries.push(StoredRow { identity, version, settings, replica, result });
        }
    }
    Ok(entries)
}

fn texts_of(group: &dyn RowGroupReader, name: &str, rows: usize) -> Result<Vec<String>, ParquetError> {
    let ColumnReader::ByteArrayColumnReader(reader) = column(group, name, Physical::BYTE_ARRAY)? else {
        return Err(ParquetError::General(format!("`{name}` is no text")));
    };
    let text = |bytes: ByteArray| {
        let text = bytes.as_utf8().map(str::to_owned);
        text.map_err(|_| ParquetError::General(format!("`{name}` is no text")))
    };
    values(reader, name, rows)?.into_iter().map(text).collect()
}

fn numbers_of(group: &dyn RowGroupReader, name: &str, rows: usize) -> Result<Vec<i64>, ParquetError> {
    let ColumnReader::Int64ColumnReader(reader) = column(group, name, Physical::INT64)? else {
        return Err(ParquetError::General(format!("`{name}` is no whole number")));
    };
    values(reader, name, rows)
}

fn column(group: &dyn RowGroupReader, name: &str, physical: Physical) -> Result<ColumnReader, ParquetError> {
    let columns = group.metadata().columns();
    let index = columns.iter().position(|column| column.column_path().string() == name);
    let place = index.ok_or_else(|| ParquetError::General(format!("there is no column `{name}`")))?;
    let described = columns[place].column_descr();
    if described.physical_type() != physical || described.max_rep_level() != 0 {
        return Err(ParquetError::General(format!("`{name}` is of another type")));
    }
    // The library would panic on such values.
    let begin = columns[place].dictionary_page_offset().unwrap_or(columns[place].data_page_offset());
    if begin < 0 || columns[place].compressed_size() < 0 {
        return Err(ParquetError::General(format!("`{name}` begins or ends before the file")));
    }
    group.get_column_reader(place)
}

/// Reads the values of a column; no value may be missing.
fn values<D: DataType>(
    mut reader: ColumnReaderImpl<D>,
    name: &str,
    rows: usize,
) -> Result<Vec<D::T>, ParquetError> {
    let (mut found, mut levels) = (Vec::new(), Vec::new());
    while found.len() < rows {
        levels.clear();
        let (records, ..) =
            reader.read_records(BATCH_ROWS.min(rows - found.len()), Some(&mut levels), None, &mut found)?;
        if records == 0 {
            break;
        }
    }
    match found.len() == rows {
        true => Ok(found),
        false => Err(ParquetError::General(format!("`{name}` has {} values in {rows} rows", found.len()))),
    }
}
