//! Merge trees, layouts and map caches: proposed changes, their baselines, and the equivalent options of software.

use super::*;

const TREE: &str = r#"
[device]
capacity = "16 MiB"
over_provisioning = 0.1
pages_per_block = 16

[[log]]
name = "tree"
structure = { kind = "lsm", memtable_size = "128 KiB", table_size = "64 KiB", write_ahead_log = "256 KiB" }

[workload]
kind = "uniform"

[measure]
warm_up = 3.0
drive_writes = 4.0
tolerance = 1.0
"#;

const FILE_SYSTEM: &str = r#"
[device]
capacity = "256 MiB"
over_provisioning = 0.1
pages_per_block = 128

[[log]]
name = "f2fs"
segment_size = "2 MiB"
spare_factor = 0.2
placement = { kind = "host_hint", streams = 2, cleaned = "apart" }
metadata = { preset = "f2fs_6", checkpoint_every = "16 MiB" }

[workload]
kind = "uniform"
"#;

fn candidates(family: &str, draft: &Draft) -> Vec<Candidate> {
    let base = ResolvedStack::of(draft).unwrap();
    proposed(family, draft).into_iter().filter_map(|change| Candidate::of(&base, change).ok()).collect()
}

/// Returns the diff of each change that fits, after its description.
fn diffs(family: &str, text: &str) -> String {
    let draft = draft(text);
    let base = crate::sweep::resolve_draft(&draft).unwrap();
    let diff = |candidate: &Candidate| {
        let changed = software::changed_options(&base, &candidate.scenario);
        format!("{}\n{}", candidate.proposed.description, as_diff(&changed))
    };
    candidates(family, &draft).iter().map(diff).collect()
}

#[test]
fn merge_tree_family_proposes_sizes_ratios_and_shapes_both_ways() {
    let found = arguments(&proposed("merge_tree", &draft(TREE)));
    let leveled = |ratio: u32, runs: u32, sizes: &str| {
        format!(
            "log[0].structure.compaction={{level0_runs={runs}, ratio={ratio}, shape=\"leveled\", sizes=\"{sizes}\"}}"
        )
    };
    let memtable = |size: &str, log: &str| {
        format!("log[0].structure.memtable_size={size} log[0].structure.write_ahead_log={log}")
    };
    let expected = [
        memtable("256 KiB", "512 KiB"),
        memtable("512 KiB", "1 MiB"),
        memtable("2 MiB", "4 MiB"),
        leveled(5, 4, "from_bottom"),
        leveled(20, 4, "from_bottom"),
        leveled(10, 2, "from_bottom"),
        leveled(10, 8, "from_bottom"),
        leveled(10, 4, "from_top"),
        "log[0].structure.compaction={runs=4, shape=\"tiered\"}".to_owned(),
        "log[0].structure.compaction={runs=8, shape=\"tiered\"}".to_owned(),
        "log[0].structure.table_size=32 KiB".to_owned(),
        "log[0].structure.table_size=128 KiB".to_owned(),
        "log[0].structure.table_size=256 KiB".to_owned(),
    ];
    assert_eq!(found, expected);
    // A setting given in the scenario is changed alone, so that several settings can be combined.
    let modified = TREE.replace(
        "write_ahead_log",
        "compaction = { shape = \"leveled\", level0_runs = 4, ratio = 8 }, write_ahead_log",
    );
    let found = arguments(&proposed("merge_tree", &draft(&modified)));
    assert!(found.contains(&"log[0].structure.compaction.ratio=4".to_owned()), "{found:?}");
    let silt = TREE.replace(
        "{ kind = \"lsm\", memtable_size = \"128 KiB\", table_size = \"64 KiB\", write_ahead_log = \"256 KiB\" }",
        "{ kind = \"silt\", log_store_size = \"128 KiB\", table_size = \"64 KiB\", hash_stores = 4 }\ntrim = false",
    );
    let found = arguments(&proposed("merge_tree", &draft(&silt)));
    let expected = [
        "log[0].structure.hash_stores=2",
        "log[0].structure.hash_stores=8",
        "log[0].structure.hash_stores=16",
        "log[0].structure.log_store_size=256 KiB",
        "log[0].structure.log_store_size=512 KiB",
        "log[0].structure.table_size=32 KiB",
        "log[0].structure.table_size=128 KiB",
        "log[0].structure.table_size=256 KiB",
        "log[0].trim=true",
    ];
    assert_eq!(found, expected);
}

