//! What an oracle knows: how hot each page is. Workloads can tell, placements may ask.

use crate::units::Lpn;

/// Pages in classes by how often they are written.
pub trait Temperature: Send + Sync {
    /// Number of classes, at least 1.
    fn classes(&self) -> u8;

    /// The class of a page, below [`Temperature::classes`]; class 0 is the hottest.
    fn class_of(&self, page: Lpn) -> u8;
}
