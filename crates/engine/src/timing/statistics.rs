//! Statistics of response times.

use super::busy::BusyTime;
use super::parts::{PARTS, Parts};
use super::timeline::Timeline;
use crate::request::Op;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reported percentiles.
const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Decimal digits of precision of response times.
const DIGITS: u8 = 3;

/// One percentile of the response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// The percentage.
    pub percent: f64,
    /// Response time that this percentage of requests does not exceed, nanoseconds, to three digits.
    pub response_ns: u64,
    /// Fraction, 0 to 1, that cleaning caused ([`Parts::cleaning_total_ns`]) of the summed response time of all
    /// requests that took at least this long.
    pub cleaning_share: f64,
}

/// Response times of one kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestTimes {
    /// Requests.
    pub requests: u64,
    /// Pages of these requests.
    pub pages: u64,
    /// Mean response time, nanoseconds, exact.
    pub mean_ns: f64,
    /// Longest response time, nanoseconds, exact.
    pub max_ns: u64,
    /// Percentiles: 50, 90, 95, 99, 99.9 and 99.99.
    pub percentiles: Vec<Percentile>,
    /// Mean of each of the [`Parts`], nanoseconds, by name.
    pub parts_ns: BTreeMap<String, f64>,
    /// Upper bound of each occupied response time class, nanoseconds, and the number of requests in the class.
    pub histogram: Vec<(u64, u64)>,
}

/// Duration of outages: from the end of the last operation until the FTL has recovered, including power cuts during
/// recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutageTimes {
    /// Number of power cuts while the host was served.
    pub outages: u64,
    /// Mean time until the drive served again, nanoseconds.
    pub mean_ns: f64,
    /// Longest such time.
    pub max_ns: u64,
    /// Part of the mean without power; the rest is recovery.
    pub mean_off_ns: f64,
}

/// Sums from which [`OutageTimes`] is computed.
#[derive(Debug, Default)]
pub struct Outages {
    count: u64,
    sum_ns: u64,
    off_ns: u64,
    max_ns: u64,
}

impl Outages {
    /// Adds an outage of `ns`, of which `off_ns` without power.
    pub fn add(&mut self, ns: u64, off_ns: u64) {
        self.count += 1;
        self.sum_ns += ns;
        self.off_ns += off_ns;
        self.max_ns = self.max_ns.max(ns);
    }

    fn report(&self) -> Option<OutageTimes> {
        let mean = |sum_ns: u64| sum_ns as f64 / self.count as f64;
        (self.count > 0).then(|| OutageTimes {
            outages: self.count,
            mean_ns: mean(self.sum_ns),
            max_ns: self.max_ns,
            mean_off_ns: mean(self.off_ns),
        })
    }
}

/// Measurements of a timed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingReport {
    /// Start of the measurement, nanoseconds of simulated time.
    pub start_ns: u64,
    /// Simulated time from the start to the end of the last request or operation, nanoseconds.
    pub elapsed_ns: u64,
    /// Requests that arrived and ended in that time, per second.
    pub requests_per_s: f64,
    /// Bytes that these requests read and wrote, per second.
    pub bytes_per_s: f64,
    /// Response times by kind: `read`, `write`, `trim` and `flush`; kinds that did not occur are omitted.
    pub requests: BTreeMap<String, RequestTimes>,
    /// Busy time of each die; divided by `elapsed_ns` this is the die's utilisation.
    pub dies: Vec<BusyTime>,
    /// Busy time of each channel.
    pub channels: Vec<BusyTime>,
    /// Outages; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<OutageTimes>,
    /// Time series of the measurement.
    pub timeline: Timeline,
}

impl TimingReport {
    /// Returns the mean utilisation of the dies.
    pub fn die_utilisation(&self) -> f64 {
        let busy: u64 = self.dies.iter().map(BusyTime::total_ns).sum();
        busy as f64 / (self.dies.len() as f64 * self.elapsed_ns as f64).max(1.0)
    }
}

