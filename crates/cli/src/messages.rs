//! Messages on standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints a message to standard error. A closed terminal or a full disk is not an error.
pub fn print_message(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
