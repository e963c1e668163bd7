//! Every placement in every context: under a log, in timed mode, with power cuts, deduplication, tenants and trims.

use crate::common::run_text;
use wearwell_engine::placement::PLACEMENTS;
use wearwell_stack::RunResult;

const DRIVE: &str = "seed = 3\n[device]\nblocks_per_plane = 256\npages_per_block = 16\nspare_factor = 0.25\n";
const MEASURE: &str = "[measure]\nwarm_up = 1.0\ndrive_writes = 1.0\n";
const WORKLOAD: &str = "[workload]\nkind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1\ntrim_ratio = 0.05\nrequest_pages = 2\n";

const CLOCK: &str = "[timing]\nread_us = 50.0\nprogram_us = 200.0\nerase_us = 1000.0\nchannel_mb_per_s = 400.0\n\
                     cleaning = \"background\"\n";

/// Contexts of the FTL: name, keys of the FTL, and the rest of the scenario.
const CONTEXTS: &[(&str, &str, &str)] = &[
    ("a map in flash", "structure = \"dftl\"\n", ""),
    ("partial counters", "structure = { kind = \"gecko\", counters = \"none\" }\n", ""),
    ("power cuts", "", "[power]\nrandom = 5\n"),
    ("power cuts with a map in flash", "structure = \"gecko\"\n", "[power]\nrandom = 5\n"),
    ("equal pages", "dedup = \"inline\"\n", "[content]\ndedup_ratio = 0.3\n"),
    ("equal pages found while cleaning", "dedup = \"cagc\"\n", "[content]\ndedup_ratio = 0.3\n"),
    (
        "tenants",
        "",
        "[[tenant]]\nname = \"a\"\nshare = 0.5\nrate = 2\nworkload = { kind = \"uniform\", trim_ratio = 0.1 }\n\
         [[tenant]]\nname = \"b\"\nshare = 0.5\nworkload = { kind = \"zipf\", exponent = 1.0 }\n",
    ),
];

/// Placements that need knowledge of the workload or the contents, and so do not work everywhere; other tests cover
/// them.
const NEED_KNOWLEDGE: [&str; 5] =
    ["oracle", "references", "future_knowledge", "death_windows", "predicted_windows"];

/// Returns the placements that need no knowledge of the workload, each with a victim policy.
fn placements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let free = PLACEMENTS.iter().map(|entry| entry.name).filter(|name| !NEED_KNOWLEDGE.contains(name));
    free.map(|name| (name, "greedy"))
        .chain([("age_chain", "stream_queues"), ("learnt_lifetimes", "stream_queues")])
}

fn run(ftl: &str, rest: &str) -> RunResult {
    let workload = if rest.contains("[[tenant]]") { "" } else { WORKLOAD };
    run_text(&format!("{DRIVE}[ftl]\n{ftl}{MEASURE}{workload}{rest}"))
}

#[test]
fn every_placement_runs_in_every_context() {
    for (placement, victim) in placements() {
        for (name, ftl, rest) in CONTEXTS {
            let ftl = format!("placement = \"{placement}\"\nvictim = \"{victim}\"\n{ftl}");
            let result = run(&ftl, rest);
            assert!(result.nand.erases > 0, "{placement} with {name}");
            let min_amplification = if ftl.contains("dedup") { 0.1 } else { 1.0 };
            let amplification = result.write_amplification.expect("it wrote");
            assert!(
                amplification >= min_amplification && amplification < 20.0,
                "{placement} with {name}: {amplification}"
            );
        }
    }
}

#[test]
fn every_placement_runs_in_stacked_logs_and_in_timed_mode() {
    for (placement, victim) in placements() {
        let parts = format!("placement = \"{placement}\"\nvictim = \"{victim}\"\n");
        let log = format!("[[log]]\nsegment_size = \"64 KiB\"\nspare_factor = 0.4\n{parts}");
        let counted = run(&parts, &log);
        assert!(counted.layers.len() == 2 && counted.nand.erases > 0, "{placement}");
        let timed = run(&parts, &format!("{log}{CLOCK}"));
        assert_eq!(
            (timed.nand.programs, timed.nand.erases),
            (counted.nand.programs, counted.nand.erases),
            "{placement}"
        );
        assert_eq!(timed.write_amplification, counted.write_amplification, "{placement}");
    }
}
