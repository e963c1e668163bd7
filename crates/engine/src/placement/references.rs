//! Placement that separates pages shared by many logical pages from pages that are not shared.

use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the regions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Pages with more references than this are cold; at least 1.
    #[schemars(range(min = 1))]
    pub threshold: u32,
    /// True if cleaned pages that are not cold have their own stream, apart from host writes.
    #[serde(alias = "cleaned_apart")]
    pub separate_cleaned: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { threshold: 1, separate_cleaned: false }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "references",
        help: "pages that several logical pages share apart from the others, once cleaning moves them",
        source: "Wu, Du, Li, Jiang, Shen and Mao, CAGC, IPDPS 2021, sec. III.C",
    };
    type Placement = References;

    fn build(&self, _context: PlacementContext<'_>) -> Result<References, ConfigError> {
        if self.threshold == 0 {
            return Err(ConfigError::new(
                "threshold",
                "is 0, by which every page is cold; it must be at least 1",
            ));
        }
        Ok(References { config: self.clone() })
    }
}

/// Stream 0 is the hot region, stream 1 the cold one; the optional stream 2 takes moved pages that are not cold.
///
/// Host writes are hot, because future sharing is unknown. Without deduplication every page has one reference, and
/// the cold region stays empty.
pub struct References {
    config: Config,
}

impl Placement for References {
    fn streams(&self) -> u8 {
        2 + u8::from(self.config.separate_cleaned)
    }

    fn needs_references(&self) -> bool {
        true
    }

    #[inline]
    fn host_stream(&self) -> Option<StreamId> {
        Some(StreamId(0))
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        match context.cause {
            Cause::Host => StreamId(0),
            _ if context.references > self.config.threshold => StreamId(1),
            _ if self.config.separate_cleaned => StreamId(2),
            _ => StreamId(0),
        }
    }
}
