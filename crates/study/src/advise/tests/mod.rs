//! Tests of advice, from proposed changes to verdicts.

mod trees;

use super::*;
use crate::SweepOptions;
use crate::sweep::SweepObserver;
use candidate::Candidate;
use serde_json::json;
use std::ops::ControlFlow;
use wearwell_stack::Progress;
use wearwell_stack::run;

const STACK: &str = r#"
[device]
blocks_per_plane = 160
pages_per_block = 16
load = 0.85
endurance_cycles = 3000

[[log]]
name = "store"
segment_size = "128 KiB"
spare_factor = 0.25

[workload]
kind = "hot_cold"
hot_writes = 0.9
hot_space = 0.1

[measure]
warm_up = 8.0
drive_writes = 8.0
tolerance = 0.2
"#;

struct NullObserver;

impl SweepObserver for NullObserver {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn finished(&self, finished: usize, points: usize) {
        assert!(finished <= points, "{finished} of {points}");
    }
}

fn draft(text: &str) -> Draft {
    Draft::from_toml(text, "stack.toml").unwrap()
}

fn proposed(family: &str, draft: &Draft) -> Vec<Change> {
    (Family::named(family).unwrap().changes)(&ResolvedStack::of(draft).unwrap())
}

fn arguments(changes: &[Change]) -> Vec<String> {
    let one = |change: &Change| change.settings.iter().map(Setting::argument).collect::<Vec<_>>().join(" ");
    changes.iter().map(one).collect()
}

fn advice(draft: &Draft, only: &[&str], replicas: u32, depth: u32, threads: usize) -> Advice {
    let sweep = SweepOptions { threads: Some(threads), ..SweepOptions::default() };
    let only = only.iter().map(|name| (*name).to_owned()).collect();
    advise(draft, &AdviseOptions { only, replicas, depth, sweep }, &NullObserver).unwrap()
}

#[test]
fn segments_family_proposes_larger_smaller_and_matched_sizes() {
    // Six of the 17 segments of the log are spare.
    let eighth = STACK.replace("128 KiB", "512 KiB").replace("spare_factor = 0.25", "spare_factor = 0.4");
    let found = arguments(&proposed("segments", &draft(&eighth)));
    let expected = ["128 KiB", "256 KiB", "1 MiB", "2 MiB", "64 KiB"];
    assert_eq!(found, expected.map(|size| format!("log[0].segment_size={size}")));
    // A size that equals a block of the FTL and is also one of the usual sizes is listed once, with the reason.
    let half = proposed("segments", &draft(STACK));
    assert_eq!(half.len(), 4);
    let description = "log `store`: segments of 64 KiB instead of 128 KiB, as large as a block of the FTL";
    assert!(half.iter().any(|change| change.description == description), "{half:?}");
}

#[test]
fn capacity_changes_keep_the_capacity_above_and_the_flash_below() {
    let sizes = [
        "blocks_per_plane = 160\nload = 0.85",
        "blocks_per_plane = 160\nalpha = 1.2",
        "raw_capacity = \"10 MiB\"\nspare_factor = 0.1",
        "capacity = \"8 MiB\"\nover_provisioning = 0.2",
        "capacity = \"8 MiB\"\nblocks_per_plane = 160",
    ];
    for size in sizes {
        // Each case gives the size of the drive in two keys, which replace the two size keys of `STACK`.
        let text =
            STACK.replace("blocks_per_plane = 160", size).replace("\nload = 0.85\nendurance", "\nendurance");
        let draft = draft(&text);
        let base = ResolvedStack::of(&draft).unwrap();
        let fitting: Vec<_> = proposed("capacity", &draft)
            .into_iter()
            .filter_map(|change| Candidate::of(&base, change).ok())
            .collect();
        assert!(fitting.len() >= 4, "{size}: {} fit", fitting.len());
        let total: u64 = base.host_pages().into_iter().map(u64::from).sum();
        for candidate in fitting {
            assert_eq!(candidate.host_pages, total, "{size}: {:?}", candidate.change);
            let blocks = candidate.scenario.device.blocks_per_plane;
            assert_eq!(blocks, base.scenario.device.blocks_per_plane, "{:?}", candidate.change);
        }
    }
}

#[test]
fn capacity_family_moves_spare_space_of_shared_layers() {
    let text = include_str!("../../../../../scenarios/two_logs_one_ftl.toml");
    let draft = draft(text);
    let base = ResolvedStack::of(&draft).unwrap();
    let changes = proposed("capacity", &draft);
    assert!(changes[0].description.contains("log `store` and log `journal` moved down to the FTL"));
    let fitting = changes.into_iter().filter_map(|change| Candidate::of(&base, change).ok());
    let before: u64 = base.host_pages().into_iter().map(u64::from).sum();
    let after: Vec<u64> = fitting.map(|candidate| candidate.host_pages).collect();
    assert!(after.len() >= 4 && after.iter().all(|&pages| pages == before), "{before} {after:?}");
}

