//! Synthetic workloads: seeded sources of page operations.
//!
//! [`WorkloadConfig`] describes a workload, [`WorkloadConfig::build`] makes it, and [`WORKLOADS`] lists all kinds.
//! Random numbers come from the run's seed alone, and powers and logarithms from `libm`, so that a stream is the same
//! on every platform.

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
mod rank_map;
mod request_stream;
mod requests;
mod sequential;
mod temperature;
mod uniform;
mod zipf;

#[cfg(test)]
mod invalid_configs;
#[cfg(test)]
mod statistical_tests;
#[cfg(test)]
mod tests;

pub use arrivals::{ArrivalConfig, Arrivals, Spacing, TimedRequests, as_requests};
pub use batch::{FillGoal, PageBatch, PageRun};
pub use config::{Entry, WORKLOADS, WorkloadConfig};
pub use content::{ContentConfig, ContentGenerator, MAX_SINGLES};
pub use cursor::{PageRequest, RequestCursor};
pub use fiu::{FIU_TRACES, Fiu, FiuTrace};
pub use hot_cold::HotCold;
pub use mixed::{Mixed, Part};
pub use phases::{Phase, Phases};
pub use requests::{HintRule, RequestConfig, RequestPages, WeightedPages};
pub use sequential::Sequential;
pub use uniform::Uniform;
pub use zipf::Zipf;

/// Stage of a source that itself determines when it is measured and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The measurement has not begun.
    WarmUp,
    /// The source is being measured.
    Measured,
    /// The measurement is complete.
    Over,
}

/// A source of page operations on a logical space of known size.
///
/// Two sources built from the same configuration and seed give the same operations, regardless of the numbers of pages
/// with which `fill` is called.
pub trait Workload: Send {
    /// Appends requests to `batch` until it holds at least `pages` more pages; fewer only at the end of a finite
    /// source, or if its [`Stage`] changes. Otherwise an infinite source never returns an empty batch. With a goal of
    /// one page, it appends a single request, which may be a flush without pages; see [`FillGoal`].
    fn fill(&mut self, batch: &mut PageBatch, pages: usize);

    /// True if the source only ever draws writes of one page without a hint, so that a fill of N pages is N requests.
    fn has_only_single_writes(&self) -> bool {
        false
    }

    /// Draws a last number from the source's generator. The source cannot be used afterwards, because the draw changes
    /// its state. Two equal runs end with equal draws.
    fn final_draw(&mut self) -> u64;

    /// Returns the reason if the source cannot continue: the run then ends with this error, and the last fill is
    /// discarded.
    fn failure_reason(&self) -> Option<String> {
        None
    }

    /// Returns the stage of a source that has stages; `None` for an endless source.
    fn stage(&self) -> Option<Stage> {
        None
    }

    /// Informs the source that the measurement begins.
    fn begin_measure(&mut self) {}

    /// Returns additional data of the source for the result of the run.
    fn report(&self) -> Option<serde_json::Value> {
        None
    }
}
