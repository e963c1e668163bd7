//! Tests of `wearwell theory` and `wearwell check theory`: answers, output formats, refusals.

use crate::common::outcome;
use serde_json::Value;

/// A row of table 1 of Van Houdt 2013 (hot/cold): b = 32, S_f = 0.07, d = 9, r = 0.81, f = 0.06.
const PAPER: &[&str] = &[
    "theory",
    "single",
    "--pages-per-block",
    "32",
    "--spare-factor",
    "0.07",
    "--choices",
    "9",
    "--hot-writes",
    "0.81",
    "--hot-space",
    "0.06",
];

/// Returns standard output without the residuals of the equations, whose last bits depend on the machine.
fn shown(arguments: &str) -> String {
    let arguments: Vec<&str> = ["theory"].into_iter().chain(arguments.split(' ')).collect();
    let (out, _) = outcome(&arguments, 0);
    let lines = out.lines().filter(|line| !line.contains("Equations"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn json(arguments: &[&str]) -> Value {
    let (out, _) = outcome(&[arguments, &["--format", "json"]].concat(), 0);
    serde_json::from_str(&out).unwrap()
}

#[test]
fn mean_fields_are_shown() {
    let hot = "--hot-writes 0.81 --hot-space 0.06";
    insta::assert_snapshot!(
        "single",
        shown(&format!("single --pages-per-block 32 --spare-factor 0.07 --choices 9 {hot}"))
    );
    insta::assert_snapshot!(
        "double",
        shown("double --pages-per-block 16 --load 0.8 --class 0.6:0.1 --class 0.1:0.6 --class 0.3:0.3")
    );
    let limit = shown("double --pages-per-block 128 --policy greedy-limit");
    assert!(limit.contains("d without bound") && limit.lines().count() < 60, "{limit}");
}

/// Simulations of 2,000 blocks over 200 drive writes give 5.6021, and 3.4818 with two frontiers.
#[test]
fn many_classes_are_merged_and_extrapolated() {
    let zipf = ["--pages-per-block", "16", "--zipf", "0.99", "--logical-pages", "28800"];
    for (model, simulated) in [("single", 5.6021), ("double", 3.4818)] {
        let answer = json(&[&["theory", model], &zipf[..]].concat());
        let amplification = answer["write_amplification"].as_f64().unwrap();
        assert!((amplification / simulated - 1.0).abs() < 0.005, "{model}: {amplification}");
        assert_eq!(answer["parameters"]["zipf"], 0.99);
        assert!(answer["merged_classes"].as_u64().unwrap() >= 2);
    }
    let arguments = "single --pages-per-block 16 --zipf 0.99 --logical-pages 28800 --zipf-classes 3";
    insta::assert_snapshot!("zipf", shown(arguments));
}

#[test]
fn closed_forms_are_shown() {
    let all = [
        "fifo --over-provisioning 0.25 --hot-writes 0.8 --hot-space 0.2",
        "greedy --pages-per-block 32 --alpha 1.25",
        "windowed --window-share 0.25 --pages-per-block 32",
        "random --load 0.9",
        "separated --pages-per-block 32 --hot-writes 0.8 --hot-space 0.2",
    ];
    insta::assert_snapshot!("closed-forms", all.map(shown).concat());
}

#[test]
fn searches_are_shown() {
    let hot = "--pages-per-block 16 --hot-writes 0.8 --hot-space 0.2";
    insta::assert_snapshot!("optimal-choices", shown(&format!("optimal-choices --max-choices 40 {hot}")));
    let scan = shown("optimal-choices --max-choices 3 --format csv");
    let mut reader = csv::Reader::from_reader(scan.as_bytes());
    let rows: Vec<(u32, f64)> = reader.deserialize().map(|row| row.unwrap()).collect();
    let rounded = rows.iter().map(|(choices, value)| format!("{choices} {value:.4}")).collect::<Vec<_>>();
    assert_eq!(rounded, ["1 10.0000", "2 6.9409", "3 6.0628"]);
    let models = ["single", "double", "fifo", "greedy", "random"];
    let solved = models
        .map(|model| shown(&format!("solve-spare --target-wa 2.5 --model {model} --pages-per-block 32")));
    insta::assert_snapshot!("solve-spare", solved.concat());
}

#[test]
fn paths_are_shown() {
    let drive = "--pages-per-block 8 --hot-writes 0.9 --hot-space 0.1 --drive-writes 8 --points 8";
    insta::assert_snapshot!("transient", shown(&format!("transient {drive} --simulate --blocks 500")));
    for structure in ["single", "double"] {
        let arguments = format!("transient {drive} --structure {structure} --from fresh --format csv");
        let csv = shown(&arguments);
        assert_eq!(csv.lines().count(), 9, "{csv}");
        let simulated = shown(&format!("{arguments} --simulate --blocks 2000"));
        let mut reader = csv::Reader::from_reader(simulated.as_bytes());
        for row in reader.records().map(|row| row.unwrap()) {
            let difference: f64 = row[5].parse().unwrap();
            assert!(difference.abs() < 2.0, "{structure}: {row:?}");
        }
    }
}

#[test]
fn json_has_the_published_value_and_all_parameters() {
    let answer = json(PAPER);
    let amplification = answer["write_amplification"].as_f64().unwrap();
    assert!((amplification - 7.6481).abs() <= 5e-5, "{amplification}");
    assert_eq!(answer["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(answer["model"], "single");
    let parameters = &answer["parameters"];
    assert_eq!(parameters["pages_per_block"], 32);
    assert_eq!(parameters["spare_factor"], 0.07);
    assert_eq!(parameters["choices"], 9.0);
    assert_eq!(parameters["classes"][0]["write_share"], 0.81);
    let alpha = answer["over_provisioning"]["alpha"].as_f64().unwrap();
    assert!((alpha - 1.0 / 0.93).abs() < 1e-12);
    for distribution in ["valid_pages", "victim_valid_pages"] {
        let shares: Vec<f64> =
            answer[distribution].as_array().unwrap().iter().map(|share| share.as_f64().unwrap()).collect();
        assert_eq!(shares.len(), 33);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{distribution}");
    }
}

#[test]
fn all_four_measures_of_spare_space_agree() {
    let amplification_with = |option: &str, value: &str| {
        json(&["theory", "fifo", option, value])["write_amplification"].as_f64().unwrap()
    };
    let expected = amplification_with("--spare-factor", "0.2");
    for (option, value) in [("--load", "0.8"), ("--over-provisioning", "0.25"), ("--alpha", "1.25")] {
        assert!((amplification_with(option, value) / expected - 1.0).abs() < 1e-12, "{option}");
    }
}

#[test]
fn found_spare_factor_gives_the_target() {
    let found =
        json(&["theory", "solve-spare", "--target-wa", "2.5", "--hot-writes", "0.8", "--hot-space", "0.2"]);
    let spare_factor = found["over_provisioning"]["spare_factor"].to_string();
    let repeated =
        ["theory", "single", "--spare-factor", &spare_factor, "--hot-writes", "0.8", "--hot-space", "0.2"];
    let amplification = json(&repeated)["write_amplification"].as_f64().unwrap();
    assert!((amplification - 2.5).abs() < 1e-6, "{amplification}");
}

#[test]
fn errors_name_the_refused_option() {
    let mut messages = String::new();
    for arguments in [
        "single --hot-writes 1 --hot-space 0.2",
        "single --hot-writes 0.8 --hot-space 0",
        "single --hot-writes 0.8",
        "single --spare-factor 0",
        "single --spare-factor NaN",
        "single --spare-factor -0.1",
        "single --load 1",
        "single --alpha 1",
        "single --over-provisioning inf",
        "single --alpha 1.2 --load 0.9",
        "single --pages-per-block 0",
        "single --choices 0",
        "single --choices NaN",
        "single --choices 3 --policy random",
        "single --class 0.8:0.2",
        "single --class 0.8",
        "double --zipf 0.99 --zipf-classes 4",
        "double --zipf NaN",
        "double --zipf-classes 3",
        "single --zipf 1 --logical-pages 0",
        "single --zipf 1 --hot-writes 0.8 --hot-space 0.2",
        "separated --zipf 1",
        "windowed --window-share 2",
        "optimal-choices --max-choices 0",
        "solve-spare --target-wa 1",
        "solve-spare --target-wa 20000 --model random",
        "solve-spare --target-wa 2 --model greedy --hot-writes 0.8 --hot-space 0.2",
        "transient --drive-writes 0",
        "transient --points 0",
        "transient --policy greedy-limit",
        "transient --policy greedy-limit --simulate",
        "transient --simulate --choices 1.5",
        "transient --simulate --blocks 1",
    ] {
        let all: Vec<&str> = ["theory"].into_iter().chain(arguments.split(' ')).collect();
        let (out, err) = outcome(&all, 2);
        assert_eq!(out, "");
        messages += &format!("{arguments}\n{err}");
    }
    insta::assert_snapshot!("theory-errors", messages);
}

#[test]
fn check_compares_theory_with_simulation() {
    let small = ["check", "theory", "--points", "6", "--blocks", "500", "--runs", "3"];
    let checked = json(&small);
    assert_eq!(checked["agree"], true);
    assert_eq!(checked["points"].as_array().unwrap().len(), 6);
    let (table, _) = outcome(&small, 0);
    assert!(table.contains("6 of 6 points agree at the level of all together"), "{table}");
    let (one, _) = outcome(&[&small[..], &["--format", "csv", "--threads", "1"]].concat(), 0);
    let (two, _) = outcome(&[&small[..], &["--format", "csv", "--threads", "2"]].concat(), 0);
    assert_eq!(one, two);
    outcome(&["check", "theory", "--runs", "1"], 2);
}
