//! Streams for time windows of page invalidations, shared by several placements.

use crate::config::{ConfigError, StoreSize};
use crate::units::StreamId;

/// Windows of equal length; each of the next few windows has a stream, and one stream takes pages with a later or
/// unknown invalidation.
///
/// Pages of one window are invalidated together, whenever they were written: after the window, its blocks are empty.
/// Until the end of its window, half of the window's pages are already invalid on average, and each stream has half a
/// block open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// Number of host writes per window.
    width: u64,
    /// Number of windows with their own stream, including the current one.
    near_windows: u8,
}

/// Largest default number of streams.
const MAX_DEFAULT_STREAMS: u64 = 128;

impl Windows {
    /// Creates windows from the number of streams and the number of host writes per window. The default of each number
    /// follows from the spare space and a look-ahead of `look_ahead_pages` host writes.
    pub fn of(
        size: &StoreSize,
        streams: Option<u8>,
        window_pages: Option<u32>,
        look_ahead_pages: u64,
    ) -> Result<Self, ConfigError> {
        let (blocks, block_pages) = (u64::from(size.blocks), u64::from(size.pages_per_block));
        let spare_pages = (blocks * block_pages).saturating_sub(u64::from(size.logical_pages));
        // The open blocks, which are half empty on average, waste at most a quarter of the spare space.
        let streams = streams.unwrap_or((spare_pages / block_pages / 2).clamp(2, MAX_DEFAULT_STREAMS) as u8);
        if streams < 2 {
            return Err(ConfigError::new("streams", format!("is {streams}; 2 to 255 are allowed")));
        }
        // Invalid pages that wait for the end of their window occupy at most half of the spare space, or less if
        // shorter windows cover the look-ahead.
        let full_width = look_ahead_pages.div_ceil(u64::from(streams - 1));
        let width = window_pages.map_or(full_width.min(spare_pages).max(block_pages), u64::from);
        if width == 0 {
            return Err(ConfigError::new("window_pages", "is 0; it must be 1 or more"));
        }
        Ok(Windows { width, near_windows: streams - 1 })
    }

    /// Returns the number of streams: one per window, and one for later invalidations.
    pub fn streams(self) -> u8 {
        self.near_windows + 1
    }

    /// Returns the stream of pages that are not known to be invalidated within the next windows.
    pub fn far_stream(self) -> StreamId {
        StreamId(self.near_windows)
    }

    /// Returns the stream of a page that host write `invalidated_at` invalidates, seen from write `now`.
    pub fn stream(self, invalidated_at: Option<u64>, now: u64) -> StreamId {
        match invalidated_at.map(|death| death / self.width) {
            Some(window) if window.saturating_sub(now / self.width) < u64::from(self.near_windows) => {
                StreamId((window % u64::from(self.near_windows)) as u8)
            }
            _ => self.far_stream(),
        }
    }

    /// Returns the number of host writes per window.
    pub fn width(self) -> u64 {
        self.width
    }

    /// Returns the number of host writes in all windows that have a stream.
    pub fn span(self) -> u64 {
        self.width * u64::from(self.near_windows)
    }

    /// Returns windows with `factor` times as many host writes, and with fewer streams.
    pub fn widened(self, factor: u64) -> Self {
        Windows {
            width: self.width * factor,
            near_windows: (u64::from(self.near_windows) / factor).max(1) as u8,
        }
    }
}
