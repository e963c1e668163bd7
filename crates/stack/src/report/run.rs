//! Conversion of a finished run to its result.

use super::description::StackDescription;
use super::equal_policies;
use super::ftl::{RecoveryResult, ftl_result, recovery_result};
use super::lifetime::{DAYS_PER_YEAR, Lifetime, MeasuredLife};
use super::power::PowerResult;
use super::rating::RatingResult;
use super::result::{
    ArrivalsResult, DeviceResult, LayerResult, LsmLevelResult, LsmResult, MetadataResult, NandResult,
    Performance, RunPhases, RunResult, TrimResult,
};
use super::wear::WearResult;
use super::{tenants, wait_warning};
use crate::device::{FlashTimes, ResolvedDevice};
use crate::layers::FtlModel;
use crate::run::conservation;
use crate::run::finished::{RunOutcome, TenantOutcome};
use crate::run::snapshot::Snapshot;
use crate::run::steady::{self, Estimate};
use crate::run::{Phase, RunError};
use crate::scenario::Scenario;
use crate::scenario::resolve::ResolvedScenario;
use crate::scenario::tree::Tree;
use wearwell_base::units::SpareSpace;
use wearwell_engine::counters::Operation;
use wearwell_engine::layer::{LayerReport, LsmLevel, Payload};
use wearwell_engine::timing::Arrivals;

/// A confidence interval wider than this fraction of the mean causes a warning.
const MAX_INTERVAL_WIDTH: f64 = 0.05;

/// Returns the result of a run of `resolved`.
pub(crate) fn result<P: Payload>(
    resolved: ResolvedScenario,
    mut run: RunOutcome<P>,
) -> Result<RunResult, RunError> {
    let ResolvedScenario { scenario, times, .. } = &resolved;
    let after = Snapshot::take(&run.stack);
    let reached_end_of_life = run.end_of_life.is_some();
    let counted = after.reports_since(&run.start);
    conservation::check(&run.stack.tree, &counted, &run.tenants, reached_end_of_life)?;
    let description = StackDescription::of(&run.stack, scenario);
    let mut layers: Vec<LayerResult> = layer_results(&description, &run.before, &after);
    let cleanings = total_cleanings(&run.before, &after);
    let tenants = tenants::tenants(scenario, &run, &after, &layers);
    let nand = nand_result(&run.before, &after);
    let host_pages = after.host_pages() - run.before.host_pages();
    let is_meaningful = cleanings > 0 && host_pages > 0;
    let write_amplification = is_meaningful.then(|| nand.programs as f64 / host_pages as f64);
    let estimate = if is_meaningful { steady::estimate(&run.measured) } else { None };
    let course = phases(&run, host_pages);
    let (wear, page_bytes) = (WearResult::of(after.nand()), f64::from(run.stack.page_bytes));
    let lifetime =
        write_amplification.and_then(|amplification| lifetime(scenario, &run, amplification, &wear));
    let rating = run.stack.device.rating.map(|rating| RatingResult {
        years: lifetime.and_then(|lifetime| Some(lifetime.years? * rating.tbw / lifetime.tbw)),
        ..RatingResult::of(&rating, &run.stack.device, lifetime.map(|lifetime| lifetime.tbw))
    });
    let worn_out = scenario.measure.until_worn_out_blocks.map(|_| MeasuredLife {
        blocks: after.worn_out_blocks(),
        tbw: after.host_pages() as f64 * page_bytes / 1e12,
        end_of_life: reached_end_of_life,
    });
    let outages = run.stack.power.as_ref().and_then(|power| power.outages());
    let power = outages.zip(times.as_ref()).map(|(outages, times)| PowerResult::of(&outages, times));
    if let Some(times) = times {
        let ftl = layers.last_mut().and_then(|layer| layer.ftl.as_mut());
        ftl.expect("only such FTLs are cut").recovery =
            cut_at_end(scenario, resolved.model(), &mut run, times)?;
    }
    let mut warnings = warnings(scenario, &run, &course, estimate.as_ref(), cleanings, &layers);
    warnings.extend(equal_policies::warnings(&resolved));
    Ok(RunResult {
        version: env!("CARGO_PKG_VERSION").into(),
        mode: if run.timing.is_some() { "timed" } else { "counting" }.into(),
        final_draw: format!("{:016x}", run.final_draw),
        warnings,
        device: device_result(&run.stack.device),
        phases: course,
        write_amplification,
        write_amplification_estimate: estimate,
        layers,
        tenants,
        nand,
        wear,
        lifetime,
        rating,
        measured_life: worn_out,
        performance: performance(&after, run.seconds),
        theory: None,
        lower_bound: None,
        timing: run.timing,
        power,
        top: run.top,
        causes: run.series.causes.series(&names(&run.stack.tree)),
        erase_heat_map: run.series.heat.finish(),
        windows: run.series.windows,
        scenario: resolved.scenario,
    })
}

