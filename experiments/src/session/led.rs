//! Run of a program up to one of its points, with the results of earlier points.

use super::watch::Interrupted;
use crate::Failure;
use crate::journal::PointResult;
use cpu_time::ProcessTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Mutex;

const POISON: &str = "nothing panics while it holds the lock";

/// Error that ends the program after it has computed the requested point.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the point is answered")]
struct PointReached;

/// Run of a program up to a requested point, which it recognises among its points.
pub(crate) struct DirectedRun<'a> {
    earlier: &'a [Vec<Value>],
    point: &'a str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of requests for points so far.
    requests: usize,
    result: Option<Result<PointResult, String>>,
}

impl<'a> DirectedRun<'a> {
    /// Returns a run that reaches `point` by means of the results of earlier points.
    pub(crate) fn new(earlier: &'a [Vec<Value>], point: &'a str) -> Self {
        DirectedRun { earlier, point, state: Mutex::default() }
    }

    /// Returns the result or the error of the requested point; `None` if the program has not reached the point.
    pub(crate) fn into_answer(self) -> Option<Result<PointResult, String>> {
        self.state.into_inner().expect(POISON).result
    }

    /// Returns the earlier results of `points`. If `points` contains the requested point, computes it with `compute`
    /// and ends the program.
    pub(crate) fn compute_requested<T: Serialize + DeserializeOwned>(
        &self,
        points: &[String],
        compute: impl FnOnce(usize) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut state = self.state.lock().expect(POISON);
        state.requests += 1;
        if state.result.is_some() {
            return Err(PointReached.into());
        }
        if let Some(earlier) = self.earlier.get(state.requests - 1) {
            if earlier.len() != points.len() {
                return Err(unreachable_point("it", "it has asked for another number of points before"));
            }
            return Ok(earlier.iter().map(T::deserialize).collect::<Result<_, _>>()?);
        }
        let index = points.iter().position(|point| point == self.point);
        let index =
            index.ok_or_else(|| unreachable_point("it", &format!("it does not ask for {}", self.point)))?;
        let began = ProcessTime::now();
        state.result = Some(match compute(index) {
            Ok(found) => {
                let core_seconds = began.elapsed().as_secs_f64();
                Ok(PointResult { value: serde_json::to_value(found)?, core_seconds })
            }
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => Err(error.to_string()),
        });
        Err(PointReached.into())
    }
}

/// Returns the error for a program that does not reach a point.
pub(crate) fn unreachable_point(program: &str, reason: &str) -> Failure {
    let hint = "are the traces that it replays at the same path here?";
    format!("{program} does not come to the point that is wanted: {reason}; {hint}").into()
}
