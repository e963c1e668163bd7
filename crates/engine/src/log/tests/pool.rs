//! A pool of erased blocks: start and end of cleaning, and the destination of moved pages; blocks of 3 pages.

use super::drive::{DOUBLE, Drive, SINGLE, StreamByPageNumber, config};
use crate::counters::Operation;
use crate::layer::{Layer, LayerExt};
use crate::log::{Reclaim, StoreConfig};
use crate::units::Lpn;

fn pool(low: u32, high: u32) -> Reclaim {
    Reclaim::FreePool { low, high }
}

/// Writes that fill five blocks with six pages; the last block stays erased, and the next write cleans.
const FILLED: [u32; 12] = [0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0, 1];
const ROWS: [&str; 4] = ["(0) (1) 2", "(3) (4) 5", "(0) (1) 3", "4 0 1"];

fn filled(config: StoreConfig) -> Drive {
    let mut drive = Drive::new(5, config, SINGLE());
    drive.write(&FILLED);
    assert_eq!(drive.layout(), [ROWS[0], ROWS[1], ROWS[2], ROWS[3], "- - -"]);
    assert_eq!(drive.cleaning_counts(), [0; 3]);
    drive
}

#[test]
fn cleaning_single_victim_mixes_moved_and_new_pages() {
    let mut drive = filled(config(6, pool(1, 1)));
    // Page 2 is moved to the last block, and the host's page is written after it into this block.
    drive.write(&[2]);
    assert_eq!(drive.layout(), ["- - -", ROWS[1], ROWS[2], ROWS[3], "(2) 2 -"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([1, 1, 1], vec![0, 1, 0, 0]));
    drive.check();
    // No cleaning takes place while the last block has free pages.
    drive.write(&[5]);
    assert_eq!(drive.cleaning_counts(), [1, 1, 1]);
    assert_eq!(drive.layout(), ["- - -", "(3) (4) (5)", ROWS[2], ROWS[3], "(2) 2 5"]);
    // The next victim is block 1, which has no live pages: the pool then has two blocks, and the host takes the
    // first.
    drive.write(&[0]);
    assert_eq!(drive.layout(), ["0 - -", "- - -", ROWS[2], "4 (0) 1", "(2) 2 5"]);
    assert_eq!(drive.cleaning_counts(), [1, 1, 2]);
    drive.check();
}

#[test]
fn cleaning_continues_to_high_watermark() {
    let mut drive = filled(config(6, pool(1, 2)));
    // Pages 2 and 5 are moved to the same open block, until two blocks are erased.
    drive.write(&[2]);
    assert_eq!(drive.layout(), ["- - -", "- - -", ROWS[2], ROWS[3], "(2) 5 2"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([2, 2, 2], vec![0, 2, 0, 0]));
    drive.check();
}

#[test]
fn cleaning_starts_at_low_watermark() {
    // The pool keeps two erased blocks; when the seventh page needs a block, three blocks are erased.
    let mut drive = Drive::new(6, config(6, pool(2, 2)), SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3]);
    assert_eq!(drive.cleaning_counts(), [0; 3]);
    drive.write(&[4, 0, 1]);
    assert_eq!(drive.layout(), [ROWS[0], ROWS[1], ROWS[2], ROWS[3], "- - -", "- - -"]);
    assert_eq!(drive.cleaning_counts(), [0; 3]);
    // Two erased blocks are left: cleaning must replace the one that the host opens for page 2.
    drive.write(&[2]);
    assert_eq!(drive.layout(), ["- - -", ROWS[1], ROWS[2], ROWS[3], "(2) 2 -", "- - -"]);
    assert_eq!(drive.cleaning_counts(), [1, 1, 1]);
    drive.check();
}

#[test]
fn double_frontier_moves_pages_to_a_separate_stream() {
    let mut drive = Drive::new(6, config(6, pool(1, 1)), DOUBLE());
    drive.write(&FILLED);
    drive.write(&[2, 5, 3]);
    assert_eq!(drive.layout(), ["(0) (1) (2)", "(3) (4) (5)", "(0) (1) (3)", "4 0 1", "2 5 3", "- - -"]);
    // The victim has no live pages: no page is moved, and two blocks are then erased.
    drive.write(&[4]);
    assert_eq!(drive.layout(), ["- - -", "(3) (4) (5)", "(0) (1) (3)", "(4) 0 1", "2 5 3", "4 - -"]);
    assert_eq!(drive.cleaning_counts(), [0, 0, 1]);
    drive.write(&[5, 0]);
    // Blocks 1 and 2 have no live pages.
    drive.write(&[2, 4, 0, 3]);
    assert_eq!(drive.layout(), ["2 4 0", "3 - -", "- - -", "(4) (0) 1", "(2) (5) (3)", "(4) 5 (0)"]);
    assert_eq!(drive.cleaning_counts(), [0, 0, 3]);
    // Page 1 goes to the stream of moved pages and opens block 2; block 3 is erased, and block 4 is cleaned as well.
    drive.write(&[3, 3, 3]);
    assert_eq!(drive.layout(), ["2 4 0", "(3) (3) (3)", "1 - -", "3 - -", "- - -", "(4) 5 (0)"]);
    assert_eq!((drive.cleaning_counts(), drive.reports().0.spilled_pages), ([1, 1, 5], 0));
    drive.check();
}

#[test]
fn pages_spill_to_an_open_block_when_the_pool_is_empty() {
    let mut drive = Drive::new(7, config(6, pool(1, 1)), StreamByPageNumber(3));
    drive.write(&[0, 1, 2, 3, 4, 5]);
    drive.write(&[3; 12]);
    let invalid = "(3) (3) (3)";
    assert_eq!(drive.layout(), ["0 1 2", "(3) 4 5", invalid, invalid, invalid, "(3) (3) 3", "- - -"]);
    // Page 0 opens the last erased block. Pages 1 and 2 belong to other streams, for which no block is left, and spill
    // into that block. Then page 4 opens the block just erased, and page 5 spills into it. The third victim has no live
    // pages.
    drive.write(&[3]);
    assert_eq!(drive.layout(), ["4 5 -", "3 - -", "- - -", invalid, invalid, invalid, "0 1 2"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([5, 5, 3], vec![1, 0, 1, 1]));
    assert_eq!(drive.reports().0.spilled_pages, 3);
    drive.check();
}

#[test]
fn evicted_pages_are_unmapped() {
    let evict = StoreConfig { evicts: true, ..config(6, pool(1, 1)) };
    let mut drive = filled(evict);
    drive.write(&[4]);
    drive.expected[2] = 0;
    assert_eq!(drive.layout(), ["- - -", ROWS[1], ROWS[2], "(4) 0 1", "4 - -"]);
    let (layer, nand) = drive.reports();
    assert_eq!((layer.evicted_pages, layer.mapped_pages), (Some(1), 5));
    assert_eq!((drive.cleaning_counts(), nand.reads), ([0, 0, 1], 0));
    drive.check();
}

#[test]
fn trim_invalidates_pages_and_counts_scatter() {
    let mut drive = filled(config(6, pool(1, 1)));
    // Pages 0 and 1 are in block 3, page 2 in block 0, page 3 in block 2: one range over three blocks.
    drive.trim(&[0, 1, 2, 3]);
    assert_eq!(drive.layout(), ["(0) (1) (2)", "(3) (4) 5", "(0) (1) (3)", "4 (0) (1)", "- - -"]);
    let (layer, _) = drive.reports();
    assert_eq!((layer.scatter.ranges, layer.scatter.blocks, layer.mapped_pages), (1, 3, 2));
    // The trim has two ranges: page 5, and pages 0 and 1, which are no longer stored.
    drive.trim(&[5, 0, 1]);
    drive.check();
    let (layer, _) = drive.reports();
    assert_eq!((layer.scatter.ranges, layer.scatter.blocks, layer.mapped_pages), (2, 4, 1));
    assert_eq!(layer.counters.incoming(Operation::Trim), 7);
    // The blocks of each range are counted separately.
    drive.trim(&[4]);
    drive.trim(&[]);
    let (layer, _) = drive.reports();
    assert_eq!((layer.scatter.ranges, layer.scatter.blocks, layer.mapped_pages), (3, 5, 0));
    assert_eq!(
        drive.store.final_draw(),
        filled(config(6, pool(1, 1))).store.final_draw(),
        "nothing is drawn"
    );
}

#[test]
fn moves_are_counted_since_the_last_write() {
    let mut drive = filled(config(6, pool(1, 2)));
    drive.store.count_moves();
    let moved = |drive: &Drive, page: u32| drive.store.moved_pages(&[Lpn(page)]);
    drive.write(&[4]);
    assert_eq!(drive.layout(), ["- - -", "- - -", ROWS[2], "(4) 0 1", "2 5 4"]);
    assert_eq!([0, 2, 4, 5].map(|page| moved(&drive, page)), [0, 1, 0, 1]);
    assert_eq!(drive.store.moved_pages(&[Lpn(2), Lpn(0), Lpn(5)]), 2);
    drive.write(&[0, 1, 3]);
    assert_eq!(drive.layout(), ["0 1 3", "- - -", "(0) (1) (3)", "(4) (0) (1)", "2 5 4"]);
    assert_eq!(drive.reports().0.moved_again_pages, 0);
    // Both victims have no live pages: no page is moved.
    drive.write(&[0, 1, 3]);
    drive.write(&[0, 1, 3]);
    // The next victim holds 2, 5 and 4: two of them are moved for the second time.
    drive.write(&[0, 1, 3, 0, 1, 3]);
    let before = drive.cleaning_counts()[0];
    assert!(before >= 5, "{before}");
    assert_eq!(drive.reports().0.moved_again_pages, 2);
    assert_eq!([2, 4, 5].map(|page| moved(&drive, page)), [1, 1, 1]);
    drive.write(&[2]);
    assert_eq!(moved(&drive, 2), 0, "it is new");
    drive.check();
}

#[test]
fn flushes_are_counted() {
    let mut drive = filled(config(6, pool(1, 1)));
    drive.store.flush().unwrap();
    drive.store.flush().unwrap();
    assert_eq!(drive.counters().incoming(Operation::Flush), 2);
}

/// Two users: the first has pages 0 to 2, the second 3 to 5.
#[test]
fn moved_pages_are_charged_to_the_writing_user() {
    let mut drive = filled(config(6, pool(1, 2)));
    drive.store.set_partitions(&[3, 6]);
    assert_eq!(drive.reports().0.moved_pages, [[0; 3]; 3], "two users, and nobody");
    // The second user's write moves page 2 of the first user and page 5 of the second.
    drive.write(&[4]);
    assert_eq!(drive.reports().0.moved_pages, [[0, 0, 0], [1, 1, 0], [0, 0, 0]]);
    let mut drive = filled(config(6, pool(1, 2)));
    drive.store.set_partitions(&[3, 6]);
    drive.write(&[0]);
    assert_eq!(drive.reports().0.moved_pages, [[1, 1, 0], [0, 0, 0], [0, 0, 0]]);
    // Pages after those of the last user are counted for one additional user.
    let mut drive = filled(config(6, pool(1, 2)));
    drive.store.set_partitions(&[3]);
    drive.write(&[4]);
    assert_eq!(drive.reports().0.moved_pages, [[0, 0], [1, 1]]);
    let mut drive = filled(config(6, pool(1, 2)));
    drive.store.set_partitions(&[2, 5]);
    drive.write(&[1]);
    assert_eq!(drive.reports().0.moved_pages, [[0, 1, 1], [0, 0, 0], [0, 0, 0]]);
}
