//! The host interface.

use super::parameters::MAX_TIME_NS;
use crate::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arrival times of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At the times that the requests specify, independent of the device; requests beyond the queue's depth wait
    /// outside, in order.
    Open,
    /// As soon as the queue has a free slot.
    Closed,
}

/// Operations that wait for cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cleaning {
    /// The writes of the request that made the cleaning necessary.
    Foreground,
    /// No operations, except through contention for dies and channels.
    Background,
}

/// The host interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostTiming {
    /// Requests that the device holds at a time; at least 1.
    pub queue_depth: u32,
    /// Arrival times of requests.
    pub arrivals: Arrivals,
    /// Operations that wait for cleaning.
    pub cleaning: Cleaning,
    /// Nanoseconds of the controller for each read, one request after the other.
    pub controller_read_ns: u64,
    /// Nanoseconds of the controller for each write.
    pub controller_write_ns: u64,
    /// Rate of the link in each direction, bytes per microsecond (megabytes per second); `None`: transfers take no
    /// time.
    pub link_bytes_per_us: Option<f64>,
    /// Bytes of a page of the host (a mapping unit).
    pub page_bytes: u32,
    /// Pages of a write buffer that survives power cuts; 0: no buffer, a write ends when its pages are programmed.
    pub write_buffer_pages: u32,
    /// Duration of a power cut.
    pub power_off_ns: u64,
}

impl HostTiming {
    /// Rejects invalid parameters.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.queue_depth == 0 {
            return Err(ConfigError::new("queue_depth", "must be at least 1"));
        }
        if self.link_bytes_per_us.is_some_and(|rate| !(1e-3..=1e9).contains(&rate)) {
            return Err(ConfigError::new("link_bytes_per_us", "must be from 0.001 to 1000000000"));
        }
        for (key, time_ns) in [
            ("controller_read_ns", self.controller_read_ns),
            ("controller_write_ns", self.controller_write_ns),
        ] {
            if time_ns > MAX_TIME_NS {
                return Err(ConfigError::new(key, format!("{time_ns} is more than an hour")));
            }
        }
        if self.page_bytes == 0 {
            return Err(ConfigError::new("page_bytes", "must be at least 1"));
        }
        Ok(())
    }

    /// Returns the transfer time of `pages` pages on the link.
    pub(super) fn link_ns(&self, pages: u32) -> u64 {
        let bytes = f64::from(pages) * f64::from(self.page_bytes);
        self.link_bytes_per_us.map_or(0, |rate| (bytes * 1000.0 / rate).round() as u64)
    }
}
