//! Points of a program that are computed in another process, by the same program.
//!
//! A point is computed by code, which cannot be sent in a message. Instead, the worker runs the same program,
//! receives the results of all earlier points, and stops at the requested point.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::journal::PointResult;
use crate::programs;
use crate::session::{DirectedRun, ProgramInputs, ReproductionObserver, Session, unreachable_point};
use serde::{Deserialize, Serialize};

/// A requested point of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointRequest {
    /// Inputs with which the program reaches the point.
    #[serde(rename = "way")]
    pub inputs: ProgramInputs,
    /// Identity of the point, which contains everything that its result depends on.
    pub point: String,
}

/// Computes a requested point on the worker. Returns its result, or its error, which a repetition would give again.
///
/// # Errors
///
/// Returns an error if the program has no such point; [`crate::session::Interrupted`].
pub fn compute_point(
    request: &PointRequest,
    watch: &dyn ReproductionObserver,
) -> Result<Result<PointResult, String>, Failure> {
    let PointRequest { inputs: way, point } = request;
    let program = programs::find(&way.program)?;
    let mut assumptions = Assumptions::register();
    for (name, value) in &way.assumptions {
        assumptions = assumptions.with(name, *value)?;
    }
    let led = DirectedRun::new(&way.earlier_results, point);
    let session = Session::directed(way, &assumptions, &led, watch)?;
    let result = (program.run)(&session);
    match led.into_answer() {
        Some(answer) => Ok(answer),
        None => {
            Err(result.err().unwrap_or_else(|| unreachable_point(program.name, "it asks for fewer points")))
        }
    }
}

#[cfg(test)]
mod tests;
