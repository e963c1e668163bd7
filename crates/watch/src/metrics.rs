//! Conversion of a reading to metrics in the text format of Prometheus.

use prometheus::TextEncoder;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use wearwell_serve::{Reading, RequestReading};
use wearwell_stack::LayerResult;

/// Content type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the latency buckets in seconds.
const BOUNDS: [f64; 22] = [
    1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5,
    1.0, 2.0, 5.0, 10.0,
];

/// Collection of metric families, each with a unique name.
#[derive(Default)]
pub struct Metrics(Vec<MetricFamily>);

/// Names and values of labels.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Metrics {
    /// Adds a counter: a number that never decreases, and starts at zero with the process. Its name must end with
    /// `_total`.
    pub fn counter(&mut self, name: &str, help: &str, labels: Labels<'_>, value: f64) {
        debug_assert!(name.ends_with("_total"), "{name}");
        let mut counter = Counter::default();
        counter.set_value(value);
        let mut metric = Metric::from_label(pairs(labels));
        metric.set_counter(counter);
        self.add(name, help, MetricType::COUNTER, metric);
    }

    /// Adds a gauge, which shows the current value of a number.
    pub fn gauge(&mut self, name: &str, help: &str, labels: Labels<'_>, value: f64) {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        let mut metric = Metric::from_label(pairs(labels));
        metric.set_gauge(gauge);
        self.add(name, help, MetricType::GAUGE, metric);
    }

    /// Adds a histogram of latencies in seconds.
    fn latencies(&mut self, name: &str, help: &str, labels: Labels<'_>, reading: &RequestReading) {
        let bucket = |&bound: &f64| {
            let within = reading.latencies_ns.iter().filter(|(ns, _)| *ns as f64 * 1e-9 <= bound);
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(bound);
            bucket.set_cumulative_count(within.map(|(_, requests)| requests).sum());
            bucket
        };
        let mut histogram = Histogram::default();
        histogram.set_bucket(BOUNDS.iter().map(bucket).collect());
        histogram.set_sample_count(reading.requests);
        histogram.set_sample_sum(reading.seconds);
        let mut metric = Metric::from_label(pairs(labels));
        metric.set_histogram(histogram);
        self.add(name, help, MetricType::HISTOGRAM, metric);
    }

    fn add(&mut self, name: &str, help: &str, kind: MetricType, metric: Metric) {
        let index = self.0.iter().position(|family| family.name() == name);
        let at = index.unwrap_or_else(|| {
            let mut family = MetricFamily::default();
            family.set_name(name.to_owned());
            family.set_help(help.to_owned());
            family.set_field_type(kind);
            self.0.push(family);
            self.0.len() - 1
        });
        self.0[at].mut_metric().push(metric);
    }

    /// Returns all families in the text format, each one after its help text and type.
    ///
    /// # Panics
    /// Panics if a family has no name or no metric, which the functions above exclude.
    pub fn text(&self) -> String {
        TextEncoder::new().encode_to_string(&self.0).expect("every family has a name and a metric")
    }
}

