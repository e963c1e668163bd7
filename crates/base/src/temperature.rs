//! Oracle for the write frequency of each page: implemented by workloads, queried by placements.

use crate::units::Lpn;

/// Classes of pages by write frequency.
pub trait Temperature: Send + Sync {
    /// Returns the number of classes, at least 1.
    fn classes(&self) -> u8;

    /// Returns the class of a page, below [`Temperature::classes`]; class 0 is the hottest.
    fn class_of(&self, page: Lpn) -> u8;
}
