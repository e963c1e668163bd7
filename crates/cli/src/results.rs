//! Results that were written before, read again.

use crate::exit::Failure;
use serde_json::Value;
use std::path::{Path, PathBuf};
use wearwell_stack::RunResult;

/// The results in these files.
pub fn read_all(paths: &[PathBuf]) -> Result<Vec<RunResult>, Failure> {
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<RunResult, Failure> {
    let failed = |problem: String| Failure::Usage(format!("{}: {problem}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| failed(format!("this is no JSON: {error}")))?;
    RunResult::read(value)
        .map_err(|error| failed(format!("this is no result of `wearwell run --output`: {error}")))
}

/// The files' names, or, where two are called alike, their paths.
pub fn names(paths: &[PathBuf]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let unique = |at: usize| stems.iter().filter(|other| **other == stems[at]).count() == 1;
    (0..paths.len())
        .map(|at| if unique(at) { stems[at].clone() } else { paths[at].display().to_string() })
        .collect()
}