/// Cuts the power after the run, if `power.at_end` is set and the drive has not reached its end of life.
fn cut_at_end<P: Payload>(
    scenario: &Scenario,
    model: Option<&FtlModel>,
    run: &mut RunOutcome<P>,
    times: &FlashTimes,
) -> Result<Option<RecoveryResult>, RunError> {
    let is_requested = scenario.power.as_ref().is_some_and(|power| power.at_end) && run.end_of_life.is_none();
    let Some(power) = run.stack.power.as_mut().filter(|_| is_requested) else { return Ok(None) };
    let report = power.cycle()?;
    run.stack.check().map_err(|problem| RunError::Inconsistent(format!("after the power cut: {problem}")))?;
    let device = &run.stack.device;
    let model = model.and_then(|model| {
        let drive = model.drive(device.logical_pages, &device.geometry, times)?;
        Some((model.design, drive))
    });
    Ok(Some(recovery_result(&report, times, model)))
}

fn names(tree: &Tree) -> Vec<&str> {
    tree.layers.iter().map(|layer| layer.name.as_str()).collect()
}

fn written_pages(layer: &LayerReport) -> u64 {
    layer.counters.outgoing_total(Operation::Write)
}

pub(super) fn layer_results(
    description: &StackDescription,
    before: &Snapshot,
    after: &Snapshot,
) -> Vec<LayerResult> {
    let pairs = before.reports.layers.iter().zip(&after.reports.layers);
    let (raw_pages, ftl) = (description.device.geometry.pages(), description.tree.ftl());
    let all = (&before.reports.layers[..], &after.reports.layers[..]);
    let layer = |(at, (before, after))| LayerResult {
        ftl: ftl_result(before, after, description.delta, at == ftl && description.has_power_cuts),
        partitions: tenants::partitions(&description.tree, at, all),
        lsm: lsm(before, after, description.device.geometry.page_bytes),
        ..layer_result(&description.tree, at, before, after, raw_pages)
    };
    pairs.enumerate().map(layer).collect()
}

/// Returns the four measures of a layer's spare space.
fn over_provisioning(physical_pages: u64, logical_pages: u32) -> SpareSpace {
    SpareSpace::from_pages(physical_pages, u64::from(logical_pages))
}

fn layer_result(
    tree: &Tree,
    at: usize,
    before: &LayerReport,
    after: &LayerReport,
    raw_pages: u64,
) -> LayerResult {
    let node = &tree.layers[at];
    let (is_on_layer, has_log_above) = (node.below.is_some(), node.has_log_above());
    let counters = after.counters.since(&before.counters);
    let victim_valid_pages: Vec<u64> = before
        .victim_valid_pages
        .iter()
        .zip(&after.victim_valid_pages)
        .map(|(before, after)| after - before)
        .collect();
    let victims: u64 = victim_valid_pages.iter().sum();
    let stored_pages = after.logical_pages + after.metadata.map_or(0, |metadata| metadata.log_pages);
    let valid: u64 = (0..).zip(&victim_valid_pages).map(|(valid, victims)| valid * victims).sum();
    LayerResult {
        name: node.name.clone(),
        on: node.below.as_ref().map(|below| tree.layers[below.layer_index].name.clone()),
        share: node.below.as_ref().map_or(1.0, |below| tree.share(below)),
        directory: after.directory.into(),
        write_amplification: counters
            .write_amplification()
            .filter(|_| layer_cleanings(before, after) != Some(0)),
        map_bytes: after.map_bytes,
        incoming: LayerResult::incoming_of(&counters),
        outgoing: LayerResult::outgoing_of(&counters),
        over_provisioning: over_provisioning(after.physical_pages, stored_pages),
        mapped_share: f64::from(after.mapped_pages) / f64::from(after.logical_pages),
        victims,
        victim_valid_pages_mean: (victims > 0).then(|| valid as f64 / victims as f64),
        victim_valid_pages,
        spilled_pages: after.spilled_pages - before.spilled_pages,
        partitions: Vec::new(),
        moved_pages: tenants::moved_pages(before, after),
        reserve_share: (after.physical_pages - u64::from(stored_pages)) as f64 / raw_pages as f64,
        arrivals: arrivals(before, after),
        trims: is_on_layer.then(|| trims(before, after)),
        trim_scatter_blocks: trim_scatter(before, after),
        moved_again_pages: has_log_above.then(|| after.moved_again_pages - before.moved_again_pages),
        moved_below_first_pages: is_on_layer
            .then(|| after.moved_below_first_pages - before.moved_below_first_pages),
        evicted_pages: after.evicted_pages.map(|evicted| evicted - before.evicted_pages.unwrap_or(0)),
        deferrals: after.deferrals.map(|deferrals| deferrals - before.deferrals.unwrap_or(0)),
        metadata: metadata(before, after, counters.incoming(Operation::Write), raw_pages),
        lsm: None,
        dedup: after.dedup.map(|dedup| dedup.since(&before.dedup.unwrap_or_default())),
        ftl: None,
    }
}

