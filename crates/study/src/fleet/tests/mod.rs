//! Fleets whose figures can be computed by hand, and invalid files.

mod hostile;
mod statistics;

use super::{CheckOptions, FleetError, FleetOptions, FleetResult, Plan, TheoryAccuracy, evaluate, of_draft};
use crate::prediction::{PredictionEffort, predict};
use crate::sweep::{SweepObserver, SweepOptions};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;
use wearwell_stack::{Draft, Progress, Scenario};

struct NullObserver;

impl SweepObserver for NullObserver {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn finished(&self, _: usize, _: usize) {}
}

/// Returns a drive of 1,000 blocks of 8 pages, a fifth spare, with 1,000 cycles.
fn device() -> Value {
    json!({"blocks_per_plane": 1000, "pages_per_block": 8, "spare_factor": 0.2, "endurance_cycles": 1000})
}

/// Returns a fleet of one group and one tenant that writes uniformly, one drive write per day.
fn fleet() -> Value {
    json!({
        "group": [{"name": "g", "drives": 10, "price": 100.0, "device": device(), "ftl": {"victim": "greedy"}}],
        "tenant": [{"name": "t", "share": 1, "drive_writes_per_day": 1, "workload": {"kind": "uniform"}}],
    })
}

fn plan(fleet: &Value) -> Result<Plan, FleetError> {
    of_draft(&Draft::from_value(fleet.clone()), Path::new(""))
}

fn evaluate_fleet(fleet: &Value) -> FleetResult {
    evaluate(&plan(fleet).unwrap(), &FleetOptions::default(), &NullObserver).unwrap()
}

fn assert_near(actual: f64, expected: f64) {
    assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} is not {expected}");
}

/// Computes the write amplification of the fleet's first drive from its scenario.
fn write_amplification(fleet: &Value) -> f64 {
    let scenario = json!({
        "device": fleet["group"][0]["device"], "ftl": fleet["group"][0]["ftl"], "workload": fleet["tenant"][0]["workload"],
    });
    predict(&Scenario::read(&scenario).unwrap(), PredictionEffort::Minimal).unwrap().write_amplification
}

#[test]
fn life_of_equal_drives_is_endurance_over_rate_and_amplification() {
    let mut fleet = fleet();
    fleet["tenant"][0]["drive_writes_per_day"] = json!(2.0);
    let wa = write_amplification(&fleet);
    let found = evaluate_fleet(&fleet);
    // The life is 1,000 cycles of 1.25 times the capacity, over flash writes per day.
    let years = 1000.0 * 1.25 / (2.0 * wa) / 365.25;
    assert!(found.life.iter().all(|row| row.years.ci95 == 0.0), "{:?}", found.life);
    for row in &found.life {
        assert_near(row.years.mean, years);
        assert_near(row.years_left.mean, years);
    }
    assert_near(found.all.wear_drives_per_year.mean, 10.0 / years);
    assert_near(found.all.money_per_year.mean, 1000.0 / years);
    assert_near(found.all.write_amplification.mean, wa);
    assert_near(found.all.host_tb_per_day.mean, 10.0 * 2.0 * 6400.0 * 4096.0 / 1e12);
    // All drives wear out at once, one life after the other.
    for row in &found.years {
        let before = |year: usize| (year as f64 / years).ceil() - 1.0;
        let worn_out = before(row.year).max(0.0) - before(row.year - 1).max(0.0);
        assert_eq!(row.worn_out.mean, 10.0 * worn_out, "year {}", row.year);
        assert_eq!(row.money.mean, 1000.0 * worn_out);
    }
    assert_eq!((found.share_by_theory, found.basis[0].method), (1.0, "theory"));
    assert_eq!((found.basis[0].points, found.basis[0].interpolation_error), (1, 0.0));
}

#[test]
fn tenants_and_groups_sum_to_the_fleet() {
    let mut fleet = fleet();
    let mut other = fleet["group"][0].clone();
    (other["name"], other["price"], other["drives"]) = (json!("h"), json!(50), json!(33));
    other["age_years"] = json!({"law": "uniform", "low": 0, "high": 3});
    fleet["group"].as_array_mut().unwrap().push(other);
    let rate = json!({"law": "lognormal", "median": 1, "sigma": 0.5});
    fleet["tenant"][0]["drive_writes_per_day"] = rate.clone();
    let second = json!({"name": "u", "drives": 12, "drive_writes_per_day": rate, "workload": {"kind": "zipf", "exponent": 0.9}});
    fleet["tenant"].as_array_mut().unwrap().push(second);
    let found = evaluate_fleet(&fleet);
    for parts in [&found.tenants, &found.groups] {
        let sum = |figure: fn(&super::PartRow) -> f64| parts.iter().map(figure).sum::<f64>();
        assert_near(sum(|part| part.drives.mean), 43.0);
        assert_near(sum(|part| part.wear_drives_per_year.mean), found.all.wear_drives_per_year.mean);
        assert_near(sum(|part| part.money_per_year.mean), found.all.money_per_year.mean);
        assert_near(sum(|part| part.worn_out_per_year.mean), found.all.worn_out_per_year.mean);
        assert_near(sum(|part| part.wear_share.mean), 1.0);
    }
    assert_eq!((found.tenants[1].drives.mean, found.tenants[1].drives.ci95), (12.0, 0.0));
    assert_near(
        found.years.iter().map(|row| row.worn_out.mean).sum::<f64>() / 5.0,
        found.all.worn_out_per_year.mean,
    );
}

