//! Runs whose writer may be a file system at the top of the stack.

pub use wearwell_nvmfs::top::{resolve, run, schema};
