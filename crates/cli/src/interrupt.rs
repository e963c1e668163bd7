//! Ctrl-C: asks the command to stop; a second one stops it at once.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Begins to listen.
pub fn listen() {
    // Without a handler Ctrl-C still ends the process, only less tidily.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
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
