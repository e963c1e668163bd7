//! NVMFS on top of a simulated stack: a workload of file operations runs through the same code as a mount, and
//! produces requests to the SSD.
//!
//! [`Machine`] runs a workload and returns the requests. [`TopConfig`] is the `[top]` table of a scenario; the
//! requests of its file system drive the stack below, as those of any other workload do.

mod config;
mod machine;
mod workload;

pub use config::{TopConfig, TopKind, resolve, run, run_with, schema};
pub use machine::{Machine, MachineError, MachineSettings};
pub use workload::{CountFrom, MeasuredCounts, TopReport};
