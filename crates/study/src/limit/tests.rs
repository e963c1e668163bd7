//! Small drives compared with their lower bounds.

use super::*;
use crate::executor::ThreadExecutor;
use crate::sweep::{SweepObserver, SweepOptions};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use wearwell_stack::{Draft, Progress, run as simulate};

struct NullObserver;

impl SweepObserver for NullObserver {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn finished(&self, _: usize, _: usize) {}
}

/// Returns a drive of 256 logical pages on 96 blocks of 4 pages, with `settings`.
fn draft(settings: &str) -> Draft {
    let drive = "device = { capacity = '1 MiB', raw_capacity = '1536 KiB', pages_per_block = 4 }\n\
                 measure = { max_warm_up = 8.0, drive_writes = 4.0 }\n";
    Draft::from_toml(&format!("{drive}{settings}"), "the test").unwrap()
}

fn names(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!(name)).collect()
}

fn compare(
    settings: &str,
    placements: &[&str],
    victims: &[&str],
    all_pairs: bool,
) -> Result<PolicyComparison, LowerBoundError> {
    let sweep = SweepOptions { threads: Some(1), ..SweepOptions::default() };
    let options = LowerBoundOptions {
        placements: names(placements),
        victims: names(victims),
        all_pairs,
        sweep,
        replicas: 1,
    };
    compare_policies(&draft(settings), &options, &NullObserver)
}

#[test]
fn all_policies_are_above_the_bound_and_losses_sum_up() {
    for workload in
        ["kind = 'uniform'", "kind = 'zipf', exponent = 0.9", "kind = 'uniform', trim_ratio = 0.1"]
    {
        let settings = format!("workload = {{ {workload} }}");
        let placements = ["single", "double", "age_classes", "death_windows"];
        let found = compare(&settings, &placements, &["greedy", "fifo"], true).unwrap();
        let (bound, best) = (found.lower_bound(), found.offline.as_ref().unwrap().write_amplification);
        assert!(1.0 <= bound && bound <= best, "{bound} > {best}");
        assert_eq!(found.rows.len(), 8);
        assert_eq!((found.rows[0].placement.as_str(), found.rows[0].victim.as_str()), ("double", "greedy"));
        for row in &found.rows {
            let measured = row.outcome.as_ref().unwrap();
            let loss = row.loss.unwrap();
            let sum = loss.placement + loss.victim + loss.block_size;
            assert!((sum - (measured.write_amplification - 1.0)).abs() < 1e-9, "{row:?}");
            assert!((loss.block_size - (best - 1.0)).abs() < 1e-12 && !measured.pooled);
            let has_foresight = row.placement == "death_windows";
            assert!(has_foresight || measured.write_amplification > best, "{row:?} beats {best}");
        }
        let unchanged = found.write_amplification();
        assert_eq!(found.rows[0].outcome.as_ref().unwrap().write_amplification, unchanged.unwrap());
    }
}

#[test]
fn placement_without_in_place_reclaim_uses_pool_and_impossible_pair_states_reason() {
    let settings = "workload = { kind = 'uniform' }\nftl = { placement = 'single', reclaim = 'in_place' }";
    let found = compare(settings, &["double", "age_classes", "oracle"], &[], false).unwrap();
    let of = |name: &str| found.rows.iter().find(|row| row.placement == name).unwrap();
    assert!(!of("single").outcome.as_ref().unwrap().pooled && !of("double").outcome.as_ref().unwrap().pooled);
    assert!(of("age_classes").outcome.as_ref().unwrap().pooled);
    let error = of("oracle").outcome.as_ref().unwrap_err();
    assert!(error.contains("needs a workload") && of("oracle").loss.is_none(), "{error}");
}

/// This FTL has no placement and no victim policy, but the lower bound holds.
#[test]
fn hybrid_ftl_has_only_a_bound() {
    let settings = "workload = { kind = 'uniform' }\nftl = { structure = { kind = 'fast' } }";
    let found = compare(settings, &["single"], &["greedy"], false).unwrap();
    assert!(found.offline.is_none() && found.rows.is_empty());
    assert!(found.lower_bound() <= found.write_amplification().unwrap());
}

