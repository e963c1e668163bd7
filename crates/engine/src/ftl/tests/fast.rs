//! Merges of FAST, page by page; blocks of 4 pages.

use super::super::Restart;
use super::super::hybrid::{HybridConfig, HybridFtl, HybridKind};
use super::drives::{count, hybrid, hybrid_config, owners, read, reports, trim, write};
use crate::counters::{Cause, Operation};
use crate::layer::{ContentId, Layer};
use crate::nand::Nand;

type Drive = HybridFtl<Nand<ContentId>>;

/// Returns a configuration with three logical blocks, a sequential log and two shared ones.
fn config() -> HybridConfig {
    hybrid_config(HybridKind::Fast, 12, 3)
}

/// Returns a drive on which all pages were written, block by block.
fn filled() -> Drive {
    let mut drive = hybrid(config());
    write(&mut drive, 0..12);
    drive
}

fn rows(drive: &Drive) -> Vec<String> {
    drive.check().unwrap();
    owners(drive.flash())
}

/// Returns the numbers of switch, partial and full merges; then the pages that merges wrote and read, and the blocks
/// they erased.
fn merge_counts(drive: &Drive) -> ([u64; 3], [u64; 3]) {
    let (layer, nand) = reports(drive);
    let cleaned = [Operation::Write, Operation::Read, Operation::Erase]
        .map(|operation| layer.counters.outgoing(Cause::Cleaning, operation));
    assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs);
    (["switch merges", "partial merges", "full merges"].map(|name| count(&layer, name)), cleaned)
}

const DATA: [&str; 3] = ["0 1 2 3", "4 5 6 7", "8 9 10 11"];

#[test]
fn updates_of_any_logical_block_share_logs() {
    let mut drive = filled();
    write(&mut drive, [1, 5, 1, 9, 2]);
    assert_eq!(rows(&drive), [DATA[0], DATA[1], DATA[2], "1 5 1 9", "2", "", ""]);
    assert_eq!(merge_counts(&drive), ([0; 3], [0; 3]));
    write(&mut drive, [6, 10, 3]);
    // Both logs are full: every logical block with a live page in the first log is merged, in the order of these
    // pages. Their pages in the second log are included.
    write(&mut drive, [7]);
    assert_eq!(rows(&drive), [DATA[2], "7", "", "", "2 6 10 3", DATA[0], DATA[1]]);
    assert_eq!(merge_counts(&drive), ([0, 0, 3], [12, 12, 4]));
    assert_eq!(read(&mut drive, 0..12), (100..112).collect::<Vec<u64>>());
    // The next log to be reclaimed no longer has live pages.
    write(&mut drive, [5, 7, 5]);
    write(&mut drive, [9]);
    assert_eq!(rows(&drive), [DATA[2], "7 5 7 5", "9", "", "", DATA[0], DATA[1]]);
    assert_eq!(merge_counts(&drive), ([0, 0, 3], [12, 12, 5]));
}

#[test]
fn sequential_log_takes_first_pages_and_their_successors() {
    let mut drive = filled();
    write(&mut drive, [0, 1]);
    assert_eq!(rows(&drive), [DATA[0], DATA[1], DATA[2], "0 1", "", "", ""]);
    // Another page of the same logical block goes to a shared log and leaves the sequential log unchanged.
    write(&mut drive, [3, 5]);
    assert_eq!(rows(&drive), [DATA[0], DATA[1], DATA[2], "0 1", "3 5", "", ""]);
    write(&mut drive, [2]);
    assert_eq!(rows(&drive)[3..5], ["0 1 2", "3 5"]);
    // The last page is the newest copy of 3, so this is a switch merge.
    write(&mut drive, [3]);
    assert_eq!(rows(&drive), ["", DATA[1], DATA[2], "0 1 2 3", "3 5", "", ""]);
    assert_eq!(merge_counts(&drive), ([1, 0, 0], [0, 0, 1]));
    assert_eq!(read(&mut drive, 0..12), (100..112).collect::<Vec<u64>>());
}

#[test]
fn other_first_page_completes_sequential_log() {
    let mut drive = filled();
    write(&mut drive, [0, 3]);
    write(&mut drive, [4]);
    // Pages 1 and 2 come from the data block, page 3 from the shared log; then page 4 starts a new sequential log.
    assert_eq!(rows(&drive), ["", DATA[1], DATA[2], "0 1 2 3", "3", "4", ""]);
    assert_eq!(merge_counts(&drive), ([0, 1, 0], [3, 3, 1]));
    // Writing the same page again has the same effect.
    write(&mut drive, [4]);
    assert_eq!(rows(&drive), ["", "", DATA[2], "0 1 2 3", "3", DATA[1], "4"]);
    assert_eq!(merge_counts(&drive), ([0, 2, 0], [6, 6, 2]));
    assert_eq!(read(&mut drive, 0..12), (100..112).collect::<Vec<u64>>());
}

#[test]
fn data_block_is_retained_while_shared_log_has_invalid_copy() {
    let mut drive = filled();
    write(&mut drive, [1, 6]);
    trim(&mut drive, 0..4);
    assert_eq!(
        rows(&drive),
        [DATA[0], DATA[1], DATA[2], "1 6", "", "", ""],
        "it tells that the copy is dead"
    );
    assert_eq!(reports(&drive).0.mapped_pages, 8);
    write(&mut drive, [6, 6, 7, 7, 7, 7]);
    // The data block is erased together with the shared log, once the logical block of 6 and 7 has been merged.
    write(&mut drive, [5]);
    assert_eq!(rows(&drive), ["", "", DATA[2], "", "7 7 7 7", DATA[1], "5"]);
    assert_eq!(merge_counts(&drive), ([0, 0, 1], [4, 4, 3]));
    assert_eq!(read(&mut drive, [0, 1, 4, 5, 6, 7]), [0, 0, 104, 105, 106, 107]);
}

#[test]
fn recovery_finds_all_logs() {
    let mut drive = filled();
    write(&mut drive, [0, 1, 3, 5, 1, 9, 6]);
    let before = rows(&drive);
    assert_eq!(before, [DATA[0], DATA[1], DATA[2], "0 1", "3 5 1 9", "6", ""]);
    let restart = |drive: Drive| {
        HybridFtl::restart(&config().into(), drive.into_flash()).map_err(|(error, _)| error).unwrap()
    };
    let (mut drive, report) = restart(drive);
    assert_eq!(rows(&drive), before);
    assert_eq!(read(&mut drive, 0..12), (100..112).collect::<Vec<u64>>());
    assert_eq!(report.steps[0].spare_reads, 7, "the first page of each block");
    assert_eq!(report.steps.iter().map(|step| step.erases).sum::<u64>(), 0);
    // The sequential log continues with page 2, the last shared log with any page.
    write(&mut drive, [2, 10]);
    assert_eq!(rows(&drive)[3..6], ["0 1 2", "3 5 1 9", "6 10"]);
    let (mut drive, _) = restart(drive);
    write(&mut drive, [3]);
    assert_eq!(rows(&drive)[3], "0 1 2 3");
    assert_eq!(count(&reports(&drive).0, "switch merges"), 1);
    assert_eq!(read(&mut drive, 0..12), (100..112).collect::<Vec<u64>>());
}
