//! Every FTL in whole scenarios: alone, below a log, shared, timed, on flash that fails, and after a power cut.

use crate::common::{error_of, ftls, has_battery, is_hybrid, run_text, scenario, try_run, writable_ftls};
use wearwell_stack::layers::PageMap;
use wearwell_stack::{FtlResult, LayerResult, PowerResult, RunResult, Scenario, resolve};

/// Returns the FTLs other than the log.
fn mapping_ftls() -> Vec<&'static str> {
    ftls(|properties| matches!(properties.map, PageMap::InFlash | PageMap::OfBlocks))
}

const DEVICE: &str = "[device]\nblocks_per_plane = 160\npages_per_block = 16\nspare_factor = 0.3\n";
const UNIFORM: &str = "[workload]\nkind = \"uniform\"\ntrim_ratio = 0.05\nread_ratio = 0.1\n";
const FLUSHING: &str = "[workload]\nkind = \"uniform\"\ntrim_ratio = 0.1\nflush_ratio = 0.1\n";
const MEASURE: &str = "[measure]\nwarm_up = 1.0\ndrive_writes = 2.0\n";

fn ftl_scenario(ftl: &str) -> String {
    format!("ftl = \"{ftl}\"\n{DEVICE}{UNIFORM}{MEASURE}")
}

fn bottom_layer(result: &RunResult) -> &LayerResult {
    result.layers.last().expect("an FTL")
}

fn ftl(result: &RunResult) -> &FtlResult {
    bottom_layer(result).ftl.as_ref().expect("an FTL other than the log")
}

fn outgoing(layer: &LayerResult, operation: &str) -> u64 {
    layer.outgoing.values().filter_map(|amounts| amounts.get(operation)).sum()
}

/// Returns the result as text, without the time that the run took.
fn text(mut result: RunResult) -> String {
    result.performance = Default::default();
    serde_json::to_string(&result).unwrap()
}

/// Checks that the counts of the FTL equal those of the flash, and that both write amplifications follow from the
/// counts.
fn check_counts(result: &RunResult) {
    let (layer, ftl) = (bottom_layer(result), ftl(result));
    assert_eq!(outgoing(layer, "write"), result.nand.programs);
    assert_eq!(outgoing(layer, "read"), result.nand.reads);
    assert_eq!(outgoing(layer, "erase"), result.nand.erases);
    assert_eq!(ftl.spare_reads.values().sum::<u64>(), result.nand.spare_reads);
    assert_eq!(ftl.ram.iter().map(|part| part.bytes).sum::<u64>(), ftl.ram_bytes);
    let host = layer.outgoing.get("host").and_then(|amounts| amounts.get("read")).copied().unwrap_or(0);
    assert_eq!(ftl.internal_reads, result.nand.reads - host);
    let weighted_ops = result.nand.programs as f64 + ftl.internal_reads as f64 / ftl.delta;
    let with_reads = weighted_ops / layer.incoming["write"] as f64;
    assert_eq!(ftl.write_amplification_with_reads, Some(with_reads));
    assert!(layer.write_amplification.is_none_or(|plain| with_reads >= plain), "{with_reads}");
}

#[test]
fn every_ftl_runs_alone() {
    for name in mapping_ftls() {
        let result = run_text(&ftl_scenario(name));
        assert_eq!(ftl(&result).kind, name);
        check_counts(&result);
        assert!(result.write_amplification.unwrap() > 1.0, "{name}");
        assert_eq!((ftl(&result).delta, &*ftl(&result).delta_source), (10.0, "assumed"));
    }
}

