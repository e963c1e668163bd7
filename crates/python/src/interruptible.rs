//! Work that Ctrl-C can end: the work runs in another thread, while the thread of the caller checks for Ctrl-C.
//!
//! Runs are different, because parts written in Python belong to the thread of the caller. Therefore a run checks for
//! Ctrl-C between its steps and, through [`wearwell_trace::with_wait_callback`], while it waits for a pipe.

use crate::errors::FirstException;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval between checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time in which work should end after a request.
const GRACE_PERIOD: Duration = Duration::from_millis(500);

/// Runs `work`, which may wait for a file, in another thread, while this thread checks for Ctrl-C.
///
/// Waiting for a silent pipe cannot be interrupted: on Ctrl-C, the other thread is abandoned.
pub fn run_abandoning<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    run_until_interrupt(py, work, |_| Duration::ZERO)
}

/// Runs `work`, which checks `failure` for a request to end. On Ctrl-C, abandons the work only if it does not end in
/// time.
pub fn run_stopping<T: Send + 'static>(
    py: Python<'_>,
    failure: &FirstException,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    run_until_interrupt(py, work, |interrupt| {
        failure.record(interrupt.clone_ref(py));
        GRACE_PERIOD
    })
}

/// Runs `work` in another thread until it ends or Ctrl-C is pressed; `request_end` then asks the thread to end, and
/// returns the time to wait for it.
fn run_until_interrupt<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    request_end: impl FnOnce(&PyErr) -> Duration,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let worker = thread::spawn(move || {
        // After an interruption the receiver no longer exists.
        let _ = sender.send(work());
    });
    let receiver = Mutex::new(receiver);
    let receive_within = |time| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    loop {
        match py.detach(|| receive_within(POLL_INTERVAL)) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Err(interrupt) = py.check_signals() {
            let grace = request_end(&interrupt);
            // A result that arrives later is discarded.
            let _ = py.detach(|| receive_within(grace));
            return Err(interrupt);
        }
    }
    let panic = worker.join().expect_err("work that ends without an answer has panicked");
    std::panic::resume_unwind(panic)
}