#[test]
fn changed_tree_keeps_its_capacity_or_gets_a_smaller_baseline() {
    for spare in ["", "spare_factor = 0.5\n"] {
        let draft = draft(&TREE.replace("[workload]", &format!("{spare}[workload]")));
        let base = ResolvedStack::of(&draft).unwrap();
        let (mut equal, mut smaller) = (0, 0);
        for candidate in candidates("merge_tree", &draft) {
            let reference = Candidate::at_capacity_of(&base, candidate::no_change(), &candidate).unwrap();
            // The number of pages is exactly equal for all settings of the tree.
            assert_eq!(reference.tenants, candidate.tenants, "{:?}", candidate.change);
            let is_unchanged = reference.scenario == crate::sweep::resolve_draft(&draft).unwrap();
            (equal, smaller) = (equal + u32::from(is_unchanged), smaller + u32::from(!is_unchanged));
            assert!(candidate.tenants <= base.host_pages(), "{:?}", candidate.change);
        }
        // With half of the space spare, only tiered shapes and the largest memtable need more space.
        match spare {
            "" => assert!(smaller >= 6, "{smaller}"),
            _ => assert!(equal >= 8 && smaller <= 4, "{equal} {smaller}"),
        }
    }
}

/// Pages of a memtable of `TREE`.
const MEMTABLE_PAGES: f64 = 32.0;

/// Compares the writes of a tree with the closed form for its shape (Dayan et al., Monkey, SIGMOD 2017). There are
/// log_ratio(all / level 0) levels. In each level a leveled tree rewrites a record between half the ratio times and
/// once more than the ratio; a tiered tree rewrites it about once. Both also write the log, the flushed table, and an
/// index for each table.
fn assert_closed_form(figures: &Figures, ratio: Option<f64>, level0_runs: f64) {
    let index = 17.0 / 16.0;
    let of_level0 = figures.host_pages as f64 / (level0_runs * MEMTABLE_PAGES);
    let (min, max) = match ratio {
        Some(ratio) => {
            let levels = of_level0.ln() / ratio.ln();
            (levels * ratio / 2.0, index * (levels.ceil() + 1.0) * (ratio + 1.0) + 2.1)
        }
        None => (2.0, index * (of_level0.ln() / level0_runs.ln()).ceil() + 3.1),
    };
    let found = figures.layers[0].write_amplification.unwrap();
    assert!((min..max).contains(&found), "{found} not in {min} to {max}");
}

