//! Generation, execution and comparison of file system operations.
#![allow(dead_code, unused_imports, reason = "each test uses a part")]

mod compare;
pub mod model;
mod model_pair;
mod nvmfs;
mod op;
mod outcome;
pub mod simulated;

pub use compare::compare;
pub use model_pair::{ModelPair, SpaceMode};
pub use nvmfs::{NVRAM_BYTES, Remount, SmallFs, small, small_on};
pub use op::{Attribute, OP_WORDS, Op, Position, ops_of_bytes, random_ops};
pub use outcome::{Files, Outcome, attempt, comparable, content, error_name, list, run};

/// Returns the factor by which the number of random and other slow cases is multiplied.
pub fn more_cases() -> u64 {
    std::env::var("WEARWELL_CUTS").map_or(1, |times| times.parse().expect("a number"))
}
