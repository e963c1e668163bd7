//! Exact counts of every policy on shared small workloads.
//!
//! A changed number here means changed results of all scenarios with that policy. The test prints the rows that differ;
//! to renew the file, run `WEARWELL_BLESS=1 cargo test -p wearwell-stack --test stack golden` and commit it alone, with
//! the reason.

use crate::common::{assert_file_equals, run_text};
use wearwell_engine::counters::Operation;
use wearwell_engine::placement::PLACEMENTS;
use wearwell_engine::victim::VICTIMS;
use wearwell_workload::WORKLOADS;

const GOLDEN: &str = "crates/stack/tests/golden/policies.toml";

/// Settings of each workload. A new workload needs an entry here, which gives it a golden row.
const SETTINGS: &[(&str, &str)] = &[
    ("uniform", "request_pages = 3\nread_ratio = 0.1\ntrim_ratio = 0.05"),
    (
        "hot_cold",
        "hot_writes = 0.9\nhot_space = 0.1\ntrim_ratio = 0.02\nscatter = true\nhint = \"temperature\"",
    ),
    ("zipf", "exponent = 0.99\nscatter = true\nhint = \"temperature\""),
    ("sequential", "request_pages = 5"),
    ("fiu", "trace = \"web_vm\""),
    (
        "mixed",
        r#"parts = [
            { weight = 3, space = 0.25, workload = { kind = "sequential", request_pages = 4 } },
            { weight = 1, space = 0.75, workload = { kind = "zipf", exponent = 1.2 } },
        ]"#,
    ),
    (
        "phases",
        r#"repeat = true
        phases = [
            { writes = 1.5, workload = { kind = "uniform" } },
            { writes = 0.5, workload = { kind = "hot_cold", hot_writes = 0.8, hot_space = 0.2, shift = 0.5 } },
        ]"#,
    ),
];

fn settings(workload: &str) -> &'static str {
    let found = SETTINGS.iter().find(|(name, _)| *name == workload);
    found.unwrap_or_else(|| panic!("give the workload {workload} an entry in SETTINGS")).1
}

/// Returns a row: the counts of five drive writes, three of them measured, on 96 blocks of 16 pages.
fn row(name: &str, victim: &str, placement: &str, workload: &str) -> String {
    let result = run_text(&format!(
        r#"
        seed = 7
        [device]
        blocks_per_plane = 96
        pages_per_block = 16
        load = 0.75
        [ftl]
        victim = "{victim}"
        placement = "{placement}"
        [precondition]
        random_overwrites = 1
        [measure]
        warm_up = 1
        drive_writes = 3
        [workload]
        kind = "{workload}"
        {}
        "#,
        settings(workload)
    ));
    let host_pages = result.layers[0].incoming[Operation::Write.name()];
    let (programs, erases) = (result.nand.programs, result.nand.erases);
    let draw = &result.final_draw;
    format!(
        "{name} = {{ host_pages = {host_pages}, programs = {programs}, erases = {erases}, final_draw = \"{draw}\" }}\n"
    )
}

#[test]
fn counts_of_every_policy_equal_the_golden_file() {
    let mut text = String::from(
        "# Exact counts of small runs; see tests/stack/golden.rs for what they run and how to renew them.\n",
    );
    for workload in ["hot_cold", "zipf"] {
        text += &format!("\n[victim.{workload}]\n");
        VICTIMS.iter().for_each(|entry| text += &row(entry.name, entry.name, "double", workload));
    }
    for workload in ["hot_cold", "zipf"] {
        text += &format!("\n[placement.{workload}]\n");
        PLACEMENTS.iter().for_each(|entry| text += &row(entry.name, "d_choices", entry.name, workload));
    }
    text += "\n[workload]\n";
    WORKLOADS.iter().for_each(|entry| text += &row(entry.name, "greedy", "double", entry.name));
    assert_file_equals(GOLDEN, &text);
}
