//! Compaction, which merges many files of a store into few.

use crate::file::{count, entries_of, files};
use crate::rows::{DistinctRuns, StoredRun, check_folder};
use crate::store::{MAX_FILE_ROWS, note_numeric_keys, store_error, write_rows};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use wearwell_study::{PointResult, StoreError};

/// Metadata key of the random word that makes a file unique.
const UNIQUE_KEY: &str = "wearwell.compacted";

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionResult {
    /// Number of distinct runs of this build.
    pub runs: usize,
    /// Number of files in the store before the compaction.
    pub files_before: usize,
    /// Number of files in the store after the compaction.
    pub files_after: usize,
}

/// Merges the runs of this build in `folder` into as few files as possible, and removes the merged files. Runs of other
/// versions, damaged files and files that do not belong to a store are not changed.
///
/// A file is removed only after all its runs are durable in another file, so a compaction can be interrupted at any
/// time; a run that is stored twice counts once. Other processes may write, read or compact the store concurrently.
/// Only files that were read are removed, and readers list the folder again if files disappear. The runs of a removed
/// file are always in a file that was written after the removed file was read, under a name that no file had before.
/// Concurrent compactions may therefore duplicate a run, but never lose one.
///
/// # Errors
///
/// Returns an error for a folder that does not exist, or in which files cannot be read, written or removed; no run is
/// then lost.
pub fn compact(folder: &Path) -> Result<CompactionResult, StoreError> {
    compact_to_step(folder, MAX_FILE_ROWS, &mut || true)
}

/// Compacts a folder, with at most `most_rows` rows per file; stops before the step for which `keep_going` returns
/// false.
fn compact_to_step(
    folder: &Path,
    most_rows: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<CompactionResult, StoreError> {
    check_folder(folder)?;
    let files_before = count(folder)?;
    let (points, read) = readable_files(folder)?;
    let (runs, mut numeric) = (points.len(), BTreeMap::new());
    note_numeric_keys(&mut numeric, points.iter().map(|point| &point.settings));
    if read.len() <= runs.div_ceil(most_rows) {
        return Ok(CompactionResult { runs, files_before, files_after: files_before });
    }
    let mut is_over = false;
    for rows in points.chunks(most_rows) {
        is_over |= !keep_going();
        if !is_over {
            write_rows(folder, rows, &numeric, &[(UNIQUE_KEY.to_owned(), random_word())])?;
        }
    }
    // The directory entries of new files must be durable, too, not only the content of the files.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| store_error(folder, error))?;
    for path in read {
        is_over |= !keep_going();
        if !is_over {
            remove_if_present(&path).map_err(|error| store_error(folder, error))?;
        }
    }
    Ok(CompactionResult { runs, files_before, files_after: count(folder)? })
}

/// Returns a new random word. Files are named after their content, and this word makes a file's content unique.
/// Otherwise, a compaction could write a file that already exists, and another process which read that file earlier
/// could remove it.
fn random_word() -> String {
    let half = |number: u8| RandomState::new().hash_one(number);
    format!("{:016x}{:016x}", half(0), half(1))
}

/// Removes a file; succeeds if another process has already removed it.
fn remove_if_present(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Returns the runs of this build, and the files that contain only such runs.
fn readable_files(folder: &Path) -> Result<(Vec<PointResult>, Vec<PathBuf>), StoreError> {
    let (mut points, mut paths) = (DistinctRuns::default(), Vec::new());
    for path in files(folder)? {
        let Ok(entries) = entries_of(&path) else { continue };
        let runs: Vec<Option<StoredRun>> = entries.into_iter().map(StoredRun::of).collect();
        if runs.iter().all(Option::is_some) {
            paths.push(path);
        }
        runs.into_iter().flatten().for_each(|run| points.add(run));
    }
    Ok((points.into_sorted(), paths))
}

#[cfg(test)]
mod tests;
