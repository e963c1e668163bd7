//! Status of a device, in a form for programs.

use crate::requests::{Operation, RequestStats, Requests};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wearwell_stack::{IntermediateResult, StackSnapshot};

/// Version of the format of a [`Reading`]. New fields keep the number; renamed fields or changed meanings increase it.
pub const FORMAT_VERSION: u32 = 2;

/// Oldest format version that can be read. Version 1 has other names of fields.
const OLDEST_FORMAT_VERSION: u32 = 1;

/// Percentiles of latencies in a reading.
const PERCENTS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// Snapshot of all counters of a device. [`read`](Status::read) converts it to a [`Reading`] without access to the device.
pub struct Status {
    /// Name of the scenario.
    pub name: Option<String>,
    /// Counters of the layers and the flash.
    pub snapshot: StackSnapshot,
    /// Statistics of the requests to the device.
    pub requests: Requests,
    /// Seconds since the device was opened.
    pub seconds: f64,
    /// Size of the device in bytes.
    pub bytes: u64,
    /// Bytes of stored content.
    pub content_bytes: u64,
    /// Reason why the device accepts no writes, if it has failed.
    pub failure: Option<String>,
}

/// Reading of all counters of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Format version, see [`FORMAT_VERSION`].
    #[serde(alias = "form")]
    pub format_version: u32,
    /// Version of Wearwell.
    pub version: String,
    /// Name of the scenario, if it has one.
    pub name: Option<String>,
    /// Seconds since the device was opened.
    pub seconds: f64,
    /// Size of the device in bytes.
    pub bytes: u64,
    /// Bytes of stored content.
    pub content_bytes: u64,
    /// Reason why the device accepts no writes, if it has failed.
    #[serde(alias = "died")]
    pub failure: Option<String>,
    /// Requests since the device was opened, by operation: `read`, `write`, `trim`, `flush`.
    pub requests: BTreeMap<String, RequestReading>,
    /// Erased blocks (segments, zones, extents) available for writes, by layer.
    pub erased_blocks: BTreeMap<String, u32>,
    /// Rated number of erase cycles of a block, if the scenario sets it.
    pub endurance_cycles: Option<u32>,
    /// Counters of the stack since the drive was new, in the form of run results.
    #[serde(flatten)]
    pub intermediate_result: IntermediateResult,
}

/// Statistics of one kind of request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestReading {
    /// Number of requests.
    pub requests: u64,
    /// Bytes read or written; for trims, bytes of the trimmed pages.
    pub bytes: u64,
    /// Sum of all latencies in seconds.
    pub seconds: f64,
    /// Percentiles of the wall-clock latency, from when the caller began to wait until the request was done.
    pub percentiles: Vec<LatencyPercentile>,
    /// Latency histogram, accurate to 1 %: pairs of latency in ns and number of requests, in ascending order.
    pub latencies_ns: Vec<(u64, u64)>,
}

/// Percentile of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyPercentile {
    /// Percentage of requests.
    pub percent: f64,
    /// Latency in ns that this percentage does not exceed.
    pub latency_ns: u64,
}

impl Status {
    /// Converts the snapshot to a reading for programs.
    pub fn read(&self) -> Reading {
        let layers = self.snapshot.names().zip(&self.snapshot.reports().layers);
        let erased = layers.filter_map(|(name, layer)| Some((name.to_owned(), layer.erased_blocks?)));
        let requests = Operation::ALL
            .map(|operation| (operation.name().to_owned(), read(self.requests.stats(operation))));
        Reading {
            format_version: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            name: self.name.clone(),
            seconds: self.seconds,
            bytes: self.bytes,
            content_bytes: self.content_bytes,
            failure: self.failure.clone(),
            requests: requests.into(),
            erased_blocks: erased.collect(),
            endurance_cycles: self.snapshot.endurance_cycles(),
            intermediate_result: self.snapshot.result(),
        }
    }
}

