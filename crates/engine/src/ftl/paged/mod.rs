//! Page-mapped FTLs with tables in flash: DFTL, LazyFTL, mu-FTL, IB-FTL, GeckoFTL, and other combinations of their
//! parts.
//!
//! "The paper" is N. Dayan, P. Bonnet and S. Idreos, "GeckoFTL: Scalable Flash Translation Techniques For Very Large
//! Flash Devices", SIGMOD 2016; section numbers refer to it.

mod abilities;
mod bytes;
mod candidate_queries;
mod check;
mod clean;
mod config;
mod contents;
mod counters;
mod directory;
mod flash_decoder;
mod known_blocks;
mod migration;
mod parts;
mod prefetch_queue;
mod prefetching;
mod protected_blocks;
mod recover;
mod restart;
mod restore;
mod space;
mod store;
mod synchronise;
mod tree;
mod validity_flash;
mod write;

#[cfg(test)]
mod tests;

pub use crate::pool::FreeBlocks;
pub use config::{DirectoryConfig, Durability, PagedConfig};
pub use contents::MetadataContents;
pub use counters::BlockCounters;
pub use recover::SurvivingFlash;
pub use restart::PagedSettings;
pub use store::{PagedFtl, Policies};
