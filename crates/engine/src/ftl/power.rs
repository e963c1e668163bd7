//! Drives whose power can be cut, and statistics of power cuts.

use crate::layer::{LayerError, RecoveryReport};

/// A drive whose power can be cut.
pub trait PowerCycle: Send {
    /// Cuts the power between two requests and restores it. Returns the report of the recovery.
    fn cycle(&mut self) -> Result<RecoveryReport, LayerError>;

    /// Starts the measured phase, in which the host writes `host_pages` pages.
    fn begin_measurement(&mut self, host_pages: u64);

    /// Returns the statistics of cuts during operations, if the drive has any.
    fn outages(&self) -> Option<Outages>;
}

/// Statistics of power cuts.
#[derive(Clone, Debug, Default)]
pub struct Outages {
    /// Cuts during host requests.
    pub cuts: u64,
    /// Cuts in the middle of a flash operation of a host request; included in `cuts`.
    pub torn_cuts: u64,
    /// Cuts during recovery.
    pub cuts_in_recovery: u64,
    /// Pages that were read back and verified.
    pub pages_verified: u64,
    /// Report of each recovery.
    pub recoveries: Vec<RecoveryReport>,
}
