//! Every format: read, written, converted, and what damaged or foreign files do.

mod agreement;
mod files;
#[cfg(unix)]
mod pipes;
mod roundtrip;
mod sample_files;
mod samples;
mod smoke_fuzz;
mod support;
mod traps;
