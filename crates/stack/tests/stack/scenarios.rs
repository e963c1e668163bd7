//! Scenarios from TOML to result: repetition, warnings, steady state, wear, logs on an FTL.

use crate::common::{error_of, root, run_text, try_run};
use wearwell_stack::{Performance, Phase, RunResult, Scenario};

const SMALL: &str = r#"
    [device]
    blocks_per_plane = 128
    pages_per_block = 16
    spare_factor = 0.15
"#;

const UNIFORM: &str = "[workload]\nkind = \"uniform\"\n";

fn without_performance(mut result: RunResult) -> RunResult {
    result.performance = Performance::default();
    result
}

fn sum_of_programs(result: &RunResult) -> u64 {
    let measured = result.windows.iter().filter(|window| window.phase == Phase::Measure);
    measured.map(|window| window.programs).sum()
}

#[test]
fn equal_scenarios_give_equal_results_and_results_repeat() {
    let text = format!(
        "seed = 5\n{SMALL}[ftl]\nplacement = \"age_classes\"\nvictim = \"d_choices\"\n\
         [workload]\nkind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1\ntrim_ratio = 0.05\n"
    );
    let first = without_performance(run_text(&text));
    assert_eq!(first, without_performance(run_text(&text)));
    let again = without_performance(try_run(&first.scenario).unwrap());
    assert_eq!(first, again);
    let through_json: RunResult = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
    assert_eq!(first, without_performance(try_run(&through_json.scenario).unwrap()));
    let other = run_text(&text.replace("seed = 5", "seed = 6"));
    assert_ne!(first.final_draw, other.final_draw);
    assert!(first.phases.steady, "{:?}", first.warnings);
    assert_eq!(sum_of_programs(&first), first.nand.programs);
}

#[test]
fn run_without_cleaning_has_no_write_amplification() {
    let result = run_text(&format!(
        "{SMALL}{UNIFORM}[precondition]\nfill = \"none\"\n[measure]\nwarm_up = 0\ndrive_writes = 0.5\n"
    ));
    assert_eq!(result.write_amplification, None);
    assert_eq!(result.write_amplification_estimate, None);
    assert_eq!(result.layers[0].write_amplification, None);
    assert!(
        result.warnings.iter().any(|warning| warning.contains("no cleaning happened")),
        "{:?}",
        result.warnings
    );
}

#[test]
fn unsteady_run_warns() {
    let result = run_text(&format!("{SMALL}{UNIFORM}[measure]\nwarm_up = 0.5\ndrive_writes = 1\n"));
    assert!(!result.phases.steady);
    assert!(result.warnings.iter().any(|warning| warning.starts_with("not steady")), "{:?}", result.warnings);
}

#[test]
fn shipped_trace_replays_in_whole_passes() {
    let trace = root().join("traces/rocksdb-pgbench-ext4.blkparse.zst");
    let result = run_text(&format!(
        r#"
        [device]
        capacity = 738197504
        over_provisioning = 0.07
        pages_per_block = 256
        [trace]
        path = "{}"
        format = "blkparse"
        [precondition]
        fill = "none"
        [measure]
        warm_up = 0.1
        drive_writes = 0.1
        "#,
        trace.display()
    ));
    assert_eq!(result.device.logical_pages, 180_224);
    let passes = result.phases.trace_passes.unwrap();
    assert!(passes >= 2, "{passes} passes");
    assert_eq!(result.phases.skipped_lines, 0);
    let amplification = result.write_amplification.expect("the footprint was overwritten several times");
    assert!((1.0..3.0).contains(&amplification), "{amplification}");
    assert!(result.layers[0].incoming["trim"] > 0 && result.layers[0].incoming["flush"] > 0);
    assert!(result.warnings.iter().any(|warning| warning.starts_with("not steady")));
}