/// A watermark given as a fraction of all blocks equals the same number of blocks, in every FTL and in a log.
#[test]
fn watermark_as_share_equals_same_number_of_blocks() {
    let with = |ftl: &str, key: &str| {
        run_text(&format!("ftl = {{ structure = \"{ftl}\", {key} }}\n{DEVICE}{UNIFORM}{MEASURE}"))
    };
    for name in writable_ftls() {
        // Hybrids have few log blocks.
        let (share, blocks) = if is_hybrid(name) { (0.0125, 2) } else { (0.1, 16) };
        let by_share = with(name, &format!("free_share_low = {share}"));
        assert_eq!(text(by_share), text(with(name, &format!("free_blocks_low = {blocks}"))), "{name}");
        assert_ne!(
            text(with(name, &format!("free_blocks_low = {blocks}"))),
            text(run_text(&ftl_scenario(name))),
            "{name}"
        );
    }
    let log = |key: &str| {
        let log = format!("[[log]]\nsegment_blocks = 1\nspare_factor = 0.2\n{key}\n");
        text(run_text(&format!("{DEVICE}{log}{UNIFORM}{MEASURE}")))
    };
    // The pages that the drive shows make 112 segments.
    assert_eq!(log("free_share_low = 0.1"), log("free_blocks_low = 11"));
}

/// With partial counters, the reads of the flash include validity queries, RAM is smaller, and recovery and its model
/// restore no counters.
#[test]
fn ftls_run_with_partial_block_counters() {
    for kind in ["gecko", "mu_ftl", "ib_ftl"] {
        let full = run_text(&ftl_scenario(kind));
        for counters in
            ["counters = \"none\"", "counters = \"sampled\", counter_share = 0.1, counter_choices = 3"]
        {
            let structure = format!("ftl.structure = {{ kind = \"{kind}\", {counters} }}\n");
            let rest = format!("{DEVICE}{UNIFORM}{MEASURE}");
            let result = run_text(&format!("{structure}{rest}[power]\nat_end = true\n"));
            check_counts(&result);
            assert!(ftl(&result).ram_bytes < ftl(&full).ram_bytes, "{kind} {counters}");
            let recovery = ftl(&result).recovery.as_ref().expect("a cut at the end");
            let counting = recovery.steps.iter().find(|step| step.name == "block validity counters").unwrap();
            assert_eq!(counting.page_reads, 0);
            assert!(recovery.model.iter().all(|step| step.name != "block validity counters"));
        }
    }
}

#[test]
fn result_repeats_from_its_own_scenario() {
    for name in mapping_ftls() {
        let first = run_text(&ftl_scenario(name));
        let again = try_run(&first.scenario).unwrap();
        assert_eq!(text(first), text(again), "{name}");
    }
}

#[test]
fn ftl_name_equals_table_with_structure() {
    for (short, name) in [("geckoftl", "gecko"), ("mu-ftl", "mu_ftl"), ("ib-ftl", "ib_ftl"), ("page", "log")]
    {
        let resolved = |ftl: &str| resolve(&scenario(&format!("{ftl}{DEVICE}{UNIFORM}"))).unwrap();
        let table = resolved(&format!("ftl = {{ structure = \"{name}\" }}\n"));
        assert_eq!(resolved(&format!("ftl = \"{short}\"\n")), table);
        assert_eq!(resolved(&format!("ftl.structure = {{ kind = \"{name}\" }}\n")), table);
    }
}

#[test]
fn log_runs_on_every_ftl() {
    for name in mapping_ftls() {
        let log = "[[log]]\nsegment_size = \"128 KiB\"\nspare_factor = 0.2\nvictim = \"greedy\"\n";
        let result = run_text(&format!("ftl = \"{name}\"\n{DEVICE}{log}{UNIFORM}{MEASURE}"));
        assert_eq!(outgoing(&result.layers[0], "write"), bottom_layer(&result).incoming["write"]);
        check_counts(&result);
    }
}

#[test]
fn tenants_run_on_every_ftl() {
    for name in mapping_ftls() {
        let tenant = "[[tenant]]\nshare = 0.5\n[tenant.workload]\nkind = \"uniform\"\n";
        let result = run_text(&format!("ftl = \"{name}\"\n{DEVICE}{tenant}{tenant}{MEASURE}"));
        assert_eq!(result.tenants.len(), 2);
        check_counts(&result);
    }
}

