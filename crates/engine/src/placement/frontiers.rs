//! Placements without knowledge of the data: one write frontier for all pages, or one for the host and one for
//! cleaning.

use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The single frontier has no settings.
///
/// Host and cleaned pages share a block only with in-place reclaim. With a free pool, cleaning writes several blocks in
/// a row until the pool is full, so most blocks still hold only one kind of page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Single {}

impl PlacementKind for Single {
    const ENTRY: Entry = Entry {
        name: "single",
        help: "one write frontier for everything",
        source: "Van Houdt, Performance Evaluation 70 (2013), sec. 2.3 (single log-structure)",
    };
    type Placement = Frontiers;

    fn build(&self, _context: PlacementContext<'_>) -> Result<Frontiers, ConfigError> {
        Ok(Frontiers::single())
    }
}

/// The double frontier has no settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Double {}

impl PlacementKind for Double {
    const ENTRY: Entry = Entry {
        name: "double",
        help: "one write frontier for the host, one for cleaning",
        source: "Van Houdt, Performance Evaluation 70 (2013), sec. 2.3 (double log-structure)",
    };
    type Placement = Frontiers;

    fn build(&self, _context: PlacementContext<'_>) -> Result<Frontiers, ConfigError> {
        Ok(Frontiers::double())
    }
}

/// Placement that puts host writes in stream 0 and cleaned pages in `cleaning`.
#[derive(Clone, Copy, Debug)]
pub struct Frontiers {
    cleaning: StreamId,
}

impl Frontiers {
    /// Creates one frontier for all pages.
    pub fn single() -> Self {
        Frontiers { cleaning: StreamId(0) }
    }

    /// Creates one frontier for the host and one for cleaning.
    pub fn double() -> Self {
        Frontiers { cleaning: StreamId(1) }
    }
}

impl Placement for Frontiers {
    fn streams(&self) -> u8 {
        self.cleaning.0 + 1
    }

    #[inline(always)]
    fn host_stream(&self) -> Option<StreamId> {
        Some(StreamId(0))
    }

    #[inline(always)]
    fn cleaning_stream(&self) -> Option<StreamId> {
        Some(self.cleaning)
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        if context.cause == Cause::Host { StreamId(0) } else { self.cleaning }
    }
}