#[test]
fn measured_life_agrees_with_endurance_cycles() {
    // FIFO wears all blocks equally, so that many wear out together; the pool must have free space for the pages of all
    // these blocks.
    let roomy_drive = SMALL.replace("0.15", "0.25");
    let result = run_text(&format!(
        "{roomy_drive}endurance_cycles = 40\nendurance_spread = 0.1\nwears_out = true\n{UNIFORM}\
         [ftl]\nvictim = \"fifo\"\nplacement = \"single\"\nfree_blocks_low = 12\n[measure]\nwindow = 0.02\nuntil_worn_out_blocks = 3\n"
    ));
    let worn_out = result.measured_life.unwrap();
    assert!(worn_out.blocks >= 3 && !worn_out.end_of_life, "{worn_out:?}");
    assert!(result.wear.worn_out_blocks >= 3);
    // Blocks endure 36 to 44 cycles; erased in turns, the weakest wear out when all have had slightly more than 36.
    let expected = result.lifetime.unwrap().tbw;
    let share = worn_out.tbw / expected;
    assert!((0.85..1.05).contains(&share), "{} of {expected}", worn_out.tbw);
}

/// The 128 blocks of 16 pages of 4 KiB, with 100 cycles each, endure 838.9 MB of flash writes; the host sees 1,741
/// pages, 7.13 MB.
#[test]
fn result_compares_run_with_data_sheet() {
    let run = |more: &str| {
        let measure = "[measure]\nwarm_up = 2\ndrive_writes = 2\nwarranty_years = 3\n";
        run_text(&format!("{SMALL}endurance_cycles = 100\n{more}\n{UNIFORM}{measure}"))
    };
    let assert_close = |value: Option<f64>, expected: f64| {
        assert!((value.unwrap() / expected - 1.0).abs() < 1e-9, "{value:?} is not {expected}");
    };
    let result = run("tbw = 0.0002");
    let rating = result.rating.unwrap();
    assert_close(rating.write_amplification_limit, 128.0 * 16.0 * 4096.0 * 100.0 / 2e8);
    assert_close(rating.life_ratio, result.lifetime.unwrap().tbw / 0.0002);
    assert_close(rating.dwpd, 2e8 / (1741.0 * 4096.0) / (3.0 * 365.0));
    assert_eq!((rating.warranty_years, rating.years), (Some(3.0), None));
    // A rating in the scenario does not change the counts.
    let plain = run("");
    assert_eq!((plain.rating, plain.final_draw, plain.nand), (None, result.final_draw, result.nand));
    assert_close(
        run("dwpd = 0.01").rating.map(|rating| rating.tbw),
        1741.0 * 4096.0 * 0.01 * 3.0 * 365.0 / 1e12,
    );
    for (wrong, expected) in [
        ("tbw = 0.0", "device.tbw: is 0; it must be a number above 0"),
        ("dwpd = -1.0", "device.dwpd: is -1; it must be a number above 0"),
        (
            "tbw = 1.0\ndwpd = 1.0",
            "device.dwpd: is 1, which over 3 years of 365 days is 0.013014 TB, and `tbw` is 1",
        ),
    ] {
        let found = error_of(&format!("{SMALL}{wrong}\n{UNIFORM}"));
        assert!(found.starts_with(&expected.replace("over 3", "over 5")), "{found}");
    }
}

#[test]
fn amplification_multiplies_through_a_log_on_the_drive() {
    let result = run_text(&format!(
        "{SMALL}[[log]]\nsegment_size = \"32 KiB\"\nspare_factor = 0.2\n{UNIFORM}[measure]\nwarm_up = 6\ndrive_writes = 4\n"
    ));
    let [log, ftl] = &result.layers[..] else { panic!("two layers") };
    assert_eq!((log.name.as_str(), ftl.name.as_str()), ("log0", "ftl"));
    let sent: u64 = log.outgoing.values().filter_map(|amounts| amounts.get("write")).sum();
    assert_eq!(sent, ftl.incoming["write"]);
    let programmed: u64 = ftl.outgoing.values().filter_map(|amounts| amounts.get("write")).sum();
    assert_eq!(programmed, result.nand.programs);
    let whole = result.write_amplification.unwrap();
    let product = log.write_amplification.unwrap() * ftl.write_amplification.unwrap_or(1.0);
    assert!((whole - product).abs() < 1e-9, "{whole} and {product}");
    assert_eq!(whole, result.nand.programs as f64 / log.incoming["write"] as f64);
    assert!(log.write_amplification.unwrap() > 1.2);
    // A log that trims cleaned segments leaves the FTL little to clean.
    assert!(ftl.incoming["trim"] > 0);
}

