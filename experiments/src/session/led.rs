//! A program that is led to one of its points.

use super::watch::Interrupted;
use crate::Failure;
use crate::journal::Answer;
use cpu_time::ProcessTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Mutex;

const POISON: &str = "nothing panics while it holds the lock";

/// Error that ends the program once it has computed the requested point.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the point is answered")]
struct Arrived;

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

impl<'a> Led<'a> {
    /// Returns a program that is led to `point` by the results of earlier points.
    pub(crate) fn new(earlier: &'a [Vec<Value>], point: &'a str) -> Self {
        Led { earlier, point, state: Mutex::default() }
    }

    /// Returns the result or the error of the requested point; `None` if the program has not reached the point.
    pub(crate) fn into_answer(self) -> Option<Result<Answer, String>> {
        self.state.into_inner().expect(POISON).answer
    }

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
pub(crate) fn astray(program: &str, why: &str) -> Failure {
    let likely = "are the traces that it replays at the same path here?";
    format!("{program} does not come to the point that is wanted: {why}; {likely}").into()
}
