//! Points of a program that are computed elsewhere, by the same program.
//!
//! A point is computed by code, which cannot be sent in a message. Instead, the worker runs the same program, is given
//! the results of all earlier points, and stops at the requested point.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::journal::Answer;
use crate::programs;
use crate::session::{Interrupted, Session, Watch};
use cpu_time::ProcessTime;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;

/// Inputs that lead a program to its points: its settings, and the results of earlier points.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// Name of the program.
    pub program: String,
    /// Settings of the program.
    pub settings: toml::Table,
    /// Assumptions whose value differs from the register.
    pub assumptions: BTreeMap<String, f64>,
    /// Folder of traces, if there is one.
    pub traces: Option<PathBuf>,
    /// Earlier results: one list per request for points, one result per point.
    pub earlier: Vec<Vec<Value>>,
}

/// A requested point of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Inputs that lead the program to the point.
    pub way: Way,
    /// Identity of the point, which contains everything that its result depends on.
    pub point: String,
}

/// A point that has ended: its index among the requested points, and its result or its error. An error is final:
/// repeating the point gives the same error.
pub type Ended = (usize, Result<Answer, String>);

/// Executor of points outside of this process.
pub trait Crew: Sync + fmt::Debug {
    /// Computes `points` in any order. Calls `heed` with each point that ends, and with `None` at intervals while none
    /// ends; returns once all have ended or `heed` stops.
    ///
    /// # Errors
    ///
    /// Returns an error if the points could not be computed for external reasons.
    fn answer(
        &self,
        way: &Way,
        points: &[String],
        heed: &mut dyn FnMut(Option<Ended>) -> ControlFlow<()>,
    ) -> Result<(), Lost>;
}

/// The executor is lost and computes no more points; finished points are kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Lost(pub String);

/// True if `failure` also prevents the reproduction of all other items.
pub fn ends_all(failure: &Failure) -> bool {
    failure.is::<Interrupted>() || failure.is::<Lost>()
}

/// Error that ends the program once it has computed the requested point.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the point is answered")]
struct Arrived;

/// Computes a requested point on the worker: returns its result, or its error, which a repetition would give again.
///
/// # Errors
///
/// Returns an error if the program has no such point; [`Interrupted`].
pub fn answer(asked: &Asked, watch: &dyn Watch) -> Result<Result<Answer, String>, Failure> {
    let Asked { way, point } = asked;
    let program = programs::find(&way.program)?;
    let mut assumptions = Assumptions::register();
    for (name, value) in &way.assumptions {
        assumptions = assumptions.with(name, *value)?;
    }
    let led = Led { earlier: &way.earlier, point, state: Mutex::default() };
    let session = Session::led(way, &assumptions, &led, watch)?;
    let ended = (program.run)(&session);
    match led.state.into_inner().expect(POISON).answer {
        Some(answer) => Ok(answer),
        None => Err(ended.err().unwrap_or_else(|| astray(program.name, "it asks for fewer points"))),
    }
}

const POISON: &str = "nothing panics while it holds the lock";

/// A program that is led to a requested point, and looks for it among its points.
pub(crate) struct Led<'a> {
    earlier: &'a [Vec<Value>],
    point: &'a str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of requests for points so far.
    asked: usize,
    answer: Option<Result<Answer, String>>,
}

impl Led<'_> {
    /// Returns the earlier results of `points`. If `points` contains the requested point, computes it with `answer` and
    /// ends the program.
    pub(crate) fn each<T: Serialize + DeserializeOwned>(
        &self,
        points: &[String],
        answer: impl FnOnce(usize) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut state = self.state.lock().expect(POISON);
        state.asked += 1;
        if state.answer.is_some() {
            return Err(Arrived.into());
        }
        if let Some(earlier) = self.earlier.get(state.asked - 1) {
            if earlier.len() != points.len() {
                return Err(astray("it", "it has asked for another number of points before"));
            }
            return Ok(earlier.iter().map(T::deserialize).collect::<Result<_, _>>()?);
        }
        let wanted = points.iter().position(|point| point == self.point);
        let wanted = wanted.ok_or_else(|| astray("it", &format!("it does not ask for {}", self.point)))?;
        let began = ProcessTime::now();
        state.answer = Some(match answer(wanted) {
            Ok(found) => {
                let core_seconds = began.elapsed().as_secs_f64();
                Ok(Answer { found: serde_json::to_value(found)?, core_seconds })
            }
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => Err(error.to_string()),
        });
        Err(Arrived.into())
    }
}

/// Returns the error that a program does not reach a point.
fn astray(program: &str, why: &str) -> Failure {
    let likely = "are the traces that it replays at the same path here?";
    format!("{program} does not come to the point that is wanted: {why}; {likely}").into()
}

#[cfg(test)]
mod tests;