#[test]
fn timed_mode_changes_no_counts() {
    let times = "[timing]\nread_us = 50.0\nprogram_us = 200.0\nerase_us = 1000.0\nchannel_mb_per_s = 400.0\n";
    for name in mapping_ftls() {
        let plain = run_text(&ftl_scenario(name));
        let timed = run_text(&format!("{}{times}", ftl_scenario(name)));
        check_counts(&timed);
        assert!(timed.timing.as_ref().unwrap().requests_per_s > 0.0);
        assert_eq!((ftl(&timed).delta, &*ftl(&timed).delta_source), (4.0, "timing"));
        let (mut plain, mut timed) = (plain.layers, timed.layers);
        for layers in [&mut plain, &mut timed] {
            let ftl = layers[0].ftl.as_mut().unwrap();
            (ftl.delta, ftl.write_amplification_with_reads) = (0.0, None);
            ftl.delta_source.clear();
        }
        assert_eq!(plain, timed, "{name}");
    }
}

#[test]
fn every_ftl_survives_program_failures_and_read_disturb() {
    let faults = "program_failure_rate = 1e-4\nread_disturb_limit = 10\nendurance_cycles = 100000\n";
    for name in mapping_ftls() {
        let result = run_text(
            &ftl_scenario(name)
                .replace("read_ratio = 0.1", "read_ratio = 0.6")
                .replace("spare_factor = 0.3\n", &format!("spare_factor = 0.3\n{faults}")),
        );
        check_counts(&result);
        let count = |part: &str| -> u64 {
            ftl(&result).counts.iter().filter(|(name, _)| name.contains(part)).map(|(_, count)| count).sum()
        };
        assert!(count("fail") > 0 && count("refresh") > 0, "{name}: {:?}", ftl(&result).counts);
    }
}

/// An untimed run joins consecutive requests, a timed run does not.
#[test]
fn timed_mode_does_not_change_what_read_disturb_rewrites() {
    let times = "[timing]\nread_us = 50.0\nprogram_us = 200.0\nerase_us = 1000.0\nchannel_mb_per_s = 400.0\n";
    for name in writable_ftls() {
        let text = |limit: &str| {
            ftl_scenario(name)
                .replace("read_ratio = 0.1", "read_ratio = 0.9")
                .replace("spare_factor = 0.3\n", &format!("spare_factor = 0.3\n{limit}"))
        };
        let limited = text("read_disturb_limit = 40\n");
        let (plain, timed) = (run_text(&limited), run_text(&format!("{limited}{times}")));
        assert_eq!((&plain.nand, &plain.wear), (&timed.nand, &timed.wear), "{name}");
        assert_ne!(plain.nand.programs, run_text(&text("")).nand.programs, "{name}: nothing is rewritten");
    }
}

#[test]
fn every_ftl_recovers_from_power_cut_at_end() {
    for name in writable_ftls() {
        let cut = run_text(&format!("{}[power]\nat_end = true\n", ftl_scenario(name)));
        let recovery = ftl(&cut).recovery.clone().expect("a recovery");
        let power = cut.scenario.power.clone().unwrap();
        assert_eq!((power.read_us, power.spare_read_us), (Some(100.0), Some(3.125)));
        for step in &recovery.steps {
            let us = 3.125 * step.spare_reads as f64
                + 100.0 * step.page_reads as f64
                + 1000.0 * step.page_writes as f64
                + 3000.0 * step.erases as f64;
            assert!((step.seconds - us / 1e6).abs() < 1e-12, "{name}: {step:?}");
        }
        assert!(recovery.seconds > 0.0);
        assert_eq!(recovery.model_seconds.is_some(), !is_hybrid(name));
        // The power is cut after the measurement.
        let mut plain = run_text(&ftl_scenario(name));
        let mut cut = cut;
        match name {
            "log" => cut.layers[0].ftl = None,
            _ => cut.layers[0].ftl.as_mut().unwrap().recovery = None,
        }
        (plain.performance, cut.performance) = Default::default();
        cut.scenario.power = None;
        assert_eq!(plain, cut, "{name}");
    }
}