impl Reading {
    /// Parses a reading from JSON.
    ///
    /// # Errors
    /// Fails if the value is not a reading or has another format version.
    pub fn from_json(value: serde_json::Value) -> Result<Reading, String> {
        let version = value.get("format_version").or_else(|| value.get("form"));
        match version.and_then(serde_json::Value::as_u64) {
            Some(form) if (OLDEST_FORMAT_VERSION.into()..=FORMAT_VERSION.into()).contains(&form) => {}
            Some(form) => {
                return Err(format!(
                    "this reading is of form {form}, and this program knows form {FORMAT_VERSION}"
                ));
            }
            None => return Err("this is no reading of a drive".into()),
        }
        serde_json::from_value(value).map_err(|error| format!("this is no whole reading of a drive: {error}"))
    }
}

impl RequestReading {
    /// Returns the statistics since an earlier reading of the same device.
    #[must_use]
    pub fn since(&self, earlier: &RequestReading) -> RequestReading {
        let before: BTreeMap<u64, u64> = earlier.latencies_ns.iter().copied().collect();
        let difference = |&(ns, requests): &(u64, u64)| {
            (ns, requests - before.get(&ns).copied().unwrap_or(0).min(requests))
        };
        RequestReading {
            requests: self.requests.saturating_sub(earlier.requests),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            seconds: (self.seconds - earlier.seconds).max(0.0),
            percentiles: Vec::new(),
            latencies_ns: self
                .latencies_ns
                .iter()
                .map(difference)
                .filter(|(_, requests)| *requests > 0)
                .collect(),
        }
        .with_percentiles()
    }

    /// Returns the latency in ns that `percent` of the requests do not exceed, or `None` without requests.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let all: u64 = self.latencies_ns.iter().map(|(_, requests)| requests).sum();
        let target = (percent / 100.0 * all as f64).ceil().max(1.0) as u64;
        let mut within = 0;
        let reached = self.latencies_ns.iter().find(|(_, requests)| {
            within += requests;
            within >= target
        });
        reached.or(self.latencies_ns.last()).map(|(ns, _)| *ns)
    }

    fn with_percentiles(self) -> Self {
        let percentile =
            |percent| Some(LatencyPercentile { percent, latency_ns: self.percentile_ns(percent)? });
        RequestReading { percentiles: PERCENTS.into_iter().filter_map(percentile).collect(), ..self }
    }
}

fn read(served: &RequestStats) -> RequestReading {
    let recorded = served.latencies_ns.iter_recorded();
    RequestReading {
        requests: served.count(),
        bytes: served.bytes,
        seconds: served.total.as_secs_f64(),
        percentiles: Vec::new(),
        latencies_ns: recorded.map(|step| (step.value_iterated_to(), step.count_at_value())).collect(),
    }
    .with_percentiles()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::Requests;
    use std::time::Duration;

    #[test]
    fn since_of_earlier_reading_returns_difference() {
        let mut requests = Requests::default();
        (0..90).for_each(|_| requests.add(Operation::Read, 512, Duration::from_micros(10)));
        let before = read(requests.stats(Operation::Read));
        assert_eq!((before.requests, before.bytes), (90, 90 * 512));
        (0..99).for_each(|_| requests.add(Operation::Read, 512, Duration::from_micros(100)));
        requests.add(Operation::Read, 512, Duration::from_millis(7));
        let since = read(requests.stats(Operation::Read)).since(&before);
        assert_eq!((since.requests, since.bytes), (100, 100 * 512));
        let is_near = |percent, us: f64| {
            let found = since.percentile_ns(percent).unwrap() as f64 / 1000.0;
            assert!((found / us - 1.0).abs() < 0.01, "{percent} %: {found} us");
        };
        is_near(50.0, 100.0);
        is_near(99.0, 100.0);
        is_near(100.0, 7000.0);
        assert_eq!(since.since(&since).percentiles, []);
        assert_eq!(RequestReading::default().percentile_ns(50.0), None);
    }

    #[test]
    fn from_json_of_other_format_version_fails() {
        let refused = |value| Reading::from_json(value).unwrap_err();
        assert!(refused(serde_json::json!({ "format_version": 3 })).contains("form 3"));
        assert!(refused(serde_json::json!({ "form": 0 })).contains("form 0"));
        for whole in [serde_json::json!({ "format_version": 2 }), serde_json::json!({ "form": 1 })] {
            assert!(refused(whole).contains("no whole reading"));
        }
        assert!(refused(serde_json::json!([])).contains("no reading"));
    }
}
