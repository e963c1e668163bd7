//! Errors of a run.

use super::source::SourceError;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::LayerError;

/// Reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace cannot be replayed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The stack could not execute an operation.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The workload writes nothing, or has stopped writing, so that the run would never end.
    #[error(
        "nothing was written in the last {requested_pages} pages that the workload asked for: {}",
        if *is_timed {
            "a run that wrote before is as long as what it writes, and this one would never end"
        } else {
            "without writes there is no write amplification; a run with a [timing] table measures response times by what is read"
        }
    )]
    NoWrites {
        /// Pages requested since the last page that was written.
        requested_pages: u64,
        /// True in timed mode.
        is_timed: bool,
    },
    /// The observer stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// Two layers report different traffic between them: a defect of Wearwell.
    #[error("the counters do not add up: {0}; please report this with the scenario")]
    Inconsistent(String),
}
