//! Points of a program that are computed elsewhere, by the same program.
//!
//! A point is computed by code, which cannot be sent in a message. Instead, the worker runs the same program, is given
//! the results of all earlier points, and stops at the requested point.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::journal::Answer;
use crate::programs;
use crate::session::{Led, Session, Watch, Way, astray};
use serde::{Deserialize, Serialize};

/// A requested point of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Inputs that lead the program to the point.
    pub way: Way,
    /// Identity of the point, which contains everything that its result depends on.
    pub point: String,
}

/// Computes a requested point on the worker: returns its result, or its error, which a repetition would give again.
///
/// # Errors
///
/// Returns an error if the program has no such point; [`crate::session::Interrupted`].
pub fn answer(asked: &Asked, watch: &dyn Watch) -> Result<Result<Answer, String>, Failure> {
    let Asked { way, point } = asked;
    let program = programs::find(&way.program)?;
    let mut assumptions = Assumptions::register();
    for (name, value) in &way.assumptions {
        assumptions = assumptions.with(name, *value)?;
    }
    let led = Led::new(&way.earlier, point);
    let session = Session::led(way, &assumptions, &led, watch)?;
    let ended = (program.run)(&session);
    match led.into_answer() {
        Some(answer) => Ok(answer),
        None => Err(ended.err().unwrap_or_else(|| astray(program.name, "it asks for fewer points"))),
    }
}

#[cfg(test)]
mod tests;
