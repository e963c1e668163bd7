//! Interface between a file workload and the table of file workloads.

use super::FileWorkload;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;

/// Kind of workload; the fields of the implementing type are its configuration.
pub(super) trait Kind {
    /// Builds the workload for a file system of `capacity_bytes`. Errors: settings that are invalid for such a file
    /// system.
    fn build(&self, capacity_bytes: u64, seed: Seed) -> Result<Box<dyn FileWorkload>, ConfigError>;
}
