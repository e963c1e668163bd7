//! Phases of a run, and the windows of its time series.

use serde::{Deserialize, Serialize};

/// One window of the time series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Phase of the run.
    pub phase: Phase,
    /// Host pages written by the end of the window, since the drive was new.
    pub host_pages: u64,
    /// Host pages written in the window.
    pub window_host_pages: u64,
    /// Pages programmed in the window.
    pub programs: u64,
    /// Blocks erased in the window.
    pub erases: u64,
    /// Programs over host pages.
    pub write_amplification: f64,
    /// Fraction of the logical pages that hold data at the end of the window.
    pub mapped_share: f64,
}

/// Phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Reading a trace to size a drive that fits it.
    ReadTrace,
    /// Filling the drive.
    Fill,
    /// Random overwrites before the workload.
    Overwrite,
    /// The workload, not yet measured.
    WarmUp,
    /// The workload, measured.
    Measure,
}
