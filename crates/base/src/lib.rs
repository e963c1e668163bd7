//! Foundations of all other crates: units, seeds, settings that are selected by name, tables, requests.

pub mod config;
pub mod content;
pub mod foresight;
pub mod memory;
pub mod request;
pub mod seed;
pub mod table;
pub mod temperature;
pub mod units;
