//! Drives of the smallest possible size whose power is cut every few operations: no drive may report the end of its
//! life.

use super::super::hybrid::{HybridFtl, HybridKind};
use super::super::page::PageConfig;
use super::super::{CutSettings, CutTimes, Outages, PowerCutFtl, PowerCycle, Restart};
use super::drives::{
    DESIGNS, PAGES_PER_BLOCK, PowerCutNand, build_paged, has_battery, hybrid_blocks, hybrid_config,
    page_config, paged, power_cut_nand,
};
use crate::layer::{Layer, LayerError, no_data};
use crate::log::Reclaim;
use crate::nand::{Faults, PowerSource};
use crate::seed::{Seed, random_below};
use crate::timing::Journal;
use crate::units::Lpn;
use serde_json::json;

const LOGICAL_PAGES: u32 = 26;

/// Number of requests before cuts begin, and number of requests after that.
const STEPS: u32 = 120;

/// Numbers of operations between two cuts: at least enough to empty a block, which takes four programs and an erase.
const CUTS: [u64; 8] = [5, 6, 7, 10, 13, 24, 32, 47];

/// Runs a history of random writes, reads and trims with a cut after each `every` operations, and sometimes during
/// recovery.
fn run_history<F>(
    build: impl Fn(&PowerSource) -> (F, F::Settings),
    battery: bool,
    every: u64,
    recovery: f64,
) -> Result<Outages, LayerError>
where
    F: Restart<Flash = PowerCutNand>,
    F::Settings: Send,
{
    let power_source = PowerSource::new(battery);
    let (ftl, settings) = build(&power_source);
    let cut = CutSettings {
        cuts: CutTimes::Every(every),
        recovery_cut_probability: recovery,
        cut_again_probability: 0.0,
        seed: Seed(every),
    };
    let mut drive = PowerCutFtl::<_, ()>::new(ftl, settings, power_source, cut, Journal::paused());
    let mut random = Seed(3).random();
    for step in 0..2 * STEPS {
        if step == STEPS {
            drive.begin_measurement(u64::from(STEPS));
        }
        let page = Lpn(random_below(&mut random, u64::from(LOGICAL_PAGES)) as u32);
        match step % 24 {
            11 => drive.trim(&[page])?,
            5 => drive.read(&[page], &mut Vec::new())?,
            _ => drive.write(&[page], no_data(1), 0)?,
        }
    }
    drive.check().unwrap();
    Ok(drive.outages().unwrap())
}

/// Runs the history with all of [`CUTS`]: each request completes, or fails with an error that `may_fail` accepts.
/// Returns the number of failures.
fn run_all_cuts<F>(
    name: &str,
    build: impl Fn(&PowerSource) -> (F, F::Settings),
    battery: bool,
    may_fail: impl Fn(&LayerError) -> bool,
) -> u32
where
    F: Restart<Flash = PowerCutNand>,
    F::Settings: Send,
{
    let mut failed = 0;
    for every in CUTS {
        for recovery in [0.0, 0.3, 0.8] {
            match run_history(&build, battery, every, recovery) {
                Ok(outages) => assert!(outages.cuts > 1, "{name}, every {every} operations: {outages:?}"),
                Err(error) if may_fail(&error) => failed += 1,
                Err(error) => panic!("{name}, every {every} operations: {error}"),
            }
        }
    }
    failed
}

fn accepts_no_failure(_: &LayerError) -> bool {
    false
}

/// Returns the settings of a page-mapped FTL with these watermarks, and the minimum number of blocks.
fn smallest_page_config(placement: &str, victim: &str, (low, high): (u32, u32)) -> (PageConfig, u32) {
    let mut config = page_config(LOGICAL_PAGES, placement);
    config.store.reclaim = Reclaim::FreePool { low, high };
    config.victim = serde_json::from_value(json!(victim)).unwrap();
    let streams = if placement == "single" { 1 } else { 2 };
    let blocks = LOGICAL_PAGES.div_ceil(PAGES_PER_BLOCK) + config.store.reclaim.reserved_blocks(streams);
    assert!(
        config.build(power_cut_nand(blocks - 1, Faults::default(), &PowerSource::new(false))).is_err(),
        "not tight"
    );
    (config, blocks)
}