#[test]
fn all_pairs_measure_equal_writes() {
    let settings = "workload = { kind = 'zipf', exponent = 0.9 }";
    let comparison = compare(settings, &["double"], &["fifo"], false).unwrap();
    let unchanged = &comparison.limits[0].result;
    // Repeats the run by hand, with a warm-up of equal length.
    let mut draft = draft(settings);
    draft.set("measure.warm_up", json!(unchanged.phases.warm_up_drive_writes)).unwrap();
    draft.set("ftl.victim", json!("fifo")).unwrap();
    let by_hand =
        simulate(&draft.scenario().unwrap(), &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
    let row = comparison.rows.iter().find(|row| row.victim == "fifo").unwrap();
    assert_eq!(row.outcome.as_ref().unwrap().write_amplification, by_hand.write_amplification.unwrap());
    assert_eq!(by_hand.phases.measured_host_pages, unchanged.phases.measured_host_pages);
    // A single result gets the same bound.
    let compared = add_lower_bound(&draft, by_hand, &SweepOptions::default(), &NullObserver)
        .unwrap()
        .lower_bound
        .unwrap();
    assert_eq!(compared.min_rewrites, comparison.limits[0].least_rewrites);
    assert_eq!(compared.offline, comparison.offline);
}

#[test]
fn executor_does_not_change_the_result() {
    let settings = "workload = { kind = 'hot_cold', hot_writes = 0.9, hot_space = 0.1 }";
    let many = ThreadExecutor { count: Some(3), run: None };
    let sweep = SweepOptions { executor: Some(&many), ..SweepOptions::default() };
    let (placements, victims) = (names(&["single", "predicted_windows"]), names(&["random"]));
    let options = LowerBoundOptions { placements, victims, all_pairs: true, replicas: 1, sweep };
    let one = compare(settings, &["single", "predicted_windows"], &["random"], true).unwrap();
    assert_eq!(compare_policies(&draft(settings), &options, &NullObserver).unwrap().rows, one.rows);
}

#[test]
fn stacked_scenario_is_refused_before_any_run() {
    let error = compare("workload = { kind = 'uniform' }\n[[log]]\nspare_factor = 0.3", &[], &[], false);
    assert!(error.unwrap_err().to_string().contains("log: the limit is that of a drive"));
}

#[test]
fn seeds_are_shared_and_averaged() {
    let settings = "workload = { kind = 'zipf', exponent = 0.9 }";
    let sweep = || SweepOptions { threads: Some(1), ..SweepOptions::default() };
    let of = |replicas| {
        let (placements, victims) = (names(&["single"]), names(&["fifo"]));
        let options = LowerBoundOptions {
            placements,
            victims,
            replicas,
            sweep: sweep(),
            ..LowerBoundOptions::default()
        };
        compare_policies(&draft(settings), &options, &NullObserver).unwrap()
    };
    let (one, three) = (of(1), of(3));
    assert_eq!((one.limits.len(), three.limits.len()), (1, 3));
    for (alone, row) in one.rows.iter().zip(&three.rows) {
        let (alone, measured) = (alone.outcome.as_ref().unwrap(), row.outcome.as_ref().unwrap());
        // The first of three seeds equals the single run.
        assert_eq!((measured.by_seed[0], measured.by_seed.len()), (alone.write_amplification, 3));
        let mean = measured.by_seed.iter().sum::<f64>() / 3.0;
        assert!((measured.write_amplification - mean).abs() < 1e-12);
        assert!(measured.by_seed.iter().any(|&other| other != measured.by_seed[0]));
        assert!(measured.ci95.unwrap() > 0.0 && row.above_offline_ci95.unwrap() > 0.0);
        let loss = row.loss.unwrap();
        assert!((loss.placement + loss.victim + loss.block_size - (mean - 1.0)).abs() < 1e-9);
    }
    assert!(one.rows.iter().all(|row| row.above_offline_ci95.is_none()));
    // Each seed has the bound of its own writes, and the warm-up length of its own run.
    for limit in &three.limits {
        let seed = limit.result.scenario.seed;
        let own = three.limits.iter().filter(|other| other.result.scenario.seed == seed).count();
        assert_eq!(own, 1);
    }
    assert_eq!(three.host_pages(), three.limits.iter().map(|limit| limit.host_pages).sum::<u64>());
    let value = three.to_value();
    assert_eq!((&value["replicas"], value["rows"].as_array().unwrap().len()), (&json!(3), three.rows.len()));
}

#[test]
fn comparison_has_hand_computed_means_and_distances() {
    let scenario = draft("workload = { kind = 'sequential' }").scenario().unwrap();
    let run = simulate(&scenario, &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
    let limit = |write_amplification, host_pages, least_rewrites| {
        let result =
            wearwell_stack::RunResult { write_amplification: Some(write_amplification), ..run.clone() };
        LowerBoundRun { result, host_pages, least_rewrites }
    };
    let measured =
        PairMeasurement { write_amplification: 2.5, ci95: None, by_seed: vec![2.0, 3.0], pooled: false };
    let row = PolicyRow {
        placement: "single".to_owned(),
        victim: "fifo".to_owned(),
        outcome: Ok(measured),
        above_offline_ci95: None,
        loss: Some(RewriteLoss::of(2.5, 2.0, 2.25, 1.5)),
    };
    let offline = wearwell_stack::OfflineResult {
        placement: "future_knowledge".to_owned(),
        victim: "greedy".to_owned(),
        write_amplification: 1.5,
    };
    // The bounds are 1.25 and 1.5.
    let limits = vec![limit(2.0, 1000, 250), limit(3.0, 3000, 1500)];
    let comparison = PolicyComparison { limits, offline: Some(offline), rows: vec![row] };
    assert_eq!((comparison.write_amplification(), comparison.lower_bound()), (Some(2.5), 1.375));
    assert_eq!((comparison.host_pages(), comparison.least_rewrites()), (4000, 1750));
    assert_eq!(comparison.unproven_share(), Some(0.75));
    let expected = [
        ("above_lower_bound", 1.125),
        ("above_offline", 1.0),
        ("lower_bound", 1.375),
        ("offline_write_amplification", 1.5),
        ("host_pages", 4000.0),
        ("min_rewrites", 1750.0),
    ];
    let rows = comparison.rows();
    for (name, value) in expected {
        let found = rows[0].iter().find(|(column, _)| *column == name).map(|(_, found)| found.as_f64());
        assert_eq!(found, Some(Some(value)), "{name}");
    }
}

#[test]
fn unknown_policy_is_refused_before_any_run() {
    let error = compare("workload = { kind = 'uniform' }", &["doubel"], &[], false).unwrap_err().to_string();
    assert!(
        error.starts_with("placements: ") && error.contains("doubel") && error.contains("double"),
        "{error}"
    );
}
