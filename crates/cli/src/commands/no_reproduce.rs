//! What stands in for `wearwell reproduce` in a program that was built without it.

use crate::exit::Failure;
use std::ffi::OsString;

/// Reproduces figures, tables and claims of the five papers; not in this program
#[derive(clap::Args)]
pub struct Args {
    /// What a program with the manifests would be told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Says that there are none.
pub fn run(_args: &Args) -> Result<(), Failure> {
    Err(Failure::usage(
        "this program was built without the papers; on Linux, `make build` builds it with them",
    ))
}
