//! Real drives: predictions from the data sheet alone, and evaluation of counters from the field.

mod calibrate;
mod evaluation;
mod interval;
mod models;
mod remaining_life;
mod scenario;
mod sheet;
mod smart;
mod summary;
mod usage;

pub use calibrate::{EffectiveSpace, calibrate};
pub use evaluation::{FieldEvaluation, evaluate_reports};
pub use interval::Interval;
pub use models::{DRIVE_MODELS, DriveModel, DriveModels};
pub use remaining_life::RemainingLife;
pub use scenario::scenario;
pub use sheet::{DataSheet, ResolvedSheet};
pub use smart::{Counter, EraseCounts, MediaWrites, ReportError, SmartReport};
pub use summary::{DriveSummary, InterfaceRates, Prediction, Usage, summarize};
pub use usage::{Evidence, UsagePeriod};

use wearwell_base::config::ConfigError;
use wearwell_theory::TheoryError;

/// Reason why a drive cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DriveError {
    /// A figure of the data sheet is impossible, or contradicts another.
    #[error(transparent)]
    Sheet(#[from] ConfigError),
    /// A report cannot be read, or two reports do not belong together.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The theory has no solution.
    #[error(transparent)]
    Theory(#[from] TheoryError),
}

#[cfg(test)]
mod tests;
