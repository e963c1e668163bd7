//! Statistics of a file system in the format of Prometheus.

use serde_json::{Map, Value};
use wearwell_nvmfs::ssd::Drive;
use wearwell_nvmfs::stats::Stats;
use wearwell_watch::metrics::Metrics;

/// Returns all fields of [`Stats`]: event counts as counters, fill levels as gauges, and the statistics of a simulated
/// drive under the names that a served drive uses.
pub fn text(stats: &Stats) -> String {
    let mut metrics = Metrics::default();
    let value = serde_json::to_value(stats).expect("plain data");
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    for (name, number) in numbers(&fields(&value["counts"])) {
        let help = format!("Since it was mounted: {}.", name.replace('_', " "));
        metrics.counter(&format!("wearwell_nvmfs_{name}_total"), &help, &[], number);
    }
    for (name, number) in numbers(&fields(&value)) {
        let help = format!("Now: {}.", name.replace('_', " "));
        metrics.gauge(&format!("wearwell_nvmfs_{name}"), &help, &[], number);
    }
    if let Some(drive) = &stats.drive {
        of_drive(&mut metrics, drive);
    }
    metrics.text()
}

/// Returns the numeric fields.
fn numbers(fields: &Map<String, Value>) -> impl Iterator<Item = (&str, f64)> {
    fields.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)))
}

fn of_drive(metrics: &mut Metrics, drive: &Drive) {
    for layer in &drive.layers {
        for (cause, pages) in &layer.writes_below {
            let labels = [("layer", layer.name.as_str()), ("cause", cause), ("operation", "write")];
            let help = "Pages that a layer sent below, by its cause.";
            metrics.counter("wearwell_layer_outgoing_total", help, &labels, *pages as f64);
        }
    }
    let help = "What the flash did: pages read and programmed, blocks erased.";
    for (operation, amount) in [("read", drive.reads), ("program", drive.programs), ("erase", drive.erases)] {
        metrics.counter("wearwell_flash_operations_total", help, &[("operation", operation)], amount as f64);
    }
    let erases = [
        ("least", f64::from(drive.min_erases)),
        ("mean", drive.mean_erases),
        ("most", f64::from(drive.max_erases)),
    ];
    for (which, erases) in erases {
        metrics.gauge(
            "wearwell_block_erases",
            "Erases of a block since the drive was new.",
            &[("of", which)],
            erases,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_nvmfs::ssd::DriveLayer;

    #[test]
    fn events_are_counters_and_fill_levels_are_gauges() {
        let layer = DriveLayer {
            name: "ftl".into(),
            written_pages: 4,
            writes_below: [("cleaning".to_owned(), 3)].into(),
        };
        let mut stats = Stats {
            dirty_pages: 7,
            read_hit_ratio: Some(0.5),
            drive: Some(Drive { layers: vec![layer], programs: 9, ..Drive::default() }),
            ..Stats::default()
        };
        stats.counts.written_blocks = 12;
        let text = text(&stats);
        for line in [
            "# TYPE wearwell_nvmfs_written_blocks_total counter\nwearwell_nvmfs_written_blocks_total 12\n",
            "# TYPE wearwell_nvmfs_dirty_pages gauge\nwearwell_nvmfs_dirty_pages 7\n",
            "wearwell_nvmfs_read_hit_ratio 0.5\n",
            "wearwell_layer_outgoing_total{layer=\"ftl\",cause=\"cleaning\",operation=\"write\"} 3\n",
            "wearwell_flash_operations_total{operation=\"program\"} 9\n",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
