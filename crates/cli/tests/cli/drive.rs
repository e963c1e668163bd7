//! Tests of `wearwell drive`: data sheets, SMART reports, the written scenario, refusals.

use crate::common::{outcome, repository};
use serde_json::Value;
use std::io::Write;

const SHEET: &str = "--capacity 1.92TB --raw-capacity 2TiB --tbw 3504 --warranty 5y --cells tlc";
const REPORTS: &str = "--smart docs/samples/nvme-june.json --smart docs/samples/nvme-july.json";

/// Options for a drive with small blocks, whose models are solved at once.
const SMALL: &str = "--capacity 1.92TB --pages-per-block 4";

fn drive(arguments: &str, code: i32) -> (String, String) {
    let arguments: Vec<&str> = ["drive"].into_iter().chain(arguments.split_whitespace()).collect();
    outcome(&arguments, code)
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&drive(&format!("{arguments} --format json"), 0).0).unwrap()
}

#[test]
fn data_sheets_are_shown() {
    insta::assert_snapshot!("data-sheet", drive(&format!("{SHEET} --per-day 800GB"), 0).0);
    let rates = "--capacity 3.84TB --dwpd 1 --warranty 5y --sequential-write 2.7GB/s --random-write 130k";
    insta::assert_snapshot!("rates", drive(rates, 0).0);
    let csv = drive(&format!("{SHEET} --format csv"), 0).0;
    assert!(csv.starts_with("capacity_bytes,spare_factor,model,") && csv.lines().count() == 6, "{csv}");
}

#[test]
fn reports_are_shown() {
    insta::assert_snapshot!(
        "two-reports",
        drive(&format!("{REPORTS} --cells tlc --tbw 3504 --warranty 5y"), 0).0
    );
    insta::assert_snapshot!("sata-report", drive("--smart docs/samples/sata.json --cells tlc", 0).0);
    let csv = drive(&format!("{REPORTS} --format csv --pages-per-block 4"), 0).0;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let head = reader.headers().unwrap().clone();
    assert!(head.iter().any(|name| name == "spare_factor_low"), "{head:?}");
    assert_eq!(reader.records().count(), 4);
}

/// Checks the figures in JSON: 3,504 TB are 1.92 TB once a day for five years.
#[test]
fn data_sheet_figures_are_consistent() {
    let by_tbw = json(SHEET);
    let by_dwpd = json(&SHEET.replace("--tbw 3504", "--dwpd 1"));
    assert_eq!(by_tbw["rating"], by_dwpd["rating"]);
    assert_eq!(by_tbw["spare_space"], json(&SHEET.replace("--raw-capacity 2TiB", ""))["spare_space"]);
    let [limit, media] = ["write_amplification_limit", "media_tb"].map(|key| by_tbw[key].as_f64().unwrap());
    assert!((limit * 3504.0 / media - 1.0).abs() < 1e-12);
}

/// Reads reports from standard input, and the OCP log from a separate file.
#[test]
fn reports_are_read_from_standard_input_and_separate_files() {
    let full_report = std::fs::read_to_string(repository().join("docs/samples/nvme-june.json")).unwrap();
    let parts: Vec<Value> =
        serde_json::Deserializer::from_str(&full_report).into_iter().collect::<Result<_, _>>().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, value: &Value| {
        let path = directory.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path.display().to_string()
    };
    let (health, ocp) = (file("health.json", &parts[0]), file("ocp.json", &parts[1]));
    let apart = json(&format!("--smart {health} --ocp {ocp} {SMALL}"));
    assert_eq!(
        apart["since_new"],
        json(&format!("--smart docs/samples/nvme-june.json {SMALL}"))["since_new"]
    );
    let mut command =
        crate::common::wearwell(&["drive", "--smart", "-", "--format", "json", "--pages-per-block", "4"]);
    let output = command.write_stdin(full_report).output().unwrap();
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(read, json("--smart docs/samples/nvme-june.json --pages-per-block 4"));
    assert!(drive("--smart - --smart -", 2).1.contains("can be read once only"));
}

