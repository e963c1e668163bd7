//! What a workload is to the table of workloads.

use super::Workload;
use super::place::Space;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;

/// What a kind of workload provides; the fields of its type are its configuration.
pub(super) trait Kind {
    /// The workload on `space`. Errors: settings that make no workload there.
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError>;

    /// The oracle of the workload on `space`; `None` where all pages are alike, or do not stay what they are.
    fn temperature(&self, _space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        Ok(None)
    }

    /// Pages written per request, on average.
    fn written_per_request(&self) -> f64;
}
