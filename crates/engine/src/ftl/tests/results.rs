//! Short runs with fixed expected counts: equal seeds give equal runs, and changes of the results are detected.
//!
//! As with the golden files, a changed number must be intended and explained.

use super::super::hybrid::{HybridFtl, HybridKind};
use super::drives::{
    DESIGNS, build_page, build_paged, hybrid_blocks, hybrid_config, page_config, paged, power_cut_nand,
    reports,
};
use crate::layer::{ContentId, Layer};
use crate::nand::{Faults, PowerSource};
use crate::seed::{Seed, random_below};
use crate::units::Lpn;

/// Performs 1500 writes, reads, trims and flushes of 60 pages. Returns the numbers of pages programmed and read,
/// spare areas read, and blocks erased.
fn run(ftl: &mut impl Layer<ContentId>) -> [u64; 4] {
    let mut random = Seed(12).random();
    for version in 0..1500 {
        // Half of all requests go to a tenth of the pages.
        let bound = if random_below(&mut random, 2) == 0 { 6 } else { 60 };
        let page = [Lpn(random_below(&mut random, bound) as u32)];
        match random_below(&mut random, 20) {
            0 => ftl.trim(&page).unwrap(),
            1 => ftl.flush().unwrap(),
            2..=5 => ftl.read(&page, &mut Vec::new()).unwrap(),
            _ => ftl.write(&page, &[ContentId(version)], 0).unwrap(),
        }
    }
    ftl.check().unwrap();
    let (_, nand) = reports(ftl);
    [nand.programs, nand.reads, nand.spare_reads, nand.erases]
}

#[test]
fn results_of_designs_with_map_in_flash_are_unchanged() {
    let faults = Faults { program_failure_rate: 0.002, read_disturb_limit: Some(90) };
    let found = DESIGNS.map(|design| {
        let faultless = build_paged(&paged(design, 60, 9), 4, Faults::default(), &PowerSource::new(false));
        let faulty = build_paged(&paged(design, 60, 5), 14, faults, &PowerSource::new(false));
        [faultless, faulty].map(|mut ftl| run(&mut ftl))
    });
    let expected = [
        [[1860, 1944, 198, 435], [1851, 2110, 122, 426]],
        [[3145, 2795, 618, 754], [3175, 2852, 387, 756]],
        [[2003, 1368, 535, 472], [1957, 1362, 313, 454]],
        [[2161, 2199, 647, 494], [2259, 2306, 533, 511]],
        [[1595, 1254, 223, 371], [1718, 1506, 99, 395]],
    ];
    assert_eq!(found, expected);
}

#[test]
fn results_of_hybrids_and_log_are_unchanged() {
    let hybrids = [(HybridKind::Bast, 4), (HybridKind::Fast, 4)].map(|(kind, logs)| {
        let config = hybrid_config(kind, 60, logs);
        let flash = power_cut_nand(hybrid_blocks(&config) + 2, Faults::default(), &PowerSource::new(false));
        run(&mut HybridFtl::new(config, flash).unwrap())
    });
    assert_eq!(hybrids, [[3125, 2108, 0, 1012], [2852, 1838, 0, 721]]);
    let logs = ["single", "double"].map(|placement| {
        let mut ftl = build_page(&page_config(60, placement), 1, Faults::default(), &PowerSource::new(false));
        run(&mut ftl)
    });
    assert_eq!(logs, [[1631, 822, 0, 388]; 2]);
}
