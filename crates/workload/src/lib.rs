//! Synthetic workloads: seeded sources of page operations.
//!
//! [`WorkloadConfig`] describes one, [`WorkloadConfig::build`] makes it, and [`WORKLOADS`] lists what there is.
//! Random numbers come from the run's seed alone, and powers and logarithms from `libm`, so that a stream is
//! the same on every platform.

mod alias;
mod arrivals;
mod batch;
mod config;
mod content;
mod cursor;
mod error;
mod fiu;
mod hot_cold;
mod kind;
mod mixed;
mod permutation;
mod phases;
mod place;
mod requests;
mod sequential;
mod stream;
mod temperature;
mod uniform;
mod zipf;

#[cfg(test)]
mod law;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod tests;

pub use arrivals::{ArrivalConfig, Arrivals, Spacing, TimedRequests, as_requests};
pub use batch::{Goal, PageBatch, PageRun};
pub use config::{Entry, WORKLOADS, WorkloadConfig};
pub use content::{ContentConfig, Contents, SINGLES};
pub use cursor::{PageRequest, RequestCursor};
pub use fiu::{FIU_TRACES, Fiu, FiuTrace};
pub use hot_cold::HotCold;
pub use mixed::{Mixed, Part};
pub use phases::{Phase, Phases};
pub use requests::{HintRule, RequestConfig, RequestPages, WeightedPages};
pub use sequential::Sequential;
pub use uniform::Uniform;
pub use zipf::Zipf;

/// Where a source is that knows itself when it is to be measured, and when it has done enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Not to be measured yet.
    WarmUp,
    /// To be measured.
    Measured,
    /// Enough was measured.
    Over,
}

/// A source of page operations on a logical space of known size.
///
/// Two sources built from the same configuration and seed give the same operations however their
/// fills are cut into batches.
pub trait Workload: Send {
    /// Appends requests to `batch` until it holds at least `pages` pages more; less only at the end of a
    /// finite source, or where its [`Stage`] changes. Else an infinite source never returns an empty batch. Asked for one
    /// page, it appends one request, which may be a flush and have none; see [`Goal`].
    fn fill(&mut self, batch: &mut PageBatch, pages: usize);

    /// Whether all that it ever draws are writes of one page without a hint, so that a fill of so many pages is as many requests.
    fn draws_single_writes(&self) -> bool {
        false
    }

    /// A number drawn from the source's generator without changing the course of later fills is not
    /// possible; this draw therefore ends the source, and two equal runs end with equal draws.
    fn final_draw(&mut self) -> u64;

    /// Why the source cannot go on, if it cannot: the run then ends with this as its error. What was filled last is not
    /// used.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Where the source is in a course of its own; `None` where it goes on as long as it is asked.
    fn stage(&self) -> Option<Stage> {
        None
    }

    /// From here on it is measured.
    fn begin_measure(&mut self) {}

    /// What the source has to tell besides its operations, for the result of the run.
    fn report(&self) -> Option<serde_json::Value> {
        None
    }
}
