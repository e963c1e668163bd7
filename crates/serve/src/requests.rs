//! Counts and latencies of the requests to a device.

use hdrhistogram::Histogram;
use std::time::Duration;

/// Kind of a request.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read.
    Read = 0,
    /// Write, including zeroes that are written.
    Write = 1,
    /// Trim, including zeroes that are made by trimming.
    Trim = 2,
    /// Flush.
    Flush = 3,
}

impl Operation {
    /// All kinds, in numerical order.
    pub const ALL: [Operation; 4] = [Operation::Read, Operation::Write, Operation::Trim, Operation::Flush];

    /// Returns the name used in status readings.
    pub fn name(self) -> &'static str {
        ["read", "write", "trim", "flush"][self as usize]
    }
}

/// Number of significant digits of recorded latencies: percentiles are accurate to 1 %.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Upper limit of recorded latencies in ns: a minute.
const MAX_LATENCY_NS: u64 = 60_000_000_000;

/// Statistics of one kind of request.
#[derive(Clone, Debug)]
pub struct RequestStats {
    /// Number of bytes read, written or trimmed.
    pub bytes: u64,
    /// Sum of all latencies.
    pub total: Duration,
    /// Latencies in ns, from the time at which the caller began to wait for the device until the request was
    /// complete. They include waiting for other requests, but not the transport between client and device.
    pub latencies_ns: Histogram<u64>,
}

/// Statistics of all requests so far, by kind. Requests beyond the end of the device are not counted.
#[derive(Clone, Debug)]
pub struct Requests([RequestStats; Operation::ALL.len()]);

impl RequestStats {
    /// Returns the number of requests.
    pub fn count(&self) -> u64 {
        self.latencies_ns.len()
    }
}

impl Default for Requests {
    fn default() -> Self {
        let latencies_ns =
            Histogram::new_with_max(MAX_LATENCY_NS, SIGNIFICANT_DIGITS).expect("digits that there are");
        Requests(Operation::ALL.map(|_| RequestStats {
            bytes: 0,
            total: Duration::ZERO,
            latencies_ns: latencies_ns.clone(),
        }))
    }
}

impl Requests {
    /// Counts a request.
    pub fn add(&mut self, operation: Operation, bytes: u64, latency: Duration) {
        let stats = &mut self.0[operation as usize];
        stats.bytes += bytes;
        stats.total += latency;
        // A latency of more than a minute is recorded as a minute.
        stats.latencies_ns.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns the statistics of one kind.
    pub fn stats(&self, operation: Operation) -> &RequestStats {
        &self.0[operation as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_kind() {
        let mut requests = Requests::default();
        for us in 1..=100 {
            requests.add(Operation::Write, 4096, Duration::from_micros(us));
        }
        requests.add(Operation::Flush, 0, Duration::from_secs(3600));
        let writes = requests.stats(Operation::Write);
        assert_eq!((writes.latencies_ns.len(), writes.bytes), (100, 409_600));
        assert_eq!(writes.total, Duration::from_micros(5050));
        let median = writes.latencies_ns.value_at_quantile(0.5) as f64;
        assert!((median / 50_000.0 - 1.0).abs() < 0.01, "{median}");
        assert_eq!(requests.stats(Operation::Read).latencies_ns.len(), 0);
        assert!(requests.stats(Operation::Flush).latencies_ns.max() >= MAX_LATENCY_NS / 100 * 99);
    }
}
