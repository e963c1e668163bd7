//! How far any policy is from the best possible: a proven lower bound.

mod bound;
mod crowding;
mod flash;
mod history;
mod run;

pub use bound::{Start, least_rewrites};
pub use flash::Flash;
pub use history::{History, Recorder};
pub use run::{Limit, limit};
