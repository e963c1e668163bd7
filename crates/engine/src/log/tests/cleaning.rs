//! In-place reclaim as in Van Houdt (2013), sec. 2.3, page by page; blocks of 3 pages.

use super::drive::{DOUBLE, Drive, SINGLE, config};
use crate::counters::{Cause, Operation};
use crate::log::{CopyOrder, Reclaim, StoreConfig};

#[test]
fn writes_append_in_order_and_invalidate_old_copies() {
    let mut drive = Drive::new(4, config(8, Reclaim::InPlace), SINGLE());
    drive.write(&[0, 1, 2, 3]);
    assert_eq!(drive.layout(), ["0 1 2", "3 - -", "- - -", "- - -"]);
    drive.write(&[1, 3, 3]);
    assert_eq!(drive.layout(), ["0 (1) 2", "(3) 1 (3)", "3 - -", "- - -"]);
    drive.check();
    let (layer, nand) = drive.reports();
    assert_eq!((layer.mapped_pages, layer.logical_pages, layer.physical_pages), (4, 8, 12));
    assert_eq!((layer.directory, layer.map_bytes, layer.cleanings), ("page", Some(4 * 8), Some(0)));
    assert_eq!(layer.counters.incoming(Operation::Write), 7);
    assert_eq!(layer.counters.outgoing(Cause::Host, Operation::Write), 7);
    // All 8 pages were read; only 4 of them are stored.
    assert_eq!(layer.counters.incoming(Operation::Read), 8);
    assert_eq!((layer.counters.outgoing(Cause::Host, Operation::Read), nand.reads), (4, 4));
    assert_eq!((nand.programs, nand.erases), (7, 0));
    assert_eq!(
        (layer.evicted_pages, layer.deferrals, layer.moved_again_pages, layer.spilled_pages),
        (None, None, 0, 0)
    );
}

#[test]
fn run_equals_single_page_writes() {
    use crate::layer::{ContentId, Layer};
    use crate::units::Lpn;
    let mut single = Drive::new(5, config(8, Reclaim::InPlace), SINGLE());
    let mut whole = Drive::new(5, config(8, Reclaim::InPlace), SINGLE());
    let pages = [0, 1, 2, 3, 4, 5, 6, 7, 2, 2, 7, 0, 1, 3, 4, 5, 0];
    single.write(&pages);
    let data: Vec<ContentId> = (1..=pages.len() as u64).map(ContentId).collect();
    whole.store.write(&pages.map(Lpn), &data, 0).unwrap();
    whole.expected.clone_from(&single.expected);
    assert_eq!(whole.layout(), single.layout());
    assert_eq!(whole.counters(), single.counters());
    whole.check();
    assert_eq!(whole.store.final_draw(), single.store.final_draw());
}