#[test]
fn what_if_without_change_makes_no_difference() {
    let mut fleet = fleet();
    fleet["tenant"][0]["drive_writes_per_day"] = json!({"law": "exponential", "mean": 1});
    fleet["what_if"] = json!([
        {"name": "same", "set": {"ftl.victim": "greedy"}},
        {"name": "same spare space", "set": {"device.spare_factor": 0.2}},
        {"name": "elsewhere", "set": {"ftl.victim": "random"}, "groups": []},
    ]);
    let found = evaluate_fleet(&fleet);
    for row in &found.what_if {
        for difference in [row.wear_difference, row.money_difference, row.worn_out_difference] {
            assert_eq!((difference.mean, difference.ci95), (0.0, 0.0), "{}", row.name);
        }
        assert_eq!((row.money_once.mean, row.drives.mean), (0.0, 10.0), "{}", row.name);
    }
    assert!(found.basis.iter().all(|basis| basis.setting != "elsewhere"));
}

#[test]
fn more_spare_space_never_shortens_life_but_needs_more_drives() {
    let spare = [0.2, 0.22, 0.25, 0.3, 0.4, 0.5];
    for (victim, placement) in
        [("greedy", "single"), ("random", "single"), ("d_choices", "double"), ("fifo", "single")]
    {
        let mut fleet = fleet();
        fleet["group"][0]["ftl"] = json!({"victim": victim, "placement": placement});
        let set = |spare: &f64| json!({"name": spare.to_string(), "set": {"device.spare_factor": spare}});
        fleet["what_if"] = spare.iter().map(set).collect();
        let found = evaluate_fleet(&fleet);
        for (row, spare) in found.what_if.iter().zip(spare) {
            assert_near(row.drives.mean, 10.0 * 0.8 / (1.0 - spare));
            assert_near(row.money_once.mean + 1000.0, 100.0 * row.drives.mean);
        }
        let wear: Vec<f64> = found.what_if.iter().map(|row| row.wear_drives_per_year.mean).collect();
        assert!(wear.is_sorted_by(|one, next| one > next), "{victim}: {wear:?}");
    }
}

#[test]
fn what_if_with_other_drive_stores_the_same_data() {
    let mut fleet = fleet();
    fleet["what_if"] = json!([
        {"name": "dearer", "set": {"ftl.victim": "greedy"}, "price": 150},
        {"name": "twice as large", "set": {"device.blocks_per_plane": 2000}, "price": 200},
        {"name": "endures twice as much", "set": {"device.endurance_cycles": 2000}},
    ]);
    let found = evaluate_fleet(&fleet);
    let [dearer, large, better] = &found.what_if[..] else { panic!() };
    assert_near(dearer.money_per_year.mean, 1.5 * found.all.money_per_year.mean);
    assert_eq!((large.drives.mean, large.money_once.mean), (5.0, -1000.0));
    // Half as many drives, with lives of equal length.
    assert!((large.money_per_year.mean / found.all.money_per_year.mean - 1.0).abs() < 0.01);
    assert_near(better.wear_drives_per_year.mean, 0.5 * found.all.wear_drives_per_year.mean);
}

#[test]
fn counters_determine_the_used_fraction() {
    let folder = tempfile::tempdir().unwrap();
    // The drives have 6,400 pages of 4 KiB. The first drive is half used after a year at two drive writes per day; the
    // wear of the second follows from flash bytes, that of the third from host bytes.
    let (shown, hours) = (6400.0 * 4096.0, 365.25 * 24.0);
    let text = format!(
        "host_bytes_written,power_on_hours,percentage_used,media_bytes_written\n{0},{hours},50,\n0,,,{1}\n{2},,,\n",
        shown * 2.0 * 365.25,
        shown * 1.25 * 250.0,
        shown * 100.0
    );
    std::fs::write(folder.path().join("drives.csv"), text).unwrap();
    let mut fleet = fleet();
    fleet["group"][0].as_object_mut().unwrap().remove("drives");
    fleet["group"][0]["smart"] = json!("drives.csv");
    let wa = write_amplification(&fleet);
    let plan = of_draft(&Draft::from_value(fleet), folder.path()).unwrap();
    let found = evaluate(&plan, &FleetOptions::default(), &NullObserver).unwrap();
    let life = 1000.0 * 1.25 / wa / 365.25;
    let host_writes = 1000.0 * 1.25 / wa;
    let mut expected = [0.5 * life / 2.0, 0.75 * life, life * (1.0 - 100.0 / host_writes)];
    expected.sort_by(f64::total_cmp);
    assert_eq!(found.drives, 3);
    assert_near(found.life[2].years_left.mean, expected[1]);
    assert_near(found.all.host_tb_per_day.mean, shown * (2.0 + 1.0 + 1.0) / 1e12);
    assert_near(found.all.wear_drives_per_year.mean, 4.0 / life);
}

