//! Requests to stop: the running job is ended, and the normal clean-up follows.

use crate::Failure;
use crate::session::Session;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval between checks for an interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

static STOP_REQUESTED: AtomicBool = AtomicBool::new(false);
static RUNNING_JOB: Mutex<Option<u32>> = Mutex::new(None);

/// Installs handlers with which SIGINT, SIGTERM and SIGHUP end the running job instead of this program.
///
/// Errors: the function was called before.
pub fn on_signals() -> Result<(), Failure> {
    Ok(ctrlc::set_handler(request_stop)?)
}

/// Ends the running job, and prevents further jobs.
pub fn request_stop() {
    STOP_REQUESTED.store(true, Ordering::SeqCst);
    if let Some(job) = *RUNNING_JOB.lock().unwrap_or_else(PoisonError::into_inner) {
        terminate(job);
    }
}

/// True if a stop of this program was requested.
pub fn is_stop_requested() -> bool {
    STOP_REQUESTED.load(Ordering::SeqCst)
}

/// Calls a function that runs a job; the job is ended as soon as the session is interrupted.
pub fn unless_interrupted<T>(session: &Session, run: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if session.flow().is_break() {
                    return request_stop();
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        });
        let found = run();
        done.store(true, Ordering::Relaxed);
        found
    })
}

/// Guard for a job, which ends if this program is asked to stop.
#[derive(Debug)]
pub struct StopGuard(());

impl StopGuard {
    /// Registers `job`, which must forward signals to its children, as `timeout` does. At most one job runs at a
    /// time.
    pub fn new(job: &Child) -> StopGuard {
        let job = job.id();
        *RUNNING_JOB.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
        // The request may have arrived between the start of the job and its registration.
        if is_stop_requested() {
            terminate(job);
        }
        StopGuard(())
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        *RUNNING_JOB.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn terminate(job: u32) {
    let ended = Command::new("kill").arg(job.to_string()).status();
    if !ended.is_ok_and(|status| status.success()) {
        eprintln!("could not end the job");
    }
}
