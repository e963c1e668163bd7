//! Recordings of real file systems, as `nvmfs_record --traces` leaves them.

use crate::Failure;
use crate::nvmfs::trial::Trial;
use std::path::{Path, PathBuf};

/// The recordings of a workload at a utilisation in a folder, one for each file system, by name.
pub fn find(folder: &Path, workload: &str, utilisation: f64) -> Result<Vec<PathBuf>, Failure> {
    let end = format!("-{workload}-{utilisation}.csv.zst");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(&end) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Reads one.
pub fn read(_path: &Path, _workload: &str, _utilisation: f64) -> Result<Trial, Failure> {
    todo!()
}
