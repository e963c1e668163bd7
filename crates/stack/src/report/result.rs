//! What a run gives: everything a person or a program needs to read, trust and repeat it.

use super::ftl::FtlResult;
use super::power::PowerResult;
use super::rating::RatingResult;
use super::wear::WearResult;
use crate::run::steady::Estimate;
use crate::run::{CauseSeries, EraseHeat, Window};
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use wearwell_base::units::OverProvisioning;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::DedupReport;
use wearwell_engine::timing::TimingReport;

/// The result of one run.
///
/// Everything but `performance` is a function of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of Wearwell.
    pub version: String,
    /// `counting`: pages are counted, time is not simulated.
    pub mode: String,
    /// The scenario with every default filled in; run it to repeat the result.
    pub scenario: Scenario,
    /// All generators' final draws in one number, hexadecimal: equal for equal runs.
    pub final_draw: String,
    /// Reasons to distrust the result; empty in a good run.
    pub warnings: Vec<String>,
    /// The drive.
    pub device: DeviceResult,
    /// How the run went.
    pub course: Course,
    /// Write amplification of the whole stack over the measured part; `None` where it would mean nothing.
    pub write_amplification: Option<f64>,
    /// The same by batch means over the measured windows, with its confidence interval.
    pub write_amplification_estimate: Option<Estimate>,
    /// What theory says of it, where a model applies and the caller asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory: Option<TheoryResult>,
    /// What nothing could have done better, and what knowing the future comes to, where the caller asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitResult>,
    /// The layers in the order of the scenario, the FTL last.
    pub layers: Vec<LayerResult>,
    /// The tenants in the order of the scenario; none where `workload` or `trace` is all that writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantResult>,
    /// The flash over the measured part.
    pub nand: NandResult,
    /// Wear since the drive was new.
    pub wear: WearResult,
    /// How long the drive would live under this load.
    pub lifetime: Option<Lifetime>,
    /// What the data sheet lets the host write, if the scenario says so, beside that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<RatingResult>,
    /// The measured life of a drive that was run until blocks wore out.
    pub worn_out: Option<WornOut>,
    /// Response times and what they are made of; only of timed runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingReport>,
    /// What power cuts in the middle of the run led to, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerResult>,
    /// What stands at the top of the stack and did the writing has to tell, if it is a part of the program that ran the
    /// scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<Value>,
    /// The time series, from the fresh drive on.
    pub windows: Vec<Window>,
    /// What each layer wrote below in each of those windows, by its cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseSeries>,
    /// Where blocks were erased in those windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<EraseHeat>,
    /// How fast the simulation ran; differs from run to run.
    pub performance: Performance,
}

impl RunResult {
    /// Lets go of the time series, which are most of a result.
    pub fn forget_series(&mut self) {
        (self.windows, self.causes, self.heat) = (Vec::new(), Vec::new(), None);
    }

    /// Reads a result that was written as JSON.
    ///
    /// # Errors
    /// It is none.
    pub fn read(value: Value) -> serde_json::Result<RunResult> {
        serde_json::from_value(value)
    }
}

/// What nothing could have done better, over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitResult {
    /// Write amplification below which nothing gets, whatever it knows of the future.
    pub lower_bound: f64,
    /// Pages that had to be rewritten.
    pub least_rewrites: u64,
    /// The best of what knows the future; `None` where the FTL has no placement and no victim policy.
    pub foreseeing: Option<ForeseeingResult>,
}

/// A placement and a victim policy that know the future, over the same writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeseeingResult {
    /// The placement.
    pub placement: String,
    /// The victim policy.
    pub victim: String,
    /// Their write amplification.
    pub write_amplification: f64,
}

/// What theory says of the store that the host writes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TheoryResult {
    /// The layer that it is about.
    pub layer: String,
    /// The model, in words.
    pub model: String,
    /// Write amplification of the layer, for its number of blocks: `spare_factor` is without the blocks that are held back.
    pub write_amplification: f64,
    /// The same for very many blocks.
    pub write_amplification_limit: f64,
    /// Spare factor that is left to cleaning.
    pub spare_factor: f64,
    /// Erased pages that wait while a victim is chosen, on average, and are no spare space then.
    pub held_back_pages: f64,
    /// Where the scenario differs from the model.
    pub notes: Vec<String>,
}

/// The drive of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceResult {
    /// Bytes of a page, the drive's mapping unit.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks.
    pub blocks: u32,
    /// Pages, bad blocks included.
    pub physical_pages: u64,
    /// Pages shown to the host.
    pub logical_pages: u32,
    /// Spare space in the four measures in use.
    pub over_provisioning: OverProvisioning,
}

