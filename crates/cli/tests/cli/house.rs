//! Checks that shipped scenarios, schema, help and lists agree with the program.

use crate::common::{assert_knows_keys, outcome, repository, schema};
use wearwell_engine::victim::VICTIMS;
use wearwell_trace::FORMATS;
use wearwell_workload::WORKLOADS;

#[test]
fn every_scenario_is_valid_and_names_its_schema() {
    let mut scenario_count = 0;
    for entry in std::fs::read_dir(repository().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("#:schema ../docs/scenario.schema.json\n"), "{}", path.display());
        let (resolved, _) = outcome(&["scenario", "check", &path.display().to_string()], 0);
        // The output of `check` is itself a valid scenario.
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("again.toml");
        std::fs::write(&copy, &resolved).unwrap();
        assert_eq!(outcome(&["scenario", "check", &copy.display().to_string()], 0).0, resolved);
        scenario_count += 1;
    }
    assert!(scenario_count >= 6);
}

#[test]
fn schema_of_scenarios_is_complete_and_knows_the_keys_of_shipped_files() {
    let schema = schema(&["scenario", "schema"]);
    for entry in std::fs::read_dir(repository().join("scenarios")).unwrap() {
        assert_knows_keys(&schema, &entry.unwrap().path());
    }
}

#[test]
fn new_scenario_is_canonical() {
    let (text, _) = outcome(&["scenario", "new"], 0);
    assert!(text.starts_with("# The canonical scenario"), "{text}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.toml");
    std::fs::write(&path, text).unwrap();
    let (new, _) = outcome(&["scenario", "check", &path.display().to_string()], 0);
    assert_eq!(new, outcome(&["scenario", "check"], 0).0);
}

#[test]
fn help_has_examples() {
    for command in [
        &["--help"][..],
        &["run", "--help"],
        &["sweep", "--help"],
        &["advise", "--help"],
        &["trace", "convert", "--help"],
        &["trace", "cut", "--help"],
        &["trace", "generate", "--help"],
    ] {
        let (help, _) = outcome(command, 0);
        assert!(help.contains("Examples:"), "{command:?}\n{help}");
    }
    insta::assert_snapshot!("help", outcome(&["--help"], 0).0);
    insta::assert_snapshot!("help-run", outcome(&["run", "--help"], 0).0);
    insta::assert_snapshot!("help-sweep", outcome(&["sweep", "--help"], 0).0);
}

#[test]
fn lists_name_every_entry_with_help_and_source() {
    let (out, _) = outcome(&["list", "all", "--format", "json"], 0);
    let entries: Vec<std::collections::BTreeMap<String, String>> = serde_json::from_str(&out).unwrap();
    for kind in ["victim", "placement", "workload", "format", "preset", "log layout"] {
        assert!(entries.iter().any(|entry| entry["kind"] == kind), "no {kind}");
    }
    for entry in &entries {
        assert!(["name", "help", "source"].iter().all(|key| !entry[*key].is_empty()), "{entry:?}");
    }
    let (table, _) = outcome(&["list", "victims"], 0);
    assert!(table.contains("greedy") && table.contains("Van Houdt"), "{table}");
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(outcome(&["completions", shell], 0).0.contains("wearwell"));
    }
    let directory = tempfile::tempdir().unwrap();
    outcome(&["man", &directory.path().display().to_string()], 0);
    for page in ["wearwell-run.1", "wearwell-nvmfs-mkfs.1"] {
        assert!(directory.path().join(page).exists(), "{page}");
    }
}

/// Replaces the names of a table, listed in its order, by its title, so that a new name changes no snapshot.
fn without_list(text: &str, title: &str, names: &[&str]) -> String {
    let (first, last) = (names[0], names[names.len() - 1]);
    let shortened = |line: &str| {
        let quote = if line.contains(&format!("`{first}`")) { "`" } else { "" };
        let of = |name: &str| format!("{quote}{name}{quote}");
        if !names.iter().all(|name| line.contains(&of(name))) {
            return line.to_owned();
        }
        let start = line.find(&of(first)).expect("the first name");
        let end = line.rfind(&of(last)).expect("the last name") + of(last).len();
        format!("{}(all {title}){}", &line[..start], &line[end..])
    };
    text.split_inclusive('\n').map(shortened).collect()
}

#[test]
fn errors_name_location_key_and_choices() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.toml");
    let mut shown = String::new();
    for (before, after) in [
        ("pages_per_block = 16", "pages_per_blok = 16"),
        ("load = 0.8", "load = 1.8"),
        ("load = 0.8", "load = 0.8\nalpha = 1.2"),
        ("kind = \"uniform\"", "kind = \"unifrom\""),
        ("kind = \"uniform\"", "kind = \"hot_cold\"\nhot_writes = 0.8"),
        ("kind = \"uniform\"", "kind = \"uniform\"\nread_ratio = 2.0"),
        ("warm_up = 5.0", "warm_up = \"5\""),
        ("[measure]", "[measure"),
        ("[measure]", "[ftl]\nvictim = \"greddy\"\n[measure]"),
        ("[measure]", "[ftl.victim]\npolicy = \"d_choices\"\nchoices = 0\n[measure]"),
    ] {
        std::fs::write(&path, crate::common::SMALL.replace(before, after)).unwrap();
        let (out, err) = outcome(&["run", &path.display().to_string()], 2);
        assert_eq!(out, "");
        shown += &err.replace(&path.display().to_string(), "bad.toml");
    }
    for arguments in [
        &["run", "--set", "device.capcity=1"][..],
        &["run", "--set", "device"],
        &["run", "--spare-factor", "7"],
        &["run", "--output", "result.txt"],
        &["run", "--victim", "best"],
        &["run", "no-such-file.toml"],
        &["trace", "formats", "no-such-format"],
        &["trace", "describe", "Cargo.toml"],
    ] {
        shown += &outcome(arguments, 2).1;
    }
    let victims: Vec<&str> = VICTIMS.iter().map(|entry| entry.name).collect();
    let workloads: Vec<&str> = WORKLOADS.iter().map(|entry| entry.name).collect();
    let formats: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    for (title, names) in [("victim policies", victims), ("workloads", workloads), ("trace formats", formats)]
    {
        shown = without_list(&shown, title, &names);
    }
    assert_eq!(shown.matches("(all ").count(), 5, "{shown}");
    insta::assert_snapshot!("errors", shown);
}
