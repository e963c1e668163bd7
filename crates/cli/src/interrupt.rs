//! Ctrl-C and SIGTERM: request the end of the command, and end the process if the command does not end; a second signal
//! ends it at once.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// True if the process waits for the command to end, for any length of time.
static WAITS_FOR_END: AtomicBool = AtomicBool::new(false);

/// Time for a command to clean up. After this time, the process ends even if the command still waits for a pipe or
/// calculates without checking for interrupts.
const CLEANUP_TIME: Duration = Duration::from_millis(800);

/// Exit code of an interrupted command.
pub const EXIT_CODE: u8 = 130;

/// Installs the signal handler.
pub fn listen() {
    // Without a handler, Ctrl-C still ends the process, but without cleaning up.
    let _ = ctrlc::set_handler(interrupt);
}

/// Requests the end of the command, as Ctrl-C does.
pub fn interrupt() {
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        exit(EXIT_CODE.into());
    }
    std::thread::spawn(|| {
        std::thread::sleep(CLEANUP_TIME);
        if !WAITS_FOR_END.load(Ordering::SeqCst) {
            crate::messages::print_message("error: interrupted");
            exit(EXIT_CODE.into());
        }
    });
}

/// Protects the clean-up of a file system or a device that is served: from now on, only a second Ctrl-C ends the
/// process by force.
#[cfg(any(feature = "nvmfs", feature = "serve"))]
pub fn wait_for_cleanup() {
    WAITS_FOR_END.store(true, Ordering::SeqCst);
}

/// True if Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns `Break` if Ctrl-C was pressed.
pub fn interrupt_flow() -> ControlFlow<()> {
    if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Reader that fails once Ctrl-C was pressed, so that the code that reads from it stops and cleans up.
pub struct Interruptible<R>(pub R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if interrupted() { Err(io::Error::other("interrupted")) } else { self.0.read(buffer) }
    }
}
