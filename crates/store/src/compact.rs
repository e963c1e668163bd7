//! Compaction: merges many files of a store into few.

use crate::file::{count, entries_of, files};
use crate::rows::{Points, Run, check_folder};
use crate::store::{MOST_ROWS, note_numbers, write_rows, wrong};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use wearwell_study::{PointResult, StoreError};

/// Metadata key of the unique word in a file.
const UNIQUE: &str = "wearwell.compacted";

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Number of distinct runs of this build.
    pub runs: usize,
    /// Number of files of the store before.
    pub files_before: usize,
    /// Number of files of the store after.
    pub files_after: usize,
}

/// Merges the runs of this build in `folder` into as few files as possible, and removes the merged files. Runs of other
/// versions, damaged files and files that do not belong to a store are not changed.
///
/// A file is removed only after all its runs are durable in another file, so a compaction can be interrupted at any
/// time; duplicate runs count once. Other processes may write, read or compact the store concurrently. Only files that
/// were read are removed, and readers list the folder again if files disappear. The content of a removed file is always
/// in a file that was written after the removed file was read, under a name that no file had before. Concurrent
/// compactions may therefore duplicate a run, but never lose one.
///
/// # Errors
///
/// Returns an error for a folder that does not exist or cannot be read, written or cleared; all runs are then still
/// there.
pub fn compact(folder: &Path) -> Result<Compacted, StoreError> {
    compact_until(folder, MOST_ROWS, &mut || true)
}

/// Compacts with at most `most_rows` rows per file; stops before the step for which `goes_on` returns false.
fn compact_until(
    folder: &Path,
    most_rows: usize,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Compacted, StoreError> {
    check_folder(folder)?;
    let files_before = count(folder)?;
    let (points, read) = readable(folder)?;
    let (runs, mut numeric) = (points.len(), BTreeMap::new());
    note_numbers(&mut numeric, points.iter().map(|point| &point.settings));
    if read.len() <= runs.div_ceil(most_rows) {
        return Ok(Compacted { runs, files_before, files_after: files_before });
    }
    let mut is_over = false;
    for rows in points.chunks(most_rows) {
        is_over |= !goes_on();
        if !is_over {
            write_rows(folder, rows, &numeric, &[(UNIQUE.to_owned(), unique())])?;
        }
    }
    // The directory entries of new files must be durable, not only the content.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| wrong(folder, error))?;
    for path in read {
        is_over |= !goes_on();
        if !is_over {
            discard(&path).map_err(|error| wrong(folder, error))?;
        }
    }
    Ok(Compacted { runs, files_before, files_after: count(folder)? })
}

/// Returns a new random word. Files are named after their content, and this word makes a file's content unique.
/// Otherwise a compaction could write a file that already exists, and another process that read the file earlier could
/// remove it.
fn unique() -> String {
    let half = |number: u8| RandomState::new().hash_one(number);
    format!("{:016x}{:016x}", half(0), half(1))
}

/// Removes a file; succeeds if another process has already removed it.
fn discard(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Returns the runs of this build, and the files that contain nothing else.
fn readable(folder: &Path) -> Result<(Vec<PointResult>, Vec<PathBuf>), StoreError> {
    let (mut points, mut paths) = (Points::default(), Vec::new());
    for path in files(folder)? {
        let Ok(entries) = entries_of(&path) else { continue };
        let runs: Vec<Option<Run>> = entries.into_iter().map(Run::of).collect();
        if runs.iter().all(Option::is_some) {
            paths.push(path);
        }
        runs.into_iter().flatten().for_each(|run| points.add(run));
    }
    Ok((points.in_order(), paths))
}

#[cfg(test)]
mod tests;