/// Checks that the scenario runs and reports whether the flash endures the rating.
#[test]
fn written_scenario_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.toml").display().to_string();
    drive(
        &format!("--capacity 960GB --tbw 1752 --warranty 5y --cells slc --output {path} --scaled-to 64MiB"),
        0,
    );
    let result = directory.path().join("result.json").display().to_string();
    let short = ["--set", "measure.warm_up=1.0", "--drive-writes", "1", "--output", &result];
    let (table, _) = outcome(&[&["run", &path], &short[..]].concat(), 0);
    assert!(table.contains("Data sheet"), "{table}");
    let rating = &crate::common::json(std::path::Path::new(&result))["rating"];
    assert!((rating["dwpd"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{rating}");
    // Without `--scaled-to`, the scenario has the drive's own capacity and does not mention a scale.
    drive(&format!("{SHEET} --interface 7GB/s --output {path}"), 0);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("capacity = 1920000000000\n") && text.contains("host_mb_per_s = 7000.0"), "{text}");
    assert!(drive(&format!("--capacity 1TB --output {path}"), 2).1.contains("--cells: is missing"));
    assert!(drive(&format!("{SHEET} --output my.json"), 2).1.contains("a scenario ends in .toml"));
}

/// Simulates a drive with the spare space that explains the measured write amplification: greedy cleaning reproduces
/// the measured value.
#[test]
fn calibrated_scenario_reproduces_measured_write_amplification() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seen.toml").display().to_string();
    let report = "--smart docs/samples/sata.json --cells slc --pages-per-block 64";
    drive(&format!("{report} --calibrated --output {path} --scaled-to 256MiB"), 0);
    let result = directory.path().join("result.json").display().to_string();
    let settings = ["--set", "ftl.reclaim=in_place", "--set", "measure.warm_up=6.0", "--drive-writes", "4"];
    outcome(&[&["run", &path, "--output", &result], &settings[..]].concat(), 0);
    let simulated =
        crate::common::json(std::path::Path::new(&result))["write_amplification"].as_f64().unwrap();
    // The report has 13,862,130 units of flash writes for 7,412,904 host units. The tolerance of 1.5 % is a few blocks
    // of the small drive's spare space.
    assert!((simulated / (13_862_130.0 / 7_412_904.0) - 1.0).abs() < 0.015, "{simulated}");
    assert!(drive(&format!("{report} --calibrated"), 2).1.contains("--output"));
}

/// Checks that the rate of the trace replaces `--per-day`.
#[test]
fn trace_gives_host_writes_per_day() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.csv");
    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "ts,op,lba,len").unwrap();
    // About 100 writes of 1,000,000,000 / 864 bytes in 1/864 of a day.
    for at in 0..=100 {
        writeln!(file, "{at},W,{},1048576", at * 2048).unwrap();
    }
    drop(file);
    let trace = format!("--trace {} --columns time=ts:s,op=op,offset=lba:512,size=len:bytes", path.display());
    let usage = &json(&format!("{SHEET} {trace}"))["usage"];
    let expected = 101.0 * 1_048_576.0 / 100.0 * 86_400.0 / 1e9;
    assert!((usage["gb_per_day"].as_f64().unwrap() / expected - 1.0).abs() < 1e-9, "{usage}");
    assert!(drive(&format!("{SHEET} {trace} --per-day 1GB"), 2).1.contains("cannot be used with"));
}

#[test]
fn contradictory_and_invalid_options_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(directory.path().join(name), text).unwrap();
        directory.path().join(name).display().to_string()
    };
    let (broken, other) =
        (file("broken.json", "{\"data_units_written\": \"NaN\"}"), file("other.json", "{\"a\": 1}"));
    let [june, july] = ["june", "july"].map(|month| format!("--smart docs/samples/nvme-{month}.json"));
    let mut shown = String::new();
    for (arguments, code) in [
        ("", 2),
        ("--capacity 0", 2),
        ("--capacity 1.92TB --raw-capacity 1.9TB", 2),
        ("--capacity 1.92TB --over-provisioning 0%", 2),
        ("--capacity 1.92TB --tbw 3504 --dwpd 3 --warranty 5y", 2),
        ("--capacity 1.92TB --dwpd 1", 2),
        ("--capacity 1.92TB --tbw -5", 2),
        ("--capacity 1.92TB --cells plc", 2),
        ("--capacity 1.92TB --rated-wa 2", 2),
        ("--capacity 1.92TB --hot-writes 0.9 --hot-space 1.5", 2),
        ("--capacity 1.92TB --pages-per-block 100000", 2),
        ("--capacity 1.92TB --random-write 5k", 2),
        ("--smart no-such-file.json", 1),
        (&format!("--smart {broken}"), 1),
        (&format!("--smart {other}"), 1),
        (&format!("{july} {june}"), 1),
        (&format!("{june} --smart docs/samples/sata.json"), 1),
        (&format!("{june} {june} {june}"), 2),
        (&format!("{june} --days 0"), 2),
    ] {
        let (out, err) = drive(arguments, code);
        assert_eq!(out, "", "{arguments}");
        let err = err.replace(&format!("{}/", directory.path().display()), "");
        let message = err.split("\n\n").next().unwrap().trim_end();
        shown += &format!("{message}\n");
    }
    insta::assert_snapshot!("refusals", shown);
}

/// Runs every command of the document in order, as a reader would, and then removes the written files.
#[test]
fn documented_commands_run() {
    let page = std::fs::read_to_string(repository().join("docs/drive.md")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for entry in ["docs", "scenarios", "traces"] {
        std::os::unix::fs::symlink(repository().join(entry), directory.path().join(entry)).unwrap();
    }
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands: Vec<&str> =
        blocks.flat_map(str::lines).filter(|line| line.starts_with("wearwell ")).collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let output = crate::common::wearwell(&words).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
