//! What stands in for `wearwell plot` in a program that was built without it.

use crate::exit::Failure;
use std::ffi::OsString;

/// Draws a figure for a paper; not in this program
#[derive(clap::Args)]
pub struct Args {
    /// What a program that draws would be told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Says that it draws none.
pub fn run(_args: &Args) -> Result<(), Failure> {
    Err(Failure::usage("this program was built without figures for papers; `make build` builds it with them"))
}
