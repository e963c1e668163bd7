//! Text output of a result: description, reliability, and figures, the most important first.

use super::{count, drive, ftl, grid, timing, top};
use wearwell_base::units::SpareSpace;
use wearwell_stack::scenario::{TenantConfig, TraceConfig};
use wearwell_stack::{
    ArrivalsResult, ByteSize, LayerResult, Lifetime, RatingResult, RunResult, Scenario, TenantResult,
};
use wearwell_workload::WorkloadConfig;

/// Returns the whole result as text.
pub fn result(result: &RunResult) -> String {
    let name = title(&result.scenario);
    let mut text = format!(
        "{name}  (wearwell {}, {} mode, seed {})\n",
        result.version, result.mode, result.scenario.seed
    );
    for warning in &result.warnings {
        text += &format!("WARNING: {warning}\n");
    }
    text += &grid(&[], figures(result), &[]);
    text.push('\n');
    if let Some(timing) = &result.timing {
        text += &timing::tables(timing);
    }
    text += &layers(&result.layers);
    text.push('\n');
    text.extend(result.layers.iter().map(ftl::tables));
    if !result.tenants.is_empty() {
        text += &tenants(&result.tenants);
        text.push('\n');
    }
    text.extend(top::table(result));
    if result.layers.len() > 1 {
        text += &boundaries(&result.layers);
        text.push('\n');
    }
    text
}

/// Returns the scenario's name or, without one, the name of the workload.
pub fn title(scenario: &Scenario) -> String {
    scenario.name.clone().unwrap_or_else(|| workload(scenario).replace('\n', "; "))
}

