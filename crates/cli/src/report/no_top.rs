//! Replacement for the tables of NVMFS in a program that was built without NVMFS.

use wearwell_stack::RunResult;

/// Returns `None`: without NVMFS, no result has statistics of a file system.
pub fn table(_result: &RunResult) -> Option<String> {
    None
}
