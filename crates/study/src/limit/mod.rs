//! Distance of policies from the optimum: a proven lower bound, offline policies, and an attribution of the losses.

mod beside;
mod bound;
mod crowding;
mod flash;
mod history;
mod loss;
mod pairs;
mod policies;
mod rows;
mod run;
#[cfg(test)]
mod tests;

pub use beside::{Distance, beside_limit, distance};
pub use bound::{Start, least_rewrites};
pub use flash::Flash;
pub use history::{History, Recorder};
pub use loss::Loss;
pub use pairs::{LimitError, Measured, Part};
pub use policies::{LimitOptions, Policies, PolicyRow, policies};
pub use run::{Limit, check, limit};
