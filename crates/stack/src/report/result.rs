//! Result of a run: everything that a person or a program needs to read, trust and repeat it.

use super::ftl::FtlResult;
use super::lifetime::{Lifetime, MeasuredLife};
use super::power::PowerResult;
use super::rating::RatingResult;
use super::wear::WearResult;
use crate::run::steady::Estimate;
use crate::run::{CauseSeries, EraseHeatMap, Window};
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use wearwell_base::units::SpareSpace;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::DedupReport;
use wearwell_engine::timing::TimingReport;

/// The result of one run.
///
/// Everything except `performance` is a function of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of Wearwell.
    pub version: String,
    /// Mode of the run: `counting` if only pages are counted, `timed` if time is simulated.
    pub mode: String,
    /// The scenario with every default filled in; run it to repeat the result.
    pub scenario: Scenario,
    /// Hash of the final draws of all random generators, hexadecimal; equal for equal runs.
    pub final_draw: String,
    /// Reasons to distrust the result; empty in a good run.
    pub warnings: Vec<String>,
    /// The drive.
    pub device: DeviceResult,
    /// Phases of the run.
    #[serde(alias = "course")]
    pub phases: RunPhases,
    /// Write amplification of the whole stack over the measured part; `None` if the host wrote nothing, or no layer
    /// cleaned anything.
    pub write_amplification: Option<f64>,
    /// Write amplification by batch means over the measured windows, with its confidence interval.
    pub write_amplification_estimate: Option<Estimate>,
    /// Prediction of theory, if a model applies and the caller asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory: Option<TheoryResult>,
    /// Lower bound on write amplification and results of offline (clairvoyant) policies, if the caller asked for them.
    #[serde(alias = "limit", default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<LowerBoundResult>,
    /// The layers in the order of the scenario, the FTL last.
    pub layers: Vec<LayerResult>,
    /// The tenants in the order of the scenario; empty if `workload` or `trace` is the only writer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantResult>,
    /// The flash over the measured part.
    pub nand: NandResult,
    /// Wear since the drive was new.
    pub wear: WearResult,
    /// Predicted life of the drive under this load.
    pub lifetime: Option<Lifetime>,
    /// Rating of the data sheet compared with the predicted life, if the scenario gives a rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<RatingResult>,
    /// The measured life of a drive that was run until blocks wore out.
    #[serde(alias = "worn_out")]
    pub measured_life: Option<MeasuredLife>,
    /// Response times and their parts; only for timed runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingReport>,
    /// Results of power cuts in the middle of the run; `None` without cuts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerResult>,
    /// Results of the part that `top` names, if the program supplied that part and the part wrote to the stack. Their
    /// form depends on the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<Value>,
    /// The time series, from the fresh drive on.
    pub windows: Vec<Window>,
    /// Pages that each layer wrote below in each window of `windows`, by cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseSeries>,
    /// Erases by position of the block, in each window of `windows`.
    #[serde(alias = "heat", default, skip_serializing_if = "Option::is_none")]
    pub erase_heat_map: Option<EraseHeatMap>,
    /// Speed of the simulation; differs from run to run.
    pub performance: Performance,
}

impl RunResult {
    /// Drops the time series, which are most of a result.
    pub fn drop_series(&mut self) {
        (self.windows, self.causes, self.erase_heat_map) = (Vec::new(), Vec::new(), None);
    }

    /// Reads a result that was written as JSON.
    ///
    /// # Errors
    /// `value` is not a result.
    pub fn read(value: Value) -> serde_json::Result<RunResult> {
        serde_json::from_value(value)
    }
}

/// Lower bound on write amplification for the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LowerBoundResult {
    /// Write amplification that no policy can beat, even with knowledge of the future.
    pub lower_bound: f64,
    /// Fewest pages that any policy has to rewrite.
    #[serde(alias = "least_rewrites")]
    pub min_rewrites: u64,
    /// The best offline (clairvoyant) policies; `None` if the FTL has no placement and no victim policy.
    #[serde(alias = "foreseeing")]
    pub offline: Option<OfflineResult>,
}

