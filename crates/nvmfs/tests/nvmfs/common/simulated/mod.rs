//! Simulated devices with power cuts, for crash tests.

mod nvram;
mod power;
mod ssd;

pub use nvram::{CrashImages, SimulatedNvram};
pub use power::PowerSource;
pub use ssd::SimulatedSsd;
