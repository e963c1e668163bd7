//! Tests of `wearwell limit`: the comparison of a drive with its lower bound, in every output format.

use crate::common::{json, outcome, small};
use serde_json::{Value, json};

const POLICY_ARGUMENTS: [&str; 4] = ["--placements", "single,double", "--victims", "fifo"];

#[test]
fn all_output_formats_agree() {
    let (folder, scenario) = small();
    let [csv, page] = ["limit.csv", "limit.html"].map(|name| folder.path().join(name));
    let [csv_path, page_path] = [&csv, &page].map(|path| path.to_str().unwrap());
    let more = ["--replicas", "3", "--output", csv_path, "--report", page_path, "--format", "json"];
    let (json_text, _) = outcome(&[&["limit", &scenario], &POLICY_ARGUMENTS[..], &more].concat(), 0);
    let json: Value = serde_json::from_str(&json_text).unwrap();
    assert_eq!(json["replicas"], 3);
    let rows = json["rows"].as_array().unwrap();
    // The scenario's own pair, the other placement, and the other victim policy.
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["write_amplification"], json["write_amplification"]);
    assert!(rows.iter().all(|row| row["write_amplification_ci95"].as_f64().unwrap() > 0.0), "{json}");
    let mut reader = csv::Reader::from_path(&csv).unwrap();
    let heads = reader.headers().unwrap().clone();
    let at = |name: &str| heads.iter().position(|head| head == name).unwrap();
    for (row, record) in rows.iter().zip(reader.records().map(Result::unwrap)) {
        for name in ["write_amplification", "above_offline_ci95", "lost_by_placement"] {
            assert_eq!(record[at(name)].parse::<f64>().unwrap(), row[name].as_f64().unwrap(), "{name}");
        }
    }
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("\"kind\":\"limit\"") && text.contains("min_rewrites"));
    // The printed JSON can later be drawn on a page.
    let saved = folder.path().join("limit.json");
    std::fs::write(&saved, json.to_string()).unwrap();
    let repeated = folder.path().join("again.html");
    outcome(&["report", saved.to_str().unwrap(), "--output", repeated.to_str().unwrap()], 0);
    assert!(std::fs::read_to_string(&repeated).unwrap().contains("\"kind\":\"limit\""));
}

#[test]
fn table_names_number_of_seeds() {
    let (_folder, scenario) = small();
    let (table, _) = outcome(&[&["limit", &scenario, "--replicas", "2"], &POLICY_ARGUMENTS[..]].concat(), 0);
    assert!(table.contains("Means over 2 seeds, the same for all."), "{table}");
    let (table, _) = outcome(&[&["limit", &scenario], &POLICY_ARGUMENTS[..]].concat(), 0);
    assert!(!table.contains("seeds"), "{table}");
}

#[test]
fn finished_runs_are_reused_and_single_seed_is_the_first_of_several() {
    let (folder, scenario) = small();
    let store = folder.path().join("runs").display().to_string();
    let [one, two] = ["one.json", "two.json"].map(|name| folder.path().join(name));
    let limit_with = |path: &std::path::Path, replicas: &str| {
        let more = ["--replicas", replicas, "--store", &store, "--output", path.to_str().unwrap()];
        outcome(&[&["limit", &scenario], &POLICY_ARGUMENTS[..], &more].concat(), 0);
        json(path)
    };
    let (single, both) = (limit_with(&one, "1"), limit_with(&two, "2"));
    assert_eq!((&single["replicas"], &both["replicas"]), (&json!(1), &json!(2)));
    assert_ne!(single["rows"][1]["write_amplification"], both["rows"][1]["write_amplification"]);
    assert_eq!(limit_with(&folder.path().join("again.json"), "2"), both);
}

#[test]
fn unknown_policies_and_page_names_are_refused() {
    let (_folder, scenario) = small();
    for (arguments, expected) in [
        (["--placements", "doubel"], "--placements: unknown variant `doubel`"),
        (["--victims", "gredy"], "--victims: unknown variant `gredy`"),
        (["--replicas", "0"], "--replicas"),
        (["--replicas", "4294967295"], "--replicas: 4294967295 of "),
        (["--report", "limit.txt"], "limit.txt: a report ends in .html"),
    ] {
        let (_, stderr) = outcome(&[&["limit", &scenario], &arguments[..]].concat(), 2);
        assert!(stderr.contains(expected), "{stderr}");
    }
}
