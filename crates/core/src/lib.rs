//! The Wearwell engine.

pub mod seed;
pub mod trace;
pub mod units;
pub mod workload;
