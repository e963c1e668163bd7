//! Points that are answered elsewhere: by the same program, which is led to the one that is wanted.
//!
//! What answers a point is code, which no message carries. So whoever answers runs the item's program as well, is given what the points
//! before were answered with, and ends at the one that it was asked for.

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

/// What leads a program to its points: all that it was given, and what it has found on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// The program's name.
    pub program: String,
    /// Its settings.
    pub settings: toml::Table,
    /// The assumptions whose value is not that of the register.
    pub assumptions: BTreeMap<String, f64>,
    /// The folder of traces, if there is one.
    pub traces: Option<PathBuf>,
    /// What it has found: an answer a point, a list for each time that it asked.
    pub earlier: Vec<Vec<Value>>,
}

/// A point of a program that somebody else is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// How the program comes there.
    pub way: Way,
    /// What all depends on that is to be found: one of the points that it asks for next.
    pub point: String,
}

/// What came of a point, by its place among those that were asked for: its answer, or why there is none, which would be so again.
pub type Ended = (usize, Result<Answer, String>);

/// Whoever answers points elsewhere.
pub trait Crew: Sync + fmt::Debug {
    /// Has `points` answered in any order. Each goes to `heed` as it ends, with nothing now and then while none does; returns once
    /// all have, or `heed` said to stop.
    ///
    /// # Errors
    ///
    /// What kept points from being answered at all, and so is not their fault.
    fn answer(
        &self,
        way: &Way,
        points: &[String],
        heed: &mut dyn FnMut(Option<Ended>) -> ControlFlow<()>,
    ) -> Result<(), Lost>;
}

/// A crew can answer no more; finished points are kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Lost(pub String);

/// Whether after `failure` no other item can be reproduced either.
pub fn ends_all(failure: &Failure) -> bool {
    failure.is::<Interrupted>() || failure.is::<Lost>()
}

/// The program has answered what it was asked for, and goes no further.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the point is answered")]
struct Arrived;

/// Answers a point as a [`Crew`] is asked for it: what was found, or why nothing was, which would be so again.
///
/// # Errors
///
/// A question that is none of this program's; [`Interrupted`].
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

/// A program that is led to a point, and looks for it among those that it asks for.
pub(crate) struct Led<'a> {
    earlier: &'a [Vec<Value>],
    point: &'a str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How often the program has asked.
    asked: usize,
    answer: Option<Result<Answer, String>>,
}

impl Led<'_> {
    /// What was found of `points` before, or what `answer` finds of the one that is wanted, which ends the program.
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

/// Why a program does not come to a point.
fn astray(program: &str, why: &str) -> Failure {
    let likely = "are the traces that it replays at the same path here?";
    format!("{program} does not come to the point that is wanted: {why}; {likely}").into()
}

#[cfg(test)]
mod tests;
