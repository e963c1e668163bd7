//! Drives whose power can be cut, and what that led to.

use crate::layer::{LayerError, RecoveryReport};

/// A drive whose power can be cut.
pub trait PowerCycle: Send {
    /// Cuts the power between two requests and restores it; what the FTL did to come back.
    fn cycle(&mut self) -> Result<RecoveryReport, LayerError>;

    /// Measuring begins, and the host will write so many pages.
    fn begin(&mut self, host_pages: u64);

    /// What cuts in the middle of its work led to, if it suffers any.
    fn outages(&self) -> Option<Outages>;
}

/// What power cuts led to.
#[derive(Clone, Debug, Default)]
pub struct Outages {
    /// Cuts while the host was served.
    pub cuts: u64,
    /// Of these, those in the middle of an operation.
    pub torn_cuts: u64,
    /// Cuts while the FTL was coming back.
    pub cuts_in_recovery: u64,
    /// Pages that were read back.
    pub pages_verified: u64,
    /// What it did to come back, each time.
    pub recoveries: Vec<RecoveryReport>,
}
