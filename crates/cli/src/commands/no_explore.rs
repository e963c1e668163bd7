//! What stands in for `wearwell explore` in a program that was built without it.

use crate::exit::Failure;
use std::ffi::OsString;

/// Serves a page with sliders; not in this program
#[derive(clap::Args)]
pub struct Args {
    /// What a program with the page would be told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Says that there is none.
pub fn run(_args: &Args) -> Result<(), Failure> {
    Err(Failure::usage("this program was built without the page; `make build` builds it with it"))
}
