//! What the floors of the house share: units, seeds, settings that are picked by name, tables, requests.

pub mod config;
pub mod content;
pub mod foresight;
pub mod memory;
pub mod request;
pub mod seed;
pub mod table;
pub mod temperature;
pub mod units;
