//! `wearwell trace`: there and back again.

use crate::common::outcome;
use serde_json::Value;

#[test]
fn generated_traces_survive_conversion_and_cutting() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let [csv, blk, part] = ["a.csv.gz", "b.blkparse.zst", "c.csv"].map(path);
    let generate =
        ["trace", "generate", &csv, "--to", "msr", "--kind", "hot_cold", "--set", "hot_writes=0.9"];
    let more = ["--set", "hot_space=0.1", "--capacity", "16 MiB", "--requests", "5000", "--rate", "1000"];
    outcome(&[&generate[..], &more[..]].concat(), 0);
    let describe = |file: &str, format: &str| -> Value {
        let arguments = ["trace", "describe", file, "--trace-format", format, "--format", "json"];
        serde_json::from_str(&outcome(&arguments, 0).0).unwrap()
    };
    let original = describe(&csv, "msr");
    assert_eq!(original["requests"], 5000);
    assert_eq!(original["writes"]["requests"], 5000);
    outcome(&["trace", "convert", &csv, &blk, "--trace-format", "msr", "--to", "blkparse"], 0);
    let converted = describe(&blk, "blkparse");
    assert_eq!(converted["distinct_pages_written"], original["distinct_pages_written"]);
    assert_eq!(converted["reuse"], original["reuse"]);
    let cut = ["trace", "cut", &csv, &part, "--trace-format", "msr", "--seconds", "1..2.5", "--rebase-time"];
    outcome(&cut, 0);
    assert_eq!(describe(&part, "msr")["requests"], 1500);
    let (checked, _) = outcome(&["trace", "check", &part, "--trace-format", "msr"], 0);
    assert_eq!(checked, "1500 requests in the format msr, all sound\n");
}

#[test]
fn bad_lines_are_named_or_counted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.csv").display().to_string();
    std::fs::write(
        &file,
        "128166372003061629,host,0,Write,0,4096,0\nx\n128166372003061629,host,0,Wrote,0,4096,0\n",
    )
    .unwrap();
    let (_, err) = outcome(&["trace", "check", &file, "--trace-format", "msr"], 1);
    assert!(err.contains("bad.csv, line 2: column `Timestamp`"), "{err}");
    let (_, err) = outcome(&["trace", "check", &file, "--trace-format", "msr", "--skip-bad"], 1);
    assert!(err.contains("2 bad lines beside 1 sound requests"), "{err}");
    let (out, err) = outcome(&["trace", "describe", &file, "--trace-format", "msr", "--skip-bad"], 0);
    assert!(err.contains("2 lines or records could not be read"), "{err}");
    assert!(out.contains("1 requests"), "{out}");
}

#[test]
fn the_table_of_formats_names_units_and_options() {
    let (out, _) = outcome(&["trace", "formats"], 0);
    for part in ["msr:", "blkparse:", "100 ns since 1601", "option "] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
}
