//! NVMFS as the top of a simulated stack: a workload of file operations goes through the very code that a mount runs, and
//! what comes out are the requests to the SSD.
//!
//! [`Machine`] plays a workload and hands out the requests; [`TopConfig`] is the `[top]` of a scenario, whose requests drive
//! the stack below like any other workload.

mod config;
mod machine;
mod workload;

pub use config::{TopConfig, TopKind, resolve, run, run_with, schema};
pub use machine::{Machine, MachineError, MachineSettings};
pub use workload::{CountFrom, Measured, TopReport};
