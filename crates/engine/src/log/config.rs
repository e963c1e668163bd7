//! What a store is told about itself.

use crate::pool::Marks;
use crate::seed::Seed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where cleaning puts the pages it moves, and when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reclaim {
    /// The victim's live pages pass through RAM and the erased victim is the new frontier.
    ///
    /// Exactly the operation of Van Houdt (2013), sec. 2.3, with one or two frontiers; every block but the
    /// frontiers holds data, none waits erased.
    InPlace,
    /// Erased blocks wait in a pool. When `low` or fewer are left as the host needs a block, victims are cleaned:
    ///
    /// * `high > low`: until there are `high`. Cleaning then fills whole blocks with moved pages, so that even a
    ///   single frontier keeps them apart from the host's.
    /// * `high = low`: one after the other, until the host has room again. A single frontier then mixes moved and
    ///   new pages in each block, as one that is reclaimed in place does.
    FreePool {
        /// Cleaning starts at this many erased blocks; at least 1.
        low: u32,
        /// Cleaning stops at this many erased blocks; at least `low`.
        high: u32,
    },
}

impl Reclaim {
    /// Blocks that a store with so many streams needs besides those that its logical pages fill.
    pub fn reserved_blocks(self, streams: u8) -> u32 {
        match self {
            Reclaim::InPlace => u32::from(streams),
            Reclaim::FreePool { low, high } => {
                high.max(low.saturating_add(1)).saturating_add(u32::from(streams))
            }
        }
    }
}

/// Which live pages of a victim fill up a frontier that has not room for them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyOrder {
    /// Chosen at random, as in the mean-field model.
    Random,
    /// Those written first.
    #[default]
    Oldest,
}

/// Everything about a store but its parts.
#[derive(Clone, Copy, Debug)]
pub struct StoreConfig {
    /// Logical pages shown above.
    pub logical_pages: u32,
    /// How blocks are won back.
    pub reclaim: Reclaim,
    /// Which live pages fill up a frontier.
    pub copy_order: CopyOrder,
    /// Whether cleaning drops the live pages of a victim instead of moving them, as a cache may.
    pub evict: bool,
    /// Whether to look ahead in the batch of writes and prefetch. Changes no result and pays where the tables exceed
    /// the caches; `None` lets the size of the tables decide.
    pub prefetch: Option<bool>,
    /// While a log above cleans, a pool is refilled only from so many erased blocks on, one victim at a time; at least 1 and
    /// below the pool's low mark. `None`: it is not waited for.
    pub deferred_low: Option<u32>,
    /// In idle time a pool is refilled up to so many erased blocks; at least the pool's high mark. `None`: cleaning does not
    /// use idle time.
    pub idle_high: Option<u32>,
    /// The store's seed.
    pub seed: Seed,
}

impl StoreConfig {
    /// A store that does nothing out of the ordinary.
    pub fn new(logical_pages: u32, reclaim: Reclaim, seed: Seed) -> Self {
        StoreConfig {
            logical_pages,
            reclaim,
            copy_order: CopyOrder::Oldest,
            evict: false,
            prefetch: None,
            deferred_low: None,
            idle_high: None,
            seed,
        }
    }

    /// The marks of the pool; `None` with in-place reclaim, which keeps no erased blocks.
    pub(super) fn marks(&self) -> Option<Marks> {
        match self.reclaim {
            Reclaim::InPlace => None,
            Reclaim::FreePool { low, high } => {
                let (deferred_low, idle_high) = (self.deferred_low, self.idle_high);
                Some(Marks { low, high, deferred_low, idle_high })
            }
        }
    }
}
