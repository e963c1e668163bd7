//! Identity of a trace within a process.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::pass_reader::is_regular_file;
use crate::options::ReadOptions;

/// Identity of a trace: the state of its file when it was opened, and the options for reading.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceIdentity {
    /// Process that decodes the trace: a child process does not have its parent's decoding threads.
    process: u32,
    /// Path in error messages.
    path: PathBuf,
    canonical: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
    options: ReadOptions,
}

impl TraceIdentity {
    /// Returns the identity of a regular file; `None` for anything else.
    pub(super) fn of(path: &Path, options: &ReadOptions) -> Option<Self> {
        let metadata = path.metadata().ok().filter(|_| is_regular_file(path))?;
        Some(TraceIdentity {
            process: std::process::id(),
            path: path.to_owned(),
            canonical: path.canonicalize().ok()?,
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            options: options.clone(),
        })
    }
}
