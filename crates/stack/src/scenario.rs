//! What a run is made of, as a person writes it: the types behind a scenario file.

pub use super::course_config::{Fill, Measure, Precondition};
use super::metadata_config::MetadataConfig;
use super::power::PowerConfig;
use super::size::ByteSize;
use super::structure::{self, StructureConfig};
use super::timing_config::TimingConfig;
use super::trim_config::TrimConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use wearwell_engine::dedup::DedupConfig;
use wearwell_engine::log::CopyOrder;
use wearwell_engine::placement::PlacementConfig;
use wearwell_engine::victim::VictimConfig;
use wearwell_workload::{ContentConfig, WorkloadConfig};

/// A stack, what is done to it, and how it is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A title for results and tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The root seed. Equal scenarios with equal seeds give equal results, bit for bit.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The drive.
    pub device: Device,
    /// The flash translation layer on the drive; `ftl = "gecko"` is short for `ftl.structure = "gecko"`.
    #[serde(default, deserialize_with = "structure::ftl")]
    #[schemars(schema_with = "structure::ftl_schema")]
    pub ftl: LogConfig,
    /// Logs stacked on the drive, the topmost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogConfig>,
    /// A synthetic workload; either this, `trace` or `tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadConfig>,
    /// A trace to replay; either this, `workload` or `tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
    /// What written pages hold: a preset's name, or a table; for a trace instead of its digests. Unknown unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentConfig>,
    /// Several workloads and traces at once, each on a layer of its choice; instead of `workload` and `trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenant: Vec<TenantConfig>,
    /// What stands at the top of the stack and does the writing, instead of `workload`, `trace` and `tenant`: a file
    /// system with its own workload. The engine knows of none; the program that runs the scenario does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<serde_json::Map<String, serde_json::Value>>,
    /// Timed mode; without this table a run only counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingConfig>,
    /// Power cuts; none without this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
    /// What is written before anything counts.
    #[serde(default)]
    pub precondition: Precondition,
    /// How long to warm up and to measure.
    #[serde(default)]
    pub measure: Measure,
}

impl Scenario {
    /// Whether pages must hold their content by name, because some layer looks at it.
    pub fn holds_content(&self) -> bool {
        !self.ftl.dedup.is_none()
    }

    /// Nanoseconds to hash a page, where the FTL does.
    pub(super) fn hash_ns(&self) -> u64 {
        self.ftl.dedup.hash_ns()
    }
}

fn default_seed() -> u64 {
    1
}

/// The drive: a preset, a size, and whatever differs from the preset.
///
/// Of the physical size (`raw_capacity` or `blocks_per_plane`), the logical size (`capacity`) and the spare space
/// between them (`spare_factor`, `over_provisioning`, `alpha` or `load`), give two; a preset supplies the spare space
/// when it is not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Device preset, see `wearwell list presets`. Without one, every field of the geometry counts as 1
    /// unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Logical capacity, as the host sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ByteSize>,
    /// Physical capacity, all blocks counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_capacity: Option<ByteSize>,
    /// Erase blocks of each plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_per_plane: Option<u32>,
    /// (T - U) / T, for T physical and U logical pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<f64>,
    /// (T - U) / U.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<f64>,
    /// T / U.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// U / T.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// Chips on each channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// Dies in each chip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies: Option<u32>,
    /// Planes of each die.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Erase blocks of different planes that are filled and erased together as one superblock, which is then the block of
    /// everything else; 1 unless given. A divisor of `planes`, or all planes of several dies. In a block that lies on one
    /// die, one page after the other is programmed; one on many dies is written by all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superblock_blocks: Option<u32>,
    /// Flash pages of each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_per_block: Option<u32>,
    /// User bytes of a flash page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<ByteSize>,
    /// Spare bytes of a flash page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_size: Option<ByteSize>,
    /// The unit in which the drive maps data, at most a flash page; 4 KiB unless given. What results call a page is
    /// this unit: a 16 KiB flash page holds four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping_unit: Option<ByteSize>,
    /// Program/erase cycles that a block endures; from the preset unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance_cycles: Option<u32>,
    /// Half-width of the spread of the blocks' endurance, as a share of `endurance_cycles`, uniform; 0 to below 1.
    #[serde(default)]
    pub endurance_spread: f64,
    /// Whether blocks go bad once they reach their endurance. If not, endurance only enters the lifetime figures.
    #[serde(default)]
    pub wears_out: bool,
    /// Blocks bad from the factory.
    #[serde(default)]
    pub factory_bad_blocks: u32,
    /// Probability that programming a page fails, whose block is then emptied and retired; 0 to below 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub program_failure_rate: f64,
    /// Page reads that a block endures after an erase before its pages are written anew; any number unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub read_disturb_limit: Option<u32>,
}

