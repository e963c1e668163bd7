//! Recovery of a store from its flash, block by block; blocks of 3 pages.

use super::drive::{DOUBLE, Drive, Fifo, SINGLE, Store, config, layout};
use crate::counters::Cause;
use crate::layer::{ContentId, Group, Layer, LayerError, Medium, RecoveryReport, Run};
use crate::log::{LogStore, Reclaim, StoreConfig};
use crate::nand::{Flash, Nand};
use crate::placement::{Frontiers, Placement};
use crate::seed::{Seed, random_below};
use crate::units::{BlockId, Lpn, StreamId};

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

fn recover(flash: Nand<ContentId>, config: StoreConfig, placement: Frontiers) -> (Store, RecoveryReport) {
    LogStore::recover(config, flash.into(), Fifo::default(), placement, None)
        .map_err(|(error, _)| error)
        .unwrap()
}

/// Cuts power and recovers the drive; the expected contents are those from before the power cut.
fn power_cycle(drive: Drive, config: StoreConfig, placement: Frontiers) -> (Drive, RecoveryReport) {
    let Drive { store, version, expected } = drive;
    let (store, report) = recover(store.into_surviving_flash().flash, config, placement);
    (Drive { store, version, expected }, report)
}

/// Returns the numbers of spare areas read and of blocks erased.
fn cost(report: &RecoveryReport) -> (u64, u64) {
    let names: Vec<&str> = report.steps.iter().map(|step| step.name).collect();
    assert_eq!(names, ["all spare areas", "half erased blocks"]);
    let sum = |count: fn(&crate::layer::RecoveryStep) -> u64| report.steps.iter().map(count).sum();
    assert_eq!(sum(|step| step.page_reads + step.page_writes), 0u64);
    (sum(|step| step.spare_reads), sum(|step| step.erases))
}

#[test]
fn recovery_finds_pages_and_continues_the_open_block() {
    let config = config(6, POOL);
    let mut drive = Drive::new(6, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 0, 0, 5]);
    let rows = ["(0) 1 2", "3 (0) 0", "5 - -", "- - -", "- - -", "- - -"];
    assert_eq!(drive.layout(), rows);
    let (mut drive, report) = power_cycle(drive, config, SINGLE());
    // Recovery reads the spare areas of all pages of the two full blocks, of two pages of the open block, and of one
    // page of each other block.
    assert_eq!((drive.layout(), cost(&report)), (rows.map(str::to_owned).to_vec(), (6 + 2 + 3, 0)));
    drive.check();
    assert_eq!(drive.reports().0.mapped_pages, 5);
    drive.write(&[4, 5, 1]);
    assert_eq!(drive.layout(), ["(0) (1) 2", "3 (0) 0", "(5) 4 5", "1 - -", "- - -", "- - -"]);
    drive.check();
}

#[test]
fn recovered_full_blocks_keep_their_closing_order() {
    let config = config(6, POOL);
    let used_drive = || {
        let mut drive = Drive::new(5, config, SINGLE());
        drive.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0, 1, 2, 5, 0]);
        drive
    };
    let (mut drive, (mut recovered, _)) = (used_drive(), power_cycle(used_drive(), config, SINGLE()));
    assert_eq!(recovered.layout(), ["0 - -", "- - -", "(0) (1) 3", "4 (0) 1", "(2) 2 5"]);
    for page in [1, 4, 3, 3, 2, 0, 5, 5, 1, 2] {
        drive.write(&[page]);
        recovered.write(&[page]);
        recovered.check();
        assert_eq!(recovered.layout(), drive.layout());
    }
}

#[test]
fn trimmed_pages_reappear_after_recovery() {
    let config = config(6, POOL);
    let mut drive = Drive::new(6, config, SINGLE());
    drive.write(&[0, 1, 0]);
    drive.trim(&[0]);
    let (drive, _) = power_cycle(drive, config, SINGLE());
    assert_eq!(drive.layout()[0], "(0) 1 0", "the last copy is back");
}

#[test]
fn torn_pages_and_blocks_hold_no_data() {
    let config = config(6, POOL);
    let mut drive = Drive::new(7, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 4]);
    drive.store.medium_mut().tear_program(BlockId(1), 2);
    drive.store.medium_mut().tear_erase(BlockId(5));
    let (mut drive, report) = power_cycle(drive, config, SINGLE());
    assert_eq!(drive.layout(), ["0 1 2", "3 4 x", "- - -", "- - -", "- - -", "- - -", "- - -"]);
    // Blocks 0, 1 and 5 are read completely.
    assert_eq!(cost(&report), (9 + 4, 1));
    drive.check();
    // The block with a torn last page counts as full and is cleaned like any other.
    drive.write(&[5]);
    assert_eq!(drive.layout()[..3], ["0 1 2", "3 4 x", "5 - -"]);
    drive.check();
    drive.write(&[3, 4, 5, 4, 5, 3, 4, 5, 3, 4, 5, 3]);
    assert_ne!(drive.layout()[1], "3 4 x");
    drive.check();
}

