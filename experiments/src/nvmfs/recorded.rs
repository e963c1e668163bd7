//! Recordings of real file systems, as `nvmfs_record --traces` leaves them: the requests, and beside them what was seen.

use crate::Failure;
use crate::nvmfs::job::{Cleaned, JobReport};
use crate::nvmfs::trial::Trial;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use wearwell_trace::{ReadOptions, RequestBatch, open};

/// Requests read at a time.
const AT_ONCE: usize = 1 << 16;

/// What stands beside the requests, as far as it is used here.
#[derive(Deserialize)]
struct Beside {
    file_system: String,
    workload: String,
    utilisation: f64,
    disk_bytes: u64,
    main_phase_from: usize,
    report: Option<JobReport>,
    cleaned: Option<Counted>,
}

#[derive(Deserialize)]
struct Counted {
    segments: u64,
    recycled_blocks: u64,
    moved_blocks: u64,
}

/// The recordings of a workload at a utilisation in a folder, one for each file system, by name.
///
/// Errors: as of reading the folder.
pub fn find(folder: &Path, workload: &str, utilisation: f64) -> Result<Vec<PathBuf>, Failure> {
    let end = format!("-{workload}-{utilisation}.json");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if name.ends_with(&end) && !name.contains("-program-") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Reads the recording that `path`, a file found by [`find`], stands beside.
///
/// Errors: files that are no recording, one of another disk, one of a program that does not say what it wrote.
pub fn read(path: &Path, disk_bytes: u64) -> Result<Trial, Failure> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let beside: Beside =
        serde_json::from_str(&std::fs::read_to_string(path)?).map_err(|error| failed(&error))?;
    if beside.disk_bytes != disk_bytes {
        return Err(failed(&format!("is of a disk of {} bytes", beside.disk_bytes)).into());
    }
    let counts = beside.report.ok_or_else(|| failed(&"does not say what was written"))?.counts;
    let mut reader = open(path.with_extension("csv.zst"), &ReadOptions::default())?;
    let (mut requests, mut some) = (RequestBatch::default(), RequestBatch::default());
    while reader.read_batch(&mut some, AT_ONCE)? > 0 {
        (0..some.len()).for_each(|at| requests.push(&some.get(at)));
    }
    Ok(Trial {
        file_system: beside.file_system,
        workload: beside.workload,
        utilisation: beside.utilisation,
        requests,
        measured_from: beside.main_phase_from,
        written_bytes: counts.written_bytes,
        read_bytes: counts.read_bytes,
        cleaned: beside.cleaned.map(|counted| Cleaned {
            segments: counted.segments,
            recycled_blocks: counted.recycled_blocks,
            moved_blocks: counted.moved_blocks,
            ..Cleaned::default()
        }),
    })
}
