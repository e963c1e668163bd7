//! Outcome of a run, from which the report is made.

use super::series::Series;
use super::snapshot::Snapshot;
use super::source::FirstPass;
use super::traffic::Traffic;
use crate::build::Stack;
use wearwell_engine::layer::LayerError;
use wearwell_engine::timing::TimingReport;

/// Outcome of a run, from which the report is made.
pub(crate) struct RunOutcome<P> {
    /// The stack.
    pub stack: Stack<P>,
    /// The time series.
    pub series: Series,
    /// Write amplification of each measured window, or of each pass through a trace.
    pub measured: Vec<f64>,
    /// Snapshot of the stack before the tenants' first request. It is empty for a new drive, and has the counts of the
    /// recovery for a drive that was recovered.
    pub start: Snapshot,
    /// Snapshot at the start of measuring.
    pub before: Snapshot,
    /// True if the warm-up ended in a steady state.
    pub steady: bool,
    /// Pages that the workload requested, if it wrote none and the requests determined the length of the run.
    pub unwritten_pages: Option<u64>,
    /// Outcome of each tenant.
    pub tenants: Vec<TenantOutcome>,
    /// Reason why the drive reached its end of life, if it did.
    pub end_of_life: Option<LayerError>,
    /// Final draws of all generators combined in one number.
    pub final_draw: u64,
    /// Response times, in timed mode.
    pub timing: Option<TimingReport>,
    /// Report of the source about itself, if it has one.
    pub top: Option<serde_json::Value>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// Outcome of a tenant.
pub(crate) struct TenantOutcome {
    /// Traffic that the tenant sent into the stack.
    pub sent: Traffic,
    /// Passes through the tenant's trace.
    pub trace_passes: Option<u64>,
    /// Lines of the tenant's trace that could not be read.
    pub skipped_lines: u64,
    /// Statistics of the first pass through the tenant's trace.
    pub first_pass: Option<FirstPass>,
}
