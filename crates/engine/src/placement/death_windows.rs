//! Pages by the window of time in which they will die, which is known: a near-optimal offline algorithm.

use super::windows::Windows;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::counters::Cause;
use crate::foresight::{Foresight, look_ahead, pages_ahead};
use crate::units::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Streams, 2 or more: one for each of the next windows, and one for what dies later. Half as many as spare blocks unless given,
    /// and 128 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub streams: Option<u8>,
    /// Host writes of a window, 1 or more; so many unless given that all that is seen ahead has a
    /// window, but no more than there are spare pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub window_pages: Option<u32>,
    /// Drive writes that are seen ahead, above 0; each takes 4 bytes of memory a logical page.
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
        help: "by the window of time in which each page will be overwritten, which is known: what dies together lies together",
        source: "our own, after the offline algorithm of Lange, Naor and Yadgar, SIGMETRICS 2022, as far as it is public",
    };
    type Placement = DeathWindows;

    fn reach(&self, size: &StoreSize) -> Option<u64> {
        Some(pages_ahead(self.look_ahead, size))
    }

    fn build(&self, context: PlacementContext<'_>) -> Result<DeathWindows, ConfigError> {
        let reach = look_ahead(self.look_ahead, context.size)?;
        let windows = Windows::of(context.size, self.streams, self.window_pages, reach)?;
        Ok(DeathWindows { windows, foresight: context.foresight(Self::ENTRY.name, reach)? })
    }
}

/// What dies in one window goes to one stream, whenever it is written or moved.
///
/// With windows of `T` writes and lives of up to `H`, some `T / 2` dead pages wait for their window to end and `H / T` open blocks are
/// half empty; with enough spare space for both nothing is ever rewritten. At the best `T` that is the root of `H b` pages for blocks of
/// `b`, a share of the drive that falls as the root of its size: so rewrites become negligible as drives grow, which is what is public of
/// the offline algorithm of Lange, Naor and Yadgar. That windows are of equal length, how many have a stream, and that what dies later is
/// sorted only when cleaning moves it, are our own.
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
        let death = match context.cause {
            Cause::Host => self.foresight.write(page, now),
            _ => self.foresight.death(page, now),
        };
        self.windows.stream(death, now)
    }
}
