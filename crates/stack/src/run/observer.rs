//! Observation of a run.

use super::window::Phase;
use std::ops::ControlFlow;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Current phase of the run.
    pub phase: Phase,
    /// Completed fraction of the phase, from 0 to 1; during an open-ended warm-up, the fraction of its limit.
    pub fraction_done: f64,
    /// Drive writes since the drive was new.
    pub drive_writes: f64,
    /// Write amplification of the last window.
    pub write_amplification: Option<f64>,
}

/// Receives progress reports of a run, and may stop it.
pub trait Observer {
    /// Receives the progress, about once for every million pages.
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()>;

    /// Returns `Break` to end the run. Called after every few thousand pages, so that a failed part can end the run at
    /// once.
    fn should_continue(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Observer for F {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self(progress)
    }
}
