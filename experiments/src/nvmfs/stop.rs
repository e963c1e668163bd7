//! Requests to stop: the running job is ended, and the normal clean-up follows.

use crate::Failure;
use crate::session::Session;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval between checks for an interruption.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

static ASKED: AtomicBool = AtomicBool::new(false);
static RUNNING: Mutex<Option<u32>> = Mutex::new(None);

/// Installs handlers with which SIGINT, SIGTERM and SIGHUP end the running job instead of this program.
///
/// Errors: it was called before.
pub fn on_signals() -> Result<(), Failure> {
    Ok(ctrlc::set_handler(ask)?)
}

/// Ends the running job, and prevents further ones.
pub fn ask() {
    ASKED.store(true, Ordering::SeqCst);
    if let Some(job) = *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) {
        end(job);
    }
}

/// True if this program was asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Calls a function that runs a job; the job is ended as soon as the session is interrupted.
pub fn unless_interrupted<T>(session: &Session, act: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if session.flow().is_break() {
                    return ask();
                }
                std::thread::sleep(BETWEEN_LOOKS);
            }
        });
        let found = act();
        done.store(true, Ordering::Relaxed);
        found
    })
}

/// Guard for a job, which ends if this program is asked to stop.
#[derive(Debug)]
pub struct Stoppable(());

impl Stoppable {
    /// Registers `job`, which must pass signals on to its children, as `timeout` does. At most one job runs at a time.
    pub fn new(job: &Child) -> Stoppable {
        let job = job.id();
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
        // The request may have come between the start of the job and its registration.
        if asked() {
            end(job);
        }
        Stoppable(())
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn end(job: u32) {
    let ended = Command::new("kill").arg(job.to_string()).status();
    if !ended.is_ok_and(|status| status.success()) {
        eprintln!("could not end the job");
    }
}
