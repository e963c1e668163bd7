//! Results as rows of a table, for sweeps and spreadsheets.

use super::points::PointResult;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use wearwell_engine::timing::TimingReport;
use wearwell_stack::steady::estimate;
use wearwell_stack::{LayerResult, LowerBoundResult, RatingResult, RunResult, TenantResult};

/// Row of columns with names and values. Unknown and meaningless values are null.
pub type Row = Vec<(String, Value)>;

/// Returns the figures of one result; the names state the unit.
pub fn summary_row(result: &RunResult) -> Row {
    let estimate = result.write_amplification_estimate.as_ref();
    let measures = &result.device.over_provisioning;
    let mut row = vec![
        ("write_amplification".to_owned(), json!(result.write_amplification)),
        ("write_amplification_mean".to_owned(), json!(estimate.map(|estimate| estimate.mean))),
        (
            "write_amplification_ci95".to_owned(),
            json!(estimate.and_then(|estimate| estimate.ci95_half_width)),
        ),
        (
            "theory_write_amplification".to_owned(),
            json!(result.theory.as_ref().map(|theory| theory.write_amplification)),
        ),
        ("theory_layer".to_owned(), json!(result.theory.as_ref().map(|theory| &theory.layer))),
        ("steady".to_owned(), json!(result.phases.steady)),
        ("measured_drift".to_owned(), json!(result.phases.measured_drift)),
        ("measured_drive_writes".to_owned(), json!(result.phases.measured_drive_writes)),
        ("measured_host_pages".to_owned(), json!(result.phases.measured_host_pages)),
        ("programs".to_owned(), json!(result.nand.programs)),
        ("erases".to_owned(), json!(result.nand.erases)),
        ("alpha".to_owned(), json!(measures.alpha)),
        ("spare_factor".to_owned(), json!(measures.spare_factor)),
        ("over_provisioning".to_owned(), json!(measures.over_provisioning)),
        ("load".to_owned(), json!(measures.load)),
        ("physical_pages".to_owned(), json!(result.device.physical_pages)),
        ("logical_pages".to_owned(), json!(result.device.logical_pages)),
        ("page_bytes".to_owned(), json!(result.device.page_bytes)),
        ("pages_per_block".to_owned(), json!(result.device.pages_per_block)),
    ];
    row.extend(result.lower_bound.iter().flat_map(limit_columns));
    row.extend(result.layers.iter().flat_map(layer_columns));
    row.extend(result.tenants.iter().flat_map(tenant_columns));
    row.extend(result.timing.iter().flat_map(timing_columns));
    result.top.iter().for_each(|top| flatten("top", top, &mut row));
    row.extend([
        ("erases_mean".to_owned(), json!(result.wear.erases_mean)),
        ("erases_deviation".to_owned(), json!(result.wear.erases_deviation)),
        ("erases_max".to_owned(), json!(result.wear.erases_max)),
        ("tbw".to_owned(), json!(result.lifetime.map(|lifetime| lifetime.tbw))),
        ("dwpd".to_owned(), json!(result.lifetime.map(|lifetime| lifetime.dwpd))),
        ("years".to_owned(), json!(result.lifetime.and_then(|lifetime| lifetime.years))),
        ("measured_life_tbw".to_owned(), json!(result.measured_life.map(|life| life.tbw))),
    ]);
    row.extend(result.rating.iter().flat_map(rating_columns));
    row.extend([
        ("seed".to_owned(), json!(result.scenario.seed)),
        ("mode".to_owned(), json!(result.mode)),
        ("version".to_owned(), json!(result.version)),
        ("final_draw".to_owned(), json!(result.final_draw)),
        ("warnings".to_owned(), json!(result.warnings.join("; "))),
    ]);
    row
}

/// Returns the columns of results that were compared with their lower bound.
fn limit_columns(limit: &LowerBoundResult) -> Row {
    let offline = limit.offline.as_ref().map(|best| best.write_amplification);
    vec![
        ("lower_bound".to_owned(), json!(limit.lower_bound)),
        ("offline_write_amplification".to_owned(), json!(offline)),
    ]
}

/// Appends the plain values inside `value`, named by their paths.
fn flatten(name: &str, value: &Value, row: &mut Row) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(field, value)| flatten(&format!("{name}_{field}"), value, row));
        }
        Value::Array(_) => {}
        plain => row.push((name.to_owned(), plain.clone())),
    }
}

fn layer_columns(layer: &LayerResult) -> Row {
    let mut row = vec![
        (format!("{}_write_amplification", layer.name), json!(layer.write_amplification)),
        (format!("{}_victims", layer.name), json!(layer.victims)),
        (format!("{}_victim_valid_pages", layer.name), json!(layer.victim_valid_pages_mean)),
    ];
    let writes = layer.outgoing.iter().filter_map(|(cause, amounts)| Some((cause, amounts.get("write")?)));
    row.extend(writes.map(|(cause, pages)| (format!("{}_{cause}_writes", layer.name), json!(pages))));
    if let Some(dedup) = &layer.dedup {
        let columns = [
            ("dedup_hits", json!(dedup.hits)),
            ("merged_pages", json!(dedup.merged_pages)),
            ("promoted_pages", json!(dedup.promoted_pages)),
            ("hashed_pages", json!(dedup.host_hashed_pages + dedup.cleaning_hashed_pages)),
            ("sharing_ratio", json!(dedup.sharing_ratio)),
            ("index_bytes", json!(dedup.index_bytes)),
        ];
        row.extend(columns.map(|(name, value)| (format!("{}_{name}", layer.name), value)));
    }
    if let Some(ftl) = &layer.ftl {
        let recovery = ftl.recovery.as_ref();
        let columns = [
            ("write_amplification_with_reads", json!(ftl.write_amplification_with_reads)),
            ("internal_reads", json!(ftl.internal_reads)),
            ("ram_bytes", json!(ftl.ram_bytes)),
            ("recovery_s", json!(recovery.map(|recovery| recovery.seconds))),
        ];
        row.extend(columns.map(|(name, value)| (format!("{}_{name}", layer.name), value)));
    }
    row
}