/// How a run went. Drive writes are multiples of the stack's logical capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Drive writes of the fill and the random overwrites before the workload began.
    pub precondition_drive_writes: f64,
    /// Drive writes of the workload before measuring.
    pub warm_up_drive_writes: f64,
    /// Drive writes measured.
    pub measured_drive_writes: f64,
    /// Host pages measured.
    pub measured_host_pages: u64,
    /// Whether the warm-up ended in a steady state.
    pub steady: bool,
    /// Change of the fitted line of write amplification over the measured windows, as a share of the mean.
    pub measured_drift: Option<f64>,
    /// Passes through the trace, over the whole run.
    pub trace_passes: Option<u64>,
    /// Lines of the trace that were skipped, over all passes.
    pub skipped_lines: u64,
}

/// One log layer over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerResult {
    /// Its name.
    pub name: String,
    /// The layer it stands on; `None` for the FTL, which stands on flash.
    #[serde(default)]
    pub on: Option<String>,
    /// Share of that layer's logical pages that it has.
    #[serde(default = "all")]
    pub share: f64,
    /// Whether the simulation kept pages or only blocks.
    pub directory: String,
    /// Outgoing over incoming writes; `None` where it would mean nothing.
    pub write_amplification: Option<f64>,
    /// Bytes of RAM that its map takes in a real device or host, where the structure says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_bytes: Option<u64>,
    /// Pages (flushes, for `flush`) that came in from above, by operation.
    pub incoming: BTreeMap<String, u64>,
    /// Pages (blocks, for `erase`) that went out below, by cause and operation; zeros left out.
    pub outgoing: BTreeMap<String, BTreeMap<String, u64>>,
    /// Spare space in the four measures in use.
    pub over_provisioning: OverProvisioning,
    /// Logical pages that hold data at the end, as a share of all.
    pub mapped_share: f64,
    /// Victims cleaned.
    pub victims: u64,
    /// Mean valid pages of a victim.
    pub victim_valid_pages_mean: Option<f64>,
    /// `[j]`: victims that held `j` valid pages.
    pub victim_valid_pages: Vec<u64>,
    /// Pages that left their stream because no erased block was left.
    pub spilled_pages: u64,
    /// Its partitions, where it has any, in the order of the logs and then the tenants that stand on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<PartitionResult>,
    /// `[cause][owner]`, by the numbers of the partitions: pages that cleaning moved, by the partition whose write ran
    /// the cleaning and the one that owns them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_pages: Vec<Vec<u64>>,
    /// Share of the drive's physical pages that the layer holds back as spare space.
    pub reserve_share: f64,
    /// How the writes that came in follow each other; only for layers with another log above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsResult>,
    /// What became of the pages that it trimmed on the layer below; only for stacked logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<TrimResult>,
    /// Invalidation scatter: blocks that lose pages to one range of trimmed pages, on average; `None` without trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_scatter_blocks: Option<f64>,
    /// Pages moved that it had moved before since they were written; only for layers with another log above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_again_pages: Option<u64>,
    /// Pages moved that the layer below had moved before since they were written; only for stacked logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_below_first_pages: Option<u64>,
    /// Live pages that cleaning dropped; only with `evict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evicted_pages: Option<u64>,
    /// Times that it opened a block instead of cleaning because a log above was cleaning; only where it may put cleaning
    /// off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferrals: Option<u64>,
    /// Metadata of the log; only where it writes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataResult>,
    /// What only a merge tree has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lsm: Option<LsmResult>,
    /// What deduplication did; only where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup: Option<DedupReport>,
    /// What only an FTL other than the log has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ftl: Option<FtlResult>,
}

/// What a merge tree did, and how it stood at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsmResult {
    /// Its levels at the end, the youngest first.
    pub levels: Vec<LsmLevelResult>,
    /// Memtables written out, or log stores converted.
    pub flushes: u64,
    /// Merges.
    pub compactions: u64,
    /// Tables that went down a level without being written anew.
    pub trivial_moves: u64,
    /// Times that the last level was written anew because its tables were too empty for the space there is.
    pub squeezes: u64,
}

/// One level of a merge tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsmLevelResult {
    /// Sorted runs.
    pub runs: u32,
    /// Tables of all runs.
    pub tables: u32,
    /// Pages of records and tombstones in them, without their indexes.
    pub pages: u64,
}

/// What a log wrote for itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetadataResult {
    /// Pages of segment summaries.
    pub summary_pages: u64,
    /// Pages of the map and of its index.
    pub map_pages: u64,
    /// Pages of the trees that lead to the map's entries.
    #[serde(default)]
    pub tree_pages: u64,
    /// Pages of segment information.
    pub segment_info_pages: u64,
    /// Pages of checkpoints.
    pub checkpoint_pages: u64,
    /// Pages of records of persistent trims.
    #[serde(default)]
    pub trim_record_pages: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Pages of metadata in the log that cleaning moved; they count under `cleaning`.
    pub cleaned_metadata_pages: u64,
    /// Pages of metadata written over pages that came in.
    pub metadata_per_written_page: Option<f64>,
    /// Share of the drive's physical pages that the area, summaries in segments and tables in the log take.
    pub metadata_share: f64,
}

fn all() -> f64 {
    1.0
}

