//! What a device was asked for, and how long that took.

use hdrhistogram::Histogram;
use std::time::Duration;

/// What a request asks a device for.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bytes.
    Read = 0,
    /// To hold bytes; zeroes that are written, too.
    Write = 1,
    /// To forget a range; zeroes that are made so, too.
    Trim = 2,
    /// To make all of it durable.
    Flush = 3,
}

impl Operation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Operation; 4] = [Operation::Read, Operation::Write, Operation::Trim, Operation::Flush];

    /// The name used in readings.
    pub fn name(self) -> &'static str {
        ["read", "write", "trim", "flush"][self as usize]
    }
}

/// Digits of a latency that are kept: percentiles are right to 1 %.
const DIGITS: u8 = 2;

/// Longest latency that is told from longer ones, ns: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// The requests of one kind.
#[derive(Clone, Debug)]
pub struct Served {
    /// Bytes that they were about.
    pub bytes: u64,
    /// How long they took, all together.
    pub total: Duration,
    /// How long each took, ns, from when the device was asked for it until it was done: waiting for others, and nothing of the
    /// way between client and device.
    pub latencies_ns: Histogram<u64>,
}

/// Requests served so far, by what they asked for; those that the device has not got the range of are none.
#[derive(Clone, Debug)]
pub struct Requests([Served; Operation::ALL.len()]);

impl Served {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.latencies_ns.len()
    }
}

impl Default for Requests {
    fn default() -> Self {
        let latencies_ns = Histogram::new_with_max(LONGEST_NS, DIGITS).expect("digits that there are");
        Requests(Operation::ALL.map(|_| Served {
            bytes: 0,
            total: Duration::ZERO,
            latencies_ns: latencies_ns.clone(),
        }))
    }
}

impl Requests {
    /// Counts one.
    pub fn add(&mut self, operation: Operation, bytes: u64, took: Duration) {
        let served = &mut self.0[operation as usize];
        served.bytes += bytes;
        served.total += took;
        // More than a minute counts as a minute.
        served.latencies_ns.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Those of a kind.
    pub fn of(&self, operation: Operation) -> &Served {
        &self.0[operation as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_counts_by_itself() {
        let mut requests = Requests::default();
        for us in 1..=100 {
            requests.add(Operation::Write, 4096, Duration::from_micros(us));
        }
        requests.add(Operation::Flush, 0, Duration::from_secs(3600));
        let writes = requests.of(Operation::Write);
        assert_eq!((writes.latencies_ns.len(), writes.bytes), (100, 409_600));
        assert_eq!(writes.total, Duration::from_micros(5050));
        let median = writes.latencies_ns.value_at_quantile(0.5) as f64;
        assert!((median / 50_000.0 - 1.0).abs() < 0.01, "{median}");
        assert_eq!(requests.of(Operation::Read).latencies_ns.len(), 0);
        assert!(requests.of(Operation::Flush).latencies_ns.max() >= LONGEST_NS / 100 * 99);
    }
}