/// Returns the rated host writes of the data sheet, and whether the flash endures them.
fn rating_columns(rating: &RatingResult) -> Row {
    [
        ("rated_tbw", json!(rating.tbw)),
        ("rated_dwpd", json!(rating.dwpd)),
        ("rated_years", json!(rating.years)),
        ("life_ratio", json!(rating.life_ratio)),
        ("write_amplification_limit", json!(rating.write_amplification_limit)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn timing_columns(timing: &TimingReport) -> Row {
    let mut row = vec![
        ("elapsed_s".to_owned(), json!(timing.elapsed_ns as f64 / 1e9)),
        ("requests_per_s".to_owned(), json!(timing.requests_per_s)),
        ("mb_per_s".to_owned(), json!(timing.bytes_per_s / 1e6)),
        ("die_utilisation".to_owned(), json!(timing.die_utilisation())),
    ];
    for (kind, times) in &timing.requests {
        row.push((format!("{kind}_mean_us"), json!(times.mean_ns / 1e3)));
        for percentile in &times.percentiles {
            let name = format!("{kind}_p{}", percentile.percent);
            row.push((format!("{name}_us"), json!(percentile.response_ns as f64 / 1e3)));
            row.push((format!("{name}_cleaning_share"), json!(percentile.cleaning_share)));
        }
        row.push((format!("{kind}_max_us"), json!(times.max_ns as f64 / 1e3)));
    }
    row
}

fn tenant_columns(tenant: &TenantResult) -> Row {
    [
        ("host_pages", json!(tenant.host_pages)),
        ("moved_owned", json!(tenant.moved_owned)),
        ("moved_caused", json!(tenant.moved_caused)),
        ("write_amplification_owned", json!(tenant.write_amplification_owned)),
        ("write_amplification_caused", json!(tenant.write_amplification_caused)),
    ]
    .map(|(name, value)| (format!("{}_{name}", tenant.name), value))
    .into()
}

/// Returns one row for each combination of settings: the settings, then the figures, averaged over replicas.
///
/// With several replicas, `write_amplification_ci95` is the half-width of the 95 % interval over the means of the
/// replicas. Figures that a replica lacks are null. Rows are in the order of `points`.
pub fn rows(points: &[PointResult]) -> Vec<Row> {
    let mut groups: Vec<(&BTreeMap<String, Value>, Vec<&PointResult>)> = Vec::new();
    for point in points {
        match groups.last_mut() {
            Some((settings, group)) if **settings == point.settings => group.push(point),
            _ => groups.push((&point.settings, vec![point])),
        }
    }
    groups.into_iter().map(|(settings, group)| group_row(settings, &group)).collect()
}

fn group_row(settings: &BTreeMap<String, Value>, group: &[&PointResult]) -> Row {
    let mut row: Row = settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    row.push(("replicas".to_owned(), json!(group.len())));
    let summaries: Vec<Row> = group.iter().map(|point| summary_row(&point.result)).collect();
    match &summaries[..] {
        [one] => row.extend(one.iter().cloned()),
        several => row.extend(average_row(several)),
    }
    row
}

fn average_row(summaries: &[Row]) -> Row {
    let columns: Vec<Map<String, Value>> =
        summaries.iter().map(|row| row.iter().cloned().collect()).collect();
    let of = |name: &str| {
        columns.iter().map(|columns| columns.get(name).cloned().unwrap_or_default()).collect::<Vec<_>>()
    };
    let average = |(name, _): &(String, Value)| {
        let values = of(name);
        let value = match name.as_str() {
            "write_amplification_ci95" => json!(interval(&of("write_amplification"))),
            "steady" => json!(values.iter().all(|value| value == &Value::Bool(true))),
            "seed" | "final_draw" => values[0].clone(),
            "warnings" => json!(distinct(&values).join("; ")),
            _ if values.iter().all(|value| *value == values[0]) => values[0].clone(),
            _ => json!(numbers(&values).map(|numbers| numbers.iter().sum::<f64>() / numbers.len() as f64)),
        };
        (name.clone(), value)
    };
    summaries[0].iter().map(average).collect()
}

fn numbers(values: &[Value]) -> Option<Vec<f64>> {
    values.iter().map(Value::as_f64).collect()
}

fn interval(values: &[Value]) -> Option<f64> {
    estimate(&numbers(values)?)?.ci95_half_width
}

fn distinct(values: &[Value]) -> Vec<&str> {
    let mut texts: Vec<&str> =
        values.iter().filter_map(Value::as_str).filter(|text| !text.is_empty()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}