/// Statistics of one kind of request.
#[derive(Debug)]
struct RequestStatistics {
    responses: Histogram<u64>,
    /// Response times, each weighted with the nanoseconds that cleaning caused.
    cleaning: Histogram<u64>,
    pages: u64,
    max_ns: u64,
    sum_ns: u128,
    parts: [u128; PARTS],
    /// Sums that are not yet part of the sums above: additions of 64 bits are faster than those of 128 bits.
    narrow_sum_ns: u64,
    narrow_parts: [u64; PARTS],
}

impl RequestStatistics {
    fn new() -> Self {
        let histogram = || Histogram::new(DIGITS).expect("so many digits are possible");
        RequestStatistics {
            responses: histogram(),
            cleaning: histogram(),
            pages: 0,
            max_ns: 0,
            sum_ns: 0,
            parts: [0; PARTS],
            narrow_sum_ns: 0,
            narrow_parts: [0; PARTS],
        }
    }

    /// Returns the sums of response times and of all parts.
    fn sums(&self) -> (u128, [u128; PARTS]) {
        let parts = std::array::from_fn(|at| self.parts[at] + u128::from(self.narrow_parts[at]));
        (self.sum_ns + u128::from(self.narrow_sum_ns), parts)
    }

    #[inline(always)]
    fn record(&mut self, pages: u32, parts: &Parts) {
        let response_ns = parts.total_ns();
        self.responses.record(response_ns).expect("histograms grow");
        let cleaning_ns = parts.cleaning_total_ns();
        if cleaning_ns > 0 {
            self.cleaning.record_n(response_ns, cleaning_ns).expect("histograms grow");
        }
        self.pages += u64::from(pages);
        self.max_ns = self.max_ns.max(response_ns);
        match self.narrow_sum_ns.checked_add(response_ns) {
            Some(sum_ns) => self.narrow_sum_ns = sum_ns,
            None => {
                (self.sum_ns, self.parts) = self.sums();
                (self.narrow_sum_ns, self.narrow_parts) = (response_ns, [0; PARTS]);
            }
        }
        // No part of a response time is longer than the whole.
        for (sum, part) in self.narrow_parts.iter_mut().zip(parts.values()) {
            *sum += part;
        }
    }

    fn report(&self) -> RequestTimes {
        let requests = self.responses.len();
        let mean = |sum: u128| sum as f64 / requests as f64;
        let (sum_ns, parts) = self.sums();
        let names = Parts::NAMES.iter().map(|name| (*name).to_owned());
        RequestTimes {
            requests,
            pages: self.pages,
            mean_ns: mean(sum_ns),
            max_ns: self.max_ns,
            percentiles: PERCENTILES.iter().map(|&percent| self.percentile(percent)).collect(),
            parts_ns: names.zip(parts.map(mean)).collect(),
            histogram: (self.responses.iter_recorded())
                .map(|class| (class.value_iterated_to(), class.count_at_value()))
                .collect(),
        }
    }

    fn percentile(&self, percent: f64) -> Percentile {
        let response_ns = self.responses.value_at_percentile(percent);
        let from_ns = self.responses.lowest_equivalent(response_ns);
        let above = |histogram: &Histogram<u64>, weigh: fn(u64, u64) -> f64| -> f64 {
            let recorded = histogram.iter_recorded().filter(|class| class.value_iterated_to() >= from_ns);
            recorded
                .map(|class| {
                    weigh(histogram.median_equivalent(class.value_iterated_to()), class.count_at_value())
                })
                // The sum of an empty iterator of floats is -0.0.
                .fold(0.0, |sum, weight| sum + weight)
        };
        let responses_ns = above(&self.responses, |value_ns, count| value_ns as f64 * count as f64);
        let cleaning_ns = above(&self.cleaning, |_, count_ns| count_ns as f64);
        // The histograms' classes are precise to three digits only, so the computed share might exceed 1.
        let cleaning_share = if responses_ns > 0.0 { (cleaning_ns / responses_ns).min(1.0) } else { 0.0 };
        Percentile { percent, response_ns: response_ns.min(self.max_ns), cleaning_share }
    }
}

