//! NVMFS on top of a simulated stack: a workload of file operations runs through the same code as a mount, and
//! produces requests to the SSD.
//!
//! [`Machine`] runs a workload and returns the requests. [`TopConfig`] is the `[top]` table of a scenario,
//! whose requests drive the stack below like any other workload.

mod config;
mod machine;
mod workload;

pub use config::{TopConfig, TopKind, resolve, run, run_with, schema};
pub use machine::{Machine, MachineError, MachineSettings};
pub use workload::{CountFrom, MeasuredCounts, TopReport};
