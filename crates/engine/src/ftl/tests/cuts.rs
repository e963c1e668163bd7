//! Power cuts at every operation of a short history: no acknowledged data is lost, and all tables are consistent.

use super::super::hybrid::{HybridFtl, HybridKind};
use super::super::page::PageFtl;
use super::super::{CutSettings, CutTimes, Outages, PowerCutFtl, PowerCycle, Restart, SwitchableLayer};
use super::drives::{
    DESIGNS, PowerCutNand, build_page, build_paged, has_battery, hybrid_blocks, hybrid_config, page_config,
    paged, power_cut_nand, reports,
};
use super::stored_bytes::RebuiltFtl;
use crate::counters::Operation;
use crate::layer::{Layer, LayerReport, NandReport, no_data};
use crate::nand::{Faults, PowerCut, PowerSource};
use crate::seed::{Seed, random_below};
use crate::timing::Journal;
use crate::units::Lpn;
use std::sync::Arc;

const LOGICAL_PAGES: u32 = 26;

/// Number of requests in the history.
const STEPS: u32 = 110;

/// Runs a history of random writes, reads, trims and flushes with these cuts. All pages are read back and the tables
/// checked after each cut and at the end.
fn history<F>(
    build: impl Fn(&PowerSource) -> (F, F::Settings),
    battery: bool,
    cuts: CutTimes,
    probabilities: [f64; 2],
) -> Outages
where
    F: Restart<Flash = PowerCutNand>,
    F::Settings: Send,
{
    let (outages, (layer, nand)) = history_of(build, [battery, true], cuts, probabilities);
    assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(layer.counters.outgoing_total(Operation::Erase), nand.erases);
    outages
}

/// Runs the history with or without a battery and trims. Also returns the counts of FTL and flash, if those of the
/// flash continue over power cycles.
fn history_of<F>(
    build: impl Fn(&PowerSource) -> (F, F::Settings),
    [battery, trims]: [bool; 2],
    cuts: CutTimes,
    [recovery, again]: [f64; 2],
) -> (Outages, (LayerReport, NandReport))
where
    F: Restart<Flash = PowerCutNand>,
    F::Settings: Send,
{
    let name = format!("{cuts:?}");
    let power_source = PowerSource::new(battery);
    let (ftl, settings) = build(&power_source);
    let cut =
        CutSettings { cuts, recovery_cut_probability: recovery, cut_again_probability: again, seed: Seed(2) };
    let mut drive = PowerCutFtl::<_, ()>::new(ftl, settings, power_source, cut, Journal::paused());
    let mut random = Seed(3).random();
    let mut result = Ok(());
    for step in 0..2 * STEPS {
        if step == STEPS {
            drive.begin_measurement(u64::from(STEPS));
        }
        let page = Lpn(random_below(&mut random, u64::from(LOGICAL_PAGES)) as u32);
        result = result.and_then(|()| match step % 12 {
            11 => drive.flush(),
            8 if trims => drive.trim(&[page]),
            5 => drive.read(&[page], &mut Vec::new()),
            _ => drive.write(&[page], no_data(1), 0),
        });
    }
    result =
        result.and_then(|()| drive.read(&(0..LOGICAL_PAGES).map(Lpn).collect::<Vec<_>>(), &mut Vec::new()));
    result.unwrap_or_else(|error| panic!("{name}: {error}"));
    drive.check().unwrap_or_else(|error| panic!("{name}: {error}"));
    (drive.outages().unwrap(), reports(&drive))
}

