//! Power cuts between two requests: the state after recovery equals the state before the cut.

use super::super::page::PageFtl;
use super::super::paged::{PagedFtl, PagedSettings};
use super::super::{PowerCycle, PowerCycledFtl, Restart, SwitchableLayer};
use super::drives::{
    DESIGNS, PowerCutNand, build_page, build_paged, count, has_battery, owners, page_config, paged, read,
    reports, trim, write,
};
use crate::counters::Operation;
use crate::layer::{ContentId, Layer, Medium, RecoveryReport};
use crate::log::Reclaim;
use crate::nand::{Faults, PowerSource};
use crate::seed::{Seed, random_below};
use crate::units::Lpn;

const LOGICAL_PAGES: u32 = 40;

fn build(design: &str, cache_entries: u32) -> (PagedFtl<PowerCutNand>, PagedSettings) {
    let settings = paged(design, LOGICAL_PAGES, cache_entries);
    (build_paged(&settings, 3, Faults::default(), &PowerSource::new(false)), settings)
}

fn cycle(
    mut ftl: PagedFtl<PowerCutNand>,
    settings: &PagedSettings,
) -> (PagedFtl<PowerCutNand>, RecoveryReport) {
    ftl.save().unwrap();
    PagedFtl::restart(settings, ftl.into_flash()).map_err(|(error, _)| error).unwrap()
}

#[test]
fn designs_report_their_battery() {
    assert!(has_battery("dftl") && has_battery("mu_ftl") && !has_battery("gecko"));
    for design in DESIGNS {
        assert_eq!(build(design, 6).0.has_battery(), has_battery(design), "{design}");
    }
    let log =
        build_page(&page_config(LOGICAL_PAGES, "single"), 1, Faults::default(), &PowerSource::new(false));
    assert!(!log.has_battery());
}

#[test]
fn power_cycle_preserves_pages_and_counts() {
    for design in DESIGNS {
        let (mut ftl, settings) = build(design, 6);
        let mut expected = vec![0; LOGICAL_PAGES as usize];
        let mut random = Seed(4).random();
        for round in 0..25 {
            for _ in 0..30 {
                let page = random_below(&mut random, u64::from(LOGICAL_PAGES)) as u32;
                let version = 1 + random_below(&mut random, 1 << 40);
                if random_below(&mut random, 8) == 0 {
                    trim(&mut ftl, [page]);
                    expected[page as usize] = 0;
                } else {
                    ftl.write(&[Lpn(page)], &[ContentId(version)], 0).unwrap();
                    expected[page as usize] = version;
                }
            }
            // Trims are durable after a flush.
            ftl.flush().unwrap();
            ftl.check().unwrap();
            let (before, mapped) = (reports(&ftl).1, reports(&ftl).0.mapped_pages);
            assert_eq!(mapped as usize, expected.iter().filter(|version| **version > 0).count(), "{design}");
            let report;
            (ftl, report) = cycle(ftl, &settings);
            ftl.check().unwrap_or_else(|error| panic!("{design}, round {round}: {error}"));
            let (layer, after) = reports(&ftl);
            assert_eq!(layer.mapped_pages, mapped, "{design}");
            assert_eq!(layer.ftl.unwrap().recovery, Some(report.clone()));
            let sum =
                |count: fn(&crate::layer::RecoveryStep) -> u64| report.steps.iter().map(count).sum::<u64>();
            // Saving may have added further operations.
            assert_eq!(sum(|step| step.spare_reads), after.spare_reads - before.spare_reads, "{design}");
            assert!(sum(|step| step.page_writes) <= after.programs - before.programs, "{design}");
            assert!(sum(|step| step.erases) <= after.erases - before.erases, "{design}");
            assert_eq!(read(&mut ftl, 0..LOGICAL_PAGES), expected, "{design}, round {round}");
        }
        assert!(reports(&ftl).1.erases > 50, "{design}");
    }
}

/// The steps of a recovery by name: the costs of finding everything on a drive with five pages.
#[test]
fn recovery_steps_have_expected_costs() {
    for design in DESIGNS {
        let (mut ftl, settings) = build(design, 6);
        write(&mut ftl, 0..5);
        let blocks = u64::from(ftl.flash().blocks());
        let (mut ftl, report) = cycle(ftl, &settings);
        let step = |name: &str| *report.steps.iter().find(|step| step.name == name).unwrap();
        // The first page of each block, then the open blocks to their end: one written and one erased page in the
        // user's second block, and the same in each block of metadata.
        assert!(step("block scan").spare_reads > blocks, "{design}: {report:?}");
        assert!(step("block scan").spare_reads <= blocks + 3 * 5, "{design}: {report:?}");
        assert_eq!((step("block scan").page_reads, step("block scan").page_writes), (0, 0));
        let names: Vec<&str> = report.steps.iter().map(|step| step.name).collect();
        let expected: &[&str] = match design {
            "dftl" => &["validity bitmap image", "validity buffer", "dirty entries"],
            "mu_ftl" => &["validity directory", "validity buffer", "dirty entries"],
            "lazyftl" => &[
                "validity bitmap image",
                "validity buffer",
                "dirty entries",
                "synchronisation",
                "validity bitmap",
            ],
            "ib_ftl" => &["validity log", "validity buffer", "dirty entries", "synchronisation"],
            _ => &["run directories", "validity buffer", "dirty entries"],
        };
        assert_eq!(names[..2], ["block scan", "mapping directory"]);
        assert_eq!(&names[2..names.len() - 1], expected, "{design}");
        assert_eq!(names.last(), Some(&"block validity counters"));
        // A battery has written all entries; LazyFTL and IB-FTL write them now, in one page; Gecko leaves them dirty.
        let written =
            |name: &str| report.steps.iter().find(|step| step.name == name).map(|step| step.page_writes);
        assert_eq!(written("dirty entries"), Some(0));
        let synchronises = matches!(design, "lazyftl" | "ib_ftl");
        assert_eq!(
            written("synchronisation").is_some_and(|pages| pages > 0),
            synchronises,
            "{design}: {report:?}"
        );
        assert_eq!(read(&mut ftl, 0..6), [100, 101, 102, 103, 104, 0]);
    }
}