fn figures(result: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![
        ("Write amplification", amplification_text(result)),
        ("  by cause", causes(result)),
        ("  by theory", theory(result)),
        ("  at least, for anything", limit(result)),
        ("Drive", drive::description(result)),
        ("Spare space", spare_space(&result.device.over_provisioning)),
        ("Workload", workload(&result.scenario)),
        ("Course", course(result)),
        ("Flash, measured", flash(result)),
        ("Wear, since new", wear(result)),
        (
            "Lifetime",
            result
                .lifetime
                .as_ref()
                .map_or_else(|| no_lifetime(result), |lifetime| lifespan(lifetime, result)),
        ),
    ];
    rows.extend(result.rating.iter().map(|rating| ("Data sheet", rating_text(rating))));
    rows.extend(result.layers.iter().filter_map(|layer| Some(("Log metadata", metadata(layer)?))));
    rows.extend(result.layers.iter().filter_map(|layer| Some(("Deduplication", dedup(layer)?))));
    rows.extend(result.layers.iter().filter_map(|layer| Some(("FTL", ftl::figure(layer)?))));
    rows.extend(result.power.iter().map(|power| ("Power", ftl::cuts(power))));
    if let Some(worn_out) = result.measured_life {
        let end = if worn_out.end_of_life { "; the drive could not go on" } else { "" };
        rows.push((
            "Measured life",
            format!("{} blocks worn out after {} TB written{end}", worn_out.blocks, short(worn_out.tbw)),
        ));
    }
    rows.extend(result.timing.iter().flat_map(timing::figures));
    rows.push(("Final draw", result.final_draw.clone()));
    rows.push(("Simulation", simulation(result)));
    rows.retain(|(_, value)| !value.is_empty());
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

fn amplification_text(result: &RunResult) -> String {
    let Some(value) = result.write_amplification else {
        return "not given, because it would mean nothing".into();
    };
    let interval = result.write_amplification_estimate.and_then(|estimate| estimate.ci95_half_width);
    let interval = interval.map_or_else(String::new, |half_width| format!(" ± {half_width:.4} (95 %)"));
    let drifted = |drift: f64| drift.abs() > 2.0 * result.scenario.measure.tolerance;
    let steady = match (result.measured_life.is_some(), result.phases.steady) {
        (true, _) => "over the drive's life",
        (_, true) if result.phases.measured_drift.is_some_and(drifted) => "DRIFTING",
        (_, true) => "steady",
        _ => "NOT STEADY",
    };
    format!("{value:.4}{interval}, {steady}")
}

/// Describes the prediction for the layer below the host, and its distance from the run.
fn theory(result: &RunResult) -> String {
    let Some(theory) = &result.theory else { return String::new() };
    let layer = result.layers.iter().find(|layer| layer.name == theory.layer);
    let measured = layer.and_then(|layer| layer.write_amplification);
    let from = measured.map(|measured| {
        let difference = 100.0 * (measured / theory.write_amplification - 1.0);
        format!("; the run is {difference:+.2} % from it")
    });
    let layer = if result.layers.len() > 1 { format!(" of {}", theory.layer) } else { String::new() };
    let notes = theory.notes.iter().map(|note| format!("\n{note}"));
    format!(
        "{:.4}{layer}, {}{}{}",
        theory.write_amplification,
        theory.model,
        from.unwrap_or_default(),
        notes.collect::<String>()
    )
}

/// Describes the lower bound and the result with knowledge of the future.
fn limit(result: &RunResult) -> String {
    let Some(limit) = &result.lower_bound else { return String::new() };
    let best = limit.offline.as_ref().map(|best| {
        let (placement, victim) = (&best.placement, &best.victim);
        format!(
            "; {:.4} by placement {placement} and victim {victim}, which know the future",
            best.write_amplification
        )
    });
    format!("{:.4}{}", limit.lower_bound, best.unwrap_or_default())
}

/// Lists flash writes per host write, by layer and cause.
fn causes(result: &RunResult) -> String {
    let host_pages = result.phases.measured_host_pages;
    if result.write_amplification.is_none() || host_pages == 0 {
        return "–".into();
    }
    // Writes that a layer receives are counted by the layer above: below the top, the cause `host`
    // would count them twice.
    let tenants = !result.tenants.is_empty();
    let host = tenants.then(|| (false, format!("host {:.4}", 1.0)));
    let parts = result.layers.iter().enumerate().flat_map(|(depth, layer)| {
        let writes =
            layer.outgoing.iter().filter_map(|(cause, amounts)| Some((cause, *amounts.get("write")?)));
        writes.filter(move |(cause, _)| (depth == 0 && !tenants) || *cause != "host").map(
            move |(cause, pages)| {
                let name = if cause == "host" { cause.clone() } else { format!("{} {cause}", layer.name) };
                (cause != "host", format!("{name} {:.4}", pages as f64 / host_pages as f64))
            },
        )
    });
    let mut parts: Vec<(bool, String)> = host.into_iter().chain(parts).collect();
    parts.sort_by_key(|(own, _)| *own);
    parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(" + ")
}

/// Formats spare space in its four usual measures.
pub fn spare_space(measures: &SpareSpace) -> String {
    let SpareSpace { alpha, spare_factor, over_provisioning, load } = measures;
    format!(
        "spare factor {spare_factor:.4} · over-provisioning {:.2} % · alpha {alpha:.4} · load {load:.4}",
        over_provisioning * 100.0
    )
}

/// Describes the workload or trace in one line of settings.
pub fn workload(scenario: &Scenario) -> String {
    if !scenario.tenant.is_empty() {
        let tenant = |tenant: &TenantConfig| {
            let name = tenant.name.as_deref().unwrap_or("–");
            format!("{name}: {}", source(tenant.trace.as_ref(), tenant.workload.as_ref()))
        };
        return scenario.tenant.iter().map(tenant).collect::<Vec<_>>().join("\n");
    }
    source(scenario.trace.as_ref(), scenario.workload.as_ref())
}

fn source(trace: Option<&TraceConfig>, workload: Option<&WorkloadConfig>) -> String {
    if let Some(trace) = trace {
        let name = trace.path.file_name().unwrap_or(trace.path.as_os_str()).display().to_string();
        let format = trace.format.as_ref().map_or_else(String::new, |format| format!(" ({format})"));
        return format!("trace {name}{format}, in a loop");
    }
    let Some(Ok(serde_json::Value::Object(mut settings))) = workload.map(serde_json::to_value) else {
        return "–".into();
    };
    let kind = settings.remove("kind").unwrap_or_default();
    // Settings that are off are not shown.
    settings.retain(|key, value| !(is_off(value) || key == "request_pages" && *value == 1));
    let settings: Vec<_> = settings.iter().map(|(key, value)| format!("{key} {}", spaced(value))).collect();
    let settings = settings.join(", ");
    let separator = if settings.is_empty() { "" } else { ": " };
    format!("{}{separator}{settings}", kind.as_str().unwrap_or("–"))
}

/// Formats a value with spaces between its parts, so that lines can be wrapped there.
fn spaced(value: &serde_json::Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        serde_json::Value::Array(list) => format!("[{}]", joined(list.iter().map(spaced).collect())),
        serde_json::Value::Object(table) => {
            let entry = |(key, value): (&String, &serde_json::Value)| format!("{key} {}", spaced(value));
            format!("{{{}}}", joined(table.iter().map(entry).collect()))
        }
        other => other.to_string(),
    }
}

fn is_off(value: &serde_json::Value) -> bool {
    value.is_null() || *value == false || *value == 0.0 || *value == "none"
}

fn course(result: &RunResult) -> String {
    let course = &result.phases;
    let passes =
        course.trace_passes.map_or_else(String::new, |passes| format!("; {passes} passes through the trace"));
    format!(
        "{:.1} drive writes before, {:.1} to warm up, {:.1} measured{passes}",
        course.precondition_drive_writes, course.warm_up_drive_writes, course.measured_drive_writes
    )
}