/// Runs cuts at many operations of the history, single and in series, also during recovery.
fn run_cut_histories<F>(build: impl Fn(&PowerSource) -> (F, F::Settings), battery: bool)
where
    F: Restart<Flash = PowerCutNand>,
    F::Settings: Send,
{
    let uncut = history(&build, battery, CutTimes::At(Vec::new()), [0.0; 2]);
    assert_eq!((uncut.cuts, uncut.recoveries.len()), (0, 0));
    let mut hits = 0;
    for after in (0..).step_by(7) {
        let cut = PowerCut { after, torn: after % 2 == 0 };
        let outages = history(&build, battery, CutTimes::At(vec![cut]), [0.0; 2]);
        if outages.cuts == 0 {
            break;
        }
        // A battery lets each operation complete.
        let torn_cuts = u64::from(cut.torn && !battery);
        assert_eq!((outages.cuts, outages.torn_cuts, outages.cuts_in_recovery), (1, torn_cuts, 0), "{cut:?}");
        let verified = (outages.recoveries.len(), outages.pages_verified);
        assert_eq!(verified, (1, u64::from(LOGICAL_PAGES)), "{cut:?}");
        hits += 1;
    }
    assert!(hits > 25, "{hits} of the operations were there");
    // With more frequent cuts, no merge would ever complete.
    for every in [19, 60] {
        let outages = history(&build, battery, CutTimes::Every(every), [0.4, 0.0]);
        assert!(outages.cuts > 0, "{outages:?}");
        assert_eq!(outages.pages_verified, outages.cuts * u64::from(LOGICAL_PAGES));
        assert_eq!(outages.recoveries.len() as u64, outages.cuts);
    }
    // Series of cuts without verification in between.
    let outages = history(&build, battery, CutTimes::Every(60), [0.4, 0.8]);
    assert!(outages.cuts > 1, "{outages:?}");
    assert!(outages.pages_verified < outages.cuts * u64::from(LOGICAL_PAGES), "{outages:?}");
}

/// The second cut comes one operation after the first, within the recovery or after it.
#[test]
fn cut_during_recovery_counts_apart_from_cuts_during_requests() {
    let build = |power_source: &PowerSource| {
        let settings = paged("lazyftl", LOGICAL_PAGES, 6);
        (build_paged(&settings, 3, Faults::default(), power_source), settings)
    };
    let mut in_recovery = 0;
    for (after, torn) in (0..100).step_by(3).zip([true, false].into_iter().cycle()) {
        let cuts = [after, after + 1].map(|after| PowerCut { after, torn });
        let outages = history(build, false, CutTimes::At(cuts.to_vec()), [0.0; 2]);
        assert!((1..=2).contains(&(outages.cuts + outages.cuts_in_recovery)), "{cuts:?}: {outages:?}");
        assert_eq!(outages.torn_cuts, if torn { outages.cuts } else { 0 }, "{cuts:?}");
        assert_eq!(outages.recoveries.len() as u64, outages.cuts, "{cuts:?}");
        assert_eq!(outages.pages_verified, outages.cuts * u64::from(LOGICAL_PAGES), "{cuts:?}");
        in_recovery += outages.cuts_in_recovery;
    }
    assert!(in_recovery > 0, "recovery writes translation pages");
}

/// Runs the same cuts on FTLs recovered from the bytes of their flash. The results are the same as in simulation, even
/// if recovery is interrupted.
fn run_cut_histories_on_bytes<F>(build: impl Fn(&PowerSource) -> (F, F::Settings), battery: bool)
where
    F: Restart<Flash = PowerCutNand>,
    F::Settings: Send,
{
    let build_from_bytes = |power_source: &PowerSource, options: [bool; 2]| {
        let (ftl, settings) = build(power_source);
        RebuiltFtl::new(ftl, settings, power_source, Arc::new(|nand| nand), options)
    };
    for after in (0..).step_by(11) {
        let cut = PowerCut { after, torn: after % 2 == 0 };
        let build = |power_source: &PowerSource| build_from_bytes(power_source, [true, false]);
        let (outages, _) = history_of(build, [battery, true], CutTimes::At(vec![cut]), [0.0; 2]);
        if outages.cuts == 0 {
            break;
        }
    }
    for (every, recovery) in [(19, 0.4), (60, 0.4)] {
        let build = |power_source: &PowerSource| build_from_bytes(power_source, [false; 2]);
        let (outages, _) = history_of(build, [battery, true], CutTimes::Every(every), [recovery, 0.5]);
        assert!(outages.cuts > 0);
    }
}

#[test]
fn designs_with_map_in_flash_recover_from_bytes() {
    for design in DESIGNS {
        let settings = paged(design, LOGICAL_PAGES, 5);
        let battery = has_battery(design);
        let build = |power_source: &PowerSource| {
            (build_paged(&settings, 2, Faults::default(), power_source), settings.clone())
        };
        run_cut_histories_on_bytes(build, battery);
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
                let build = |power_source: &PowerSource| {
                    let ftl = build_paged(&settings, 2, Faults::default(), power_source);
                    RebuiltFtl::new(ftl, settings.clone(), power_source, Arc::new(|nand| nand), [false, true])
                };
                let (outages, _) = history_of(build, [false, false], CutTimes::Every(every), [0.3, 0.3]);
                assert!(outages.cuts > 0, "{design}");
            }
        }
    }
}