/// A partition of a layer over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionResult {
    /// The log or the tenant that has it.
    pub name: String,
    /// Its share of the layer's logical pages.
    pub share: f64,
    /// Its first page in the layer.
    pub first_page: u32,
    /// Its pages.
    pub pages: u32,
    /// Pages (flushes, for `flush`) that came in through it, by operation.
    pub incoming: BTreeMap<String, u64>,
    /// Its pages that cleaning moved, whoever caused it; `None` where stored pages are shared by deduplication, and are
    /// nobody's own.
    pub moved_owned: Option<u64>,
    /// Pages that cleaning moved because of its writes, whoever owns them; `None` likewise.
    pub moved_caused: Option<u64>,
}

/// One tenant over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantResult {
    /// Its name.
    pub name: String,
    /// The layer it writes to.
    pub on: String,
    /// Share of that layer's logical pages that it has.
    pub share: f64,
    /// Its pages there.
    pub logical_pages: u32,
    /// Its rate.
    pub rate: f64,
    /// Pages that it wrote.
    pub host_pages: u64,
    /// The same as a share of what all tenants wrote.
    pub host_share: Option<f64>,
    /// Pages (flushes, for `flush`) that it sent, by operation.
    pub incoming: BTreeMap<String, u64>,
    /// The layers that its pages went through, from the top, as far as they can be told from those of others.
    pub chain: Vec<StepResult>,
    /// Its pages that cleaning moved on the first layer that it shares; `None` if it shares none.
    pub moved_owned: Option<u64>,
    /// Pages that cleaning moved there because of its writes.
    pub moved_caused: Option<u64>,
    /// Pages sent below by that layer over the tenant's host pages, moved pages being charged to their owner.
    pub write_amplification_owned: Option<f64>,
    /// The same, moved pages being charged to whose write caused it.
    pub write_amplification_caused: Option<f64>,
    /// Passes through its trace, over the whole run.
    pub trace_passes: Option<u64>,
    /// Lines of its trace that were skipped, over all passes.
    pub skipped_lines: u64,
}

/// One layer on the way of a tenant's pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// The layer.
    pub layer: String,
    /// Pages written to it that come from the tenant.
    pub pages_in: u64,
    /// Pages that it wrote below for them, moved ones included.
    pub pages_out: u64,
}

/// How the pages written to a layer follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsResult {
    /// Share of the pages written whose number is one above that of the page written before.
    pub sequential_share: f64,
    /// Share of them whose number is one above that of the last page of one of the eight latest runs.
    pub stream_sequential_share: f64,
    /// Mean pages of a run of consecutive pages.
    pub run_pages_mean: f64,
}

/// Trims of one log on the layer below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimResult {
    /// Pages trimmed.
    pub sent_pages: u64,
    /// Ranges of consecutive pages trimmed.
    pub sent_ranges: u64,
    /// Pages of segments written anew before their trim was sent.
    pub overtaken_pages: u64,
    /// Pages left out because of the alignment.
    pub unaligned_pages: u64,
}

impl LayerResult {
    pub(super) fn incoming_of(counters: &Counters) -> BTreeMap<String, u64> {
        let without_erase = Operation::ALL.into_iter().filter(|&operation| operation != Operation::Erase);
        without_erase.map(|operation| (operation.name().to_owned(), counters.incoming(operation))).collect()
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

/// The flash over the measured part, by its own count.
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

/// How long the drive would live, from its endurance and the measured amplification.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Program/erase cycles of a block.
    pub endurance_cycles: u32,
    /// Bytes the host can write, `physical bytes x cycles / write amplification`, in units of 10^12 bytes, if wear is even.
    pub tbw: f64,
    /// The same, if the wear seen since the drive was new goes on as unevenly: until the first block is worn out.
    pub tbw_first_block: Option<f64>,
    /// Drive writes per day over the warranty, from `tbw`.
    pub dwpd: f64,
    /// What the trace writes a day, by its own times, in units of 10^9 bytes; only of a single trace that has times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_gb_per_day: Option<f64>,
    /// Seconds from the trace's first request to its last, over which that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_seconds: Option<f64>,
    /// Years until `tbw` is written at the trace's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub years: Option<f64>,
}

/// Days in a year.
pub(super) const DAYS_A_YEAR: f64 = 365.25;

impl Lifetime {
    /// Years in which so many bytes are written, at so many a day.
    pub fn years(bytes: f64, bytes_a_day: f64) -> f64 {
        bytes / bytes_a_day / DAYS_A_YEAR
    }
}

/// The measured life of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WornOut {
    /// Blocks that wore out.
    pub blocks: u32,
    /// Bytes the host had written by then, in units of 10^12 bytes.
    pub tbw: f64,
    /// Whether the drive could not go on at all.
    pub end_of_life: bool,
}

/// How fast the simulation ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Seconds by the clock, without building the stack.
    pub seconds: f64,
    /// Page writes simulated a second, host and cleaning alike, over all layers.
    pub page_writes_per_second: f64,
    /// Bytes of memory that the simulated stack took.
    pub memory_bytes: u64,
}
