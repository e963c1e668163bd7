//! Every format: reading, writing, conversion, and handling of damaged or foreign files.

mod agreement;
mod files;
#[cfg(unix)]
mod pipes;
mod pitfalls;
mod roundtrip;
mod sample_files;
mod samples;
mod smoke_fuzz;
mod support;