fn flash(result: &RunResult) -> String {
    let nand = &result.nand;
    let spare = match nand.spare_reads {
        0 => String::new(),
        reads => format!(", {} reads of spare areas", count(reads)),
    };
    format!(
        "{} programs, {} reads{spare}, {} erases",
        count(nand.programs),
        count(nand.reads),
        count(nand.erases)
    )
}

fn metadata(layer: &LayerResult) -> Option<String> {
    let metadata = layer.metadata?;
    let ratio = metadata.metadata_per_written_page?;
    let trees = match metadata.tree_pages {
        0 => String::new(),
        pages => format!(", trees {}", count(pages)),
    };
    Some(format!(
        "{}: {ratio:.4} pages a page written; summaries {}, map {}{trees}, segment info {}, checkpoints {}; {:.2} % of the flash",
        layer.name,
        count(metadata.summary_pages),
        count(metadata.map_pages),
        count(metadata.segment_info_pages),
        count(metadata.checkpoint_pages),
        metadata.metadata_share * 100.0
    ))
}

fn dedup(layer: &LayerResult) -> Option<String> {
    let dedup = layer.dedup.as_ref()?;
    let sharing = dedup.sharing_ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.3}"));
    Some(format!(
        "{}: {} of {} pages written were there already, {} merged by cleaning; {} pages hashed; {sharing} logical pages a stored one;\n\
         index of {} entries in {}; references of what died: 1 {}, 2 {}, 3 {}, more {}",
        layer.name,
        count(dedup.hits),
        count(dedup.hits + dedup.misses),
        count(dedup.merged_pages),
        count(dedup.host_hashed_pages + dedup.cleaning_hashed_pages),
        count(dedup.index_entries),
        ByteSize(dedup.index_bytes),
        count(dedup.invalidated_by_references[0]),
        count(dedup.invalidated_by_references[1]),
        count(dedup.invalidated_by_references[2]),
        count(dedup.invalidated_by_references[3]),
    ))
}

fn wear(result: &RunResult) -> String {
    let wear = &result.wear;
    let bad = if wear.bad_blocks > 0 {
        format!("; {} bad blocks, {} of them worn out", wear.bad_blocks, wear.worn_out_blocks)
    } else {
        String::new()
    };
    format!(
        "erases per block: mean {:.2} ± {:.2} (deviation), {} to {}, median {}, 99th percentile {}{bad}",
        wear.erases_mean,
        wear.erases_deviation,
        wear.erases_min,
        wear.erases_max,
        wear.erases_median,
        wear.erases_p99
    )
}

fn lifespan(lifetime: &Lifetime, result: &RunResult) -> String {
    let first = lifetime
        .tbw_first_block
        .map_or_else(String::new, |tbw| format!("; first block worn out after {} TB", short(tbw)));
    let rate = trace_rate(lifetime).map_or_else(String::new, |rate| format!("\n{rate}"));
    format!(
        "{} TBW at {} cycles and even wear{first}; {} DWPD over {} years{rate}",
        short(lifetime.tbw),
        count(lifetime.endurance_cycles.into()),
        short(lifetime.dwpd),
        result.scenario.measure.warranty_years
    )
}

/// Describes the rated writes of the data sheet, and whether the flash endures them under this load.
fn rating_text(rating: &RatingResult) -> String {
    let dwpd = rating.dwpd.map_or_else(String::new, |dwpd| format!(", {} DWPD", short(dwpd)));
    let years = rating.warranty_years.map_or_else(String::new, |years| format!(" over {years} years"));
    let limit = rating.write_amplification_limit;
    let limit = limit.map_or_else(String::new, |limit| {
        format!("; its flash endures that up to a write amplification of {}", short(limit))
    });
    let ratio = rating.life_ratio.map_or_else(String::new, |ratio| {
        let verdict = if ratio < 1.0 { "WORN OUT BEFORE" } else { "endured" };
        format!("\n{verdict}: under this load {} times that", short(ratio))
    });
    let rate = rating.years.map_or_else(String::new, |rate| {
        format!("\n{} until it is written at the trace's own rate", self::years(rate))
    });
    format!("{} TBW{dwpd}{years}{limit}{ratio}{rate}", short(rating.tbw))
}

/// Describes the life of the drive under a trace with timestamps.
fn trace_rate(lifetime: &Lifetime) -> Option<String> {
    let (gb_per_day, seconds) = (lifetime.trace_gb_per_day?, lifetime.trace_seconds?);
    Some(format!(
        "{} at the trace's own {} a day, seen over {}",
        years(lifetime.years?),
        gigabytes(gb_per_day),
        duration(seconds)
    ))
}

