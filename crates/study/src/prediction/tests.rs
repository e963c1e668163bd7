//! Predictions compared with runs and with direct calls of the theory, and scenarios without predictions.

use super::{PredictionEffort, PredictionError, add_prediction, predict};
use serde_json::{Value, json};
use wearwell_stack::steady::estimate;
use wearwell_stack::{Progress, Scenario, run};
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::selection::DChoices;
use wearwell_theory::{Classes, Drive, closed_forms};

/// Returns a drive of 600 blocks of 16 pages with `changes`, based on d-choices and hot and cold pages.
fn scenario(changes: &[(&str, Value)]) -> Scenario {
    let mut value = json!({
        "device": { "blocks_per_plane": 600, "pages_per_block": 16, "spare_factor": 0.15 },
        "ftl": { "victim": "d_choices", "placement": "double", "copy_order": "random" },
        "workload": { "kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2 },
        "measure": { "warm_up": 15.0, "drive_writes": 30.0, "window": 3.0 },
    });
    for (path, change) in changes {
        match path.rsplit_once('/') {
            Some((parent, key)) => value.pointer_mut(parent).unwrap()[key] = change.clone(),
            None => unreachable!("{path} is a path"),
        }
    }
    Scenario::read(&value).unwrap()
}

/// Compares the prediction with a run. Allows for the noise of the run and one block of spare space, as
/// `wearwell check theory` does.
fn assert_agreement(changes: &[(&str, Value)]) {
    let scenario = scenario(changes);
    let found = predict(&scenario, PredictionEffort::Full).unwrap();
    let mut values = Vec::new();
    for seed in 1..=3 {
        let scenario = Scenario { seed, ..scenario.clone() };
        let result = run(&scenario, &mut |_: &Progress| std::ops::ControlFlow::Continue(())).unwrap();
        let layer = result.layers.iter().find(|layer| layer.name == found.layer).unwrap();
        values.push(layer.write_amplification.unwrap());
    }
    let simulated = estimate(&values).unwrap();
    let difference = simulated.mean - found.write_amplification;
    let spare_blocks = 600.0 * 0.15;
    let allowed = simulated.ci95_half_width.unwrap() + found.write_amplification / spare_blocks;
    assert!(
        difference.abs() <= allowed,
        "{changes:?}: {} by {}, simulated {simulated:?}",
        found.write_amplification,
        found.model
    );
}

#[test]
fn predictions_agree_with_runs() {
    let greedy = json!("greedy");
    let uniform = json!({ "kind": "uniform" });
    let cases: &[&[(&str, Value)]] = &[
        &[],
        &[("/ftl/placement", json!("single"))],
        &[("/ftl/placement", json!("single")), ("/ftl/reclaim", json!("in_place"))],
        &[("/ftl/reclaim", json!("in_place"))],
        &[("/ftl/free_blocks_low", json!(6)), ("/ftl/free_blocks_high", json!(6))],
        &[
            ("/ftl/placement", json!("single")),
            ("/ftl/free_blocks_low", json!(2)),
            ("/ftl/free_blocks_high", json!(5)),
        ],
        &[("/ftl/victim", greedy.clone()), ("/workload", uniform.clone())],
        &[("/ftl/victim", json!("fifo"))],
        &[("/ftl/victim", json!("random"))],
        &[
            ("/ftl/victim", json!({ "policy": "windowed_greedy", "window": 200 })),
            ("/workload", uniform.clone()),
        ],
        &[
            ("/workload", json!({ "kind": "uniform", "request_pages": 4 })),
            ("/ftl/copy_order", json!("oldest")),
        ],
        &[("/workload", json!({ "kind": "zipf", "exponent": 0.9 }))],
        &[("/device/factory_bad_blocks", json!(20))],
        &[(
            "/workload",
            json!({ "kind": "mixed", "parts": [
                { "weight": 3.0, "space": 0.25, "workload": { "kind": "uniform" } },
                { "weight": 1.0, "space": 0.75, "workload": { "kind": "uniform", "read_ratio": 0.5 } },
            ] }),
        )],
        &[(
            "/log",
            json!([{ "segment_size": "128 KiB", "spare_factor": 0.15, "victim": "d_choices", "copy_order": "random" }]),
        )],
    ];
    cases.iter().for_each(|case| assert_agreement(case));
}

#[test]
fn prediction_without_held_back_blocks_is_the_mean_field() {
    let scenario = scenario(&[("/ftl/placement", json!("single")), ("/ftl/reclaim", json!("in_place"))]);
    let found = predict(&scenario, PredictionEffort::Full).unwrap();
    let logical = f64::from((9600.0_f64 * 0.85).round() as u32);
    let drive = Drive::new(16, 1.0 - logical / 9600.0).unwrap();
    let classes = Classes::hot_cold(0.8, (logical * 0.2).round() / logical).unwrap();
    let selection = DChoices::new(10.0).unwrap();
    let state =
        MeanField::new(drive, classes, Structure::Single, &selection).unwrap().steady_state().unwrap();
    assert!((found.write_amplification - state.write_amplification).abs() < 1e-9);
    assert_eq!(found.write_amplification, found.write_amplification_limit);
    assert_eq!(found.held_back_pages, 0.0);
}

#[test]
fn workload_without_writes_has_no_prediction() {
    let reason = |workload: Value| {
        let error = predict(&scenario(&[("/workload", workload)]), PredictionEffort::Full).unwrap_err();
        error.to_string()
    };
    let all_read = json!({ "kind": "uniform", "read_ratio": 1.0 });
    for workload in [
        all_read.clone(),
        json!({ "kind": "uniform", "read_ratio": 0.7, "flush_ratio": 0.3 }),
        // Subtracted from 1 one after the other, these ratios leave a small remainder.
        json!({ "kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2, "read_ratio": 0.41, "flush_ratio": 0.59 }),
        json!({ "kind": "zipf", "exponent": 0.9, "read_ratio": 0.1, "flush_ratio": 0.9 }),
        json!({ "kind": "mixed", "parts": [{ "weight": 1.0, "space": 1.0, "workload": all_read }] }),
    ] {
        assert_eq!(reason(workload), "no model applies: nothing is written");
    }
    // The remaining requests are writes, hot and cold as without reads and flushes.
    let all = predict(&scenario(&[]), PredictionEffort::Full).unwrap();
    let some = json!({ "kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2, "read_ratio": 0.5, "flush_ratio": 0.3 });
    let some = predict(&scenario(&[("/workload", some)]), PredictionEffort::Full).unwrap();
    assert_eq!(some.write_amplification, all.write_amplification);
}

#[test]
fn multi_page_requests_are_pages_of_a_smaller_block() {
    let uniform = json!({ "kind": "uniform", "request_pages": 4 });
    let changes =
        [("/workload", uniform), ("/ftl/victim", json!("greedy")), ("/ftl/copy_order", json!("oldest"))];
    let found = predict(&scenario(&changes), PredictionEffort::Full).unwrap();
    let drive = Drive::new(4, found.spare_factor).unwrap();
    assert!((found.write_amplification - closed_forms::greedy(&drive).unwrap()).abs() < 1e-12);
    assert_eq!(found.notes.len(), 1);
}

fn dedup_changes(dedup: Value, placement: Value) -> Vec<(&'static str, Value)> {
    vec![("/ftl/dedup", dedup), ("/ftl/placement", placement), ("/content", json!("homes"))]
}

#[test]
fn unsupported_scenario_returns_the_reason() {
    let cases = [
        (vec![("/workload/trim_ratio", json!(0.1))], "discards"),
        (
            vec![(
                "/workload/request_pages",
                json!([{ "pages": 1, "weight": 1.0 }, { "pages": 2, "weight": 1.0 }]),
            )],
            "length",
        ),
        (vec![("/workload", json!({ "kind": "sequential" }))], "`sequential`"),
        (vec![("/ftl/victim", json!("cost_benefit"))], "`cost_benefit`"),
        (vec![("/ftl/placement", json!("oracle"))], "a placement other than"),
        (vec![("/workload/request_pages", json!(4))], "tears requests of 4 pages"),
        (vec![("/workload/request_pages", json!(3))], "whole requests of 3 pages"),
        (vec![("/ftl/evict", json!(true))], "`evict = true`"),
        (vec![("/ftl/wear", json!("scan"))], "`wear` of the FTL"),
        (vec![("/ftl", json!({ "structure": "dftl" }))], "`dftl`"),
        (dedup_changes(json!("sampled"), json!("single")), "`sampled`"),
        (
            dedup_changes(json!({ "kind": "inline", "index": { "entries": 9 } }), json!("single")),
            "all fingerprints",
        ),
        (dedup_changes(json!("cagc"), json!("double")), "one frontier"),
    ];
    for (changes, reason) in cases {
        let error = predict(&scenario(&changes), PredictionEffort::Full).unwrap_err();
        assert!(matches!(error, PredictionError::NoModel(_)), "{changes:?}: {error}");
        assert!(error.to_string().contains(reason), "{changes:?}: {error}");
    }
}

/// Compares predicted with measured write amplification and sharing, for drives that deduplicate on writing or on
/// cleaning, with and without regions.
#[test]
fn dedup_is_predicted() {
    let greedy = ("/ftl/victim", json!("greedy"));
    let content = json!({ "dedup_ratio": 0.45, "same_content_ratio": 0.1, "pair_ratio": 0.05 });
    for (dedup, placement) in
        [("cagc", "references"), ("cagc", "single"), ("inline", "single"), ("inline", "double")]
    {
        for load in
            [json!({ "kind": "uniform" }), json!({ "kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2 })]
        {
            let changes = [
                greedy.clone(),
                ("/ftl/dedup", json!(dedup)),
                ("/ftl/placement", json!(placement)),
                ("/ftl/free_blocks_low", json!(4)),
                ("/workload", load),
                ("/content", content.clone()),
            ];
            let scenario = scenario(&changes);
            let found = predict(&scenario, PredictionEffort::Short).unwrap();
            let result = run(&scenario, &mut |_: &Progress| std::ops::ControlFlow::Continue(())).unwrap();
            let simulated = result.layers[0].write_amplification.unwrap();
            let error = found.write_amplification / simulated - 1.0;
            let sharing = result.layers[0].dedup.as_ref().unwrap().sharing_ratio.unwrap();
            println!("{changes:?}: {error:+.4}, {simulated}, shared {sharing}: {:?}", found.notes);
            assert!(error.abs() < 0.03, "{changes:?}: {} is not {simulated}", found.write_amplification);
        }
    }
}

#[test]
fn result_gets_prediction_on_request() {
    let scenario = scenario(&[("/measure", json!({ "warm_up": 1.0, "drive_writes": 1.0 }))]);
    let mut result = run(&scenario, &mut |_: &Progress| std::ops::ControlFlow::Continue(())).unwrap();
    assert_eq!(result.theory, None);
    add_prediction(&mut result);
    let predicted = predict(&scenario, PredictionEffort::Short).unwrap();
    assert_eq!(result.theory, Some(predicted));
}
