//! Calculations without the lock of the interpreter, which use all cores and which Ctrl-C ends.

use super::policy::Policy;
use super::stop::catch_stop;
use crate::errors::{self, RunError};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use wearwell_theory::TheoryError;

/// Interval between checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` without the lock of the interpreter.
///
/// Selection laws written in Python are called on the calling thread, where Ctrl-C reaches them and calls may be nested. Other
/// work runs in another thread while this thread checks for Ctrl-C, unless the work is too short for that.
pub fn run_detached<T: Send>(
    py: Python<'_>,
    policy: &Policy,
    is_short: bool,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (answer, interrupted) = match policy {
        _ if is_short => (py.detach(|| catch_stop(|| work(&stop))), None),
        Policy::Custom(own) => (py.detach(|| catch_stop(|| work(&stop))), own.failure.get(py)),
        _ => py.detach(|| run_until_interrupt(&stop, work)),
    };
    match (interrupted, answer) {
        (Some(error), _) => Err(error),
        (None, Some(answer)) => Ok(answer),
        (None, None) => Err(RunError::new_err("the calculation was stopped")),
    }
}

fn run_until_interrupt<T: Send>(
    stop: &AtomicBool,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> (Option<T>, Option<PyErr>) {
    let mut interrupted = None;
    let answer = thread::scope(|scope| {
        let (done, end) = channel::<()>();
        let worker = scope.spawn(move || {
            // `_done` is dropped at the end in any case, also after a panic.
            let _done = done;
            catch_stop(|| work(stop))
        });
        while end.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if interrupted.is_none()
                && let Err(error) = Python::attach(|py| py.check_signals())
            {
                interrupted = Some(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
        worker.join()
    });
    (answer.unwrap_or_else(|panic| resume_unwind(panic)), interrupted)
}

/// Returns the results of all queries, or the index and the error of the first query that failed.
///
/// Queries after a failed one are skipped, but those before it are not, so the reported query is the same in every
/// run. After `stop`, all queries are skipped, and the results are meaningless. Threads end with the call: a
/// permanent pool would be missing in a forked process.
pub fn solve_all<Q: Sync>(
    questions: &[Q],
    policy: &Policy,
    stop: &AtomicBool,
    answer: impl Fn(&Q) -> Result<f64, TheoryError> + Sync,
) -> Result<Vec<f64>, (usize, TheoryError)> {
    let bad = AtomicUsize::new(usize::MAX);
    let one = |(index, question): (usize, &Q)| {
        if index > bad.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
            return Ok(f64::NAN);
        }
        answer(question).inspect_err(|_| {
            bad.fetch_min(index, Ordering::Relaxed);
        })
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = match policy {
        Policy::Custom(_) => 1,
        _ => cores.min(questions.len()),
    };
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok();
    let answers: Vec<Result<f64, TheoryError>> = match if threads > 1 { pool() } else { None } {
        Some(pool) => pool.install(|| questions.par_iter().enumerate().with_max_len(1).map(one).collect()),
        None => questions.iter().enumerate().map(one).collect(),
    };
    let numbered = answers.into_iter().enumerate();
    numbered.map(|(index, answer)| answer.map_err(|error| (index, error))).collect()
}

/// Raises the first error of a calculation as a Python exception.
pub fn raise<T>(answer: Result<T, (usize, TheoryError)>) -> PyResult<T> {
    answer.map_err(|(index, error)| errors::from_theory(&error, Some(index)))
}
