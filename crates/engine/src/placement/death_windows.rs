//! Placement by the time window of a page's known invalidation: a near-optimal offline algorithm.

use super::windows::Windows;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::counters::Cause;
use crate::foresight::{Foresight, look_ahead_pages, unchecked_look_ahead_pages};
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Streams, 2 or more: one for each of the next windows, and one for later invalidations. Default: half the
    /// number of spare blocks, at most 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub streams: Option<u8>,
    /// Host writes per window, 1 or more. Default: the look-ahead divided among the windows, but at most the number
    /// of spare pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub window_pages: Option<u32>,
    /// Look-ahead in drive writes, above 0; each takes 4 bytes of memory per logical page.
    pub look_ahead: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { streams: None, window_pages: None, look_ahead: 4.0 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "death_windows",
        help: "by the known window of time in which each page will be overwritten: pages invalidated together share blocks",
        source: "our own, after the offline algorithm of Lange, Naor and Yadgar, SIGMETRICS 2022, as far as it is public",
    };
    type Placement = DeathWindows;

    fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
        Some(unchecked_look_ahead_pages(self.look_ahead, size))
    }

    fn build(&self, context: PlacementContext<'_>) -> Result<DeathWindows, ConfigError> {
        let look_ahead_pages = look_ahead_pages(self.look_ahead, context.size)?;
        let windows = Windows::of(context.size, self.streams, self.window_pages, look_ahead_pages)?;
        Ok(DeathWindows { windows, foresight: context.foresight(Self::ENTRY.name, look_ahead_pages)? })
    }
}

/// Pages that are invalidated in the same window go to the same stream, regardless of when they are written or moved.
///
/// With windows of `T` writes and lifetimes of up to `H` writes, about `T / 2` invalid pages wait for the end of their
/// window, and `H / T` open blocks are half empty. With enough spare space for both, no page is ever rewritten. For
/// blocks of `b` pages the best `T` is the square root of `H b` pages, a fraction of the drive that falls with the root
/// of its size. Rewrites thus become negligible as drives grow; this much of the offline algorithm of Lange, Naor and
/// Yadgar is published. The equal length of windows, the number of windows with a stream, and the sorting of pages of
/// later windows only when cleaning moves them are choices made here.
pub struct DeathWindows {
    windows: Windows,
    foresight: Foresight,
}

impl Placement for DeathWindows {
    fn streams(&self) -> u8 {
        self.windows.streams()
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let &PageContext { page, now, .. } = context;
        let invalidated_at = match context.cause {
            Cause::Host => self.foresight.write(page, now),
            _ => self.foresight.invalidation(page, now),
        };
        self.windows.stream(invalidated_at, now)
    }
}
