//! Tests of `wearwell model ftl`: answers, output formats, refusals.

use crate::common::outcome;
use serde_json::Value;

fn shown(arguments: &[&str]) -> String {
    outcome(&[&["model", "ftl"], arguments].concat(), 0).0
}

#[test]
fn ftl_table_matches_the_snapshot() {
    insta::assert_snapshot!("ftl", shown(&[]));
    let few = ["--ftl", "lazyftl,geckoftl", "--capacity", "128 GiB", "--cache-entries", "65536"];
    insta::assert_snapshot!(
        "ftl-few",
        shown(&[&few[..], &["--battery", "true", "--partitions", "1"]].concat())
    );
}

#[test]
fn json_and_csv_agree() {
    let answer: Value = serde_json::from_str(&shown(&["--format", "json"])).unwrap();
    assert_eq!((answer["mode"].as_str(), answer["model"].as_str()), (Some("model"), Some("ftl")));
    assert_eq!(answer["parameters"]["partitions"], 4);
    assert_eq!(answer["parameters"]["battery"], Value::Null);
    let ftls = answer["ftls"].as_array().unwrap();
    let csv = shown(&["--format", "csv"]);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<Vec<String>> =
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    for ftl in ftls {
        let csv_value = |kind: &str, column: usize| -> f64 {
            let rows = rows.iter().filter(|row| ftl["ftl"] == row[0] && row[1] == kind);
            rows.map(|row| row[column].parse::<f64>().unwrap()).sum()
        };
        assert_eq!(ftl["ram_bytes"].as_f64(), Some(csv_value("ram", 3)));
        let seconds = ftl["recovery_seconds"].as_f64().unwrap();
        assert!((csv_value("recovery", 7) / seconds - 1.0).abs() < 1e-12);
        let steps = ftl["recovery"].as_array().unwrap();
        let by_counts: f64 = steps
            .iter()
            .map(|step| {
                let count = |name: &str| step[name].as_f64().unwrap();
                3.125 * count("spare_reads") + 100.0 * count("page_reads") + 1000.0 * count("page_writes")
            })
            .sum();
        assert!((by_counts / 1e6 / seconds - 1.0).abs() < 1e-12);
    }
    assert_eq!(ftls.len(), 6);
}

#[test]
fn impossible_values_are_refused() {
    for (option, value, problem) in [
        ("--ftl", "fastftl", "geckoftl"),
        ("--capacity", "1 KiB", "--capacity"),
        ("--capacity", "many", "many"),
        ("--page-size", "0", "--page-size"),
        ("--load", "1", "--load"),
        ("--partitions", "129", "--partitions"),
        ("--size-ratio", "1", "--size-ratio"),
        ("--pages-per-block", "0", "--pages-per-block"),
        ("--cache-entries", "0", "--cache-entries"),
    ] {
        let (out, err) = outcome(&["model", "ftl", option, value], 2);
        assert!(out.is_empty() && err.contains(problem), "{option} {value}: {err}");
    }
    assert!(outcome(&["model", "ftl", "--help"], 0).0.contains("Examples:"));
}
