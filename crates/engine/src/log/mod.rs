//! The storage engine: a log-structured store over any medium.
//!
//! A [`LogStore`] keeps its logical pages on erase blocks. It appends to open blocks, one for each stream. When few
//! erased blocks are left, it cleans (garbage collection): it moves a victim's live pages and erases the victim.
//! Below it is a [`crate::layer::Medium`]: flash or, through [`Segments`], another layer. [`SharedLayer`] divides one
//! layer among several users.
//!
//! [`LsmTree`] is another log-structured layer, whose compaction plays the role of cleaning. [`ZonedDrive`] is a zoned
//! drive, which leaves cleaning to its user.

mod abilities;
mod append;
mod arrival_observer;
mod atomic;
mod checkpoint;
mod clean;
mod config;
mod directory;
mod discard;
mod fault;
mod lsm;
mod metadata;
mod migration;
mod objects;
mod partition;
mod pass_through;
mod radix;
mod recover;
mod resume;
mod segments;
mod sparse;
mod store;
#[cfg(test)]
mod tests;
mod trim;
mod validate;
mod zones;

pub use arrival_observer::ArrivalObserver;
pub use config::{CopyOrder, Reclaim, StoreConfig};
pub use directory::{BlockTable, Directory, PageTable, Writes};
pub use lsm::{LevelSizes, LsmConfig, LsmTree, Shape};
pub use metadata::{MetadataLayout, MetadataPlan, OnFlush, SummaryPlace, TablePlace};
pub use objects::{ObjectLayer, ObjectLayout};
pub use partition::{Partition, SharedLayer};
pub use pass_through::PassThrough;
pub use segments::{BoxedLayer, Segments};
pub use sparse::{SparseLayer, TrimLogConfig};
pub use store::LogStore;
pub use trim::{TrimRule, TrimUnit};
pub use zones::{ZonedDrive, ZonedDriveConfig};

pub use crate::pool::{Decision, MigrationPolicy};
