//! Placement by the host's stream hints.

use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stream of host writes whose hint is not below the number of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The hint modulo the number of streams.
    #[default]
    Wrap,
    /// The last stream.
    Last,
}

/// Stream of cleaned pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cleaned {
    /// The stream of the block that a page is moved from; Flexible Data Placement calls this persistently isolated.
    #[default]
    Keep,
    /// One separate stream for all; Flexible Data Placement calls this initially isolated.
    Apart,
}

/// Settings of the host's streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Streams for host writes, 1 or more.
    #[schemars(range(min = 1))]
    pub streams: u8,
    /// Stream of host writes whose hint is not below `streams`.
    #[serde(alias = "beyond")]
    pub excess_hints: Beyond,
    /// Stream of cleaned pages.
    pub cleaned: Cleaned,
}

impl Default for Config {
    fn default() -> Self {
        Config { streams: 4, excess_hints: Beyond::default(), cleaned: Cleaned::default() }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "host_hint",
        help: "the stream that the host's hint names (multi-stream, reclaim unit handles)",
        source: "Kang, Hyun, Maeng and Cho, HotStorage 2014; NVMe streams directive and Flexible Data Placement (TP4146)",
    };
    type Placement = HostHint;

    fn build(&self, _context: PlacementContext<'_>) -> Result<HostHint, ConfigError> {
        let highest = if self.cleaned == Cleaned::Apart { u8::MAX - 1 } else { u8::MAX };
        if !(1..=highest).contains(&self.streams) {
            let problem = format!("is {}; 1 to {highest} are allowed", self.streams);
            return Err(ConfigError::new("streams", problem));
        }
        Ok(HostHint { config: self.clone() })
    }
}

/// Hint `h` is stream `h`; writes without a hint go to stream 0, like those with hint 0.
///
/// This placement keeps no table: the engine knows each block's stream.
pub struct HostHint {
    config: Config,
}

impl Placement for HostHint {
    fn streams(&self) -> u8 {
        self.config.streams + u8::from(self.config.cleaned == Cleaned::Apart)
    }

    fn cleaning_stream(&self) -> Option<StreamId> {
        (self.config.cleaned == Cleaned::Apart).then_some(StreamId(self.config.streams))
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        if context.cause != Cause::Host {
            return self.cleaning_stream().or(context.from).unwrap_or_default();
        }
        let streams = u16::from(self.config.streams);
        let stream = match self.config.excess_hints {
            Beyond::Wrap => context.hint % streams,
            Beyond::Last => context.hint.min(streams - 1),
        };
        StreamId(stream as u8)
    }

    fn needs_block_history(&self) -> bool {
        self.config.cleaned == Cleaned::Keep
    }
}
