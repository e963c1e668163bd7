//! What is said on standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// Says something to the user, beside what the command prints. A terminal that is gone, or a full disk, is no reason to fail.
pub fn tell(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
