//! Counters of a simulated drive, written as a SMART report, must lead back to its spare space.

use serde_json::json;
use std::ops::ControlFlow;
use wearwell_stack::{ByteSize, Progress, RunResult, Scenario, run};
use wearwell_study::drive::{DataSheet, DriveModel, EffectiveSpace, SmartReport, evaluate_reports};

const BLOCKS: u32 = 1000;
const PAGES_PER_BLOCK: u32 = 16;
const SPARE_FACTOR: f64 = 0.15;

/// Bytes per page of the simulated drive: many data units, as on drives that were used for months.
const PAGE_BYTES: f64 = 512_000.0 * 7.0;

fn drive(ftl: serde_json::Value, workload: serde_json::Value) -> RunResult {
    let scenario = json!({
        "device": {
            "blocks_per_plane": BLOCKS, "pages_per_block": PAGES_PER_BLOCK, "spare_factor": SPARE_FACTOR,
            "endurance_cycles": 3000,
        },
        "ftl": ftl,
        "precondition": { "random_overwrites": 2.0 },
        "workload": workload,
        "measure": { "warm_up": 20.0, "drive_writes": 20.0, "window": 1.0 },
    });
    let scenario = Scenario::read(&scenario).unwrap();
    run(&scenario, &mut |_: &Progress| ControlFlow::Continue(())).unwrap()
}

/// Returns the counters in nvme-cli's format, before and after the measured phase of the run.
fn reports(result: &RunResult) -> [SmartReport; 2] {
    let report = |file: &str, host_pages: u64, programs: u64, hours: u64| {
        let units = (host_pages as f64 * PAGE_BYTES / 512_000.0).ceil() as u64;
        let health = json!({ "data_units_written": units, "percent_used": 0, "power_on_hours": hours });
        let flash = json!({ "Physical media units written": { "hi": 0, "lo": (programs as f64 * PAGE_BYTES) as u64 } });
        SmartReport::read(file, &format!("{health}\n{flash}")).unwrap()
    };
    let (host, programs) = (result.phases.measured_host_pages, result.nand.programs);
    [report("before.json", host, 3 * host, 1000), report("after.json", 2 * host, 3 * host + programs, 2000)]
}

fn effective_space(result: &RunResult, model: DriveModel) -> EffectiveSpace {
    let pages = f64::from(BLOCKS * PAGES_PER_BLOCK);
    let sheet = DataSheet {
        capacity: Some(ByteSize((pages * (1.0 - SPARE_FACTOR) * PAGE_BYTES) as u64)),
        raw_capacity: Some(ByteSize((pages * PAGE_BYTES) as u64)),
        pages_per_block: Some(PAGES_PER_BLOCK),
        hot_writes: Some(0.8),
        hot_space: Some(0.2),
        ..DataSheet::default()
    };
    let [before, after] = reports(result);
    let found = evaluate_reports(&sheet, Some(&before), &after, None).unwrap();
    let amplification = found.latest_period().write_amplification.unwrap();
    assert!(amplification.contains(result.write_amplification.unwrap()), "{amplification:?}");
    found.effective.into_iter().find(|one| one.model == model).unwrap()
}

/// The bounds from rounding are narrow. The uncertainty of the run is added: its interval, and a block of spare space
/// for the finite number of blocks, as in `theory_check`.
#[test]
fn simulated_drive_is_calibrated_to_its_spare_space() {
    let choices = json!({ "policy": "d_choices", "choices": 10 });
    let one =
        json!({ "victim": choices, "placement": "single", "reclaim": "in_place", "copy_order": "random" });
    let two =
        json!({ "victim": choices, "placement": "double", "reclaim": "in_place", "copy_order": "random" });
    let hot_cold = json!({ "kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2 });
    for (model, ftl, workload) in
        [(DriveModel::DChoices, one, json!({ "kind": "uniform" })), (DriveModel::HotCold, two, hot_cold)]
    {
        let result = drive(ftl, workload);
        let effective = effective_space(&result, model);
        let spare = effective.spare_factor.unwrap();
        let estimate = result.write_amplification_estimate.unwrap();
        let chance = estimate.ci95_half_width.unwrap() / result.write_amplification.unwrap();
        let share = 2.0 * chance + 1.0 / (f64::from(BLOCKS) * SPARE_FACTOR);
        let bounds = spare.low * (1.0 - share)..=spare.high * (1.0 + share);
        assert!(bounds.contains(&SPARE_FACTOR), "{model:?}: {spare:?}, {share}");
        assert!(share < 0.03 && (spare.high - spare.low) < 0.001, "{model:?}: {spare:?}, {share}");
        // Another model would give another spare factor.
        let other = effective_space(&result, DriveModel::Random).spare_factor.unwrap();
        assert!(other.value > 1.3 * SPARE_FACTOR, "{other:?}");
    }
}
