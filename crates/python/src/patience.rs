//! Work that Ctrl-C ends: in another thread, while that of the caller looks after Ctrl-C.
//!
//! A run is not done so. Parts written in Python belong to the caller's thread, which therefore looks after Ctrl-C by itself, between
//! its steps and, by [`wearwell_trace::while_waiting`], while it waits for a pipe.

use crate::errors::Failure;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// How long work may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Does what may have to wait for a file in another thread, while this one looks after Ctrl-C.
///
/// Nothing ends the wait for a pipe that nobody writes to: interrupted, the other thread is left to itself.
pub fn patiently<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watched(py, work, |_| Duration::ZERO)
}

/// The same with work that asks `failure` whether to go on, and is left to itself only if it does not end by itself.
pub fn gently<T: Send + 'static>(
    py: Python<'_>,
    failure: &Failure,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watched(py, work, |interrupt| {
        failure.record(interrupt.clone_ref(py));
        GRACE
    })
}

/// Does `work` in another thread until Ctrl-C; `end` then asks it to end, and says how long to wait for that.
fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    end: impl FnOnce(&PyErr) -> Duration,
) -> PyResult<T> {
    let (answer, answered) = channel();
    let worker = thread::spawn(move || {
        // Nobody listens any more after an interruption.
        let _ = answer.send(work());
    });
    let answered = Mutex::new(answered);
    let wait = |time| answered.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    loop {
        match py.detach(|| wait(LOOK)) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Err(interrupt) = py.check_signals() {
            let grace = end(&interrupt);
            // What it still answers nobody wants.
            let _ = py.detach(|| wait(grace));
            return Err(interrupt);
        }
    }
    let panic = worker.join().expect_err("work that ends without an answer has panicked");
    std::panic::resume_unwind(panic)
}
