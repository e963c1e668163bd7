//! What drives a stack: a synthetic workload without end, or a trace replayed in a loop.
//!
//! A source may know more than operations: what each page holds, and when each request arrives. It finds out only what the
//! run [`Wants`], so that a run which counts pays for nothing else.

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
pub(crate) use synthetic::{Dressed, Scheduled};

use crate::scenario::timing::ArrivalTimes;
use wearwell_workload::{PageBatch, Stage, Workload};

/// What a run wants to know beyond operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wants {
    /// What each written page holds.
    pub contents: bool,
    /// When each request arrives.
    pub time: Option<ArrivalTimes>,
    /// The pages of each write; else writes and reads that follow each other may be joined.
    pub requests: bool,
}

/// What the first pass through a trace told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FirstPass {
    /// Times of the earliest and the latest request, ns.
    times_ns: Option<(u64, u64)>,
    /// Bytes of the pages written, as the drive gets them.
    pub written_bytes: u64,
    /// Pages of discards that were passed over because they had no place on the drive.
    pub unnumbered_trims: u64,
}

impl FirstPass {
    /// A request came at `time_ns`.
    pub fn arrived(&mut self, time_ns: u64) {
        let (earliest, latest) = self.times_ns.unwrap_or((time_ns, time_ns));
        self.times_ns = Some((earliest.min(time_ns), latest.max(time_ns)));
    }

    /// Seconds from the earliest request to the latest; `None` for a trace without times.
    pub fn seconds(&self) -> Option<f64> {
        let (earliest, latest) = self.times_ns?;
        (latest > earliest).then(|| (latest - earliest) as f64 / 1e9)
    }
}

/// Where a stack's page operations come from.
pub(crate) trait Source: Send {
    /// Appends operations to `batch`: `pages` pages or a little more, or less at the end of a pass.
    ///
    /// Asked for one page it appends exactly one request, perhaps as several runs; none only at the end of a pass, or of a stage.
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError>;

    /// Passes completed; `None` for a source without end.
    fn passes(&self) -> Option<u64>;

    /// Requests that could not be read and were skipped, over all passes.
    fn skipped(&self) -> u64 {
        0
    }

    /// What the first pass through a trace told; `None` for a source that is none.
    fn first_pass(&self) -> Option<FirstPass> {
        None
    }

    /// When the last request appended arrives, ns since the first one's time 0 (synthetic: since the start of the clock);
    /// never falls. `None` for a source without time, before its first request, and where no time was wanted.
    fn arrival_ns(&self) -> Option<u64> {
        None
    }

    /// Whether all requests are writes of one page without a hint, which come one a page: a fill of so many pages is as many.
    fn draws_single_writes(&self) -> bool {
        false
    }

    /// Gives contents to the pages of `batch`, which another source filled, as if they were this source's: for what is
    /// written before the workload begins. Does nothing for a source that does not generate contents.
    fn dress(&mut self, _batch: &mut PageBatch) {}

    /// Where the source is in a course of its own; `None` where it has none.
    fn stage(&self) -> Option<Stage> {
        None
    }

    /// From here on it is measured.
    fn begin_measure(&mut self) {}

    /// What the source has to tell besides its operations, for the result.
    fn report(&self) -> Option<serde_json::Value> {
        None
    }

    /// A number drawn from the source's generator; ends its use.
    fn final_draw(&mut self) -> u64;
}

impl Source for Box<dyn Workload> {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        (**self).fill(batch, pages);
        (**self).failure().map_or(Ok(()), |reason| Err(SourceError::Stopped(reason)))
    }

    fn passes(&self) -> Option<u64> {
        None
    }

    fn draws_single_writes(&self) -> bool {
        (**self).draws_single_writes()
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
