//! Why a run gives no result.

use super::source::SourceError;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::LayerError;

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace cannot be replayed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The stack could not do what it was asked.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The workload writes nothing, or nothing any more, so that the run would never end.
    #[error(
        "nothing was written in the last {asked_pages} pages that the workload asked for: {}",
        if *is_timed {
            "a run that wrote before is as long as what it writes, and this one would never end"
        } else {
            "without writes there is no write amplification; a run with a [timing] table measures response times by what is read"
        }
    )]
    NothingWritten {
        /// Pages asked for since the last that was written.
        asked_pages: u64,
        /// Whether the run was on the clock.
        is_timed: bool,
    },
    /// The observer stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// Two layers disagree about what passed between them: a defect of Wearwell.
    #[error("the counters do not add up: {0}; please report this with the scenario")]
    Inconsistent(String),
}