/// A policy that moves blocks full of live pages needs more than one reserve block: a single torn page leaves no space
/// for the last live page.
#[test]
fn page_mapped_drives_survive_frequent_cuts() {
    let mut failed = 0;
    for placement in ["single", "double"] {
        for victim in ["greedy", "fifo", "random", "d_choices"] {
            for marks in [(1, 1), (1, 2), (2, 2)] {
                let (config, blocks) = smallest_page_config(placement, victim, marks);
                let build = |power_source: &PowerSource| {
                    (
                        config.build(power_cut_nand(blocks, Faults::default(), power_source)).unwrap(),
                        config.clone(),
                    )
                };
                let may_fail = |error: &LayerError| {
                    victim != "greedy" && marks.0 == 1 && matches!(error, LayerError::ReserveTorn { .. })
                };
                failed += run_all_cuts(&format!("{placement}, {victim}, {marks:?}"), build, false, may_fail);
            }
        }
    }
    assert!(failed < 24, "{failed} of 576 histories");
}

#[test]
fn drives_with_map_in_flash_survive_frequent_cuts() {
    for design in DESIGNS {
        for (victim, cache_entries) in [("greedy", 2), ("greedy", 9), ("fifo", 2), ("random", 9)] {
            let mut settings = paged(design, LOGICAL_PAGES, cache_entries);
            settings.victim = serde_json::from_value(json!(victim)).unwrap();
            let build = |power_source: &PowerSource| {
                (build_paged(&settings, 0, Faults::default(), power_source), settings.clone())
            };
            let battery = has_battery(design);
            run_all_cuts(
                &format!("{design}, {victim}, {cache_entries} entries"),
                build,
                battery,
                accepts_no_failure,
            );
        }
    }
}

#[test]
fn hybrid_drives_survive_frequent_cuts() {
    for (kind, log_blocks) in
        [(HybridKind::Bast, 2), (HybridKind::Bast, 5), (HybridKind::Fast, 2), (HybridKind::Fast, 4)]
    {
        let config = hybrid_config(kind, LOGICAL_PAGES, log_blocks);
        let build = |power_source: &PowerSource| {
            let flash = power_cut_nand(hybrid_blocks(&config), Faults::default(), power_source);
            (HybridFtl::new(config, flash).unwrap(), config.into())
        };
        run_all_cuts(&format!("{kind:?} with {log_blocks} logs"), build, false, accepts_no_failure);
    }
}

/// If a merge, or the emptying of a block, never completes, the drive reports this and not the end of its life.
#[test]
fn drive_without_progress_reports_starvation() {
    let config = hybrid_config(HybridKind::Fast, LOGICAL_PAGES, 2);
    let hybrid = |power_source: &PowerSource| {
        let flash = power_cut_nand(hybrid_blocks(&config), Faults::default(), power_source);
        (HybridFtl::new(config, flash).unwrap(), config.into())
    };
    assert_eq!(run_history(hybrid, false, 2, 0.0).unwrap_err(), LayerError::Starved { cuts: 1000 });
    let mut torn = 0;
    for victim in ["greedy", "fifo", "random", "d_choices"] {
        for every in 1..5 {
            let (config, blocks) = smallest_page_config("single", victim, (1, 1));
            let build = |power_source: &PowerSource| {
                (
                    config.build(power_cut_nand(blocks, Faults::default(), power_source)).unwrap(),
                    config.clone(),
                )
            };
            match run_history(build, false, every, 0.3) {
                Ok(_) | Err(LayerError::Starved { .. }) => {}
                Err(LayerError::ReserveTorn { room, live }) => {
                    assert!(room < live, "{room} pages of room, {live} live pages");
                    torn += 1;
                }
                Err(error) => panic!("{victim}, every {every} operations: {error}"),
            }
        }
    }
    assert!(torn > 0, "a reserve of one block is not enough for that");
}
