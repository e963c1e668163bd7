//! What a file workload is to the table of file workloads.

use super::FileWorkload;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;

/// What a kind of workload provides; the fields of its type are its configuration.
pub(super) trait Kind {
    /// The workload for a file system of `capacity_bytes`. Errors: settings that make no workload there.
    fn build(&self, capacity_bytes: u64, seed: Seed) -> Result<Box<dyn FileWorkload>, ConfigError>;
}
