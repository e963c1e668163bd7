//! Interface between workloads and the table of workloads.

use super::Workload;
use super::rank_map::Space;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;

/// A kind of workload; the fields of its type are its configuration.
pub(super) trait Kind {
    /// Builds the workload on `space`. Errors: settings that are invalid on this space.
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError>;

    /// Returns the temperature oracle of the workload on `space`; `None` if all pages are written equally
    /// often, or if temperatures change with time.
    fn temperature(&self, _space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        Ok(None)
    }

    /// Returns the mean number of pages written per request.
    fn written_per_request(&self) -> f64;
}
