//! What was read of a drive before, as many samples as a picture has room for.

use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use wearwell_engine::counters::Operation;
use wearwell_serve::{Reading, RequestReading};

/// Samples that are kept. When there are more, every other one is let go of, and from then on they are taken half as often.
const MOST_SAMPLES: usize = 600;

/// Counters at one moment, all since the device was opened or the drive was new: what happened in between is their difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds since the device was opened.
    pub seconds: f64,
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Pages that each layer wrote below, by layer and cause.
    pub writes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Erased blocks that wait to be written, by layer.
    pub erased_blocks: BTreeMap<String, u32>,
    /// Requests by operation.
    pub requests: BTreeMap<String, SampleOf>,
}

/// Requests of an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleOf {
    /// How many, since the device was opened.
    pub requests: u64,
    /// Bytes, likewise.
    pub bytes: u64,
    /// Of those since the last sample, half took no longer, ns; `None` if there were none.
    pub median_ns: Option<u64>,
    /// And 99 of a hundred.
    pub p99_ns: Option<u64>,
}

/// Samples, the oldest first.
#[derive(Default)]
pub struct History {
    samples: Vec<Sample>,
    last: Option<Instant>,
    /// The requests at the last sample.
    before: BTreeMap<String, RequestReading>,
    halvings: u32,
}

impl History {
    /// What is kept.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// A sample is taken each so many times that it could be.
    pub fn stride(&self) -> u32 {
        1 << self.halvings.min(31)
    }

    /// Whether it is time for another sample, of which one may be taken `every` so long.
    pub fn is_due(&self, every: Duration) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= every.saturating_mul(self.stride()))
    }

    /// Adds what is read now.
    pub fn add(&mut self, reading: &Reading) {
        self.last = Some(Instant::now());
        if self.samples.len() >= MOST_SAMPLES {
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
        let writes = reading.so_far.layers.iter().map(|layer| {
            let causes = layer.outgoing.iter();
            let of = causes.filter_map(|(cause, amounts)| Some((cause.clone(), *amounts.get(write)?)));
            (layer.name.clone(), of.collect())
        });
        let requests = reading.requests.iter().map(|(name, now)| {
            let since = self.before.get(name).map_or_else(|| now.clone(), |before| now.since(before));
            let sample = SampleOf {
                requests: now.requests,
                bytes: now.bytes,
                median_ns: since.percentile_ns(50.0),
                p99_ns: since.percentile_ns(99.0),
            };
            (name.clone(), sample)
        });
        Sample {
            seconds: reading.seconds,
            host_pages: reading.so_far.host_pages,
            programs: reading.so_far.nand.programs,
            erases: reading.so_far.nand.erases,
            writes: writes.collect(),
            erased_blocks: reading.erased_blocks.clone(),
            requests: requests.collect(),
        }
    }
}
