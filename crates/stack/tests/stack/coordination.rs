//! Coordination of layers: a setting has an effect on every drive or is refused, and a power cut at the end of a run
//! does not change earlier counts.

use crate::common::{root, run_text, scenario, try_run, writable_ftls};
use wearwell_stack::{LayerResult, RunResult, TenantResult};

const DRIVE: &str = "[device]\nblocks_per_plane = 192\npages_per_block = 16\nspare_factor = 0.3\n";
const MEASURE_AND_WORKLOAD: &str = "[measure]\nwarm_up = 2.0\ndrive_writes = 2.0\n[workload]\nkind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1\n";
const LOG: &str = "[[log]]\nname = \"store\"\nsegment_size = \"128 KiB\"\nspare_factor = 0.25\n";

/// Returns a scenario of a log on a drive, with more keys of the FTL and of the log.
fn log_on_ftl(structure: &str, ftl: &str, log: &str) -> String {
    format!("[ftl]\nstructure = \"{structure}\"\n{ftl}{DRIVE}{LOG}{log}{MEASURE_AND_WORKLOAD}")
}

fn error_of(text: &str) -> String {
    try_run(&scenario(text)).expect_err("a refusal").to_string()
}

fn layer<'a>(result: &'a RunResult, name: &str) -> &'a LayerResult {
    result.layers.iter().find(|layer| layer.name == name).expect("a layer of this name")
}

/// Returns all counts as text.
fn counts(result: &RunResult) -> String {
    let mut layers = result.layers.clone();
    // Results that only an FTL with a power cut has.
    layers.iter_mut().for_each(|layer| layer.ftl = None);
    let (tenants, nand, wear) = (&result.tenants, &result.nand, &result.wear);
    let amplification = &result.write_amplification;
    format!("{layers:#?}{tenants:#?}{nand:#?}{wear:#?}{amplification:?}{:#?}", result.windows)
}

#[test]
fn power_cut_at_end_changes_no_earlier_count() {
    let deferring = "free_blocks_low = 8\nfree_blocks_high = 8\nfree_blocks_deferred = 3\n";
    let completing = "victim = { policy = \"completing\", weight = 4.0 }\n";
    let mut cases = vec![log_on_ftl("log", deferring, ""), log_on_ftl("log", deferring, completing)];
    cases.extend(["log", "dftl", "gecko", "fast"].map(|drive| log_on_ftl(drive, "", completing)));
    for text in cases {
        let cut = run_text(&format!("{text}[power]\nat_end = true\n"));
        let recovery = layer(&cut, "ftl").ftl.as_ref().and_then(|ftl| ftl.recovery.as_ref());
        assert!(recovery.is_some(), "it was cut\n{text}");
        let plain = run_text(&text);
        assert_eq!((counts(&plain), &plain.final_draw), (counts(&cut), &cut.final_draw), "{text}");
    }
}

/// Runs the shipped scenarios with several users of one FTL, on small drives.
#[test]
fn ftl_with_several_users_recovers_from_cut_at_end() {
    for name in ["two_logs_one_ftl", "log_beside_random_writer"] {
        let text = std::fs::read_to_string(root().join(format!("scenarios/{name}.toml"))).unwrap();
        let small = text
            .replace("\"256 MiB\"", "\"64 MiB\"")
            .replace("pages_per_block = 256", "pages_per_block = 64");
        let small = small
            .replace("warm_up = 20.0", "warm_up = 1.0")
            .replace("drive_writes = 20.0", "drive_writes = 1.0")
            .replace("spare_factor = 0.15", "spare_factor = 0.2");
        for structure in ["log", "gecko", "bast"] {
            let plain = run_text(&format!("ftl = \"{structure}\"\n{small}"));
            let cut = run_text(&format!("ftl = \"{structure}\"\n{small}[power]\nat_end = true\n"));
            assert_eq!(counts(&plain), counts(&cut), "{name} on {structure}");
            let has_moved_counts =
                |tenant: &TenantResult| tenant.moved_owned.zip(tenant.moved_caused).is_some();
            assert!(cut.tenants.iter().all(has_moved_counts), "{name} on {structure}: {:?}", cut.tenants);
        }
    }
}

