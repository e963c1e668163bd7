//! What the operations of a stack take in time.

mod journal;

pub use journal::{Journal, Step};
