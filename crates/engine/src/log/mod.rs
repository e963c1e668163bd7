//! The one engine: a log-structured store over any medium.
//!
//! A [`LogStore`] keeps its logical pages on erase blocks: it appends to open blocks, one for each stream, and when
//! erased blocks run out it cleans: a victim's live pages are moved and the victim is erased. What it stands on is
//! a [`crate::layer::Medium`]: flash, or, through [`Segments`], another layer. [`Shared`] lets several users stand on
//! one layer.
//!
//! [`LsmTree`] is another kind of log on a layer: its compaction is its cleaner. [`Zones`] is a drive
//! that leaves cleaning to its user.

mod abilities;
mod append;
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
mod observed;
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

pub use config::{CopyOrder, Reclaim, StoreConfig};
pub use directory::{BlockTable, Directory, PageTable, Writes};
pub use lsm::{LevelSizes, LsmConfig, LsmTree, Shape};
pub use metadata::{MetadataLayout, MetadataPlan, OnFlush, SummaryPlace, TablePlace};
pub use objects::{ObjectLayout, Objects};
pub use observed::Observed;
pub use partition::{Partition, Shared};
pub use pass_through::PassThrough;
pub use segments::{BoxedLayer, Segments};
pub use sparse::{Sparse, TrimLog};
pub use store::LogStore;
pub use trim::{TrimRule, TrimUnit};
pub use zones::{Zones, ZonesConfig};

pub use crate::pool::{Migration, Verdict};