fn metadata(
    before: &LayerReport,
    after: &LayerReport,
    written_pages: u64,
    raw_pages: u64,
) -> Option<MetadataResult> {
    let (before, after) = (before.metadata.unwrap_or_default(), after.metadata?);
    let pages = after.written() - before.written();
    let metadata_pages =
        u64::from(after.area_pages) + u64::from(after.in_segment_pages) + u64::from(after.log_pages);
    Some(MetadataResult {
        summary_pages: after.summary_pages - before.summary_pages,
        map_pages: after.map_pages - before.map_pages,
        tree_pages: after.tree_pages - before.tree_pages,
        segment_info_pages: after.segment_info_pages - before.segment_info_pages,
        checkpoint_pages: after.checkpoint_pages - before.checkpoint_pages,
        trim_record_pages: after.trim_record_pages - before.trim_record_pages,
        checkpoints: after.checkpoints - before.checkpoints,
        cleaned_metadata_pages: after.moved_pages - before.moved_pages,
        metadata_per_written_page: (written_pages > 0).then(|| pages as f64 / written_pages as f64),
        metadata_share: metadata_pages as f64 / raw_pages as f64,
    })
}

/// Returns the number of cleanings of all layers between two snapshots.
pub(super) fn total_cleanings(before: &Snapshot, after: &Snapshot) -> u64 {
    let pairs = before.reports.layers.iter().zip(&after.reports.layers);
    pairs.map(|(before, after)| layer_cleanings(before, after).unwrap_or(0)).sum()
}

/// Returns the number of cleanings of the layer; `None` for a layer that never cleans. If a layer that cleans has not
/// cleaned yet, its write amplification means nothing.
fn layer_cleanings(before: &LayerReport, after: &LayerReport) -> Option<u64> {
    after.cleanings.map(|cleanings| cleanings - before.cleanings.unwrap_or(0))
}

fn lsm(before: &LayerReport, after: &LayerReport, page_bytes: u32) -> Option<LsmResult> {
    let (before, after) = (before.lsm.clone().unwrap_or_default(), after.lsm.as_ref()?);
    let bytes = |pages: u64| pages * u64::from(page_bytes);
    let level = |(at, level): (usize, &LsmLevel)| LsmLevelResult {
        runs: level.runs,
        tables: level.tables,
        pages: level.pages,
        bytes: bytes(level.pages),
        written_bytes: bytes(
            level.written_pages - before.levels.get(at).map_or(0, |level| level.written_pages),
        ),
    };
    Some(LsmResult {
        levels: after.levels.iter().enumerate().map(level).collect(),
        flushes: after.flushes - before.flushes,
        compactions: after.compactions - before.compactions,
        trivial_moves: after.trivial_moves - before.trivial_moves,
        squeezes: after.squeezes - before.squeezes,
    })
}

