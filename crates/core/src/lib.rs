//! The Wearwell engine.

pub mod checked;
pub mod config;
pub mod counters;
pub mod dedup;
pub mod ftl;
pub mod layer;
pub mod log;
pub mod mapping;
pub mod moves;
pub mod nand;
pub mod placement;
pub mod seed;
pub mod stack;
pub mod table;
pub mod temperature;
pub mod theory;
pub mod timing;
pub mod trace;
pub mod units;
pub mod validity;
pub mod victim;
pub mod wear;
pub mod workload;
