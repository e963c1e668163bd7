//! Who writes: tenants and traces as a person describes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use wearwell_workload::{ContentConfig, WorkloadConfig};

/// One of several that write at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantConfig {
    /// Its name in results, from which its seed is taken; `tenant0`, `tenant1`, … unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the layer it writes to; the topmost unless given, if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Share of that layer's logical pages that it gets, as a partition; all of them if nothing else stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Whether the partition ends on a whole block (segment) of the layer, if it is as large as one; true unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<bool>,
    /// Added to the stream hints of its writes; a workload without hints has 0. 0 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_hint: Option<u16>,
    /// Pages it writes, in proportion to the other tenants' rates; above 0.
    #[serde(default = "default_rate")]
    pub rate: f64,
    /// A synthetic workload; either this or `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadConfig>,
    /// A trace to replay; either this or `workload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
    /// What written pages hold: a preset's name, or a table; for a trace instead of its digests. Unknown unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentConfig>,
}

fn default_rate() -> f64 {
    1.0
}

/// A trace to replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// The file, plain or compressed (gzip, xz, zstd); relative to the scenario file.
    pub path: PathBuf,
    /// Its format, see `wearwell list formats`; may be left out where the content is unmistakable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Options of the format, see `wearwell trace formats`. With `columns` it is a table: `wearwell trace columns` suggests them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Count lines that cannot be read and go on, instead of stopping at the first.
    #[serde(default)]
    pub skip_bad: bool,
    /// Volumes to replay; all unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<u32>>,
    /// What to do with more than one volume.
    #[serde(default)]
    pub volume_rule: VolumeRule,
    /// How the trace's addresses become pages of the device.
    #[serde(default)]
    pub address: AddressRule,
    /// Whether discards in the trace are passed on as TRIM.
    #[serde(default = "yes")]
    pub trim: bool,
    /// Runs with a layer that deduplicates: what to do with a written request whose digests do not say what it writes.
    #[serde(default)]
    pub missing_digests: MissingDigests,
    /// Runs with a layer that deduplicates: whether each pass through the trace writes the contents of the pass before, so
    /// that all of them are duplicates; otherwise each pass has contents of its own.
    #[serde(default)]
    pub repeat_contents: bool,
    /// Runs with times: what to do with a request that arrives before the one in front of it.
    #[serde(default)]
    pub backwards: Backwards,
}

fn yes() -> bool {
    true
}

/// What to do with a written request whose digests do not say what it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingDigests {
    /// It is an error.
    #[default]
    Error,
    /// Its pages are like no other.
    Unique,
}

/// What to do with a request that arrives before the one in front of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backwards {
    /// It is an error.
    #[default]
    Error,
    /// It arrives with the one in front of it.
    Clamp,
    /// Requests are put into the order of their times, looking ahead by 4096 requests; one that is later still is an error.
    Sort,
}

/// What to do with more than one volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeRule {
    /// A second volume is an error.
    #[default]
    Single,
    /// Volumes lie side by side in the order of their numbers, each as large as its highest address; their
    /// requests stay interleaved as in the trace. Reads the trace once more beforehand.
    SideBySide,
    /// All volumes share the same addresses.
    Overlay,
}

/// How the trace's addresses become pages of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddressRule {
    /// As they are; an address past the end is an error.
    #[default]
    Direct,
    /// Modulo the device's size.
    Wrap,
    /// Stretched or shrunk linearly from the trace's address span to the device. Reads the trace once more
    /// beforehand.
    Scale,
    /// Pages are numbered in the order in which they are first read or written; more of them than the device has is an error. A
    /// discard of pages without a number is passed over.
    Compact,
}
