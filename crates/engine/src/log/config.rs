//! Configuration of a store.

use crate::pool::Watermarks;
use crate::seed::Seed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Destination of the pages that cleaning moves, and the time when cleaning runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reclaim {
    /// The victim's live pages pass through RAM, and the erased victim becomes the new frontier.
    ///
    /// This is the operation of Van Houdt (2013), sec. 2.3, with one or two frontiers. All blocks except the
    /// frontiers hold data; no erased blocks are kept.
    InPlace,
    /// A pool keeps erased blocks. When the host needs a block and at most `low` erased blocks are left, cleaning
    /// starts:
    ///
    /// * `high > low`: cleaning continues until the pool has `high` erased blocks. It then fills whole blocks with
    ///   moved pages, so that even a single frontier separates moved pages from host writes.
    /// * `high = low`: cleaning stops as soon as the host has free pages. A single frontier then mixes moved and new
    ///   pages in each block, as in-place reclaim does.
    FreePool {
        /// Number of erased blocks at which cleaning starts; at least 1.
        low: u32,
        /// Number of erased blocks at which cleaning stops; at least `low`.
        high: u32,
    },
}

impl Reclaim {
    /// Returns the number of blocks that a store with `streams` streams needs in addition to those that its logical
    /// pages fill.
    pub fn reserved_blocks(self, streams: u8) -> u32 {
        match self {
            Reclaim::InPlace => u32::from(streams),
            Reclaim::FreePool { low, high } => {
                high.max(low.saturating_add(1)).saturating_add(u32::from(streams))
            }
        }
    }
}

/// Order in which live pages of a victim fill a frontier that does not have space for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyOrder {
    /// Random order, as in the mean-field model.
    Random,
    /// Oldest first: in the order in which they were written.
    #[default]
    Oldest,
}

/// Settings of a store, without its parts (medium, directory, policies).
#[derive(Clone, Copy, Debug)]
pub struct StoreConfig {
    /// Logical pages that the store exposes.
    pub logical_pages: u32,
    /// Method of reclaiming blocks.
    pub reclaim: Reclaim,
    /// Order in which live pages fill a frontier.
    pub copy_order: CopyOrder,
    /// True if cleaning drops the live pages of a victim instead of moving them, as a cache may.
    pub evicts: bool,
    /// Prefetching of table entries for the later writes of a batch. Changes no result; pays off if the tables exceed
    /// the CPU caches. `None`: decided by the size of the tables.
    pub prefetch: Option<bool>,
    /// Low watermark of the pool while a log above is cleaning: cleaning is deferred until only this many erased blocks
    /// are left. Then one victim is cleaned at a time. At least 1 and below the pool's low watermark. `None`: cleaning
    /// is never deferred.
    pub deferred_low: Option<u32>,
    /// Number of erased blocks up to which the pool is refilled in idle time; at least the pool's high watermark.
    /// `None`: no cleaning in idle time.
    pub idle_high: Option<u32>,
    /// Seed of the store's random numbers.
    pub seed: Seed,
}

impl StoreConfig {
    /// Returns a configuration with all optional features off.
    pub fn new(logical_pages: u32, reclaim: Reclaim, seed: Seed) -> Self {
        StoreConfig {
            logical_pages,
            reclaim,
            copy_order: CopyOrder::Oldest,
            evicts: false,
            prefetch: None,
            deferred_low: None,
            idle_high: None,
            seed,
        }
    }

    /// Returns the watermarks of the pool; `None` with in-place reclaim, which keeps no erased blocks.
    pub(super) fn watermarks(&self) -> Option<Watermarks> {
        match self.reclaim {
            Reclaim::InPlace => None,
            Reclaim::FreePool { low, high } => {
                let (deferred_low, idle_high) = (self.deferred_low, self.idle_high);
                Some(Watermarks { low, high, deferred_low, idle_high })
            }
        }
    }
}