#[test]
fn completing_policy_equals_d_choices_only_without_weight() {
    for drive in writable_ftls() {
        let run = |victim: &str| counts(&run_text(&log_on_ftl(drive, "", &format!("victim = {victim}\n"))));
        let none = run("{ policy = \"completing\", weight = 0.0 }");
        assert_eq!(none, run("{ policy = \"d_choices\", choices = 10 }"), "{drive}");
        // A hybrid FTL stores a segment that is written in order and in whole blocks in separate blocks, so no block
        // remains to be completed.
        let weighted = run("{ policy = \"completing\", weight = 4.0 }");
        assert_eq!(none == weighted, matches!(drive, "fast" | "bast"), "{drive}");
    }
    // Segments of half a block share blocks, so that something can be left in them.
    for drive in ["fast", "bast"] {
        let halves = |weight: f64| {
            let victim = format!("victim = {{ policy = \"completing\", weight = {weight} }}\n");
            run_text(&log_on_ftl(drive, "", &victim).replace("128 KiB", "32 KiB"))
        };
        let (none, weighted) = (halves(0.0), halves(4.0));
        assert_ne!(counts(&none), counts(&weighted), "{drive}");
        assert!(!has_completing_warning(&weighted), "{drive}: {:?}", weighted.warnings);
    }
    let on_dedup = |weight: f64| {
        let victim = format!("victim = {{ policy = \"completing\", weight = {weight} }}\n");
        let content = "[content]\ndedup_ratio = 0.3\n";
        counts(&run_text(&format!(
            "[ftl]\ndedup = \"inline\"\n{DRIVE}{LOG}{victim}{MEASURE_AND_WORKLOAD}{content}"
        )))
    };
    assert_ne!(on_dedup(0.0), on_dedup(4.0));
}

fn has_completing_warning(result: &RunResult) -> bool {
    result.warnings.iter().any(|warning| warning.contains("`d_choices` here"))
}

#[test]
fn policy_that_equals_another_policy_warns() {
    for (drive, warns) in [("fast", true), ("bast", true), ("log", false), ("dftl", false)] {
        let run = |weight: f64| {
            let victim = format!("victim = {{ policy = \"completing\", weight = {weight} }}\n");
            run_text(&log_on_ftl(drive, "", &victim))
        };
        assert_eq!(has_completing_warning(&run(4.0)), warns, "{drive}");
        assert!(!has_completing_warning(&run(0.0)), "{drive}: a weight of 0 asks for `d_choices`");
    }
    for (drive, warns) in [("log", false), ("dftl", true), ("gecko", true), ("mu_ftl", true)] {
        let run = |victim: &str| {
            let ftl = format!("structure = \"{drive}\"\nvictim = \"{victim}\"\n");
            run_text(&format!("[ftl]\n{ftl}{DRIVE}{MEASURE_AND_WORKLOAD}"))
        };
        let (random, not_full) = (run("random"), run("random_not_full"));
        let warned =
            |result: &RunResult| result.warnings.iter().any(|text| text.contains("`random_not_full` here"));
        assert_eq!(warned(&random), warns, "{drive}: {:?}", random.warnings);
        assert_eq!(counts(&random) == counts(&not_full), warns, "{drive}");
        assert!(!warned(&not_full), "{drive}");
    }
}

/// On the flash itself, and on zones that are reset as a whole, the weight has no effect.
#[test]
fn completing_on_flash_or_zones_warns_that_the_weight_has_no_effect() {
    let on_flash = run_text(&format!("[ftl]\nvictim = \"completing\"\n{DRIVE}{MEASURE_AND_WORKLOAD}"));
    assert!(
        on_flash.warnings.iter().any(|warning| warning.contains("below is flash")),
        "{:?}",
        on_flash.warnings
    );
    let zones = "[ftl]\nstructure = { kind = \"zones\", zone_blocks = 2 }\n[device]\nblocks_per_plane = 160\npages_per_block = 16\n";
    let stack = |weight: f64| {
        format!(
            "{zones}{LOG}victim = {{ policy = \"completing\", weight = {weight} }}\n{MEASURE_AND_WORKLOAD}"
        )
    };
    let error = error_of(&stack(1.0));
    assert!(error.starts_with("log[0].victim.weight: weighs what a trim leaves"), "{error}");
    run_text(&stack(0.0));
}

#[test]
fn completing_policy_reads_block_counts_through_intermediate_layers() {
    let on = |between: &str, weight: &str| {
        let log =
            "[[log]]\nname = \"store\"\non = \"between\"\nsegment_size = \"128 KiB\"\nspare_factor = 0.25\n";
        let victim = format!("victim = {{ policy = \"completing\", weight = {weight} }}\n");
        counts(&run_text(&format!(
            "{DRIVE}{log}{victim}[[log]]\nname = \"between\"\n{between}\n{MEASURE_AND_WORKLOAD}"
        )))
    };
    for between in [
        "structure = \"pass_through\"",
        "structure = \"sparse\"",
        "structure = \"objects\"",
        "structure = { kind = \"lsm\", memtable_size = \"64 KiB\", table_size = \"64 KiB\", write_ahead_log = \"128 KiB\" }",
        "segment_size = \"64 KiB\"\nspare_factor = 0.2",
    ] {
        assert_ne!(on(between, "0.0"), on(between, "4.0"), "{between}");
    }
}

