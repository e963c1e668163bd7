//! Counters of drives, with their units.

use crate::drive::interval::Interval;

/// Count that never decreases.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// Key in the report.
    pub key: String,
    /// Number of units.
    pub count: f64,
    /// Size of a unit: bytes, hours, or 1.
    pub unit: f64,
}

impl Counter {
    /// Returns a counter of `count` times `unit` at `key`.
    pub fn new(key: impl Into<String>, count: f64, unit: f64) -> Self {
        Counter { key: key.into(), count, unit }
    }

    /// Returns the amount; the rounding direction of the count is unknown.
    pub fn amount(&self) -> Interval {
        Interval::counted(self.count * self.unit, self.unit)
    }

    /// Returns the increase since `earlier`; `None` if the count decreased, or counts something else.
    pub fn since(&self, earlier: &Counter) -> Option<Interval> {
        let grown = self.count - earlier.count;
        (self.key == earlier.key && grown >= 0.0).then(|| Interval::counted(grown * self.unit, self.unit))
    }
}

/// Count of flash programs.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaWrites {
    /// Bytes programmed.
    Bytes(Counter),
    /// All programs and the host's part, in a common but unknown unit.
    HostAndTotal {
        /// Programs for the host.
        host: Counter,
        /// All programs.
        total: Counter,
    },
    /// Pages programmed, separated by cause.
    HostAndBackground {
        /// Programs for the host.
        host: Counter,
        /// Programs by the drive itself.
        background: Counter,
    },
}

impl MediaWrites {
    /// Returns bytes programmed over bytes written by the host, given `host` bytes from the host.
    pub fn amplification(&self, host: Interval) -> Interval {
        match self {
            MediaWrites::Bytes(bytes) => bytes.amount().divided_by(host),
            MediaWrites::HostAndTotal { host, total: all } => all.amount().divided_by(host.amount()),
            MediaWrites::HostAndBackground { host, background } => {
                amplification_of_pages(host.amount(), background.amount())
            }
        }
    }

    /// Returns the ratio of [`Self::amplification`] for the time between two reports; `None` if a count decreased, or
    /// the kinds of counts differ.
    pub fn amplification_since(&self, earlier: &MediaWrites, host: Interval) -> Option<Interval> {
        match (self, earlier) {
            (MediaWrites::Bytes(bytes), MediaWrites::Bytes(before)) => {
                Some(bytes.since(before)?.divided_by(host))
            }
            (
                MediaWrites::HostAndTotal { host, total: all },
                MediaWrites::HostAndTotal { host: host_before, total: all_before },
            ) => Some(all.since(all_before)?.divided_by(host.since(host_before)?)),
            (
                MediaWrites::HostAndBackground { host, background },
                MediaWrites::HostAndBackground { host: host_before, background: background_before },
            ) => Some(amplification_of_pages(host.since(host_before)?, background.since(background_before)?)),
            _ => None,
        }
    }

    /// Returns the key in the report.
    pub fn key(&self) -> String {
        match self {
            MediaWrites::Bytes(bytes) => bytes.key.clone(),
            MediaWrites::HostAndTotal { host, total: all } => format!("{} over {}", all.key, host.key),
            MediaWrites::HostAndBackground { host, background } => {
                format!("{} and {}", host.key, background.key)
            }
        }
    }
}

/// Returns all programmed pages over the pages programmed for the host.
fn amplification_of_pages(host: Interval, background: Interval) -> Interval {
    let share = background.divided_by(host);
    Interval { value: 1.0 + share.value, low: 1.0 + share.low, high: 1.0 + share.high }
}

/// Erase counts of blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct EraseCounts {
    /// Key in the report.
    pub key: String,
    /// Mean over the blocks as reported, otherwise the middle between minimum and maximum; with its bounds.
    pub mean: Interval,
    /// True if the drive reports the mean.
    pub is_mean: bool,
}
