//! Properties of many draws: coverage of intervals, pairing, and reproducible output.

use super::*;

/// Returns a fleet whose loads have a known mean: 1 drive write per day.
fn drawn(seed: u64) -> Value {
    let mut fleet = fleet();
    (fleet["seed"], fleet["draws"]) = (json!(seed), json!(10));
    fleet["group"][0]["drives"] = json!(100);
    fleet["tenant"][0]["drive_writes_per_day"] = json!({"law": "exponential", "mean": 1});
    fleet
}

#[test]
fn intervals_have_95_percent_coverage() {
    let fleet = drawn(1);
    let expected = 100.0 * 365.25 * write_amplification(&fleet) / (1000.0 * 1.25);
    let (fleets, mut means, mut singles) = (300, 0, 0);
    for seed in 0..fleets {
        let found = evaluate_fleet(&drawn(seed)).all.wear_drives_per_year;
        means += u64::from((found.mean - expected).abs() <= found.ci95);
        let mut other = drawn(1_000_000 + seed);
        other["draws"] = json!(2);
        let other = evaluate_fleet(&other).all.wear_drives_per_year;
        // Recovers one of two draws: the mean plus or minus half the distance of the two.
        let half = other.ci95 / super::super::estimate::student_half_width(1.0, 0.95);
        let one = other.mean + if seed % 2 == 0 { half } else { -half };
        singles += u64::from((found.low..=found.high).contains(&one));
    }
    // About 285 of 300 are expected; a difference of ten is 2.6 standard deviations.
    for covered in [means, singles] {
        assert!((273..=297).contains(&covered), "{means} {singles}");
    }
}

#[test]
fn paired_differences_have_narrow_intervals() {
    let mut fleet = drawn(3);
    fleet["what_if"] = json!([{"name": "more", "set": {"device.spare_factor": 0.3}}]);
    let row = &evaluate_fleet(&fleet).what_if[0];
    assert!(row.wear_difference.mean < 0.0);
    assert!(row.wear_difference.ci95 < 0.6 * row.wear_drives_per_year.ci95, "{row:?}");
    // The relative change is equal for every drive.
    let share = |estimate: super::super::Estimate| estimate.ci95 / estimate.mean.abs();
    assert_near(share(row.wear_difference), share(row.wear_drives_per_year));
}

#[test]
fn equal_seeds_give_equal_output_for_any_thread_count() {
    let mut fleet = drawn(5);
    fleet["group"][0]["age_years"] = json!({"law": "uniform", "low": 0, "high": 9});
    fleet["group"][0]["endurance_factor"] = json!({"law": "weibull", "scale": 1, "shape": 5});
    fleet["tenant"][0]["workload"] = json!({"kind": "hot_cold", "hot_writes": {"law": "uniform", "low": 0.5, "high": 0.9}, "hot_space": 0.2});
    let evaluate_with = |fleet: &Value, threads| {
        let options = FleetOptions { check: None, sweep: with_threads(threads) };
        serde_json::to_string(&evaluate(&plan(fleet).unwrap(), &options, &NullObserver).unwrap()).unwrap()
    };
    let one = evaluate_with(&fleet, 1);
    assert_eq!(one, evaluate_with(&fleet, 3));
    fleet["seed"] = json!(6);
    assert_ne!(one, evaluate_with(&fleet, 1));
}

/// Installation times are spread over a long past, so drives wear out at a steady rate: the lives used up per year
/// equal the number of drives that wear out per year.
#[test]
fn mixed_age_fleet_wears_out_at_the_rate_of_wear() {
    let mut fleet = drawn(7);
    fleet["group"][0]["drives"] = json!(20_000);
    fleet["group"][0]["age_years"] = json!({"law": "uniform", "low": 0, "high": 1000});
    let found = evaluate_fleet(&fleet).all;
    let (wear, worn_out) = (found.wear_drives_per_year, found.worn_out_per_year);
    assert!((worn_out.mean / wear.mean - 1.0).abs() < 0.01, "{wear:?} {worn_out:?}");
}