/// A placement and a victim policy that know the future, over the same writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfflineResult {
    /// The placement.
    pub placement: String,
    /// The victim policy.
    pub victim: String,
    /// Write amplification with these two policies.
    pub write_amplification: f64,
}

/// Theory's prediction for the FTL or log to which the host writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TheoryResult {
    /// Layer that the prediction is about.
    pub layer: String,
    /// Description of the model.
    pub model: String,
    /// Write amplification of the layer for its number of blocks, with spare space that excludes the blocks held back.
    pub write_amplification: f64,
    /// Limit of the layer's write amplification for a very large number of blocks.
    pub write_amplification_limit: f64,
    /// Spare factor available to cleaning.
    pub spare_factor: f64,
    /// Mean erased pages that wait while a victim is chosen; they do not count as spare space.
    pub held_back_pages: f64,
    /// Differences between the scenario and the model.
    pub notes: Vec<String>,
}

/// The drive of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceResult {
    /// Bytes of a page, which is the drive's mapping unit.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks.
    pub blocks: u32,
    /// Physical pages, including bad blocks.
    pub physical_pages: u64,
    /// Pages shown to the host.
    pub logical_pages: u32,
    /// Spare space in the four measures in use.
    pub over_provisioning: SpareSpace,
}

/// Phases of a run. Drive writes are multiples of the stack's logical capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPhases {
    /// Drive writes of the fill and of the random overwrites before the workload began.
    pub precondition_drive_writes: f64,
    /// Drive writes of the workload before measuring.
    pub warm_up_drive_writes: f64,
    /// Drive writes of the workload while measuring.
    pub measured_drive_writes: f64,
    /// Pages that the host wrote while measuring.
    pub measured_host_pages: u64,
    /// True if the warm-up ended in a steady state.
    pub steady: bool,
    /// Change of the fitted line of write amplification over the measured windows, as a fraction of the mean.
    pub measured_drift: Option<f64>,
    /// Passes through the trace, over the whole run.
    pub trace_passes: Option<u64>,
    /// Lines of the trace that were skipped, over all passes.
    pub skipped_lines: u64,
}

/// One layer over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerResult {
    /// Name of the layer.
    pub name: String,
    /// Name of the layer below; `None` for the FTL, which is on flash.
    #[serde(default)]
    pub on: Option<String>,
    /// Fraction of the logical pages of the layer below that this layer has.
    #[serde(default = "all")]
    pub share: f64,
    /// Granularity of the simulated directory: `page` or `block`.
    pub directory: String,
    /// Outgoing over incoming writes; `None` without incoming writes, and if the layer can clean but has not cleaned.
    pub write_amplification: Option<f64>,
    /// Bytes of RAM that the layer's map takes in a real device or host; `None` if the structure does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_bytes: Option<u64>,
    /// Pages (flushes, for `flush`) that came in from above, by operation.
    pub incoming: BTreeMap<String, u64>,
    /// Pages (blocks, for `erase`) that went out below, by cause and operation; zeros are left out.
    pub outgoing: BTreeMap<String, BTreeMap<String, u64>>,
    /// Spare space in the four measures in use.
    pub over_provisioning: SpareSpace,
    /// Fraction of the logical pages that hold data at the end.
    pub mapped_share: f64,
    /// Victims cleaned.
    pub victims: u64,
    /// Mean valid pages of a victim.
    pub victim_valid_pages_mean: Option<f64>,
    /// Histogram: `[j]` is the number of victims that held `j` valid pages.
    pub victim_valid_pages: Vec<u64>,
    /// Pages written outside their stream because no erased block was left.
    pub spilled_pages: u64,
    /// Partitions of the layer: first those of the logs, then those of the tenants on it, each in scenario order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<PartitionResult>,
    /// `[cause][owner]`, indexed by partition: pages that cleaning moved. Cause is the partition whose write triggered
    /// the cleaning; owner is the partition that the page belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_pages: Vec<Vec<u64>>,
    /// Fraction of the drive's physical pages that the layer holds back as spare space.
    pub reserve_share: f64,
    /// Sequentiality of incoming writes; only for layers with another log above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsResult>,
    /// Results of the trims that this layer sent to the layer below; only for stacked logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<TrimResult>,
    /// Invalidation scatter: mean number of blocks that one trimmed range takes pages from; `None` without trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_scatter_blocks: Option<f64>,
    /// Pages moved repeatedly since they were written; only for layers with another log above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_again_pages: Option<u64>,
    /// Pages that this layer moved after the layer below had already moved them since their last write; only for
    /// stacked logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_below_first_pages: Option<u64>,
    /// Live pages that cleaning dropped; only with `evict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evicted_pages: Option<u64>,
    /// Times that the layer opened a block instead of cleaning because a log above was cleaning; only if the layer may
    /// defer cleaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferrals: Option<u64>,
    /// Metadata of the log; only if the log writes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataResult>,
    /// Results specific to a merge tree (LSM tree).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lsm: Option<LsmResult>,
    /// Results of deduplication; only if the layer deduplicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup: Option<DedupReport>,
    /// Results specific to an FTL other than the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ftl: Option<FtlResult>,
}