#[test]
fn change_of_capacity_is_refused() {
    let draft = draft(STACK);
    let base = ResolvedStack::of(&draft).unwrap();
    let refused = |key: &str, value: Value| {
        let change =
            Change { family: "x".into(), description: "x".into(), settings: vec![Setting::new(key, value)] };
        Candidate::of(&base, change).unwrap_err()
    };
    let less = refused("log[0].spare_factor", json!(0.3));
    assert!(less.contains("capacity above would change by -6.7 %"), "{less}");
    let more = refused("device.blocks_per_plane", json!(200));
    assert!(more.contains("more or less flash"), "{more}");
    assert!(refused("log[0].segment_size", json!("1 GiB")).contains("segment_size"));
}

#[test]
fn families_omit_current_settings() {
    let texts = [
        STACK.to_owned(),
        STACK.replace("[[log]]", "[ftl]\nvictim = \"cost_benefit\"\n[[log]]\ntrim = false"),
    ];
    for text in texts {
        let draft = draft(&text);
        let base = ResolvedStack::of(&draft).unwrap();
        let present = crate::sweep::resolve_draft(&draft).unwrap();
        for family in FAMILIES {
            for change in proposed(family.name, &draft) {
                if let Ok(candidate) = Candidate::of(&base, change) {
                    assert_ne!(candidate.scenario, present, "{:?}", candidate.change);
                }
            }
        }
    }
}

#[test]
fn placements_name_the_streams_of_the_log_above() {
    let text = STACK.replace("name = \"store\"", "name = \"store\"\nplacement = \"age_classes\"");
    let found = arguments(&proposed("streams", &draft(&text)));
    assert!(found.contains(&"ftl.placement={kind=\"host_hint\", streams=6}".to_owned()), "{found:?}");
    // No log is above the topmost log, so no log gives stream hints there.
    assert!(!found.iter().any(|change| change.starts_with("log[0].placement={")), "{found:?}");
    let in_place = STACK.replace("[[log]]", "[ftl]\nreclaim = \"in_place\"\n[[log]]");
    let found = arguments(&proposed("streams", &draft(&in_place)));
    assert!(found.contains(&"ftl.placement=age_classes ftl.reclaim=free_pool".to_owned()), "{found:?}");
}

#[test]
fn arguments_round_trip() {
    let values = [
        json!("4 MiB"),
        json!("greedy"),
        json!("true"),
        json!(0.1),
        json!(7),
        json!({"a": "b", "c": 1}),
        json!([1]),
    ];
    for value in values {
        let argument = Setting::new("key", value.clone()).argument();
        let (_, text) = argument.split_once('=').unwrap();
        assert_eq!(parse_value(text), Ok(value), "{argument}");
    }
}

#[test]
fn unknown_family_error_lists_the_known_ones() {
    let problem = Family::named("segmets").err().unwrap();
    assert!(problem.contains("one of segments, capacity, streams, trim, coordination, victim"), "{problem}");
}

/// Returns a stack without TRIM, measured long enough for significant results.
fn untrimmed() -> Draft {
    let text = STACK.replace("spare_factor = 0.25", "spare_factor = 0.25\ntrim = false");
    draft(&text.replace("warm_up = 8.0\ndrive_writes = 8.0", "warm_up = 15.0\ndrive_writes = 30.0"))
}

#[test]
fn stack_without_trim_ranks_trim_first() {
    let advice = advice(&untrimmed(), &["trim", "segments"], 5, 1, 2);
    let [first, second] = &advice.changes[..2] else { unreachable!() };
    assert_eq!(first.change.description, "log `store` trims each page as soon as it dies", "{advice:#?}");
    assert_eq!(second.change.description, "log `store` trims each cleaned segment at once");
    assert_eq!((first.verdict, second.verdict), (TrialVerdict::Saves, TrialVerdict::Saves));
    assert!(first.saving.unwrap().mean > 0.05 && first.tbw_ratio.unwrap() > 1.05, "{first:?}");
    // Without TRIM the FTL is not notified of invalidated pages; with it, the FTL's write amplification is lower.
    let ftl = |figures: &Figures| figures.layers[1].write_amplification.unwrap();
    assert!(ftl(&first.figures) < ftl(&advice.base));
}

#[test]
fn half_block_segments_rank_block_size_match() {
    let mut draft = untrimmed();
    draft.set("log[0].segment_size", json!("32 KiB")).unwrap();
    let advice = advice(&draft, &["segments"], 5, 1, 2);
    let matched =
        advice.changes.iter().find(|trial| trial.change.description.contains("as a block of")).unwrap();
    assert_eq!(matched.verdict, TrialVerdict::Saves, "{advice:#?}");
    assert!(matched.saving.unwrap().mean > 0.2, "{matched:?}");
    let worst = advice.changes.last().unwrap();
    assert_eq!((worst.verdict, worst.rank), (TrialVerdict::Costs, None));
    assert!(worst.change.description.contains("segments of 8 KiB"), "{worst:?}");
}