/// Names of the kinds, in the order of [`Op`].
const KINDS: [&str; 4] = ["read", "write", "trim", "flush"];

/// Collector of response times.
#[derive(Debug)]
pub struct Statistics {
    kinds: [RequestStatistics; 4],
    /// Time series of the measurement.
    pub timeline: Timeline,
    /// Outages.
    pub outages: Outages,
    page_bytes: u32,
    last_end_ns: u64,
}

impl Statistics {
    /// Creates empty statistics from `start_ns` on; earlier requests are not counted.
    pub fn new(start_ns: u64, page_bytes: u32) -> Self {
        let kinds = std::array::from_fn(|_| RequestStatistics::new());
        let (timeline, outages) = (Timeline::new(start_ns), Outages::default());
        Statistics { kinds, timeline, outages, page_bytes, last_end_ns: start_ns }
    }

    /// Discards everything and restarts at `start_ns`.
    pub fn reset(&mut self, start_ns: u64) {
        *self = Statistics::new(start_ns, self.page_bytes);
    }

    /// Records a request of `pages` pages that arrived at `arrival_ns` and took `parts`.
    #[inline(always)]
    pub fn record(&mut self, op: Op, pages: u32, arrival_ns: u64, parts: &Parts) {
        if arrival_ns < self.timeline.start_ns {
            return;
        }
        self.kinds[op as usize].record(pages, parts);
        let end_ns = arrival_ns + parts.total_ns();
        self.last_end_ns = self.last_end_ns.max(end_ns);
        self.timeline.add_request(end_ns, parts.total_ns());
    }

    /// Returns the end of the last request.
    pub fn end_ns(&self) -> u64 {
        self.last_end_ns
    }

    /// Returns the report; the busy times are those since the start, until at most `end_ns`.
    pub fn report(&self, end_ns: u64, dies: Vec<BusyTime>, channels: Vec<BusyTime>) -> TimingReport {
        let start_ns = self.timeline.start_ns;
        let elapsed_ns = self.last_end_ns.max(end_ns) - start_ns;
        let per_s = |count: u64| if elapsed_ns > 0 { count as f64 * 1e9 / elapsed_ns as f64 } else { 0.0 };
        let transfers = &self.kinds[..2];
        let bytes = transfers.iter().map(|times| times.pages).sum::<u64>() * u64::from(self.page_bytes);
        let named = KINDS.iter().zip(&self.kinds).filter(|(_, times)| !times.responses.is_empty());
        TimingReport {
            start_ns,
            elapsed_ns,
            requests_per_s: per_s(self.kinds.iter().map(|times| times.responses.len()).sum()),
            bytes_per_s: per_s(bytes),
            requests: named.map(|(name, times)| ((*name).to_owned(), times.report())).collect(),
            dies,
            channels,
            outages: self.outages.report(),
            timeline: self.timeline.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_include_the_share_of_cleaning() {
        let mut statistics = Statistics::new(0, 4096);
        for number in 0..100u64 {
            // The slowest ten requests wait for cleaning during half of their time.
            let cleaning_ns = if number >= 90 { 1000 } else { 0 };
            let parts = Parts { cleaning_ns, flash_ns: 1000, ..Parts::default() };
            statistics.record(Op::Read, 1, number * 10_000, &parts);
        }
        let report = statistics.report(1_000_000, Vec::new(), Vec::new());
        let reads = &report.requests["read"];
        assert_eq!((reads.requests, reads.max_ns, report.requests.len()), (100, 2000, 1));
        assert_eq!(reads.mean_ns, 1100.0);
        assert_eq!(reads.parts_ns["cleaning_ns"], 100.0);
        let fraction = |at: usize| reads.percentiles[at].cleaning_share;
        assert!((fraction(0) - 10_000.0 / 110_000.0).abs() < 1e-3, "{}", fraction(0));
        assert!((fraction(2) - 0.5).abs() < 1e-3, "{}", fraction(2));
        assert_eq!(report.requests_per_s, 1e5);
        assert_eq!(report.bytes_per_s, 4096e5);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<TimingReport>(&text).unwrap(), report);
    }
}
