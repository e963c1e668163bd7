//! Power cuts at every operation of a short history: all acknowledged data is there, and all tables are consistent.

use super::super::hybrid::{Hybrid, HybridKind};
use super::super::page::PageFtl;
use super::super::{CutSettings, Cuts, Interrupted, Outages, PowerCycle, Restart, Switched};
use super::drives::{
    Chips, DESIGNS, build_page, build_paged, chips, has_battery, hybrid_blocks, hybrid_config, page_config,
    paged, reports,
};
use super::kept::Rebuilt;
use crate::counters::Operation;
use crate::layer::{Layer, LayerReport, NandReport, no_data};
use crate::nand::{Cut, Faults, Supply};
use crate::seed::{Seed, below};
use crate::timing::Journal;
use crate::units::Lpn;
use std::sync::Arc;

const LOGICAL_PAGES: u32 = 26;

/// Number of requests in the history, and of those before cuts begin.
const STEPS: u32 = 110;

/// Runs a history of random writes, reads, trims and flushes with these cuts. All pages are read back and the tables
/// checked after each cut and at the end.
fn history<F>(
    build: impl Fn(&Supply) -> (F, F::Settings),
    battery: bool,
    cuts: Cuts,
    probabilities: [f64; 2],
) -> Outages
where
    F: Restart<Flash = Chips>,
    F::Settings: Send,
{
    let (outages, (own, nand)) = history_of(build, [battery, true], cuts, probabilities);
    assert_eq!(own.counters.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(own.counters.outgoing_total(Operation::Erase), nand.erases);
    outages
}

/// Runs the history with or without a battery and trims. Also returns the counts of FTL and flash, if those of the
/// flash continue over power cycles.
fn history_of<F>(
    build: impl Fn(&Supply) -> (F, F::Settings),
    [battery, trims]: [bool; 2],
    cuts: Cuts,
    [recovery, again]: [f64; 2],
) -> (Outages, (LayerReport, NandReport))
where
    F: Restart<Flash = Chips>,
    F::Settings: Send,
{
    let name = format!("{cuts:?}");
    let supply = Supply::new(battery);
    let (ftl, settings) = build(&supply);
    let cut =
        CutSettings { cuts, recovery_cut_probability: recovery, cut_again_probability: again, seed: Seed(2) };
    let mut drive = Interrupted::<_, ()>::new(ftl, settings, supply, cut, Journal::paused());
    let mut random = Seed(3).random();
    let mut done = Ok(());
    for step in 0..2 * STEPS {
        if step == STEPS {
            drive.begin(u64::from(STEPS));
        }
        let page = Lpn(below(&mut random, u64::from(LOGICAL_PAGES)) as u32);
        done = done.and_then(|()| match step % 12 {
            11 => drive.flush(),
            8 if trims => drive.trim(&[page]),
            5 => drive.read(&[page], &mut Vec::new()),
            _ => drive.write(&[page], no_data(1), 0),
        });
    }
    done = done.and_then(|()| drive.read(&(0..LOGICAL_PAGES).map(Lpn).collect::<Vec<_>>(), &mut Vec::new()));
    done.unwrap_or_else(|error| panic!("{name}: {error}"));
    drive.check().unwrap_or_else(|error| panic!("{name}: {error}"));
    (drive.outages().unwrap(), reports(&drive))
}

/// Runs cuts at many operations of the history, single and in series, also during recovery.
fn exercise<F>(build: impl Fn(&Supply) -> (F, F::Settings), battery: bool)
where
    F: Restart<Flash = Chips>,
    F::Settings: Send,
{
    let quiet = history(&build, battery, Cuts::At(Vec::new()), [0.0; 2]);
    assert_eq!((quiet.cuts, quiet.recoveries.len()), (0, 0));
    let (mut met, mut torn) = (0, 0);
    for after in (0..).step_by(7) {
        let cut = Cut { after, torn: after % 2 == 0 };
        let outages = history(&build, battery, Cuts::At(vec![cut]), [0.0; 2]);
        if outages.cuts == 0 {
            break;
        }
        (met, torn) = (met + 1, torn + outages.torn_cuts);
    }
    assert!(met > 25, "{met} of the operations were there");
    // A battery lets each operation complete.
    assert_eq!(torn > 10, !battery, "{torn} were torn");
    // With more frequent cuts, no merge would ever complete.
    for every in [19, 60] {
        let outages = history(&build, battery, Cuts::Every(every), [0.4, 0.0]);
        assert!(outages.cuts > 0, "{outages:?}");
        assert_eq!(outages.pages_verified, outages.cuts * u64::from(LOGICAL_PAGES));
        assert_eq!(outages.recoveries.len() as u64, outages.cuts);
    }
    // Series of cuts without verification in between.
    let outages = history(&build, battery, Cuts::Every(60), [0.4, 0.8]);
    assert!(outages.cuts > 1, "{outages:?}");
    assert!(outages.pages_verified < outages.cuts * u64::from(LOGICAL_PAGES), "{outages:?}");
}

/// Runs the same cuts on FTLs recovered from the bytes of their flash. The results are the same as in simulation,
/// also if recovery is interrupted.
fn exercise_bytes<F>(build: impl Fn(&Supply) -> (F, F::Settings), battery: bool)
where
    F: Restart<Flash = Chips>,
    F::Settings: Send,
{
    let rebuilt = |supply: &Supply, how: [bool; 2]| {
        let (ftl, settings) = build(supply);
        Rebuilt::new(ftl, settings, supply, Arc::new(|nand| nand), how)
    };
    for after in (0..).step_by(11) {
        let cut = Cut { after, torn: after % 2 == 0 };
        let build = |supply: &Supply| rebuilt(supply, [true, false]);
        let (outages, _) = history_of(build, [battery, true], Cuts::At(vec![cut]), [0.0; 2]);
        if outages.cuts == 0 {
            break;
        }
    }
    for (every, recovery) in [(19, 0.4), (60, 0.4)] {
        let build = |supply: &Supply| rebuilt(supply, [false; 2]);
        let (outages, _) = history_of(build, [battery, true], Cuts::Every(every), [recovery, 0.5]);
        assert!(outages.cuts > 0);
    }
}

#[test]
fn designs_with_map_in_flash_recover_from_bytes() {
    for design in DESIGNS {
        let settings = paged(design, LOGICAL_PAGES, 5);
        let battery = has_battery(design);
        let build =
            |supply: &Supply| (build_paged(&settings, 2, Faults::default(), supply), settings.clone());
        exercise_bytes(build, battery);
    }
}

/// Power fails immediately, and data that a battery would have written is searched for in flash. Without trims,
/// because those not yet synchronised are lost.
#[test]
fn designs_with_failed_battery_lose_no_writes() {
    for design in DESIGNS.into_iter().filter(|design| has_battery(design)) {
        for cache_entries in [2, 9] {
            let settings = paged(design, LOGICAL_PAGES, cache_entries);
            for every in [7, 19, 60] {
                let build = |supply: &Supply| {
                    let ftl = build_paged(&settings, 2, Faults::default(), supply);
                    Rebuilt::new(ftl, settings.clone(), supply, Arc::new(|nand| nand), [false, true])
                };
                let (outages, _) = history_of(build, [false, false], Cuts::Every(every), [0.3, 0.3]);
                assert!(outages.cuts > 0, "{design}");
            }
        }
    }
}

#[test]
fn hybrids_and_log_recover_from_bytes() {
    for (kind, log_blocks) in [(HybridKind::Bast, 5), (HybridKind::Fast, 4)] {
        let config = hybrid_config(kind, LOGICAL_PAGES, log_blocks);
        let build = |supply: &Supply| {
            let blocks = hybrid_blocks(&config) + 1;
            (Hybrid::new(config, chips(blocks, Faults::default(), supply)).unwrap(), config.into())
        };
        exercise_bytes(build, false);
    }
    let config = page_config(LOGICAL_PAGES, "double");
    let build = |supply: &Supply| (build_page(&config, 1, Faults::default(), supply), config.clone());
    exercise_bytes::<PageFtl<Chips>>(build, false);
}

#[test]
fn designs_with_map_in_flash_recover_from_cuts() {
    for design in DESIGNS {
        for cache_entries in [2, 9] {
            let settings = paged(design, LOGICAL_PAGES, cache_entries);
            let battery = has_battery(design);
            let build =
                |supply: &Supply| (build_paged(&settings, 2, Faults::default(), supply), settings.clone());
            exercise(build, battery);
        }
    }
}

#[test]
fn designs_with_map_in_flash_recover_on_failing_flash() {
    for design in DESIGNS {
        let settings = paged(design, LOGICAL_PAGES, 5);
        let battery = has_battery(design);
        let faults = Faults { program_failure_rate: 0.01, read_disturb_limit: Some(25) };
        let build = |supply: &Supply| (build_paged(&settings, 60, faults, supply), settings.clone());
        for every in [4, 17] {
            assert!(history(build, battery, Cuts::Every(every), [0.3, 0.5]).cuts > 2, "{design}");
        }
    }
}

#[test]
fn hybrids_recover_from_cuts() {
    for (kind, log_blocks) in
        [(HybridKind::Bast, 2), (HybridKind::Bast, 5), (HybridKind::Fast, 2), (HybridKind::Fast, 4)]
    {
        let config = hybrid_config(kind, LOGICAL_PAGES, log_blocks);
        let build = |supply: &Supply| {
            let blocks = hybrid_blocks(&config) + 1;
            (Hybrid::new(config, chips(blocks, Faults::default(), supply)).unwrap(), config.into())
        };
        exercise(build, false);
    }
}

#[test]
fn log_recovers_from_cuts() {
    for placement in ["single", "double"] {
        let config = page_config(LOGICAL_PAGES, placement);
        let build = |supply: &Supply| (build_page(&config, 1, Faults::default(), supply), config.clone());
        exercise::<PageFtl<Chips>>(build, false);
    }
}

/// The code that cuts power has its own handle; power only fails after it has started the measured phase.
#[test]
fn cuts_start_with_the_measured_phase() {
    let supply = Supply::new(false);
    let settings = paged("gecko", LOGICAL_PAGES, 9);
    let ftl = build_paged(&settings, 2, Faults::default(), &supply);
    let cut = CutSettings {
        cuts: Cuts::Every(5),
        recovery_cut_probability: 0.0,
        cut_again_probability: 0.0,
        seed: Seed(2),
    };
    let interrupted = Interrupted::<_, ()>::new(ftl, settings, supply, cut, Journal::paused());
    let mut drive = Switched::new(interrupted);
    let mut switch = drive.clone();
    let mut cuts = |switch: &Switched<_>| {
        (0..20).for_each(|page| drive.write(&[Lpn(page)], no_data(1), 0).unwrap());
        PowerCycle::outages(switch).unwrap().cuts
    };
    assert_eq!(cuts(&switch), 0);
    switch.begin(20);
    assert!(cuts(&switch) > 1);
}