#[test]
fn hybrids_and_log_recover_from_bytes() {
    for (kind, log_blocks) in [(HybridKind::Bast, 5), (HybridKind::Fast, 4)] {
        let config = hybrid_config(kind, LOGICAL_PAGES, log_blocks);
        let build = |power_source: &PowerSource| {
            let blocks = hybrid_blocks(&config) + 1;
            (
                HybridFtl::new(config, power_cut_nand(blocks, Faults::default(), power_source)).unwrap(),
                config.into(),
            )
        };
        run_cut_histories_on_bytes(build, false);
    }
    let config = page_config(LOGICAL_PAGES, "double");
    let build = |power_source: &PowerSource| {
        (build_page(&config, 1, Faults::default(), power_source), config.clone())
    };
    run_cut_histories_on_bytes::<PageFtl<PowerCutNand>>(build, false);
}

#[test]
fn designs_with_map_in_flash_recover_from_cuts() {
    for design in DESIGNS {
        for cache_entries in [2, 9] {
            let settings = paged(design, LOGICAL_PAGES, cache_entries);
            let battery = has_battery(design);
            let build = |power_source: &PowerSource| {
                (build_paged(&settings, 2, Faults::default(), power_source), settings.clone())
            };
            run_cut_histories(build, battery);
        }
    }
}

#[test]
fn designs_with_map_in_flash_recover_on_failing_flash() {
    for design in DESIGNS {
        let settings = paged(design, LOGICAL_PAGES, 5);
        let battery = has_battery(design);
        let faults = Faults { program_failure_rate: 0.01, read_disturb_limit: Some(25) };
        let build =
            |power_source: &PowerSource| (build_paged(&settings, 60, faults, power_source), settings.clone());
        for every in [4, 17] {
            assert!(history(build, battery, CutTimes::Every(every), [0.3, 0.5]).cuts > 2, "{design}");
        }
    }
}

#[test]
fn hybrids_recover_from_cuts() {
    for (kind, log_blocks) in
        [(HybridKind::Bast, 2), (HybridKind::Bast, 5), (HybridKind::Fast, 2), (HybridKind::Fast, 4)]
    {
        let config = hybrid_config(kind, LOGICAL_PAGES, log_blocks);
        let build = |power_source: &PowerSource| {
            let blocks = hybrid_blocks(&config) + 1;
            (
                HybridFtl::new(config, power_cut_nand(blocks, Faults::default(), power_source)).unwrap(),
                config.into(),
            )
        };
        run_cut_histories(build, false);
    }
}

#[test]
fn log_recovers_from_cuts() {
    for placement in ["single", "double"] {
        let config = page_config(LOGICAL_PAGES, placement);
        let build = |power_source: &PowerSource| {
            (build_page(&config, 1, Faults::default(), power_source), config.clone())
        };
        run_cut_histories::<PageFtl<PowerCutNand>>(build, false);
    }
}

/// The code that cuts power has its own handle; power only fails after it has started the measured phase.
#[test]
fn cuts_start_with_measured_phase() {
    let power_source = PowerSource::new(false);
    let settings = paged("gecko", LOGICAL_PAGES, 9);
    let ftl = build_paged(&settings, 2, Faults::default(), &power_source);
    let cut = CutSettings {
        cuts: CutTimes::Every(5),
        recovery_cut_probability: 0.0,
        cut_again_probability: 0.0,
        seed: Seed(2),
    };
    let interrupted = PowerCutFtl::<_, ()>::new(ftl, settings, power_source, cut, Journal::paused());
    let mut drive = SwitchableLayer::new(interrupted);
    let mut switch = drive.clone();
    let mut cuts = |switch: &SwitchableLayer<_>| {
        (0..20).for_each(|page| drive.write(&[Lpn(page)], no_data(1), 0).unwrap());
        PowerCycle::outages(switch).unwrap().cuts
    };
    assert_eq!(cuts(&switch), 0);
    switch.begin_measurement(20);
    assert!(cuts(&switch) > 1);
}