fn is_zero(rate: &f64) -> bool {
    *rate == 0.0
}

/// A log-structured layer: the FTL of the drive or a log stacked on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// The layer's name in results; `ftl` for the FTL, else `log0`, `log1`, … from the top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the layer is: a name (see `wearwell list structures`), or a table with `kind` and its settings; a
    /// log-structured store unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<StructureConfig>,
    /// Which block is cleaned next: a name, or a table with `policy` and its settings.
    #[serde(default)]
    pub victim: VictimConfig,
    /// Which stream a page goes to: a name, or a table with `kind` and its settings.
    #[serde(default)]
    pub placement: PlacementConfig,
    /// Whether erased blocks wait in a pool or victims are reused in place.
    #[serde(default)]
    pub reclaim: ReclaimKind,
    /// free_pool: cleaning starts at this many erased blocks; the number of streams plus one unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_blocks_low: Option<u32>,
    /// free_pool: cleaning stops at this many erased blocks; `free_blocks_low` unless given, and then goes victim by
    /// victim, only until the host has room again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_blocks_high: Option<u32>,
    /// free_pool: while a log above cleans, cleaning starts only at this many erased blocks, one victim at a time; below
    /// `free_blocks_low`. Not put off unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_blocks_deferred: Option<u32>,
    /// free_pool, timed mode: in idle time blocks are cleaned until so many wait erased, from `free_blocks_high` on; idle time
    /// is not used unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_blocks_idle: Option<u32>,
    /// Which live pages fill up a block that has not room for all of a victim's.
    #[serde(default)]
    pub copy_order: CopyOrder,
    /// Whether cleaning drops the live pages of a victim instead of moving them, as a cache may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub evict: bool,
    /// FTL only: how pages that hold the same are stored once: a name (see `wearwell list dedups`), or a table with `kind` and
    /// its settings. Needs `content`, or a trace with digests.
    #[serde(default, skip_serializing_if = "DedupConfig::is_none")]
    pub dedup: DedupConfig,
    /// What the simulation keeps of each page.
    #[serde(default)]
    pub directory: DirectoryKind,
    /// Stacked logs only: name of the layer it stands on; the next log in the list unless given, for the last one the
    /// FTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Stacked logs only: share of that layer's logical pages that it gets, as a partition; all of them if nothing else
    /// stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Stacked logs only: whether the partition ends on a whole block (segment) of the layer below, if it is as large as
    /// one; true unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<bool>,
    /// Stacked logs only: size of a segment, the log's erase block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_size: Option<ByteSize>,
    /// Stacked logs only: the same in blocks (segments) of the layer below, in place of `segment_size`; 1 matches them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_blocks: Option<u32>,
    /// Stacked logs only: stream hint that the writes of its first stream carry to the layer below, those of the next
    /// stream the next one; 0 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_hint: Option<u16>,
    /// Stacked logs only: share of the layer below that this log keeps in reserve, (T - U) / T; 0.1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<f64>,
    /// Stacked logs only: whether and how a cleaned segment is trimmed on the layer below; true unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<TrimConfig>,
    /// Stacked logs only: the metadata that the log writes for itself, a name (see `wearwell list log-layouts`) or a table;
    /// none unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataConfig>,
}

/// How erased blocks are won.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReclaimKind {
    /// Erased blocks wait in a pool between two watermarks.
    #[default]
    FreePool,
    /// The erased victim is the new frontier (Van Houdt 2013, sec. 2.3).
    InPlace,
}

/// What the simulation keeps of each page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectoryKind {
    /// The block where that is exact (a single frontier reclaimed in place on flash that does not wear out), else the page.
    #[default]
    Auto,
    /// The place of every page.
    Page,
    /// Only the block of every page: faster and smaller, with the same counts.
    Block,
}

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
    /// Options of the format, see `wearwell list formats`.
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
    /// Pages are numbered in the order of their first appearance; more of them than the device has is an error.
    Compact,
}
