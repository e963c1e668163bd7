//! How far any policy is from the best possible: a proven lower bound.

mod bound;
mod crowding;
mod history;
mod run;

pub use bound::{Flash, Start, least_rewrites};
pub use history::{History, Recorder};
pub use run::{Limit, limit};
