//! What a run leaves behind for its report.

use super::series::Series;
use super::snapshot::Snapshot;
use super::source::FirstPass;
use super::traffic::Traffic;
use crate::build::Stack;
use wearwell_engine::layer::LayerError;
use wearwell_engine::timing::TimingReport;

/// What a run leaves behind for its report.
pub(crate) struct Finished<P> {
    /// The stack.
    pub stack: Stack<P>,
    /// The time series.
    pub series: Series,
    /// Amplification of each measured window, or pass of a trace.
    pub measured: Vec<f64>,
    /// What was known when measuring began.
    pub before: Snapshot,
    /// Whether the warm-up ended in a steady state.
    pub steady: bool,
    /// Pages that the workload asked for, where it wrote none and was as long as that.
    pub unwritten_pages: Option<u64>,
    /// What became of each tenant.
    pub tenants: Vec<TenantOutcome>,
    /// Why the drive died, if it did.
    pub end_of_life: Option<LayerError>,
    /// All generators' final draws in one number.
    pub final_draw: u64,
    /// Response times, in timed mode.
    pub timing: Option<TimingReport>,
    /// What the source told besides its operations.
    pub top: Option<serde_json::Value>,
    /// Seconds by the clock.
    pub seconds: f64,
}

/// What became of a tenant.
pub(crate) struct TenantOutcome {
    /// What it sent into the stack.
    pub sent: Traffic,
    /// Passes through its trace.
    pub trace_passes: Option<u64>,
    /// Lines of its trace that could not be read.
    pub skipped_lines: u64,
    /// What the first pass through its trace told.
    pub first_pass: Option<FirstPass>,
}
