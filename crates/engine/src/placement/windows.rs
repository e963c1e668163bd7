//! Streams for windows of time in which pages die, as several placements share them.

use crate::config::{ConfigError, StoreSize};
use crate::units::StreamId;

/// Windows of equal length, of which the next few have a stream each; what dies after them, or when nobody knows, has one stream.
///
/// Pages of one window die together, whenever they were written: once the window is over, its blocks are empty. Until then, half of
/// those that die in it wait on average, and each stream has half a block open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// Host writes of a window.
    width: u64,
    /// Windows with a stream each, the one that has begun among them.
    near: u8,
}

/// Most streams, where nothing is said.
const MOST_STREAMS: u64 = 128;

impl Windows {
    /// So many streams and host writes of a window or, where that is not said, what the spare space allows that sees `reach` host
    /// writes ahead.
    pub fn of(
        size: &StoreSize,
        streams: Option<u8>,
        window_pages: Option<u32>,
        reach: u64,
    ) -> Result<Self, ConfigError> {
        let (blocks, block_pages) = (u64::from(size.blocks), u64::from(size.pages_per_block));
        let spare_pages = (blocks * block_pages).saturating_sub(u64::from(size.logical_pages));
        // Half empty, the open blocks take a quarter of the spare space at most.
        let streams = streams.unwrap_or((spare_pages / block_pages / 2).clamp(2, MOST_STREAMS) as u8);
        if streams < 2 {
            return Err(ConfigError::new("streams", format!("is {streams}; 2 to 255 are allowed")));
        }
        // What waits for the end of its window takes half of the spare space at most, less where all that is seen has a window.
        let all = reach.div_ceil(u64::from(streams - 1));
        let width = window_pages.map_or(all.min(spare_pages).max(block_pages), u64::from);
        if width == 0 {
            return Err(ConfigError::new("window_pages", "is 0; it must be 1 or more"));
        }
        Ok(Windows { width, near: streams - 1 })
    }

    /// Streams of all windows, and that of what dies later.
    pub fn streams(self) -> u8 {
        self.near + 1
    }

    /// The stream of what nobody knows to die within the next windows.
    pub fn far(self) -> StreamId {
        StreamId(self.near)
    }

    /// The stream of what dies with host write `death`, seen from write `now`.
    pub fn stream(self, death: Option<u64>, now: u64) -> StreamId {
        match death.map(|death| death / self.width) {
            Some(window) if window.saturating_sub(now / self.width) < u64::from(self.near) => {
                StreamId((window % u64::from(self.near)) as u8)
            }
            _ => self.far(),
        }
    }

    /// Host writes of a window.
    pub fn width(self) -> u64 {
        self.width
    }

    /// Host writes of all windows with a stream each.
    pub fn all(self) -> u64 {
        self.width * u64::from(self.near)
    }

    /// Windows `factor` times as long, of which fewer have a stream.
    pub fn widened(self, factor: u64) -> Self {
        Windows { width: self.width * factor, near: (u64::from(self.near) / factor).max(1) as u8 }
    }
}