#[test]
fn power_cuts_during_work_lose_no_data() {
    for name in writable_ftls() {
        let power = "[power]\nevery = 400\nrecovery_cut_probability = 0.3\nat_end = true\n";
        let text = format!("{}{power}", ftl_scenario(name));
        let result = run_text(&text);
        if name != "log" {
            check_counts(&result);
        }
        let cuts = result.power.clone().expect("cuts");
        assert!(cuts.cuts >= 5 && cuts.pages_verified > 0, "{name}: {cuts:?}");
        assert!(
            cuts.recovery_seconds_max >= cuts.recovery_seconds_mean && cuts.recovery_seconds_mean > Some(0.0)
        );
        assert!(ftl(&result).recovery.is_some());
        assert_eq!(repeat_as_text(&result), repeat_as_text(&run_text(&text)));
        let rows = text.replace("[power]", "[power]\ncut_again_probability = 0.7");
        let rows = run_text(&rows.replace(UNIFORM, FLUSHING)).power.unwrap();
        let verified_per_cut = |power: &PowerResult| power.pages_verified as f64 / power.cuts as f64;
        assert!(verified_per_cut(&rows) < verified_per_cut(&cuts), "{name}: {rows:?}");
        let random = run_text(&text.replace("every = 400", "random = 9")).power.unwrap();
        assert!((1..=9).contains(&random.cuts), "{name}: {random:?}");
        let one = run_text(&text.replace("every = 400", "at_operation = \"4711t\"")).power.unwrap();
        assert_eq!((one.cuts, one.torn_cuts), (1, u64::from(!has_battery(name))), "{name}");
    }
}

fn repeat_as_text(result: &RunResult) -> String {
    text(result.clone())
}

#[test]
fn ftl_uses_configured_policies() {
    let with = |keys: &str| {
        run_text(
            &ftl_scenario("gecko").replace("ftl = \"gecko\"", &format!("ftl.structure = \"gecko\"\n{keys}")),
        )
    };
    let greedy = with("ftl.victim = \"greedy\"");
    let random = with("ftl.victim = \"random\"");
    assert!(greedy.write_amplification < random.write_amplification);
    let oracle = "[workload]\nkind = \"hot_cold\"\nhot_space = 0.1\nhot_writes = 0.9\n";
    let hot = |placement: &str| {
        let text = format!(
            "ftl = {{ structure = \"dftl\", placement = \"{placement}\" }}\n{DEVICE}{oracle}{MEASURE}"
        );
        run_text(&text).write_amplification.unwrap()
    };
    assert!(hot("oracle") < hot("single"));
}

#[test]
fn wear_is_levelled_if_configured() {
    let table = "ftl = { structure = { kind = \"gecko\", wear = \"scan\" } }";
    let result = run_text(&ftl_scenario("gecko").replace("ftl = \"gecko\"", table));
    check_counts(&result);
    assert!(ftl(&result).spare_reads["wear_levelling"] > 0);
}

