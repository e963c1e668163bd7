//! Configuration of writers: tenants and traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use wearwell_workload::{ContentConfig, WorkloadConfig};

/// One of several writers that write at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantConfig {
    /// Name in results, which also determines the seed; default `tenant0`, `tenant1`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the layer it writes to; by default the topmost layer, if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Fraction of that layer's logical pages that it gets, as a partition; by default all pages, if the layer has no other user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// True to end the partition on a whole block (segment) of the layer, if the partition is at least that large; default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<bool>,
    /// Number added to the stream hints of its writes; a workload without hints has hint 0. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_hint: Option<u16>,
    /// Pages it writes, relative to the other tenants' rates; above 0.
    #[serde(default = "default_rate")]
    pub rate: f64,
    /// A synthetic workload; either this or `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadConfig>,
    /// A trace to replay; either this or `workload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
    /// Contents of written pages: a preset's name, or a table; replaces the digests of a trace. Default: unknown contents.
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
    /// Its format, see `wearwell list formats`; optional if the content identifies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Options of the format, see `wearwell trace formats`. With the option `columns` the trace is read as a table: `wearwell
    /// trace columns` suggests values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// True to count unreadable lines and continue, instead of stopping at the first.
    #[serde(default)]
    pub skip_bad: bool,
    /// Volumes to replay; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<u32>>,
    /// Treatment of more than one volume.
    #[serde(default)]
    pub volume_rule: VolumeRule,
    /// Mapping of the trace's addresses to pages of the device.
    #[serde(default)]
    pub address: AddressRule,
    /// True to pass discards in the trace on as TRIM.
    #[serde(default = "default_true")]
    pub trim: bool,
    /// Runs with a layer that deduplicates: treatment of a written request whose digests do not determine its contents.
    #[serde(default)]
    pub missing_digests: MissingDigests,
    /// Runs with a layer that deduplicates: true if each pass through the trace writes the contents of the pass before, so that
    /// all of them are duplicates; otherwise each pass has its own contents.
    #[serde(default)]
    pub repeat_contents: bool,
    /// Runs with times: treatment of a request whose timestamp is earlier than that of the request before it.
    #[serde(default)]
    #[serde(alias = "backwards")]
    pub decreasing_times: Backwards,
}

fn default_true() -> bool {
    true
}

/// Treatment of a written request whose digests do not determine its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingDigests {
    /// The run ends with an error.
    #[default]
    Error,
    /// Each of its pages has unique contents.
    Unique,
}

/// Treatment of a request whose timestamp is earlier than that of the request before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backwards {
    /// The run ends with an error.
    #[default]
    Error,
    /// It arrives at the same time as the request before it.
    Clamp,
    /// Requests are sorted by time within a window of 4096 requests; a request that is later still is an error.
    Sort,
}

/// Treatment of more than one volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeRule {
    /// A second volume is an error.
    #[default]
    Single,
    /// Volumes lie side by side in the order of their numbers, each as large as its highest address; their requests stay
    /// interleaved as in the trace. Reads the trace one extra time beforehand.
    SideBySide,
    /// All volumes use the same addresses.
    Overlay,
}

/// Mapping of the trace's addresses to pages of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddressRule {
    /// Addresses unchanged; an address past the end is an error.
    #[default]
    Direct,
    /// Addresses modulo the device's size.
    Wrap,
    /// Addresses scaled linearly from the trace's address span to the device. Reads the trace one extra time beforehand.
    Scale,
    /// Pages are numbered in the order in which they are first read or written; more pages than the device has is an error.
    /// Discards of pages without a number are skipped.
    Compact,
}
