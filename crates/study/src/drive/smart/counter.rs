//! What drives count, in which units.

use crate::drive::interval::Interval;

/// A count that only grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// Where it stands in the report.
    pub key: String,
    /// How often.
    pub count: f64,
    /// How much each is: bytes, hours, or 1.
    pub unit: f64,
}

impl Counter {
    /// So many of `unit` each, as it stands at `key`.
    pub fn new(key: impl Into<String>, count: f64, unit: f64) -> Self {
        Counter { key: key.into(), count, unit }
    }

    /// The amount; the count was rounded in a direction that is not known.
    pub fn amount(&self) -> Interval {
        Interval::counted(self.count * self.unit, self.unit)
    }

    /// By how much it grew since `earlier`; `None` if it did not, or if it counts something else.
    pub fn since(&self, earlier: &Counter) -> Option<Interval> {
        let grown = self.count - earlier.count;
        (self.key == earlier.key && grown >= 0.0).then(|| Interval::counted(grown * self.unit, self.unit))
    }
}

/// What flash was programmed with.
#[derive(Clone, Debug, PartialEq)]
pub enum Media {
    /// Bytes.
    Bytes(Counter),
    /// All of it and the host's part, both in one unit, whichever that is.
    Both {
        /// By the host.
        host: Counter,
        /// By anybody.
        all: Counter,
    },
    /// Pages, apart by who they were programmed for.
    Pages {
        /// For the host.
        host: Counter,
        /// For the drive itself.
        background: Counter,
    },
}

impl Media {
    /// Programmed over written by the host, which wrote `host` bytes.
    pub fn amplification(&self, host: Interval) -> Interval {
        match self {
            Media::Bytes(bytes) => bytes.amount().over(host),
            Media::Both { host, all } => all.amount().over(host.amount()),
            Media::Pages { host, background } => of_pages(host.amount(), background.amount()),
        }
    }

    /// The same between two reports; `None` if a count fell, or if they count in other ways.
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

    /// Where it stands in the report.
    pub fn key(&self) -> String {
        match self {
            Media::Bytes(bytes) => bytes.key.clone(),
            Media::Both { host, all } => format!("{} over {}", all.key, host.key),
            Media::Pages { host, background } => format!("{} and {}", host.key, background.key),
        }
    }
}

/// All pages over those of the host.
fn of_pages(host: Interval, background: Interval) -> Interval {
    let share = background.over(host);
    Interval { value: 1.0 + share.value, low: 1.0 + share.low, high: 1.0 + share.high }
}

/// How often blocks were erased.
#[derive(Clone, Debug, PartialEq)]
pub struct EraseCounts {
    /// Where it stands in the report.
    pub key: String,
    /// The mean over the blocks, if the drive says, or else the middle of the fewest and the most; and what it may be.
    pub mean: Interval,
    /// Whether it is the drive's own mean.
    pub is_mean: bool,
}