#[test]
fn advice_is_equal_for_any_thread_count_and_reproducible_from_settings() {
    let draft = untrimmed();
    let one = advice(&draft, &["trim", "capacity"], 4, 2, 1);
    assert_eq!(one, advice(&draft, &["trim", "capacity"], 4, 2, 2));
    let best = one.best().expect("something helps");
    let mut repeated = draft.clone();
    best.change.apply(&mut repeated).unwrap();
    let result = run(&repeated.scenario().unwrap(), &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
    assert_eq!(result.write_amplification, best.figures.write_amplifications[0]);
}

#[test]
fn combinations_join_compatible_changes() {
    let advice = advice(&untrimmed(), &["trim", "victim"], 5, 3, 2);
    assert!(!advice.combinations.is_empty());
    for trial in &advice.combinations {
        let mut keys: Vec<&str> = trial.change.settings.iter().map(|setting| setting.key.as_str()).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all, "{:?}", trial.change);
        assert!(trial.gain.is_some());
    }
    let best = advice.best().unwrap();
    assert!(best.saving.unwrap().mean >= advice.changes[0].saving.unwrap().mean);
}

#[test]
fn stack_without_cleaning_gets_no_advice() {
    let short = STACK.replace("warm_up = 8.0\ndrive_writes = 8.0", "warm_up = 0.0\ndrive_writes = 0.01");
    let short = short.replace("[measure]", "[precondition]\nfill = \"none\"\n[measure]");
    let advice = advice(&draft(&short), &[], 1, 2, 1);
    assert_eq!(advice.base.write_amplification, None);
    assert!(advice.base.problem.as_ref().unwrap().contains("cleaned nothing"), "{advice:?}");
    assert!(advice.changes.is_empty() && advice.best().is_none());
}

#[test]
fn unsteady_runs_are_never_ranked() {
    let strict = STACK.replace("tolerance = 0.2", "tolerance = 0.000001").replace("= 8.0", "= 2.0");
    let advice = advice(&draft(&strict), &["trim", "victim"], 1, 2, 2);
    assert!(!advice.base.steady && advice.combinations.is_empty());
    let is_unranked = |trial: &TrialResult| trial.rank.is_none() && trial.verdict == TrialVerdict::Unsteady;
    assert!(!advice.changes.is_empty() && advice.changes.iter().all(is_unranked), "{advice:?}");
}

#[test]
fn run_until_wear_out_is_refused() {
    let life = STACK.replace("[[log]]", "wears_out = true\n[[log]]");
    let life = format!("{life}until_worn_out_blocks = 1\n");
    let options = AdviseOptions { replicas: 1, depth: 1, ..AdviseOptions::default() };
    let problem = advise(&draft(&life), &options, &NullObserver).unwrap_err().to_string();
    assert!(problem.contains("until_worn_out_blocks"), "{problem}");
}

#[test]
fn short_run_settings_never_lengthen_runs() {
    let settings = short_run_settings(&draft(STACK)).unwrap();
    let arguments: Vec<String> = settings.iter().map(Setting::argument).collect();
    assert_eq!(arguments, ["measure.drive_writes=2.0"]);
    let long = STACK.replace("warm_up = 8.0", "warm_up = 80.0");
    assert_eq!(short_run_settings(&draft(&long)).unwrap(), settings);
    let open = STACK.replace("warm_up = 8.0\n", "").replace("tolerance = 0.2\n", "");
    let settings = short_run_settings(&draft(&open)).unwrap();
    let arguments: Vec<String> = settings.iter().map(Setting::argument).collect();
    assert_eq!(arguments, ["measure.max_warm_up=12.0", "measure.drive_writes=2.0", "measure.tolerance=0.03"]);
}

#[test]
fn trace_fitted_drive_keeps_its_size_in_all_trials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let lines: String = (0..400u64).map(|at| format!("{at},W,0,{},4096,0\n", (at % 200) * 8192)).collect();
    std::fs::write(&path, format!("time_ns,op,volume,offset_bytes,length_bytes,hint\n{lines}")).unwrap();
    let text = format!(
        "[device]\nfit = true\npages_per_block = 8\nspare_factor = 0.25\n[trace]\npath = '{}'\n",
        path.display()
    );
    let fitted = rounds::with_fitted_drive(&draft(&text)).unwrap();
    let base = ResolvedStack::of(&fitted).unwrap();
    assert_eq!(base.device.logical_pages, 200);
    assert_eq!(fitted.get("trace.address"), Some(&json!("compact")));
    assert_eq!(fitted.get("device.fit"), Some(&json!({ "touched_pages": 200, "end_page": 399 })));
    // A drive with a given size remains unchanged.
    let drafted = draft(STACK);
    assert_eq!(rounds::with_fitted_drive(&drafted).unwrap().value(), drafted.value());
}
