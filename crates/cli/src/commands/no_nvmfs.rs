//! What stands in for `wearwell nvmfs` in a program that was built without it.

use crate::exit::Failure;
use std::ffi::OsString;

/// Makes, mounts and checks NVMFS, a file system over NVRAM and an SSD; not in this program
#[derive(clap::Args)]
pub struct Command {
    /// What a program with NVMFS would be told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Says that there is none.
pub fn run(_command: &Command) -> Result<(), Failure> {
    Err(Failure::usage("this program was built without NVMFS; on Linux, `make build` builds it with it"))
}
