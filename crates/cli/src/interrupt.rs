//! Ctrl-C and SIGTERM: ask the command to stop, and end it if it does not; a second one ends it at once.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the command ends by itself, however long that takes.
static PATIENT: AtomicBool = AtomicBool::new(false);

/// How long a command may take to tidy up. What waits for a pipe, or calculates without asking, is ended then.
const PATIENCE: Duration = Duration::from_millis(800);

/// How a command ends that was interrupted.
pub const EXIT_CODE: u8 = 130;

/// Begins to listen.
pub fn listen() {
    // Without a handler Ctrl-C still ends the process, only less tidily.
    let _ = ctrlc::set_handler(interrupt);
}

/// Asks the command to stop, as Ctrl-C does.
pub fn interrupt() {
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        exit(EXIT_CODE.into());
    }
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        if !PATIENT.load(Ordering::SeqCst) {
            crate::tell::tell("error: interrupted");
            exit(EXIT_CODE.into());
        }
    });
}

/// From now on the command is not ended but by itself, or by a second Ctrl-C: a file system or a device that is served has to
/// be closed.
#[cfg(any(feature = "nvmfs", feature = "serve"))]
pub fn be_patient() {
    PATIENT.store(true, Ordering::SeqCst);
}

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Whether to go on.
pub fn flow() -> ControlFlow<()> {
    if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// A source that fails once Ctrl-C was pressed, so that whoever reads it stops and tidies up.
pub struct Interruptible<R>(pub R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if interrupted() { Err(io::Error::other("interrupted")) } else { self.0.read(buffer) }
    }
}
