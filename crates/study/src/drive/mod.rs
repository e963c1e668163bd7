//! Real drives: predictions from the data sheet alone, and evaluation of counters from the field.

mod calibrate;
mod field;
mod interval;
mod law;
mod life;
mod scenario;
mod seen;
mod sheet;
mod smart;
mod summary;

pub use calibrate::{Effective, calibrate};
pub use field::{Field, field};
pub use interval::Interval;
pub use law::{LAWS, Law, Laws};
pub use life::Life;
pub use scenario::scenario;
pub use seen::{Evidence, Seen};
pub use sheet::{DataSheet, Sheet};
pub use smart::{Counter, EraseCounts, Media, ReportError, SmartReport};
pub use summary::{DriveSummary, InterfaceRates, Prediction, Usage, summary};

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