fn pairs(labels: Labels<'_>) -> Vec<LabelPair> {
    let pair = |(name, value): &(&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    labels.iter().map(pair).collect()
}

/// Converts a reading of a drive to metrics. Counters of layers start when the drive was new; with an image, this may
/// be before the process started.
pub fn drive_metrics(reading: &Reading) -> Metrics {
    let mut metrics = Metrics::default();
    metrics.gauge("wearwell_build_info", "The version of Wearwell.", &[("version", &reading.version)], 1.0);
    metrics.gauge("wearwell_device_size_bytes", "Bytes of the device.", &[], reading.bytes as f64);
    let content = reading.content_bytes as f64;
    metrics.gauge("wearwell_device_content_bytes", "Bytes of content that are held.", &[], content);
    let alive = f64::from(u8::from(reading.failure.is_none()));
    metrics.gauge("wearwell_device_alive", "1 while the drive takes writes, 0 once it died.", &[], alive);
    for (operation, requests) in &reading.requests {
        add_request_metrics(&mut metrics, operation, requests);
    }
    reading.intermediate_result.layers.iter().for_each(|layer| add_layer_metrics(&mut metrics, layer));
    for (layer, blocks) in &reading.erased_blocks {
        let help = "Erased blocks (segments, zones, extents) that wait to be written.";
        metrics.gauge("wearwell_layer_erased_blocks", help, &[("layer", layer)], f64::from(*blocks));
    }
    add_flash_metrics(&mut metrics, reading);
    metrics
}

fn add_request_metrics(metrics: &mut Metrics, operation: &str, requests: &RequestReading) {
    let labels = [("operation", operation)];
    let bytes = requests.bytes as f64;
    metrics.counter("wearwell_request_bytes_total", "Bytes that requests were about.", &labels, bytes);
    let help = "Seconds from when the device was asked until it was done; their count is that of requests.";
    metrics.latencies("wearwell_request_duration_seconds", help, &labels, requests);
}

fn add_layer_metrics(metrics: &mut Metrics, layer: &LayerResult) {
    let name = layer.name.as_str();
    for (operation, amount) in &layer.incoming {
        let labels = [("layer", name), ("operation", operation.as_str())];
        let help = "Pages (flushes, for flush) that came into a layer from above.";
        metrics.counter("wearwell_layer_incoming_total", help, &labels, *amount as f64);
    }
    for (cause, amounts) in &layer.outgoing {
        for (operation, amount) in amounts {
            let labels = [("layer", name), ("cause", cause.as_str()), ("operation", operation.as_str())];
            let help = "Pages (blocks, for erase) that a layer sent below, by its cause.";
            metrics.counter("wearwell_layer_outgoing_total", help, &labels, *amount as f64);
        }
    }
    let labels = [("layer", name)];
    metrics.counter("wearwell_layer_victims_total", "Victims cleaned.", &labels, layer.victims as f64);
    let help = "Share of a layer's logical pages that hold data.";
    metrics.gauge("wearwell_layer_mapped_ratio", help, &labels, layer.mapped_share);
    if let Some(amplification) = layer.write_amplification {
        let help = "Pages that a layer wrote below for each that came in, since the drive was new.";
        metrics.gauge("wearwell_layer_write_amplification", help, &labels, amplification);
    }
}

fn add_flash_metrics(metrics: &mut Metrics, reading: &Reading) {
    let (nand, wear) = (&reading.intermediate_result.nand, &reading.intermediate_result.wear);
    let host = reading.intermediate_result.host_pages as f64;
    metrics.counter("wearwell_host_written_pages_total", "Pages that the host wrote.", &[], host);
    let help = "What the flash did: pages read and programmed, blocks erased.";
    for (operation, amount) in [("read", nand.reads), ("program", nand.programs), ("erase", nand.erases)] {
        let labels = [("operation", operation)];
        metrics.counter("wearwell_flash_operations_total", help, &labels, amount as f64);
    }
    if let Some(amplification) = reading.intermediate_result.write_amplification {
        let help = "Pages programmed for each page that the host wrote, since the drive was new.";
        metrics.gauge("wearwell_write_amplification", help, &[], amplification);
    }
    let blocks = f64::from(reading.intermediate_result.device.blocks);
    metrics.gauge("wearwell_flash_blocks", "Blocks of the flash.", &[], blocks);
    let bad = f64::from(wear.bad_blocks);
    metrics.gauge(
        "wearwell_flash_bad_blocks",
        "Blocks that are bad, those from the factory included.",
        &[],
        bad,
    );
    let help = "Erases of a block since the drive was new.";
    let erases = [
        ("least", f64::from(wear.erases_min)),
        ("mean", wear.erases_mean),
        ("most", f64::from(wear.erases_max)),
    ];
    for (which, erases) in erases {
        metrics.gauge("wearwell_block_erases", help, &[("of", which)], erases);
    }
    if let Some(cycles) = reading.endurance_cycles {
        let help = "Erases after which a block is worn out.";
        metrics.gauge("wearwell_block_endurance_erases", help, &[], f64::from(cycles));
    }
}