/// Returns options for this number of threads.
pub(super) fn with_threads(threads: usize) -> SweepOptions<'static> {
    SweepOptions { threads: Some(threads), ..SweepOptions::default() }
}

#[test]
fn fleet_without_model_is_refused_or_simulated() {
    let mut fleet = fleet();
    fleet["group"][0]["ftl"] = json!({"victim": "cost_benefit"});
    fleet["tenant"][0]["workload"] =
        json!({"kind": "zipf", "exponent": {"law": "uniform", "low": 0.5, "high": 0.9}});
    let error =
        evaluate(&plan(&fleet).unwrap(), &FleetOptions::default(), &NullObserver).unwrap_err().to_string();
    assert!(error.contains("group \"g\", tenant \"t\"") && error.contains("cost_benefit"), "{error}");
    assert!(error.contains("[simulation]"), "{error}");
    fleet["simulation"] = json!({"blocks": 200, "runs": 2});
    let found = evaluate_fleet(&fleet);
    let basis = &found.basis[0];
    assert_eq!((basis.method, basis.points, found.share_by_theory), ("simulation", 5, 0.0));
    assert!(basis.simulation_error.unwrap() < 0.3 && basis.interpolation_error < 0.1, "{basis:?}");
    assert_eq!(basis.scale.as_ref().unwrap().blocks, 200);
    let wa = found.all.write_amplification.mean;
    assert!(wa > 1.5 && wa < 4.0, "{wa}");
    let check = FleetOptions {
        check: Some(CheckOptions { drives: 2, blocks: Some(100), tolerance: 0.1 }),
        ..Default::default()
    };
    let error = evaluate(&plan(&fleet).unwrap(), &check, &NullObserver).unwrap_err().to_string();
    assert!(error.contains("no drive of the fleet rests on theory"), "{error}");
}

#[test]
fn check_compares_theory_with_simulation() {
    let mut fleet = fleet();
    fleet["group"][0]["device"] = json!({"preset": "tlc", "capacity": "200 GB", "over_provisioning": 0.2});
    fleet["tenant"][0]["workload"] = json!({
        "kind": "hot_cold", "hot_writes": {"law": "uniform", "low": 0.6, "high": 0.9}, "hot_space": 0.3,
    });
    let options = CheckOptions { drives: 6, blocks: Some(600), tolerance: 0.05 };
    let evaluate_with = |threads| {
        let options = FleetOptions { check: Some(options), sweep: with_threads(threads) };
        evaluate(&plan(&fleet).unwrap(), &options, &NullObserver).unwrap()
    };
    let found = evaluate_with(2);
    let check = found.check.as_ref().unwrap();
    assert_eq!((check.drives, check.rows.len(), check.seconds.len()), (6, 1, 6));
    assert_eq!(check.all.verdict, TheoryAccuracy::WithinTolerance, "{:?}", check.all);
    assert!(check.all.difference.abs() < 0.03 && check.all.scale_effect.abs() < 0.1, "{:?}", check.all);
    assert!(check.all.scale.pages_per_block <= 128 && check.all.scale.blocks == 600);
    assert!(found.basis[0].points > 1 && found.basis[0].interpolation_error < 5e-3, "{:?}", found.basis);
    let text = |result: &FleetResult| serde_json::to_string(result).unwrap();
    assert_eq!(text(&found), text(&evaluate_with(1)));
}

#[test]
fn check_without_blocks_simulates_whole_drives() {
    let mut fleet = fleet();
    fleet["group"][0]["device"] = json!({"capacity": "64 MiB", "pages_per_block": 32, "page_size": 4096, "spare_factor": 0.2, "endurance_cycles": 3000});
    let check = CheckOptions { drives: 3, blocks: None, tolerance: 0.05 };
    let options = FleetOptions { check: Some(check), sweep: with_threads(2) };
    let found = evaluate(&plan(&fleet).unwrap(), &options, &NullObserver).unwrap().check.unwrap();
    let scale = &found.all.scale;
    assert_eq!((scale.pages_per_block, u64::from(scale.blocks)), (32, scale.blocks_of_drive));
    assert_eq!((found.all.scale_effect, found.all.unsteady), (0.0, 0));
    assert!(found.all.difference.abs() < 0.03, "{:?}", found.all);
}
