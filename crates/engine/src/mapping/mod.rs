//! Mapping cache of an FTL with its mapping table in flash.

mod cache;
mod check;
mod index;
mod lists;
mod lookahead;
#[cfg(test)]
mod model;
mod order;

pub use cache::{CacheConfig, Handle, MapCache, Mapping};

/// RAM of a cached mapping entry on the modelled drive, in bytes (GeckoFTL, section 5, "Default Configuration").
pub const ENTRY_BYTES: u64 = 8;
