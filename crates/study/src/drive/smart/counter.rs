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
pub enum Media {
    /// Bytes programmed.
    Bytes(Counter),
    /// All programs and the host's part, in a common but unknown unit.
    Both {
        /// Programs for the host.
        host: Counter,
        /// All programs.
        all: Counter,
    },
    /// Pages programmed, separated by cause.
    Pages {
        /// Programs for the host.
        host: Counter,
        /// Programs by the drive itself.
        background: Counter,
    },
}

impl Media {
    /// Returns bytes programmed over bytes written by the host, given `host` bytes from the host.
    pub fn amplification(&self, host: Interval) -> Interval {
        match self {
            Media::Bytes(bytes) => bytes.amount().over(host),
            Media::Both { host, all } => all.amount().over(host.amount()),
            Media::Pages { host, background } => of_pages(host.amount(), background.amount()),
        }
    }

    /// Returns this ratio between two reports; `None` if a count decreased, or the kinds of counts differ.
    pub fn amplification_since(&self, earlier: &Media, host: Interval) -> Option<Interval> {
        match (self, earlier) {
            (Media::Bytes(bytes), Media::Bytes(before)) => Some(bytes.since(before)?.over(host)),
            (Media::Both { host, all }, Media::Both { host: host_before, all: all_before }) => {
                Some(all.since(all_before)?.over(host.since(host_before)?))
            }
            (
                Media::Pages { host, background },
                Media::Pages { host: host_before, background: background_before },
            ) => Some(of_pages(host.since(host_before)?, background.since(background_before)?)),
            _ => None,
        }
    }

    /// Returns the key in the report.
    pub fn key(&self) -> String {
        match self {
            Media::Bytes(bytes) => bytes.key.clone(),
            Media::Both { host, all } => format!("{} over {}", all.key, host.key),
            Media::Pages { host, background } => format!("{} and {}", host.key, background.key),
        }
    }
}

/// Returns all pages over those of the host.
fn of_pages(host: Interval, background: Interval) -> Interval {
    let share = background.over(host);
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
