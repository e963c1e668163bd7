//! Distance of policies from the optimum: a proven lower bound, offline policies, and an attribution of the losses.

mod bound;
mod crowding;
mod distance;
mod flash;
mod history;
mod loss;
mod pairs;
mod policies;
mod rows;
mod run;
#[cfg(test)]
mod tests;

pub use bound::{InitialFlash, least_rewrites};
pub use distance::{BoundDistance, add_lower_bound, bound_distance};
pub use flash::FlashGeometry;
pub use history::{HistoryRecorder, WriteHistory};
pub use loss::RewriteLoss;
pub use pairs::{LowerBoundError, PairMeasurement, PolicySetting};
pub use policies::{LowerBoundOptions, PolicyComparison, PolicyRow, compare_policies};
pub use run::{LowerBoundRun, check, run_with_bound};