/// Formats years, with an upper limit and with smaller units below one year.
pub fn years(years: f64) -> String {
    match years {
        years if years > 1000.0 => "over 1,000 years".into(),
        years if years >= 1.0 => format!("{} years", short(years)),
        years => duration(years * 365.25 * 86_400.0),
    }
}

/// Formats gigabytes, or terabytes for large values.
pub fn gigabytes(gb: f64) -> String {
    if gb >= 1000.0 { format!("{} TB", short(gb / 1000.0)) } else { format!("{} GB", short(gb)) }
}

/// Formats a duration in a suitable unit.
pub fn duration(seconds: f64) -> String {
    let units = [("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)];
    match units.into_iter().find(|(_, unit)| seconds >= 2.0 * unit) {
        Some((name, unit)) => format!("{} {name}", short(seconds / unit)),
        None => format!("{} s", short(seconds)),
    }
}

fn no_lifetime(result: &RunResult) -> String {
    match result.scenario.device.endurance_cycles {
        None => "unknown: give device.endurance_cycles or device.preset".into(),
        Some(_) => "–".into(),
    }
}

fn simulation(result: &RunResult) -> String {
    let performance = &result.performance;
    format!(
        "{:.2} s, {:.1} million page writes a second, {} of memory",
        performance.seconds,
        performance.page_writes_per_second / 1e6,
        ByteSize(performance.memory_bytes)
    )
}

fn layers(layers: &[LayerResult]) -> String {
    let head = [
        "layer",
        "writes in",
        "writes out",
        "amplification",
        "cleaned",
        "valid pages in victim",
        "erases",
        "load",
        "mapped",
    ];
    let row = |layer: &LayerResult| {
        let outgoing = |operation: &str| {
            layer.outgoing.values().filter_map(|amounts| amounts.get(operation)).sum::<u64>()
        };
        let or_dash = |value: Option<f64>, digits| {
            value.map_or_else(|| "–".into(), |value: f64| format!("{value:.digits$}"))
        };
        vec![
            layer.name.clone(),
            count(layer.incoming.get("write").copied().unwrap_or(0)),
            count(outgoing("write")),
            or_dash(layer.write_amplification, 4),
            count(layer.victims),
            or_dash(layer.victim_valid_pages_mean, 2),
            count(outgoing("erase")),
            format!("{:.4}", layer.over_provisioning.load),
            format!("{:.1} %", layer.mapped_share * 100.0),
        ]
    };
    grid(&head, layers.iter().map(row).collect(), &[1, 2, 3, 4, 5, 6, 7, 8])
}

/// Returns the table of tenants: their writes and their share of the work of the common layer.
fn tenants(tenants: &[TenantResult]) -> String {
    let head = [
        "tenant",
        "on",
        "share",
        "host writes",
        "moved, its own",
        "moved, its doing",
        "WA, owned",
        "WA, caused",
    ];
    let row = |tenant: &TenantResult| {
        let pages = |pages: Option<u64>| pages.map_or_else(|| "–".into(), count);
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.4}"));
        vec![
            tenant.name.clone(),
            tenant.on.clone(),
            format!("{:.1} %", tenant.share * 100.0),
            count(tenant.host_pages),
            pages(tenant.moved_owned),
            pages(tenant.moved_caused),
            ratio(tenant.write_amplification_owned),
            ratio(tenant.write_amplification_caused),
        ]
    };
    grid(&head, tenants.iter().map(row).collect(), &[2, 3, 4, 5, 6, 7])
}

/// Returns a table of the traffic between layers: one row for each layer of a stack of logs.
fn boundaries(layers: &[LayerResult]) -> String {
    let head = [
        "layer",
        "sequential in",
        "in 8 streams",
        "run",
        "trim scatter",
        "moved again",
        "moved below first",
        "reserve",
    ];
    let dash = || "–".to_owned();
    let row = |layer: &LayerResult| {
        let arrivals =
            |show: &dyn Fn(&ArrivalsResult) -> String| layer.arrivals.as_ref().map_or_else(dash, show);
        vec![
            layer.name.clone(),
            arrivals(&|arrivals| format!("{:.1} %", 100.0 * arrivals.sequential_share)),
            arrivals(&|arrivals| format!("{:.1} %", 100.0 * arrivals.stream_sequential_share)),
            arrivals(&|arrivals| format!("{:.1} pages", arrivals.run_pages_mean)),
            layer.trim_scatter_blocks.map_or_else(dash, |blocks| format!("{blocks:.2} blocks")),
            layer.moved_again_pages.map_or_else(dash, count),
            layer.moved_below_first_pages.map_or_else(dash, count),
            format!("{:.1} %", 100.0 * layer.reserve_share),
        ]
    };
    grid(&head, layers.iter().map(row).collect(), &[1, 2, 3, 4, 5, 6, 7])
}

/// Formats a positive number with about three digits.
pub fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}