/// Impossible settings, each with the key that the error must name and a word that it must contain.
const REFUSED: &[(&str, &str, &str)] = &[
    ("device.capacity = \"8 MiB\"", "device", "all given"),
    ("device.raw_capacity = \"8 MiB\"", "device", "raw_capacity and blocks_per_plane"),
    ("device.load = 0.5", "device", "spare_factor and load"),
    ("device.spare_factor = 1.5", "device.spare_factor", "0 < spare_factor < 1"),
    ("device.preset = \"no_such\"", "device.preset", "unknown; one of"),
    ("device.mapping_unit = \"3 KiB\"", "device.mapping_unit", "divide"),
    ("device.wears_out = true", "device.endurance_cycles", "missing"),
    ("device.endurance_cycles = 0", "device.endurance_cycles", "at least 1"),
    ("device.page_size = 1", "device.mapping_unit", "at least 512"),
    ("device.mapping_unit = 0", "device.mapping_unit", "at least 512"),
    ("measure.window = 1e-300", "measure.window", "at least a page"),
    ("device.endurance_spread = 1.0", "device.endurance_spread", "below 1"),
    ("device.factory_bad_blocks = 128", "device.factory_bad_blocks", "some must be good"),
    ("ftl.reclaim = \"in_place\"\nftl.free_blocks_low = 3", "ftl.free_blocks_low", "in_place"),
    ("ftl.reclaim = \"in_place\"\nftl.free_share_low = 0.05", "ftl.free_share_low", "in_place"),
    (
        "ftl.free_blocks_low = 4\nftl.free_share_low = 0.05",
        "ftl.free_share_low",
        "`free_blocks_low`; give one",
    ),
    ("ftl.free_share_low = 1.0", "ftl.free_share_low", "above 0 and below 1"),
    ("ftl.directory = \"block\"", "ftl.directory", "needs page"),
    ("ftl.directory = \"block\"\nftl.placement = \"bloom\"", "ftl.directory", "needs page"),
    ("ftl.reclaim = \"in_place\"\nftl.placement = \"bloom\"", "ftl.reclaim", "free_pool"),
    ("ftl.free_blocks_low = 4\nftl.free_blocks_high = 3", "ftl.reclaim", "low"),
    ("ftl.free_blocks_low = 100", "device", "watermarks"),
    ("ftl.trim = true", "ftl.trim", "stacked logs"),
    ("ftl.victim = { policy = \"d_choices\", choices = 0 }", "ftl.victim.choices", "at least one"),
    ("ftl.placement = \"oracle\"", "ftl.placement.kind", "workload"),
    ("log = [{}]", "log[0].segment_size", "missing"),
    ("log = [{ segment_size = 5000 }]", "log[0].segment_size", "multiple"),
    ("log = [{ segment_size = \"64 KiB\", spare_factor = 0.0 }]", "log[0].spare_factor", "above 0"),
    ("measure.window = 0.0", "measure.window", "above 0"),
    ("measure.warm_up = -1.0", "measure.warm_up", "0 or above"),
    ("measure.until_worn_out_blocks = 2", "measure.until_worn_out_blocks", "device.wears_out"),
    ("precondition.random_overwrites = -1.0", "precondition.random_overwrites", "0 or above"),
    ("precondition.request_pages = 0", "precondition.request_pages", "at least one page"),
    ("trace = { path = \"t.csv\" }", "workload", "trace"),
    ("workload = { kind = \"hot_cold\", hot_writes = 2.0, hot_space = 0.1 }", "workload.hot_writes", "1"),
];

