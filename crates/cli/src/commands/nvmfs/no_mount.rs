//! What stands in for `wearwell nvmfs mount` in a program that was built without mounts.

use crate::exit::Failure;
use std::ffi::OsString;

/// Mounts a file system on a directory, by FUSE; not in this program
#[derive(clap::Args)]
pub struct Args {
    /// What a program with mounts would be told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Says that there are no mounts.
pub fn run(_args: &Args) -> Result<(), Failure> {
    Err(Failure::usage("this program was built without mounts; `make build` builds it with them"))
}
