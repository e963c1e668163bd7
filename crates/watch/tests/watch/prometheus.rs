//! Tests that the metrics conform to the format of Prometheus:
//! https://prometheus.io/docs/instrumenting/exposition_formats/.

use crate::common::{STACK, device, start_control, write};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

/// Sample line: name, labels and value.
type Sample = (String, BTreeMap<String, String>, f64);

/// Metric families by name, each with its type and samples.
type Families = BTreeMap<String, (String, Vec<Sample>)>;

fn sample(line: &str) -> Sample {
    let (head, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let value = value.parse().unwrap_or_else(|_| panic!("{line}: no number"));
    let (name, labels) = match head.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}').unwrap_or_else(|| panic!("{line}"))),
        None => (head, ""),
    };
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    assert!(is_name(name), "{line}");
    let mut found = BTreeMap::new();
    for label in labels.split("\",").filter(|label| !label.is_empty()) {
        let (label, value) = label.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(is_name(label), "{line}");
        found.insert(label.to_owned(), value.trim_end_matches('"').to_owned());
    }
    (name.to_owned(), found, value)
}

/// Parses a text as strictly as Prometheus does.
fn families(text: &str) -> Families {
    let mut found = BTreeMap::new();
    let (mut helped, mut current) = (BTreeSet::new(), String::new());
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(help.ends_with('.') && helped.insert(name.to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(helped.contains(name), "{line}: help comes first");
            assert!(found.insert(name.to_owned(), (kind.to_owned(), Vec::new())).is_none(), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            current = name.to_owned();
        } else {
            let sample = sample(line);
            let suffix = sample.0.strip_prefix(&current).unwrap_or_else(|| panic!("{line} under {current}"));
            let (kind, samples) = found.get_mut(&current).unwrap();
            assert_eq!(["_bucket", "_sum", "_count"].contains(&suffix), kind == "histogram", "{line}");
            assert!(suffix.is_empty() || kind == "histogram", "{line}");
            let is_new = samples.iter().all(|(name, labels, _)| (name, labels) != (&sample.0, &sample.1));
            assert!(is_new, "{line}: twice");
            samples.push(sample);
        }
    }
    found
}

#[test]
fn metrics_have_prometheus_format_and_agree_with_device() {
    let folder = tempfile::tempdir().unwrap();
    let device = device(STACK);
    write(&device, 8000);
    device.with(|device| device.flush()).unwrap();
    let (control, client) = start_control(&device, folder.path());
    let text = String::from_utf8(client.get("/metrics").unwrap()).unwrap();
    let families = families(&text);
    let value = |family: &str, wanted: &[(&str, &str)]| -> f64 {
        let holds = |labels: &BTreeMap<String, String>| {
            wanted.iter().all(|(name, value)| labels.get(*name).is_some_and(|found| found == value))
        };
        families[family].1.iter().filter(|(_, labels, _)| holds(labels)).map(|(_, _, value)| value).sum()
    };
    let reading = device.with(|device| Ok(device.status())).unwrap().read();
    let so_far = &reading.intermediate_result;
    assert_eq!(value("wearwell_host_written_pages_total", &[]), 8000.0);
    for layer in &so_far.layers {
        for (cause, amounts) in &layer.outgoing {
            for (operation, amount) in amounts {
                let labels = [("layer", layer.name.as_str()), ("cause", cause), ("operation", operation)];
                assert_eq!(value("wearwell_layer_outgoing_total", &labels), *amount as f64, "{labels:?}");
            }
        }
    }
    let programs = value("wearwell_flash_operations_total", &[("operation", "program")]);
    assert_eq!(value("wearwell_layer_outgoing_total", &[("layer", "ftl"), ("operation", "write")]), programs);
    assert_eq!(value("wearwell_write_amplification", &[]), programs / 8000.0);
    let erased = f64::from(reading.erased_blocks["ftl"]);
    assert_eq!(value("wearwell_layer_erased_blocks", &[("layer", "ftl")]), erased);
    // Cumulative buckets never decrease, and the last bucket counts all requests.
    let (_, samples) = &families["wearwell_request_duration_seconds"];
    let writes = samples.iter().filter(|(_, labels, _)| labels["operation"] == "write");
    let buckets: Vec<f64> =
        writes.clone().filter(|(name, ..)| name.ends_with("_bucket")).map(|(_, _, value)| *value).collect();
    assert!(
        buckets.windows(2).all(|pair| pair[0] <= pair[1]) && buckets.last() == Some(&8000.0),
        "{buckets:?}"
    );
    let count = writes.clone().find(|(name, ..)| name.ends_with("_count")).unwrap().2;
    assert_eq!(count, 8000.0);
    check_with_promtool(&text);
    drop(control);
}

/// Checks the text with Prometheus's own tool, if it is installed.
fn check_with_promtool(text: &str) {
    let started = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        println!("NOT RUN: promtool check metrics, as it is not installed");
        return;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = promtool.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