/// Returns the small scenario with `changes` merged into it.
fn scenario_with(changes: &str) -> String {
    fn merge(base: &mut toml::Table, changes: toml::Table) {
        for (key, value) in changes {
            match (base.get_mut(&key), value) {
                (Some(toml::Value::Table(inner)), toml::Value::Table(changes))
                    if !changes.contains_key("kind") =>
                {
                    merge(inner, changes);
                }
                (_, value) => drop(base.insert(key, value)),
            }
        }
    }
    let mut base: toml::Table = format!("{SMALL}{UNIFORM}").parse().unwrap();
    merge(&mut base, changes.parse().unwrap());
    toml::to_string(&base).unwrap()
}

#[test]
fn impossible_settings_are_refused_by_key() {
    for (changes, key, word) in REFUSED {
        let message = error_of(&scenario_with(changes));
        assert!(message.starts_with(&format!("{key}: ")), "{changes}: {message}");
        assert!(message.contains(word), "{changes}: {message}");
    }
}

/// A drive may wear out under a log: the run ends with the measured life, not with an error.
#[test]
fn drive_that_wears_out_under_a_log_ends_the_run_without_error() {
    let mut wearing_out: Scenario = toml::from_str(
        r#"
        device = { blocks_per_plane = 300, pages_per_block = 16, spare_factor = 0.2, endurance_cycles = 20, wears_out = true }
        log = [{ segment_size = "128 KiB", spare_factor = 0.2 }]
        workload = { kind = "uniform" }
        measure = { until_worn_out_blocks = 300 }
        "#,
    )
    .unwrap();
    wearing_out.seed = 3;
    let result = try_run(&wearing_out).unwrap();
    let life = result.measured_life.unwrap();
    assert!(life.end_of_life && life.blocks > 0, "{life:?}");
    let host = result.layers[0].outgoing["host"]["write"];
    assert_eq!(result.layers[0].incoming["write"], host);
    assert_eq!(result.windows.last().unwrap().host_pages, host + fill_pages(&result));
}

/// The conservation check of a run compares the layers since the drive was new; this test compares the measured part.
#[test]
fn layers_send_what_the_next_receives_until_the_end_of_life() {
    let log = |keys: &str| {
        format!("endurance_cycles = 3\nblocks_per_plane = 128\n[[log]]\nspare_factor = 0.4\n{keys}")
    };
    let tree = |keys: &str| {
        format!(
            "endurance_cycles = 12\nblocks_per_plane = 400\n[[log]]\nspare_factor = 0.7\n\
             structure = {{ table_size = \"64 KiB\", {keys} }}\n"
        )
    };
    let stacks = [
        log("segment_size = \"64 KiB\"\n"),
        log("segment_size = \"64 KiB\"\ntrim = { unit = \"page\" }\n"),
        log("segment_size = \"128 KiB\"\nvictim = \"fifo\"\nplacement = \"double\"\n"),
        log("segment_size = \"128 KiB\"\nmetadata = \"f2fs\"\n"),
        tree("kind = \"lsm\", memtable_size = \"64 KiB\", write_ahead_log = \"64 KiB\""),
        tree("kind = \"silt\", log_store_size = \"64 KiB\", hash_stores = 4"),
    ];
    for stack in stacks {
        for seed in 1..=4 {
            let text = format!(
                "seed = {seed}\n[device]\npages_per_block = 16\nspare_factor = 0.3\n\
                 wears_out = true\n{stack}{UNIFORM}[measure]\nwarm_up = 0.0\ndrive_writes = 50.0\n"
            );
            let result = run_text(&text);
            assert!(result.warnings.iter().any(|warning| warning.contains("end of life")), "{text}");
            let sent: u64 = result.layers[0].outgoing.values().filter_map(|by| by.get("write")).sum();
            assert_eq!(sent, result.layers[1].incoming["write"], "{text}");
        }
    }
}

/// Returns the host pages of the fill, which is not measured.
fn fill_pages(result: &RunResult) -> u64 {
    let filled = result.windows.iter().filter(|window| window.phase == Phase::Fill);
    filled.map(|window| window.window_host_pages).sum()
}