#[test]
fn single_frontier_rewrites_live_pages_into_victim() {
    let mut drive = Drive::new(4, config(8, Reclaim::InPlace), SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]);
    assert_eq!(drive.layout(), ["(0) (1) (2)", "(3) 4 5", "6 7 0", "1 2 3"]);
    assert_eq!(drive.cleaning_counts(), [0, 0, 0]);
    // Block 0 has no live pages, so the host gets all of it.
    drive.write(&[4]);
    assert_eq!(drive.layout(), ["4 - -", "(3) (4) 5", "6 7 0", "1 2 3"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([0, 0, 1], vec![1, 0, 0, 0]));
    drive.write(&[6, 3]);
    // Page 5 is written back into block 1; the rest of the block is free for the host.
    drive.write(&[7]);
    assert_eq!(drive.layout(), ["4 6 3", "5 7 -", "(6) (7) 0", "1 2 (3)"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([1, 1, 2], vec![1, 1, 0, 0]));
    drive.check();
    assert_eq!(drive.reports().0.cleanings, Some(2));
}

#[test]
fn full_victim_is_rewritten_and_next_victim_selected() {
    let mut drive = Drive::new(4, config(8, Reclaim::InPlace), SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 6, 7]);
    assert_eq!(drive.layout(), ["0 1 2", "3 4 5", "(6) (7) (6)", "(7) 6 7"]);
    // Cleaning blocks 0 and 1 gains no page, but in-place reclaim rewrites them nevertheless.
    drive.write(&[6]);
    assert_eq!(drive.layout(), ["0 1 2", "3 4 5", "6 - -", "(7) (6) 7"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([6, 6, 3], vec![1, 0, 0, 2]));
    drive.check();
}

#[test]
fn double_frontier_separates_moved_pages() {
    let mut drive = Drive::new(5, config(9, Reclaim::InPlace), DOUBLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 3, 6, 1, 4, 5]);
    assert_eq!(drive.layout(), ["(0) (1) 2", "(3) (4) (5)", "(6) 7 8", "0 3 6", "1 4 5"]);
    // No block for moved pages is open yet: page 2 is written back into block 0, which becomes the block for moved
    // pages. The host gets block 1.
    drive.write(&[7]);
    assert_eq!(drive.layout(), ["2 - -", "7 - -", "(6) (7) 8", "0 3 6", "1 4 5"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([1, 1, 2], vec![1, 1, 0, 0]));
    drive.write(&[0, 3]);
    // Page 8 fits next to page 2, so the host gets all of block 2.
    drive.write(&[4]);
    assert_eq!(drive.layout(), ["2 8 -", "7 0 3", "4 - -", "(0) (3) 6", "1 (4) 5"]);
    drive.write(&[1, 5]);
    // Page 6 fills the block of moved pages.
    drive.write(&[2]);
    assert_eq!(drive.layout(), ["(2) 8 6", "7 0 3", "4 1 5", "2 - -", "(1) (4) (5)"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([3, 3, 4], vec![1, 3, 0, 0]));
    drive.check();
}

#[test]
fn moved_pages_without_room_are_rewritten_into_victim() {
    let mut drive = Drive::new(5, config(9, Reclaim::InPlace), DOUBLE());
    // The blocks were closed in this order: 0 1 2, 3 4 5, 6 7 8, 0 1 3, 0 1 3.
    drive.write(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 3, 0, 1, 3]);
    assert_eq!(drive.layout(), ["(0) (1) 2", "(3) 4 5", "6 7 8", "(0) (1) (3)", "0 1 3"]);
    // Page 2 opens block 0 for moved pages, and pages 4 and 5 fill it. Block 1 is then empty and becomes the block of
    // the host.
    drive.write(&[6]);
    assert_eq!(drive.layout(), ["2 4 5", "6 - -", "(6) 7 8", "(0) (1) (3)", "0 1 3"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([3, 3, 2], vec![0, 1, 1, 0]));
    drive.write(&[7, 0]);
    // Page 8 opens block 2 for moved pages; the host gets block 3.
    drive.write(&[1]);
    assert_eq!(drive.layout(), ["2 4 5", "6 7 0", "8 - -", "1 - -", "(0) (1) 3"]);
    drive.write(&[4, 5]);
    // Page 3 is moved next to page 8.
    drive.write(&[2]);
    assert_eq!(drive.layout(), ["(2) (4) (5)", "6 7 0", "8 3 -", "1 4 5", "2 - -"]);
    // Block 1 holds pages 6, 7 and 0: one of them fills the block of moved pages, and the other two are written back.
    // Block 0, which has no live pages, becomes the block of the host.
    drive.write(&[2, 2]);
    drive.write(&[2]);
    assert_eq!(drive.cleaning_counts()[0], 5, "block 0 was the next, and held nothing");
    assert_eq!(drive.layout(), ["2 - -", "6 7 0", "8 3 -", "1 4 5", "(2) (2) (2)"]);
    drive.write(&[2, 2]);
    drive.write(&[2]);
    // Block 3 is cleaned in the same way: page 1 goes to block 1, and the other pages are written back. Block 4 has no
    // live pages.
    assert_eq!(drive.layout(), ["(2) (2) (2)", "7 0 1", "8 3 6", "4 5 -", "2 - -"]);
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([11, 11, 9], vec![3, 3, 1, 2]));
    drive.check();
}

/// With random copy order, the pages that fill the open block are random; their number is not, and no page is lost.
#[test]
fn random_copy_order_moves_same_number_of_pages() {
    let random = StoreConfig { copy_order: CopyOrder::Random, ..config(9, Reclaim::InPlace) };
    let mut drive = Drive::new(5, random, DOUBLE());
    let mut oldest = Drive::new(5, config(9, Reclaim::InPlace), DOUBLE());
    let mut differs = false;
    for round in 0..60u32 {
        for page in [round % 9, (4 * round) % 9, (round * round) % 9] {
            drive.write(&[page]);
            oldest.write(&[page]);
            differs |= drive.layout() != oldest.layout();
        }
        drive.check();
        let (layer, nand) = drive.reports();
        let moved = layer.counters.outgoing(Cause::Cleaning, Operation::Write);
        let valid: u64 = (0..).zip(&layer.victim_valid_pages).map(|(valid, victims)| valid * victims).sum();
        assert_eq!(valid, moved, "all that was taken out is back");
        assert_eq!(nand.programs, layer.counters.incoming(Operation::Write) + moved);
    }
    assert!(differs && drive.cleaning_counts()[0] > 20);
}