#[test]
fn empty_drive_recovers_empty() {
    for design in DESIGNS {
        let (ftl, settings) = build(design, 6);
        let (mut ftl, report) = cycle(ftl, &settings);
        ftl.check().unwrap();
        assert_eq!(reports(&ftl).0.mapped_pages, 0);
        assert_eq!(read(&mut ftl, [0, 39]), [0, 0]);
        write(&mut ftl, 0..LOGICAL_PAGES);
        write(&mut ftl, 0..LOGICAL_PAGES);
        ftl.check().unwrap();
        assert_eq!(report.steps[0].name, "block scan");
    }
}

/// Without a flush, trims may be undone, but each page has a content that it once had, and keeps this content in later
/// recoveries.
#[test]
fn second_recovery_finds_state_of_the_first() {
    for design in DESIGNS {
        let (mut ftl, settings) = build(design, 5);
        write(&mut ftl, 0..LOGICAL_PAGES);
        write(&mut ftl, (0..60).map(|step| step * 7 % LOGICAL_PAGES));
        trim(&mut ftl, [3, 17, 18, 39]);
        let (mut ftl, _) = cycle(ftl, &settings);
        let first = read(&mut ftl, 0..LOGICAL_PAGES);
        for (page, &found) in (0u32..).zip(&first) {
            let trimmed = [3, 17, 18, 39].contains(&page);
            assert!(
                found == u64::from(page) + 100 || trimmed && found == 0,
                "{design}: page {page} holds {found}"
            );
        }
        let (mut ftl, _) = cycle(ftl, &settings);
        assert_eq!(read(&mut ftl, 0..LOGICAL_PAGES), first, "{design}");
        ftl.check().unwrap();
    }
}

#[test]
fn separate_switch_handle_cycles_power() {
    let config = page_config(LOGICAL_PAGES, "single");
    let ftl = build_page(&config, 0, Faults::default(), &PowerSource::new(false));
    let mut drive = SwitchableLayer::new(PowerCycledFtl::new(ftl, config));
    let mut switch = drive.clone();
    assert_eq!(drive.logical_pages(), LOGICAL_PAGES);
    write(&mut drive, 0..10);
    let report = switch.cycle().unwrap();
    assert_eq!(report.steps[0].name, "all spare areas");
    switch.begin_measurement(7);
    assert!(switch.outages().is_none(), "it is cut from outside alone");
    assert_eq!(read(&mut drive, 0..11), [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 0]);
    trim(&mut drive, [0]);
    drive.flush().unwrap();
    let (layer, _) = reports(&drive);
    assert_eq!(layer.counters.incoming(Operation::Read), 11, "reports go on with the next life");
    assert_eq!(layer.counters.incoming(Operation::Write), 10, "and count what the life before was asked");
    assert_eq!((layer.counters.incoming(Operation::Trim), layer.counters.incoming(Operation::Flush)), (1, 1));
    assert_eq!(layer.mapped_pages, 9);
    drive.check().unwrap();
    drive.final_draw();
}

#[test]
fn log_rejects_in_place_reclaim_and_recovers_with_pool() {
    let mut config = page_config(LOGICAL_PAGES, "single");
    config.store.reclaim = Reclaim::InPlace;
    let flash = super::drives::power_cut_nand(20, Faults::default(), &PowerSource::new(false));
    assert_eq!(config.build(flash).err().unwrap().key, "reclaim");
    let config = page_config(LOGICAL_PAGES, "single");
    let mut ftl = build_page(&config, 0, Faults::default(), &PowerSource::new(false));
    write(&mut ftl, [5, 6]);
    assert_eq!(owners(ftl.medium())[0], "5 6");
    let (mut ftl, report) = PageFtl::restart(&config, ftl.into_flash()).map_err(|(error, _)| error).unwrap();
    // The open block has two written pages and an erased page after them; in addition, the first page of each of the 14
    // other blocks is read.
    assert_eq!(report.steps[0].spare_reads, 3 + 14);
    assert_eq!(read(&mut ftl, [5, 6, 7]), [105, 106, 0]);
}

#[test]
fn event_names_are_unique() {
    let (ftl, _) = build("dftl", 6);
    let (layer, _) = reports(&ftl);
    let mut names: Vec<&str> = layer.ftl.as_ref().unwrap().counts.iter().map(|(name, _)| *name).collect();
    assert_eq!(count(&layer, "synchronisations"), 0);
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
