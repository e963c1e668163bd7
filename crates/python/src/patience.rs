//! Work that Ctrl-C can end: it runs in another thread while the caller's thread checks for Ctrl-C.
//!
//! Runs are different: parts written in Python belong to the caller's thread. A run therefore checks for Ctrl-C itself,
//! between its steps and, through [`wearwell_trace::while_waiting`], while it waits for a pipe.

use crate::errors::Failure;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval between checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Time that work has to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Runs work that may wait for a file in another thread, while this one checks for Ctrl-C.
///
/// Waiting for a silent pipe cannot be interrupted: on Ctrl-C, the other thread is abandoned.
pub fn patiently<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watched(py, work, |_| Duration::ZERO)
}

/// Runs work that checks `failure` for a request to end, and abandons it only if it does not end by itself.
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

/// Runs `work` in another thread until Ctrl-C; `end` then requests its end, and returns the time to wait for it.
fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    end: impl FnOnce(&PyErr) -> Duration,
) -> PyResult<T> {
    let (answer, answered) = channel();
    let worker = thread::spawn(move || {
        // After an interruption the receiver no longer exists.
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
            // The late answer is discarded.
            let _ = py.detach(|| wait(grace));
            return Err(interrupt);
        }
    }
    let panic = worker.join().expect_err("work that ends without an answer has panicked");
    std::panic::resume_unwind(panic)
}
