//! The Wearwell engine: log-structured stores on flash and on other layers, and their policies.

/// The naive models of the tests refer to this crate by its public name.
#[cfg(test)]
extern crate self as wearwell_engine;

pub mod checked;
pub mod counters;
pub mod dedup;
pub mod flash_format;
pub mod ftl;
pub mod instances;
pub mod layer;
pub mod log;
pub mod mapping;
#[cfg(test)]
mod named_config_tests;
pub mod nand;
pub mod placement;
pub mod pool;
mod queues;
pub mod timing;
pub mod validity;
pub mod victim;
pub mod wear;

pub use wearwell_base::{config, foresight, request, seed, table, temperature, units};