#[test]
fn open_block_continues_behind_torn_page() {
    let config = config(6, POOL);
    let mut drive = Drive::new(7, config, SINGLE());
    drive.write(&[0, 1, 2, 3]);
    drive.store.medium_mut().tear_program(BlockId(1), 1);
    let (mut drive, report) = power_cycle(drive, config, SINGLE());
    assert_eq!((drive.layout()[1].as_str(), cost(&report)), ("3 x -", (3 + 3 + 5, 0)));
    drive.check();
    drive.write(&[4, 5]);
    assert_eq!(drive.layout()[1..3], ["3 x 4", "5 - -"]);
    drive.check();
    // A second power cycle: torn pages count neither as valid nor as free.
    let (mut drive, _) = power_cycle(drive, config, SINGLE());
    assert_eq!(drive.store.blocks().valid_pages(BlockId(1)), 2);
    drive.check();
    drive.write(&[3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5]);
    assert_ne!(drive.layout()[1], "3 x 4");
    drive.check();
}

/// Moves page 1 to block 4 on flash, without updating the store's tables.
fn move_page_1(drive: &mut Drive) {
    let run = Run {
        owners: Some(&[Lpn(1)]),
        data: &[ContentId(2)],
        sequence: 12,
        cause: Cause::Cleaning,
        stream: StreamId(0),
        group: Group::None,
        note: 0,
    };
    drive.store.medium_mut().program(BlockId(4), 0, run).unwrap();
}

/// Power fails after one of a victim's two live pages has been moved to the last erased block.
#[test]
fn interrupted_cleaning_resumes_before_other_writes() {
    let config = config(6, POOL);
    let mut drive = Drive::new(5, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 3, 4, 0, 0, 3]);
    let rows = ["(0) 1 2", "(3) (4) 5", "(0) (3) 4", "(0) 0 3", "- - -"];
    assert_eq!(drive.layout(), rows);
    move_page_1(&mut drive);
    let (mut drive, report) = power_cycle(drive, config, SINGLE());
    assert_eq!(drive.layout()[4], "1 - -");
    assert_eq!(cost(&report).1, 0, "recovery moves nothing");
    drive.check();
    assert_eq!(drive.layout()[0], "(0) (1) 2", "reading does not, either");
    // The block with the moved page has only two free pages: host writes would leave no space for the other live page
    // of the victim.
    drive.write(&[5]);
    assert_eq!(drive.layout(), ["- - -", "(3) (4) (5)", "(0) (3) 4", "(0) 0 3", "1 2 5"]);
    assert_eq!(drive.cleaning_counts(), [1, 1, 1]);
    drive.check();
    (0..24).for_each(|step| drive.write(&[step % 5]));
    drive.check();
}

/// As in the previous test, but a second power cut has torn the remaining free pages.
#[test]
fn torn_reserve_is_not_end_of_life() {
    let config = config(6, POOL);
    let mut drive = Drive::new(5, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 3, 4, 0, 0, 3]);
    move_page_1(&mut drive);
    drive.store.medium_mut().tear_program(BlockId(4), 1);
    drive.store.medium_mut().tear_program(BlockId(4), 2);
    let (mut drive, _) = power_cycle(drive, config, SINGLE());
    drive.check();
    let error = drive.store.write(&[Lpn(0)], &[ContentId(99)], 0).unwrap_err();
    assert_eq!(error, LayerError::ReserveTorn { room: 0, live: 1 });
    assert!(error.is_out_of_blocks() && !error.is_end_of_life());
    drive.check();
    // Trimming the page leaves a block without live pages.
    drive.trim(&[2]);
    drive.write(&[2]);
    drive.check();
}

#[test]
fn torn_first_page_leaves_block_without_data() {
    let config = config(6, POOL);
    let mut drive = Drive::new(6, config, SINGLE());
    drive.write(&[0, 1, 2]);
    drive.store.medium_mut().tear_program(BlockId(1), 0);
    let (mut drive, report) = power_cycle(drive, config, SINGLE());
    assert_eq!((drive.layout()[1].as_str(), cost(&report)), ("- - -", (3 + 2 + 4, 1)));
    drive.check();
}

#[test]
fn recovery_finds_open_block_of_each_stream() {
    let config = config(6, POOL);
    let mut drive = Drive::new(6, config, DOUBLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0, 1, 0, 3, 1]);
    drive.write(&[4]);
    let rows = drive.layout();
    assert!(drive.cleaning_counts()[0] > 0, "{rows:?}");
    let (mut drive, _) = power_cycle(drive, config, DOUBLE());
    assert_eq!(drive.layout(), rows);
    drive.check();
    // A store with one stream fewer does not use the open block of the other stream: the block is set aside and
    // emptied.
    let expected = drive.expected.clone();
    let (store, _) = recover(drive.store.into_surviving_flash().flash, config, SINGLE());
    let mut single = Drive { store, version: 100, expected };
    single.check();
    (0..12).for_each(|step| single.write(&[step % 6]));
    single.check();
}

#[test]
fn recovery_restores_random_histories() {
    for (seed, double) in [(1, false), (2, true), (3, true)] {
        let placement = || if double { DOUBLE() } else { SINGLE() };
        let config = config(12, Reclaim::FreePool { low: 1, high: 2 });
        let mut drive = Drive::new(9, config, placement());
        let mut random = Seed(seed).random();
        for _ in 0..60 {
            for _ in 0..1 + random_below(&mut random, 9) {
                drive.write(&[random_below(&mut random, 12) as u32]);
            }
            let rows = drive.layout();
            (drive, _) = power_cycle(drive, config, placement());
            assert_eq!(layout(&drive.store), rows);
            drive.check();
        }
        assert!(placement().streams() == 1 + u8::from(double));
        assert_eq!(drive.store.logical_pages(), 12);
        drive.store.write(&[Lpn(0)], &[ContentId(1)], 0).unwrap();
    }
}
