//! Sources of operations for a stack: an endless synthetic workload, or a trace replayed in a loop.
//!
//! A source may know more than operations: the content of each page, and the arrival time of each request. It provides
//! only what the run [`SourceNeeds`], so that a counting run does not pay for the other information.

mod addresses;
mod clock;
mod digests;
mod error;
mod mapped;
#[cfg(test)]
mod naive_tests;
mod replay;
mod shared;
mod synthetic;
#[cfg(test)]
mod tests;
mod volumes;

pub use error::SourceError;
pub(crate) use replay::TraceReplay;
pub(crate) use synthetic::{ContentSource, TimedSource};

use crate::scenario::timing::ArrivalTimes;
use wearwell_workload::{PageBatch, Stage, Workload};

/// Information that a run needs in addition to operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceNeeds {
    /// Content of each written page.
    pub contents: bool,
    /// Arrival time of each request.
    pub time: Option<ArrivalTimes>,
    /// Boundaries of requests; without them, consecutive writes and reads may be joined.
    pub requests: bool,
}

/// Statistics of the first pass through a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FirstPass {
    /// Times of the earliest and the latest request, ns.
    times_ns: Option<(u64, u64)>,
    /// Bytes of the pages written, after mapping to pages of the drive.
    pub written_bytes: u64,
    /// Pages of discards that were skipped because they had no place on the drive.
    pub unnumbered_trims: u64,
}

impl FirstPass {
    /// Records a request that arrived at `time_ns`.
    pub fn record_arrival(&mut self, time_ns: u64) {
        let (earliest, latest) = self.times_ns.unwrap_or((time_ns, time_ns));
        self.times_ns = Some((earliest.min(time_ns), latest.max(time_ns)));
    }

    /// Returns the seconds from the earliest request to the latest; `None` for a trace without times.
    pub fn seconds(&self) -> Option<f64> {
        let (earliest, latest) = self.times_ns?;
        (latest > earliest).then(|| (latest - earliest) as f64 / 1e9)
    }
}

/// Source of a stack's page operations.
pub(crate) trait Source: Send {
    /// Appends operations to `batch`: `pages` pages or slightly more, or fewer at the end of a pass.
    ///
    /// If one page is requested, appends exactly one request, perhaps as several runs, or none at the end of a pass or
    /// of a stage.
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError>;

    /// Returns the completed passes; `None` for a source without end.
    fn passes(&self) -> Option<u64>;

    /// Returns the requests that could not be read and were skipped, over all passes.
    fn skipped(&self) -> u64 {
        0
    }

    /// Returns the statistics of the first pass through a trace; `None` for other sources.
    fn first_pass(&self) -> Option<FirstPass> {
        None
    }

    /// Returns the arrival time of the last request appended, which never decreases. Unit: ns since time 0 of the first
    /// request (synthetic: since the start of the clock). `None` for a source without times, before its first request,
    /// and if the run needs no times.
    fn arrival_ns(&self) -> Option<u64> {
        None
    }

    /// True if all requests are single-page writes without a hint: a fill of `n` pages then appends `n` requests.
    fn has_only_single_writes(&self) -> bool {
        false
    }

    /// Gives contents to the pages of `batch`, which another source filled, as if they were this source's: used for
    /// preconditioning. Does nothing for a source that does not generate contents.
    fn add_contents(&mut self, _batch: &mut PageBatch) {}

    /// Returns the current stage of the source; `None` if it has no stages.
    fn stage(&self) -> Option<Stage> {
        None
    }

    /// Notifies the source that measuring begins.
    fn begin_measure(&mut self) {}

    /// Returns the source's own report for the result, if it has one.
    fn report(&self) -> Option<serde_json::Value> {
        None
    }

    /// Returns a number drawn from the source's generator, which must not be used afterwards.
    fn final_draw(&mut self) -> u64;
}

impl Source for Box<dyn Workload> {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        (**self).fill(batch, pages);
        (**self).failure_reason().map_or(Ok(()), |reason| Err(SourceError::Failed(reason)))
    }

    fn passes(&self) -> Option<u64> {
        None
    }

    fn has_only_single_writes(&self) -> bool {
        (**self).has_only_single_writes()
    }

    fn stage(&self) -> Option<Stage> {
        (**self).stage()
    }

    fn begin_measure(&mut self) {
        (**self).begin_measure();
    }

    fn report(&self) -> Option<serde_json::Value> {
        (**self).report()
    }

    fn final_draw(&mut self) -> u64 {
        (**self).final_draw()
    }
}
