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
    /// The observer stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// Two layers disagree about what passed between them: a defect of Wearwell.
    #[error("the counters do not add up: {0}; please report this with the scenario")]
    Inconsistent(String),
}