fn arrivals(before: &LayerReport, after: &LayerReport) -> Option<ArrivalsResult> {
    let arrivals = after.arrivals?.since(&before.arrivals.unwrap_or_default());
    let written = arrivals.written_pages;
    (written > 0).then(|| {
        let share = |pages: u64| pages as f64 / written as f64;
        ArrivalsResult {
            sequential_share: share(arrivals.sequential_pages),
            stream_sequential_share: share(arrivals.stream_sequential_pages),
            run_pages_mean: written as f64 / (written - arrivals.sequential_pages).max(1) as f64,
        }
    })
}

fn trims(before: &LayerReport, after: &LayerReport) -> TrimResult {
    let (before, after) = (&before.trims, &after.trims);
    TrimResult {
        sent_pages: after.sent_pages - before.sent_pages,
        sent_ranges: after.sent_ranges - before.sent_ranges,
        overtaken_pages: after.overtaken_pages - before.overtaken_pages,
        unaligned_pages: after.unaligned_pages - before.unaligned_pages,
    }
}

fn trim_scatter(before: &LayerReport, after: &LayerReport) -> Option<f64> {
    let ranges = after.scatter.ranges - before.scatter.ranges;
    (ranges > 0).then(|| (after.scatter.blocks - before.scatter.blocks) as f64 / ranges as f64)
}

pub(super) fn nand_result(before: &Snapshot, after: &Snapshot) -> NandResult {
    NandResult {
        programs: after.programs() - before.programs(),
        reads: after.nand().reads - before.nand().reads,
        spare_reads: after.nand().spare_reads - before.nand().spare_reads,
        erases: after.erases() - before.erases(),
    }
}

pub(super) fn device_result(device: &ResolvedDevice) -> DeviceResult {
    let geometry = &device.geometry;
    DeviceResult {
        page_bytes: geometry.page_bytes,
        pages_per_block: geometry.pages_per_block,
        blocks: geometry.blocks(),
        physical_pages: geometry.pages(),
        logical_pages: device.logical_pages,
        over_provisioning: over_provisioning(geometry.pages(), device.logical_pages),
    }
}

fn phases<P: Payload>(run: &RunOutcome<P>, measured_host_pages: u64) -> RunPhases {
    let logical_pages = run.stack.logical_pages() as f64;
    let trace_passes = match &run.tenants[..] {
        [only] => only.trace_passes,
        _ => None,
    };
    let drive_writes = |phases: &[Phase]| {
        let windows = run.series.windows.iter().filter(|window| phases.contains(&window.phase));
        windows.map(|window| window.window_host_pages).sum::<u64>() as f64 / logical_pages
    };
    RunPhases {
        precondition_drive_writes: drive_writes(&[Phase::Fill, Phase::Overwrite]),
        warm_up_drive_writes: drive_writes(&[Phase::WarmUp]),
        measured_drive_writes: measured_host_pages as f64 / logical_pages,
        measured_host_pages,
        steady: run.steady,
        measured_drift: steady::drift(&run.measured),
        trace_passes,
        skipped_lines: run.tenants.iter().map(|tenant| tenant.skipped_lines).sum(),
    }
}

fn lifetime<P: Payload>(
    scenario: &Scenario,
    run: &RunOutcome<P>,
    amplification: f64,
    wear: &WearResult,
) -> Option<Lifetime> {
    let endurance_cycles = run.stack.device.endurance_cycles?;
    let physical_bytes = run.stack.device.geometry.bytes() as f64;
    let bytes = physical_bytes * f64::from(endurance_cycles) / amplification;
    let logical_bytes = run.stack.logical_pages() as f64 * f64::from(run.stack.page_bytes);
    let days = scenario.measure.warranty_years * DAYS_PER_YEAR;
    let evenness = (wear.erases_max > 0).then(|| wear.erases_mean / f64::from(wear.erases_max));
    let pass = match &run.tenants[..] {
        [only] => only.first_pass,
        // With several tenants, arrivals follow the configured rates; timestamps of traces do not apply.
        _ => None,
    };
    let trace_seconds = pass.and_then(|pass| pass.seconds());
    let bytes_per_day =
        pass.zip(trace_seconds).map(|(pass, seconds)| pass.written_bytes as f64 / seconds * 86_400.0);
    Some(Lifetime {
        endurance_cycles,
        tbw: bytes / 1e12,
        tbw_first_block: evenness.map(|evenness| bytes * evenness / 1e12),
        dwpd: bytes / logical_bytes / days,
        trace_gb_per_day: bytes_per_day.map(|bytes| bytes / 1e9),
        trace_seconds,
        years: bytes_per_day.map(|per_day| Lifetime::years(bytes, per_day)),
    })
}