#[test]
fn settings_without_effect_are_refused_by_key() {
    let table = |keys: &str| format!("ftl = {{ {keys} }}\n{DEVICE}{UNIFORM}{MEASURE}");
    for (keys, expected) in [
        (
            "structure = \"gecko\", reclaim = \"in_place\"",
            "ftl.reclaim: means nothing with structure = \"gecko\"",
        ),
        ("structure = \"bast\", victim = \"fifo\"", "ftl.victim: means nothing with structure = \"bast\""),
        ("structure = \"fast\", placement = \"single\"", "ftl.placement: means nothing"),
        ("structure = \"dftl\", free_blocks_high = 9", "ftl.free_blocks_high: means nothing"),
        ("structure = \"dftl\", free_blocks_idle = 1", "ftl.free_blocks_idle: is 1; it must be above"),
        ("structure = \"bast\", free_blocks_idle = 9", "ftl.free_blocks_idle: is more than the 4 log blocks"),
        ("structure = \"dftl\", evict = true", "ftl.evict: means nothing"),
        ("structure = \"dftl\", directory = \"block\"", "ftl.directory: means nothing"),
        (
            "structure = \"dftl\", placement = \"references\"",
            "ftl.placement: needs a drive that stores equal pages once",
        ),
        ("structure = \"bast\", dedup = \"cagc\"", "ftl.dedup: looks at pages while they are moved"),
        (
            "structure = { kind = \"gecko\", counter_share = 0.1 }",
            "ftl.structure.counter_share: means nothing but with counters = \"sampled\"",
        ),
        (
            "structure = { kind = \"gecko\", counter_choices = 3 }",
            "ftl.structure.counter_choices: means nothing but with counters = \"sampled\" or \"none\"",
        ),
        (
            "structure = { kind = \"gecko\", counters = \"sampled\", counter_choices = 1 }",
            "ftl.structure.counter_choices: is 1; at least two blocks",
        ),
        (
            "structure = { kind = \"lazyftl\", counters = \"none\" }",
            "ftl.structure.counters: would save nothing",
        ),
        ("structure = { kind = \"dftl\", cached_nodes = 3 }", "ftl.structure.cached_nodes: means nothing"),
        ("structure = { kind = \"fast\", log_blocks = 1 }", "ftl.structure.log_blocks: is 1"),
        ("structure = { kind = \"gecko\", cache_entries = 0 }", "ftl.structure.cache_entries: is 0"),
        ("structure = { kind = \"bast\", log_share = 0.9 }", "ftl.structure: "),
        ("structure = \"lsm\"", "an FTL can be log, zones, dftl"),
    ] {
        let error = error_of(&table(keys));
        assert!(error.starts_with(expected) || error.contains(expected), "{keys}: {error}");
    }
    let log = format!("{DEVICE}[[log]]\nstructure = \"gecko\"\n{UNIFORM}");
    assert!(error_of(&log).starts_with("log[0].structure: is \"gecko\", which only the FTL can be"));
    let cut = "content = \"mail\"\nftl = { dedup = \"inline\" }\n";
    let cut = format!("{cut}{DEVICE}{UNIFORM}[power]\nat_end = true\n");
    assert!(error_of(&cut).starts_with("power: needs all that was flushed on flash"), "{}", error_of(&cut));
    let power = |keys: &str| error_of(&format!("{}[power]\n{keys}\n", ftl_scenario("gecko")));
    assert!(
        power("every = 5\nrandom = 3").starts_with("power: `every` and `random` stand beside each other")
    );
    assert!(power("every = 0").starts_with("power.every: is 0"));
    assert!(power("at_operation = \"x\"").starts_with("power.at_operation: is \"x\""));
    assert!(power("read_us = -1.0").starts_with("power.read_us: is -1"));
    assert!(
        power("recovery_cut_probability = 1.0\nevery = 9")
            .starts_with("power.recovery_cut_probability: is 1")
    );
    let faulty = ftl_scenario("dftl").replace("spare_factor", "program_failure_rate = 1.0\nspare_factor");
    assert!(error_of(&faulty).starts_with("device.program_failure_rate: is 1"));
}

#[test]
fn short_form_is_written_as_table() {
    let short: Scenario = scenario(&ftl_scenario("gecko"));
    let written = toml::to_string(&short).unwrap();
    assert!(written.contains("[ftl.structure]\nkind = \"gecko\""), "{written}");
    assert_eq!(scenario(&written), short);
}
