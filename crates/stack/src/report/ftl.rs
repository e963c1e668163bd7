//! Results specific to an FTL other than the log: RAM, event counts, reads, and recovery from a power cut.

use crate::device::FlashTimes;
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::{FtlReport, LayerReport, RamPart, RecoveryReport, RecoveryStep};
use wearwell_engine::nand::Preset;
use wearwell_theory::ftl::{FtlDesign, FtlDrive, recovery};

/// Assumed ratio of program time to read time if the device's times are unknown (GeckoFTL, section 5).
const ASSUMED_DELTA: f64 = 10.0;

/// Results of an FTL over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FtlResult {
    /// Name of the FTL.
    pub kind: String,
    /// RAM that the modelled drive needs, by structure.
    pub ram: Vec<RamResult>,
    /// Sum of `ram`, bytes.
    pub ram_bytes: u64,
    /// Events by name, such as merges or synchronisations.
    pub counts: BTreeMap<String, u64>,
    /// Spare areas read without their pages, by cause; causes with no reads are left out.
    pub spare_reads: BTreeMap<String, u64>,
    /// Pages that the FTL read for itself: all reads except those that the host requested.
    pub internal_reads: u64,
    /// (pages written + internal reads / delta) over incoming pages (GeckoFTL, section 5); `None` without writes.
    pub write_amplification_with_reads: Option<f64>,
    /// Ratio of the time to program a page to the time to read a page.
    pub delta: f64,
    /// Source of `delta`: `timing`, `preset` or `assumed`.
    pub delta_source: String,
    /// Recovery from the power cut at the end of the run; only with `power.at_end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryResult>,
}

/// RAM of one structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RamResult {
    /// Name of the structure.
    pub name: String,
    /// Size of the structure.
    pub bytes: u64,
}

/// A simulated recovery, and the prediction of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecoveryResult {
    /// Steps of the recovery, in order.
    pub steps: Vec<RecoveryStepResult>,
    /// Seconds of all steps.
    pub seconds: f64,
    /// The steps as calculated by the model (`wearwell model ftl`); empty if the FTL has no model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<RecoveryStepResult>,
    /// Seconds of the model's steps; `None` without a model.
    pub model_seconds: Option<f64>,
}

/// Flash operations of one step of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryStepResult {
    /// Name of the step.
    pub name: String,
    /// Spare areas read without their pages.
    pub spare_reads: u64,
    /// Pages read.
    pub page_reads: u64,
    /// Pages programmed.
    pub page_writes: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Seconds, if the operations run one after another.
    pub seconds: f64,
}

impl RecoveryStepResult {
    fn of(step: &RecoveryStep, times: &FlashTimes) -> Self {
        let RecoveryStep { name, spare_reads, page_reads, page_writes, erases } = *step;
        let seconds = times.seconds(spare_reads, page_reads, page_writes, erases);
        RecoveryStepResult { name: name.into(), spare_reads, page_reads, page_writes, erases, seconds }
    }
}

/// Ratio of program time to read time, with its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delta {
    ratio: f64,
    source: &'static str,
}

impl Delta {
    /// Returns the ratio of program time to read time for a resolved scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let timing = scenario.timing.as_ref().and_then(|timing| Some((timing.read_us?, timing.program_us?)));
        let preset = scenario.device.preset.as_deref().and_then(Preset::find);
        let sources =
            [(timing, "timing"), (preset.map(|preset| (preset.read_us, preset.program_us)), "preset")];
        let chosen = sources.into_iter().find_map(|(times, source)| Some((times?, source)));
        match chosen.filter(|((read_us, program_us), _)| *read_us > 0.0 && *program_us > 0.0) {
            Some(((read_us, program_us), source)) => Delta { ratio: program_us / read_us, source },
            None => Delta { ratio: ASSUMED_DELTA, source: "assumed" },
        }
    }
}

/// Returns the results of the FTL between two reports. `None` for an FTL without a report of its own, unless its power
/// is cut.
pub(super) fn ftl_result(
    before: &LayerReport,
    after: &LayerReport,
    delta: Delta,
    cut: bool,
) -> Option<FtlResult> {
    let report = after.ftl.clone().or_else(|| cut.then(|| log_report(after)));
    let ftl = report.as_ref()?;
    let earlier = before.ftl.clone().unwrap_or_default();
    let count_before =
        |name: &str| earlier.counts.iter().find(|(other, _)| *other == name).map_or(0, |(_, count)| *count);
    let counts = ftl.counts.iter().map(|&(name, count)| (name.to_owned(), count - count_before(name)));
    let spare_reads = Cause::ALL.iter().map(|&cause| {
        let at = cause as usize;
        (cause.name().to_owned(), ftl.spare_reads[at] - earlier.spare_reads[at])
    });
    let counters = after.counters.since(&before.counters);
    let ram: Vec<RamResult> =
        ftl.ram.iter().map(|part| RamResult { name: part.name.into(), bytes: part.bytes }).collect();
    Some(FtlResult {
        kind: ftl.kind.into(),
        ram_bytes: ram.iter().map(|part| part.bytes).sum(),
        ram,
        counts: counts.collect(),
        spare_reads: spare_reads.filter(|(_, reads)| *reads > 0).collect(),
        internal_reads: internal_reads(&counters),
        write_amplification_with_reads: write_amplification_with_reads(&counters, delta.ratio),
        delta: delta.ratio,
        delta_source: delta.source.into(),
        recovery: None,
    })
}

/// Returns the FTL report of a log whose map is in RAM.
fn log_report(report: &LayerReport) -> FtlReport {
    let table = RamPart { name: "mapping table", bytes: 4 * u64::from(report.logical_pages) };
    let bitmap = RamPart { name: "validity bitmap", bytes: report.physical_pages.div_ceil(8) };
    let dedup = report.dedup.iter().flat_map(|dedup| dedup.ram(report.logical_pages));
    FtlReport { kind: "log", ram: [table, bitmap].into_iter().chain(dedup).collect(), ..FtlReport::default() }
}

fn internal_reads(counters: &Counters) -> u64 {
    counters.outgoing_total(Operation::Read) - counters.outgoing(Cause::Host, Operation::Read)
}

fn write_amplification_with_reads(counters: &Counters, delta: f64) -> Option<f64> {
    let incoming = counters.incoming(Operation::Write);
    let written = counters.outgoing_total(Operation::Write) as f64;
    (incoming > 0).then(|| (written + internal_reads(counters) as f64 / delta) / incoming as f64)
}

/// Returns the simulated recovery with its times, and the recovery that the model predicts for such a drive.
pub(super) fn recovery_result(
    report: &RecoveryReport,
    times: &FlashTimes,
    model: Option<(FtlDesign, FtlDrive)>,
) -> RecoveryResult {
    let steps: Vec<_> = report.steps.iter().map(|step| RecoveryStepResult::of(step, times)).collect();
    let model: Option<Vec<RecoveryStepResult>> = model.map(|(design, drive)| {
        let steps = recovery(&design, &drive).into_iter();
        let result = |step: wearwell_theory::ftl::RecoveryStepCost| RecoveryStepResult {
            name: step.name.into(),
            spare_reads: step.spare_reads,
            page_reads: step.page_reads,
            page_writes: step.page_writes,
            erases: 0,
            seconds: step.seconds(&drive),
        };
        steps.map(result).collect()
    });
    let sum = |steps: &[RecoveryStepResult]| steps.iter().map(|step| step.seconds).sum();
    RecoveryResult {
        seconds: sum(&steps),
        steps,
        model_seconds: model.as_deref().map(sum),
        model: model.unwrap_or_default(),
    }
}
