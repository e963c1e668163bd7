//! Reading of results of earlier commands.

use crate::exit::Failure;
use serde_json::Value;
use std::path::{Path, PathBuf};
use wearwell_report::Document;
use wearwell_stack::RunResult;

/// Reads the results in these files.
pub fn read_all(paths: &[PathBuf]) -> Result<Vec<RunResult>, Failure> {
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<RunResult, Failure> {
    RunResult::read(json(path)?)
        .map_err(|error| failed(path, format!("this is no result of `wearwell run --output`: {error}")))
}

/// Reads files and folders that commands wrote, as documents for an HTML page.
pub fn documents(paths: &[PathBuf]) -> Result<Vec<Document>, Failure> {
    let document = |(path, name): (&PathBuf, &String)| {
        let found = match (path.is_dir(), path.parent()) {
            (true, _) => Document::of_reproduction(name, path),
            // The plots of an item are in the same folder as its description.
            (false, Some(folder)) if path.ends_with("item.json") => {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                Document::of_reproduction(name, folder)
            }
            _ => Document::read(name, json(path)?),
        };
        found.map_err(|problem| failed(path, problem))
    };
    paths.iter().zip(&names(paths)).map(document).collect()
}

/// Reads the JSON in a file.
pub fn json(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| failed(path, error))?;
    serde_json::from_str(&text).map_err(|error| failed(path, format!("this is no JSON: {error}")))
}

fn failed(path: &Path, problem: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {problem}", path.display()))
}

/// Returns the files' names, or their paths where two names are equal.
pub fn names(paths: &[PathBuf]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let unique = |at: usize| stems.iter().filter(|candidate| **candidate == stems[at]).count() == 1;
    (0..paths.len())
        .map(|at| if unique(at) { stems[at].clone() } else { paths[at].display().to_string() })
        .collect()
}
