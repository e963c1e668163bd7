//! History of a drive's counters, reduced to a bounded number of samples.

use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use wearwell_engine::counters::Operation;
use wearwell_serve::{Reading, RequestReading};

/// Maximum number of samples. When it is exceeded, every other sample is dropped and the sampling interval is
/// doubled.
const MAX_SAMPLES: usize = 600;

/// Counters at one moment. They count from the time when the device was opened, or when the drive was new, so
/// differences give the activity in between.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds since the device was opened.
    pub seconds: f64,
    /// Number of pages that the host wrote.
    pub host_pages: u64,
    /// Number of pages programmed.
    pub programs: u64,
    /// Number of blocks erased.
    pub erases: u64,
    /// Number of pages that each layer wrote to the layer below, by layer and cause.
    pub writes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Number of erased blocks available for writes, by layer.
    pub erased_blocks: BTreeMap<String, u32>,
    /// Requests by operation.
    pub requests: BTreeMap<String, RequestSample>,
}

/// Counts and latencies of one kind of request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestSample {
    /// Number of requests since the device was opened.
    pub requests: u64,
    /// Number of bytes since the device was opened.
    pub bytes: u64,
    /// Median latency in ns since the last sample; `None` if there were no requests.
    pub median_ns: Option<u64>,
    /// 99th percentile of the latency in ns since the last sample.
    pub p99_ns: Option<u64>,
}

/// List of samples, oldest first.
#[derive(Default)]
pub struct History {
    samples: Vec<Sample>,
    last: Option<Instant>,
    /// Request statistics at the last sample, by operation.
    before: BTreeMap<String, RequestReading>,
    halvings: u32,
}

impl History {
    /// Returns the samples.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the factor by which the sampling interval has grown.
    pub fn stride(&self) -> u32 {
        1 << self.halvings.min(31)
    }

    /// True if the next sample is due. `every` is the initial sampling interval.
    pub fn is_due(&self, every: Duration) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= every.saturating_mul(self.stride()))
    }

    /// Adds a sample made from `reading`.
    pub fn add(&mut self, reading: &Reading) {
        self.last = Some(Instant::now());
        if self.samples.len() >= MAX_SAMPLES {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.halvings += 1;
        }
        let sample = self.sample(reading);
        self.samples.push(sample);
        self.before = reading.requests.clone();
    }

    fn sample(&self, reading: &Reading) -> Sample {
        let write = Operation::Write.name();
        let writes = reading.intermediate_result.layers.iter().map(|layer| {
            let causes = layer.outgoing.iter();
            let by_cause = causes.filter_map(|(cause, amounts)| Some((cause.clone(), *amounts.get(write)?)));
            (layer.name.clone(), by_cause.collect())
        });
        let requests = reading.requests.iter().map(|(name, now)| {
            let since = self.before.get(name).map_or_else(|| now.clone(), |before| now.since(before));
            let sample = RequestSample {
                requests: now.requests,
                bytes: now.bytes,
                median_ns: since.percentile_ns(50.0),
                p99_ns: since.percentile_ns(99.0),
            };
            (name.clone(), sample)
        });
        Sample {
            seconds: reading.seconds,
            host_pages: reading.intermediate_result.host_pages,
            programs: reading.intermediate_result.nand.programs,
            erases: reading.intermediate_result.nand.erases,
            writes: writes.collect(),
            erased_blocks: reading.erased_blocks.clone(),
            requests: requests.collect(),
        }
    }
}
