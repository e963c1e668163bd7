//! Tests of `wearwell fleet`: its tables and files, its schema, refusals.

use crate::common::{assert_knows_keys, outcome, repository, schema};
use serde_json::Value;

/// A fleet of drives that are solved at once.
pub const FLEET: &str = r#"
years = 3
draws = 4

[[group]]
name = "g"
drives = 50
price = 100
device = { blocks_per_plane = 500, pages_per_block = 8, spare_factor = 0.2, endurance_cycles = 1000 }
age_years = { law = "uniform", low = 0, high = 1 }

[[tenant]]
name = "a"
share = 2
drive_writes_per_day = { law = "lognormal", median = 0.8, sigma = 0.5 }
workload = { kind = "uniform" }

[[tenant]]
name = "b"
share = 1
drive_writes_per_day = 1
workload = { kind = "hot_cold", hot_writes = { law = "uniform", low = 0.6, high = 0.9 }, hot_space = 0.2 }

[[what_if]]
name = "more spare"
set = { "device.spare_factor" = 0.3 }
"#;

fn small() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("fleet.toml");
    std::fs::write(&path, FLEET).expect("a file");
    let path = path.display().to_string();
    (directory, path)
}

#[test]
fn fleet_tables_match_the_snapshot() {
    let (_directory, path) = small();
    insta::assert_snapshot!("fleet", outcome(&["fleet", &path], 0).0);
    let (text, _) = outcome(&["fleet", &path, "--format", "json"], 0);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&found["mode"], &found["drives"]), (&"fleet".into(), &50.into()));
    assert!(found["what_if"][0]["wear_difference"]["mean"].as_f64().unwrap() < 0.0);
    assert_eq!(outcome(&["fleet", &path, "--format", "json", "--threads", "1"], 0).0, text);
}

#[test]
fn every_table_has_rows() {
    let (directory, path) = small();
    let tables = [("years", 3), ("life", 20), ("groups", 1), ("tenants", 2), ("what-if", 1), ("basis", 4)];
    for (table, rows) in tables {
        let (text, _) = outcome(&["fleet", &path, "--format", "csv", "--table", table], 0);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.records().map(Result::unwrap).count(), rows, "{table}\n{text}");
    }
    let (years, _) = outcome(&["fleet", &path, "--format", "csv"], 0);
    assert!(years.starts_with("money,money_ci95,money_high,money_low,worn_out,"), "{years}");
    for name in ["out.csv", "out.json", "out.parquet"] {
        let out = directory.path().join(name);
        outcome(&["fleet", &path, "--output", &out.display().to_string()], 0);
        assert!(out.metadata().unwrap().len() > 100);
    }
    assert_eq!(std::fs::read_to_string(directory.path().join("out.csv")).unwrap(), years);
}

#[test]
fn check_simulates_some_drives() {
    let (_directory, path) = small();
    let words =
        ["fleet", &path, "--check", "4", "--check-blocks", "300", "--tolerance", "0.2", "--threads", "2"];
    let (text, stderr) = outcome(&[&words[..], &["--workers", "100"]].concat(), 0);
    assert!(text.contains("Theory against simulation of 4 drives") && text.contains("trusted"), "{text}");
    assert!(stderr.contains("4 runs on 2 threads took") && stderr.contains("100 workers"), "{stderr}");
    assert_eq!(outcome(&words, 0).0, text);
}

#[test]
fn schema_of_fleets_is_complete_and_knows_the_keys_of_the_samples() {
    let schema = schema(&["fleet", "--schema"]);
    for sample in ["fleet", "whole_drives"] {
        let path = repository().join(format!("docs/samples/{sample}.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("#:schema ../fleet.schema.json\n"), "{sample}");
        assert_knows_keys(&schema, &path);
    }
}

#[test]
fn errors_name_the_refused_setting() {
    let (directory, path) = small();
    let invalid = directory.path().join("wrong.toml");
    std::fs::write(&invalid, FLEET.replace("price = 100", "prize = 100")).unwrap();
    let (_, stderr) = outcome(&["fleet", &invalid.display().to_string()], 2);
    assert!(stderr.contains("wrong.toml:8:") && stderr.contains("unknown field `prize`"), "{stderr}");
    std::fs::write(&invalid, FLEET.replace("endurance_cycles", "blocks")).unwrap();
    assert!(outcome(&["fleet", &invalid.display().to_string()], 2).1.contains("group[0].device"));
    for (words, expected) in [
        (&["fleet"][..], "<FLEET>"),
        (&["fleet", "no-such.toml"], "no-such.toml"),
        (&["fleet", &path, "--workers", "3"], "--check"),
        (&["fleet", &path, "--check", "0"], "--check"),
        (&["fleet", &path, "--output", &path], "would be written over"),
    ] {
        let (_, stderr) = outcome(words, 2);
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
    }
}