#[test]
fn merge_tree_advice_is_reproducible_and_matches_closed_form() {
    let draft = draft(TREE);
    let advice = advice(&draft, &["merge_tree"], 3, 2, 2);
    assert_closed_form(&advice.base, Some(10.0), 4.0);
    let of =
        |part: &str| advice.changes.iter().find(|trial| trial.change.description.contains(part)).unwrap();
    assert_closed_form(&of("ratio 5").figures, Some(5.0), 4.0);
    assert_closed_form(&of("ratio 20").figures, Some(20.0), 4.0);
    assert_closed_form(&of("8 runs on instead").figures, Some(10.0), 8.0);
    assert_closed_form(&of("tiered with 4").figures, None, 4.0);
    assert_closed_form(&of("tiered with 8").figures, None, 8.0);
    for (part, verdict) in [
        ("ratio 5", TrialVerdict::Saves),
        ("ratio 20", TrialVerdict::Costs),
        ("tiered with 8", TrialVerdict::Saves),
    ] {
        assert_eq!(of(part).verdict, verdict, "{:#?}", of(part));
    }
    // The size of level 0 affects only the number of sorted runs, which the prices list.
    let fewer = &of("from 2 runs on").prices;
    assert_eq!(fewer.iter().map(Price::text).collect::<Vec<_>>(), ["sorted runs 6 → 4"]);
    let larger: Vec<String> = of("memtables of 256 KiB").prices.iter().map(Price::text).collect();
    assert!(larger[0].starts_with("capacity -"), "{larger:?}");
    assert_eq!(larger[1], "memtable in RAM 128.0 KiB → 256.0 KiB");
    // The best change and its baseline give the same values when they are run separately.
    let best = advice.best().unwrap();
    let reference = best.reference.as_ref().expect("it takes space");
    assert_eq!(reference.host_pages, best.figures.host_pages);
    assert!(best.saving.unwrap().mean > 0.3, "{best:#?}");
    for (settings, expected) in [
        (&best.change.settings, best.figures.write_amplifications[0].unwrap()),
        (&reference.settings, reference.write_amplification.unwrap()),
    ] {
        let mut repeated = draft.clone();
        settings.iter().try_for_each(|setting| setting.apply(&mut repeated)).unwrap();
        let result =
            run(&repeated.scenario().unwrap(), &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
        let found = result.write_amplification.unwrap();
        // For the baseline, the mean over the seeds is known.
        assert!((found / expected - 1.0).abs() < 0.02, "{settings:?}: {found}, not {expected}");
        let pages: u32 = ResolvedStack::of(&repeated).unwrap().host_pages().iter().sum();
        assert_eq!(u64::from(pages), best.figures.host_pages);
    }
}

#[test]
fn verdicts_are_ordered_by_importance() {
    let order = [
        TrialVerdict::Saves,
        TrialVerdict::Costs,
        TrialVerdict::Unsteady,
        TrialVerdict::Insignificant,
        TrialVerdict::Meaningless,
    ];
    assert!(order.is_sorted());
}

#[test]
fn rocksdb_options_match_the_snapshot() {
    insta::assert_snapshot!("rocksdb", diffs("merge_tree", TREE));
    let tiered =
        TREE.replace("write_ahead_log", "compaction = { shape = \"tiered\", runs = 4 }, write_ahead_log");
    insta::assert_snapshot!("rocksdb-universal", diffs("merge_tree", &tiered));
}

#[test]
fn file_system_and_cache_options_match_the_snapshot() {
    let of =
        |text: &str| ["layout", "segments", "trim", "capacity"].map(|family| diffs(family, text)).concat();
    insta::assert_snapshot!("f2fs", of(FILE_SYSTEM));
    let metadata = "placement = { kind = \"host_hint\", streams = 2, cleaned = \"apart\" }\n\
                    metadata = { preset = \"f2fs_6\", checkpoint_every = \"16 MiB\" }";
    assert!(FILE_SYSTEM.contains(metadata));
    insta::assert_snapshot!("nilfs2", of(&FILE_SYSTEM.replace(metadata, "metadata = \"nilfs2\"")));
    let cache = "evict = true\nvictim = \"fifo\"\nplacement = \"single\"\nmetadata = \"fatcache\"";
    insta::assert_snapshot!("fatcache", of(&FILE_SYSTEM.replace(metadata, cache)));
}

#[test]
fn unknown_software_gets_no_options() {
    let none = candidates("segments", &draft(STACK));
    let base = crate::sweep::resolve_draft(&draft(STACK)).unwrap();
    assert!(none.iter().all(|candidate| software::changed_options(&base, &candidate.scenario).is_empty()));
}

#[test]
fn larger_map_cache_is_proposed_with_its_memory_as_price() {
    let gecko = include_str!("../../../../../scenarios/gecko.toml");
    let draft = draft(gecko);
    let found = arguments(&proposed("map_cache", &draft));
    let expected = ["128", "2048", "8192"].map(|entries| format!("ftl.structure.cache_entries={entries}"));
    assert_eq!(found, expected);
    assert!(proposed("map_cache", &super::draft(STACK)).is_empty());
}
