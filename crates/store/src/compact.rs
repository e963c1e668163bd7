//! Many files of a store put together to few.

use crate::file::{count, entries_of, files};
use crate::rows::{Points, Run, check_folder};
use crate::store::{MOST_ROWS, note_numbers, write_rows, wrong};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use wearwell_study::{PointResult, StoreError};

/// Where in a file the word stands that is its own.
const UNIQUE: &str = "wearwell.compacted";

/// What became of the files of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Runs of this build, each once.
    pub runs: usize,
    /// Files of the store before.
    pub files_before: usize,
    /// Files of the store afterwards.
    pub files_after: usize,
}

/// Puts the runs of this build in `folder` into as few files as hold them, and removes those that held them before. Runs of other
/// versions, damaged files and what is no part of a store stay as they are.
///
/// Nothing is removed before all that it holds is safe in another file, so that this may be ended at any moment; what is then there
/// twice counts once. Others may write to the store meanwhile, read it, or do the same: only files that were read are removed, and
/// readers look again for what was taken from under them. A file that is removed is always held by one that was written after it was
/// read, under a name that no file had before: several that do this at once may leave a run twice, and never take each other's.
///
/// # Errors
///
/// A folder that is not there or cannot be read, written or cleared: all runs are still there.
pub fn compact(folder: &Path) -> Result<Compacted, StoreError> {
    compact_until(folder, MOST_ROWS, &mut || true)
}

/// The same with so many rows in a file, which ends before the step to which `goes_on` says no.
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
    // The new names have to be safe, and not only what they name.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| wrong(folder, error))?;
    for path in read {
        is_over |= !goes_on();
        if !is_over {
            discard(&path).map_err(|error| wrong(folder, error))?;
        }
    }
    Ok(Compacted { runs, files_before, files_after: count(folder)? })
}

/// A word that nobody said before: files are named after their bytes, and this makes those of one file its own. Would a file be written
/// that is there already, somebody who read it earlier could remove it.
fn unique() -> String {
    let half = |number: u8| RandomState::new().hash_one(number);
    format!("{:016x}{:016x}", half(0), half(1))
}

/// Removes a file that somebody else may have removed already.
fn discard(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The runs of this build, and the files that hold nothing else.
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
