//! Placement by a page's remaining life in blocks of host writes: SepBIT's baseline with future knowledge.

use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::counters::Cause;
use crate::foresight::Foresight;
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the placement with future knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Streams, 2 or more; the last takes all pages whose lifetime exceeds the limits of the other streams.
    #[schemars(range(min = 2))]
    pub streams: u8,
}

impl Default for Config {
    /// Value of the paper's evaluation.
    fn default() -> Self {
        Config { streams: 6 }
    }
}

impl Config {
    fn pages_ahead(&self, size: &StoreSize) -> u64 {
        u64::from(self.streams) * u64::from(size.pages_per_block)
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "future_knowledge",
        help: "by the blocks' worth of host writes after which each page will be overwritten, which is known (FK)",
        source: "Wang, Li, Lee, Ouyang, Shi and Huang, FAST 2022 (FK)",
    };
    type Placement = FutureKnowledge;

    fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
        Some(self.pages_ahead(size))
    }

    fn build(&self, context: PlacementContext<'_>) -> Result<FutureKnowledge, ConfigError> {
        if self.streams < 2 {
            return Err(ConfigError::new("streams", format!("is {}; 2 to 255 are allowed", self.streams)));
        }
        let foresight = context.foresight(Self::ENTRY.name, self.pages_ahead(context.size))?;
        let block_pages = u64::from(context.size.pages_per_block);
        Ok(FutureKnowledge { streams: self.streams, block_pages, foresight })
    }
}

/// Stream `i` takes pages that are invalidated within the `i + 1`th block of host writes from now; the last stream
/// takes all other pages.
///
/// Pages that cleaning moves are placed by their remaining life. No memory is reported: no device could have this
/// knowledge.
pub struct FutureKnowledge {
    streams: u8,
    block_pages: u64,
    foresight: Foresight,
}

impl Placement for FutureKnowledge {
    fn streams(&self) -> u8 {
        self.streams
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let &PageContext { page, now, .. } = context;
        let invalidated_at = match context.cause {
            Cause::Host => self.foresight.write(page, now),
            _ => self.foresight.invalidation(page, now),
        };
        let last = self.streams - 1;
        let blocks = invalidated_at.map_or(u64::from(last), |death| (death - now) / self.block_pages);
        StreamId(blocks.min(u64::from(last)) as u8)
    }
}