/// Work of a merge tree over the measured part, and its levels at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsmResult {
    /// Levels of the tree at the end, the youngest first.
    pub levels: Vec<LsmLevelResult>,
    /// Memtables written out, or log stores converted.
    pub flushes: u64,
    /// Number of merges.
    pub compactions: u64,
    /// Tables moved down a level without being rewritten.
    pub trivial_moves: u64,
    /// Times that the last level was rewritten because its tables were too empty for the available space.
    pub squeezes: u64,
}

/// One level of a merge tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsmLevelResult {
    /// Sorted runs.
    pub runs: u32,
    /// Tables in all runs.
    pub tables: u32,
    /// Pages of records and tombstones in the level, without indexes.
    pub pages: u64,
    /// Bytes of `pages`.
    #[serde(default)]
    pub bytes: u64,
    /// Bytes written into tables of the level over the measured part, with indexes.
    #[serde(default)]
    pub written_bytes: u64,
}

/// Metadata that a log wrote.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetadataResult {
    /// Pages of segment summaries.
    pub summary_pages: u64,
    /// Pages of the map and of its index.
    pub map_pages: u64,
    /// Pages of the index trees that point to the map's entries.
    #[serde(default)]
    pub tree_pages: u64,
    /// Pages of segment information.
    pub segment_info_pages: u64,
    /// Pages of checkpoints.
    pub checkpoint_pages: u64,
    /// Pages of persistent trim records.
    #[serde(default)]
    pub trim_record_pages: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// Pages of metadata that cleaning moved within the log; counted under `cleaning`.
    pub cleaned_metadata_pages: u64,
    /// Metadata pages written per incoming page.
    pub metadata_per_written_page: Option<f64>,
    /// Fraction of the drive's physical pages that metadata takes: the area of the metadata, segment summaries and
    /// tables in the log.
    pub metadata_share: f64,
}

fn all() -> f64 {
    1.0
}

/// A partition of a layer over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionResult {
    /// Name of the log or the tenant that has the partition.
    pub name: String,
    /// Fraction of the layer's logical pages in the partition.
    pub share: f64,
    /// First page of the partition in the layer.
    pub first_page: u32,
    /// Number of pages.
    pub pages: u32,
    /// Pages (flushes, for `flush`) that came in through the partition, by operation.
    pub incoming: BTreeMap<String, u64>,
    /// Pages of this partition that cleaning moved because of writes to any partition; `None` if deduplication shares
    /// stored pages between owners.
    pub moved_owned: Option<u64>,
    /// Pages of any partition that cleaning moved because of this partition's writes; `None` if deduplication shares
    /// stored pages between owners.
    pub moved_caused: Option<u64>,
}