fn performance(after: &Snapshot, seconds: f64) -> Performance {
    let pages: u64 = after.reports.layers.iter().map(written_pages).sum();
    let layers: u64 = after.reports.layers.iter().map(|layer| layer.memory_bytes).sum();
    Performance {
        seconds,
        page_writes_per_second: pages as f64 / seconds,
        memory_bytes: layers + after.nand().memory_bytes,
    }
}

fn warnings<P: Payload>(
    scenario: &Scenario,
    run: &RunOutcome<P>,
    course: &RunPhases,
    estimate: Option<&Estimate>,
    cleanings: u64,
    layers: &[LayerResult],
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(pages) = run.unwritten_pages {
        let drive_writes = pages as f64 / run.stack.logical_pages() as f64;
        warnings.push(format!(
            "next to nothing was written: the run was as long as the {pages} pages that it asked for, {drive_writes:.1} times the drive"
        ));
    } else if cleanings == 0 {
        warnings.push("no cleaning happened while measuring: write amplification would mean nothing and is left out; write more, or \
                       use a smaller drive".into());
    }
    let tolerance = scenario.measure.tolerance;
    let measures_life = scenario.measure.until_worn_out_blocks.is_some();
    if !run.steady && !measures_life {
        let drive_writes = course.warm_up_drive_writes;
        warnings.push(format!("not steady: after {drive_writes:.1} drive writes of warm-up, write amplification still changed by more than {tolerance}"));
    }
    if let Some(drift) = course.measured_drift.filter(|drift| drift.abs() > 2.0 * tolerance && !measures_life)
    {
        warnings.push(format!("write amplification drifted by {:.1} % while it was measured", 100.0 * drift));
    }
    match estimate.map(|estimate| (estimate.mean, estimate.ci95_half_width)) {
        Some((_, None)) => {
            warnings.push("measured in one piece: there is no confidence interval; measure longer".into())
        }
        Some((mean, Some(half_width))) if half_width > MAX_INTERVAL_WIDTH * mean && !measures_life => {
            warnings.push(format!(
                "the confidence interval is wide: {mean:.3} ± {half_width:.3}; measure longer"
            ));
        }
        _ => {}
    }
    if let Some(error) = run.end_of_life.as_ref().filter(|_| !measures_life) {
        warnings.push(format!("the drive died before the end of the run: {error}"));
    }
    if course.skipped_lines > 0 {
        warnings
            .push(format!("{} lines of the trace could not be read and were skipped", course.skipped_lines));
    }
    if let (Some(timing), Some(config)) = (&run.timing, &scenario.timing) {
        warnings.extend(wait_warning::warning(timing, config, &run.stack.device.geometry));
    }
    warnings.extend(trace_warnings(scenario, &run.tenants));
    warnings.extend(tenants::missing_attribution(layers));
    for layer in layers.iter().filter(|layer| layer.spilled_pages > 0) {
        warnings.push(format!(
            "{}: {} pages went to another stream than their own because no erased block was left; raise `free_blocks_low`",
            layer.name, layer.spilled_pages
        ));
    }
    warnings
}

/// Returns warnings about parts of a trace that did not reach the drive unchanged.
fn trace_warnings(scenario: &Scenario, tenants: &[TenantOutcome]) -> Vec<String> {
    let mut warnings = Vec::new();
    let passes = || tenants.iter().filter_map(|tenant| tenant.first_pass);
    let skipped_trims: u64 = passes().map(|pass| pass.unnumbered_trims).fold(0, u64::saturating_add);
    if skipped_trims > 0 {
        warnings.push(format!(
            "{skipped_trims} pages of the trace's discards were passed over: with `trace.address` = \"compact\" a page has no place \
             on the drive before it is read or written; `direct` and `wrap` pass them on"
        ));
    }
    let is_open = scenario.timing.as_ref().is_some_and(|timing| timing.arrivals == Some(Arrivals::Open));
    if is_open && passes().any(|pass| pass.seconds().is_none()) {
        warnings.push(
            "the trace has no times, so that all its requests arrive at once and wait for each other; set `timing.arrivals` = \"closed\""
                .into(),
        );
    }
    warnings
}