#[test]
fn cleaning_is_deferred_below_merge_tree_and_refused_without_cleaning_above() {
    let tree = "[[log]]\nname = \"tree\"\nstructure = { kind = \"lsm\", memtable_size = \"64 KiB\", table_size = \"64 KiB\", write_ahead_log = \"128 KiB\" }\n";
    let low = "free_blocks_low = 8\nfree_blocks_high = 8\n";
    let deferral = "free_blocks_deferred = 3\n";
    let run = |ftl: &str, above: &str| run_text(&format!("[ftl]\n{ftl}{DRIVE}{above}{MEASURE_AND_WORKLOAD}"));
    let pass_through = "[[log]]\nname = \"direct\"\nstructure = \"pass_through\"\n";
    for above in [tree.to_owned(), format!("{tree}{pass_through}")] {
        let (immediate, deferred) = (run(low, &above), run(&format!("{low}{deferral}"), &above));
        assert!(layer(&deferred, "ftl").deferrals > Some(0), "{above}");
        assert_ne!(counts(&immediate), counts(&deferred), "{above}");
    }
    for above in ["", pass_through] {
        let error = error_of(&format!("[ftl]\n{low}{deferral}{DRIVE}{above}{MEASURE_AND_WORKLOAD}"));
        assert!(error.starts_with("ftl.free_blocks_deferred: waits while a log above cleans"), "{error}");
    }
}

#[test]
fn missing_ability_is_refused_with_names_of_both_layers() {
    for drive in ["dftl", "fast"] {
        let sparse = "[[log]]\nname = \"space\"\nstructure = \"sparse\"\n";
        let error = error_of(&format!("ftl = \"{drive}\"\n{DRIVE}{sparse}{MEASURE_AND_WORKLOAD}"));
        assert!(
            error.starts_with("log[0].structure: needs atomic writes, which `ftl` does not have"),
            "{error}"
        );
    }
}

/// On every drive, moved pages are attributed to tenants, or a warning gives the reason why not.
#[test]
fn moved_pages_are_attributed_on_every_ftl() {
    let tenant = "[[tenant]]\nshare = 0.5\nworkload = { kind = \"uniform\" }\n";
    let measure = "[measure]\nwarm_up = 2.0\ndrive_writes = 2.0\n";
    for drive in writable_ftls() {
        let result = run_text(&format!("ftl = \"{drive}\"\n{DRIVE}{tenant}{tenant}{measure}"));
        let ftl = layer(&result, "ftl");
        let moved: u64 = ftl.moved_pages.iter().flatten().sum();
        assert!(moved > 0, "{drive}");
        let owned: u64 = result.tenants.iter().map(|tenant| tenant.moved_owned.unwrap()).sum();
        let caused: u64 = result.tenants.iter().map(|tenant| tenant.moved_caused.unwrap()).sum();
        assert_eq!((owned, caused), (moved, moved), "{drive}");
        assert!(
            result.warnings.iter().all(|warning| !warning.contains("is not told")),
            "{:?}",
            result.warnings
        );
    }
    let tenants = tenant.replace("[[tenant]]\n", "[[tenant]]\non = \"objects\"\n").repeat(2);
    let shared = format!("{DRIVE}[[log]]\nname = \"objects\"\nstructure = \"objects\"\n{tenants}{measure}");
    let result = run_text(&shared);
    for tenant in &result.tenants {
        let layers: Vec<&str> = tenant.chain.iter().map(|step| step.layer.as_str()).collect();
        assert_eq!(layers, ["objects", "ftl"]);
        let [above, below] = &tenant.chain[..] else { panic!("two steps") };
        assert_eq!((above.pages_out, below.pages_in), (above.pages_in, above.pages_in));
        assert_eq!(below.pages_out, below.pages_in + tenant.moved_owned.unwrap());
    }
    let content = tenant.replace("[[tenant]]\n", "[[tenant]]\ncontent = { dedup_ratio = 0.2 }\n").repeat(2);
    let result = run_text(&format!("[ftl]\ndedup = \"inline\"\n{DRIVE}{content}{measure}"));
    assert!(result.tenants.iter().all(|tenant| tenant.moved_owned.is_none()));
    assert!(result.warnings.iter().any(|warning| warning.contains("stored once")), "{:?}", result.warnings);
}