/// One tenant over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantResult {
    /// Name of the tenant.
    pub name: String,
    /// Layer that the tenant writes to.
    pub on: String,
    /// Fraction of that layer's logical pages that the tenant has.
    pub share: f64,
    /// Pages of that layer that the tenant has.
    pub logical_pages: u32,
    /// Configured rate of the tenant.
    pub rate: f64,
    /// Pages that the tenant wrote.
    pub host_pages: u64,
    /// Pages that the tenant wrote, as a fraction of the writes of all tenants.
    pub host_share: Option<f64>,
    /// Pages (flushes, for `flush`) that the tenant sent, by operation.
    pub incoming: BTreeMap<String, u64>,
    /// Layers on the path of the tenant's pages, from the top, as far as they are distinguishable from other tenants'
    /// pages.
    pub chain: Vec<ChainStepResult>,
    /// Pages of the tenant that cleaning moved on the first shared layer; `None` if the tenant shares no layer.
    pub moved_owned: Option<u64>,
    /// Pages that cleaning moved on the first shared layer because of the tenant's writes.
    pub moved_caused: Option<u64>,
    /// Pages that the first shared layer sent below over the tenant's host pages, with moved pages charged to their
    /// owner.
    pub write_amplification_owned: Option<f64>,
    /// Pages that the first shared layer sent below over the tenant's host pages, with moved pages charged to the write
    /// that caused the move.
    pub write_amplification_caused: Option<f64>,
    /// Passes through the tenant's trace, over the whole run.
    pub trace_passes: Option<u64>,
    /// Lines of the tenant's trace that were skipped, over all passes.
    pub skipped_lines: u64,
}

/// One layer on the path of a tenant's pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainStepResult {
    /// Name of the layer.
    pub layer: String,
    /// Pages of the tenant written to this layer.
    pub pages_in: u64,
    /// Pages that this layer wrote below for the tenant, including moved pages.
    pub pages_out: u64,
}

/// Sequentiality of the pages written to a layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsResult {
    /// Fraction of written pages whose number is one above that of the previous page.
    pub sequential_share: f64,
    /// Fraction of written pages that continue one of the eight most recent sequential runs.
    pub stream_sequential_share: f64,
    /// Mean length of a run of consecutive pages.
    pub run_pages_mean: f64,
}

/// Trims that a log sent to the layer below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimResult {
    /// Pages trimmed.
    pub sent_pages: u64,
    /// Ranges of consecutive pages trimmed.
    pub sent_ranges: u64,
    /// Pages of segments that were rewritten before their trim was sent.
    pub overtaken_pages: u64,
    /// Pages left out of trims because of the alignment.
    pub unaligned_pages: u64,
}

impl LayerResult {
    pub(super) fn incoming_of(counters: &Counters) -> BTreeMap<String, u64> {
        let operations = Operation::ALL.into_iter().filter(|&operation| operation != Operation::Erase);
        operations.map(|operation| (operation.name().to_owned(), counters.incoming(operation))).collect()
    }

    pub(super) fn outgoing_of(counters: &Counters) -> BTreeMap<String, BTreeMap<String, u64>> {
        let of_cause = |cause: Cause| -> BTreeMap<String, u64> {
            let amounts = Operation::ALL
                .iter()
                .map(|&operation| (operation.name(), counters.outgoing(cause, operation)));
            amounts
                .filter(|(_, amount)| *amount > 0)
                .map(|(name, amount)| (name.to_owned(), amount))
                .collect()
        };
        let causes = Cause::ALL.iter().map(|&cause| (cause.name().to_owned(), of_cause(cause)));
        causes.filter(|(_, amounts)| !amounts.is_empty()).collect()
    }
}

/// Flash operations over the measured part, counted by the flash itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NandResult {
    /// Pages programmed.
    pub programs: u64,
    /// Pages read.
    pub reads: u64,
    /// Spare areas read without their pages.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spare_reads: u64,
    /// Blocks erased.
    pub erases: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Speed of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Wall-clock seconds, without building the stack.
    pub seconds: f64,
    /// Simulated page writes per second, by the host and by cleaning, over all layers.
    pub page_writes_per_second: f64,
    /// Bytes of memory that the simulated stack took.
    pub memory_bytes: u64,
}
