//! Truncated reports and reports with arbitrary content: each is either read or refused with its file name, and reports
//! that are read can be evaluated.

use serde_json::{Value, json};
use wearwell_study::drive::{DataSheet, Interval, SmartReport, evaluate_reports};

const SAMPLES: [&str; 3] = [
    include_str!("../../../../docs/samples/nvme-june.json"),
    include_str!("../../../../docs/samples/nvme-july.json"),
    include_str!("../../../../docs/samples/sata.json"),
];

/// Interval of readable reports that are also evaluated.
const EVALUATION_INTERVAL: usize = 60;

#[derive(Default)]
struct ReadCounts {
    read: usize,
    refused: usize,
}

impl ReadCounts {
    fn read_report(&mut self, text: &str) {
        let report = match SmartReport::read("report.json", text) {
            Err(error) => {
                assert!(error.to_string().starts_with("report.json: "), "{error}");
                assert!(error.to_string().len() < 400, "{error}");
                self.refused += 1;
                return;
            }
            Ok(report) => report,
        };
        self.read += 1;
        if self.read.is_multiple_of(EVALUATION_INTERVAL) {
            evaluate(&report);
        }
    }
}

/// Evaluates a report alone, and as the earlier and the later of two.
fn evaluate(report: &SmartReport) {
    let sheet = DataSheet { pages_per_block: Some(2), endurance_cycles: Some(3000), ..DataSheet::default() };
    let valid = SmartReport::read("sound.json", SAMPLES[0]).unwrap();
    let pairs = [(None, report), (Some(report), &valid), (Some(&valid), report)];
    for (earlier, later) in pairs {
        let Ok(found) = evaluate_reports(&sheet, earlier, later, None) else { continue };
        let periods = [Some(&found.since_new), found.between.as_ref()].into_iter().flatten();
        let figures = periods.flat_map(|period| {
            [
                Some(period.host_bytes),
                period.media_bytes,
                period.write_amplification,
                period.gb_per_day,
                period.days,
            ]
        });
        let remaining = found.life.iter().flat_map(|life| [Some(life.host_bytes), life.years]);
        let explained = found.effective.iter().flat_map(|one| [one.spare_factor, one.reserve_bytes]);
        for figure in figures.chain(remaining).chain(explained).flatten() {
            let Interval { value, low, high } = figure;
            assert!(low <= value && value <= high, "{figure:?}\n{later:?}");
        }
        serde_json::to_string(&found).unwrap();
    }
}

/// Collects every location in a document, as a JSON pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.replace('/', "~1"), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner {
        let path = format!("{at}/{key}");
        pointers(value, &path, found);
        found.push(path);
    }
}

#[test]
fn reports_with_arbitrary_values_are_read_or_refused() {
    let hostile = [
        json!(null),
        json!(true),
        json!(false),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(u64::MAX),
        json!(0.5),
        json!(""),
        json!("NaN"),
        json!("-inf"),
        json!("1e999"),
        json!("340282366920938463463374607431768211455"),
        json!([]),
        json!({}),
        json!([[]]),
        json!({ "hi": u64::MAX, "lo": u64::MAX }),
        json!({ "hi": -1, "lo": "x" }),
        json!({ "value": {}, "bytes": [], "hours": "a" }),
        json!("\u{0}\u{7f}\n"),
    ];
    let mut counts = ReadCounts::default();
    for sample in SAMPLES {
        let documents: Vec<Value> =
            serde_json::Deserializer::from_str(sample).into_iter().collect::<Result<_, _>>().unwrap();
        for (at, document) in documents.iter().enumerate() {
            let mut all = vec![String::new()];
            pointers(document, "", &mut all);
            for pointer in &all {
                for value in &hostile {
                    let mut changed = documents.clone();
                    *changed[at].pointer_mut(pointer).unwrap() = value.clone();
                    let texts: Vec<String> = changed.iter().map(Value::to_string).collect();
                    counts.read_report(&texts.join("\n"));
                }
            }
        }
    }
    assert!(counts.read > 2000 && counts.refused > 500, "{} {}", counts.read, counts.refused);
}

#[test]
fn truncated_and_corrupt_reports_are_read_or_refused() {
    let mut counts = ReadCounts::default();
    for sample in SAMPLES {
        for end in (0..sample.len()).step_by(7) {
            counts.read_report(&sample[..end]);
        }
        for at in (0..sample.len()).step_by(11) {
            for byte in *b"\"{}[],:-9e \n" {
                let mut changed = sample.as_bytes().to_vec();
                changed[at] = byte;
                counts.read_report(std::str::from_utf8(&changed).unwrap());
            }
        }
    }
    assert!(counts.read > 500 && counts.refused > 2000, "{} {}", counts.read, counts.refused);
}
