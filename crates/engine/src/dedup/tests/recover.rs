//! Recovery of the map from spare areas and records made by hand.

use super::super::map_log::MapLog;
use super::super::*;
use serde_json::json;

const PAGES: u32 = 4;

fn config(kind: &str) -> DedupConfig {
    serde_json::from_value(json!({"kind": kind, "map_log": true, "map_log_page_records": 4})).unwrap()
}

/// Returns a slot's page, written for `page` by change `number`.
fn slot_page(slot: u32, sequence: u64, page: u32, number: u64, content: u64) -> SlotPage {
    SlotPage { slot, sequence, note: Note { page: Lpn(page), number }, content: ContentId(content) }
}

/// Returns slot and reference count of each page, and the number of lost pages.
fn recovered(found: &[SlotPage], image: &MapImage) -> (Vec<Option<(u32, u32)>>, u32) {
    let mut answers = Vec::new();
    for kind in ["inline", "cagc"] {
        let RecoveredMap { sharing, lost_pages, .. } =
            recover(&config(kind), PAGES, found.iter().copied(), image).unwrap();
        sharing.check().unwrap();
        let slot = |page: u32| sharing.slot_of(Lpn(page)).map(|(slot, references, _)| (slot, references));
        answers.push(((0..PAGES).map(slot).collect(), lost_pages));
    }
    let all = answers.pop().unwrap();
    assert_eq!(answers[0], all, "all kinds find the same");
    all
}

/// Returns the log after these changes: records of a page and its new slot.
fn image(changes: &[(u32, Option<u32>)]) -> MapImage {
    let mut log = MapLog::new(4, PAGES, 8);
    changes.iter().for_each(|&(page, slot)| log.push(Lpn(page), slot));
    log.begin_page();
    log.end_page();
    log.image().clone()
}

#[test]
fn nothing_is_found_on_erased_flash() {
    assert_eq!(recovered(&[], &MapImage::default()), (vec![None; 4], 0));
}

#[test]
fn newest_copy_of_a_slot_is_valid() {
    // Slot 2 was written for page 0, and overwritten for page 3; cleaning copied the page written for page 3.
    let pages = [slot_page(2, 10, 0, 1, 5), slot_page(2, 12, 3, 2, 6), slot_page(2, 11, 3, 2, 6)];
    let image = MapImage::default();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let pages = order.map(|at| pages[at]);
        assert_eq!(recovered(&pages, &image), (vec![None, None, None, Some((2, 1))], 0));
    }
}

#[test]
fn last_change_of_a_page_is_valid() {
    // Change 1 is a record that puts page 0 into slot 1. If the page in slot 0 was stored by change 2, page 0 is in
    // slot 0. If it was stored by change 1, it is not newer than the record.
    let stored = slot_page(1, 20, 2, 0, 5);
    let image = image(&[(0, Some(1))]);
    let of = |number: u64| recovered(&[stored, slot_page(0, 21, 0, number, 6)], &image).0[0];
    assert_eq!(of(2), Some((0, 1)));
    // Change number 0 means that there is no change.
    assert_eq!(of(0), Some((1, 1)));
}

#[test]
fn trimmed_pages_stay_trimmed() {
    // Page 1 was stored by change 1, then trimmed by change 2; page 2 shares slot 0 by change 3.
    let mut log = MapLog::new(4, PAGES, 8);
    log.begin_store(0, Lpn(1));
    log.end_store(true);
    log.push(Lpn(1), None);
    log.push(Lpn(2), Some(0));
    let note = log.note(0, false);
    let page = SlotPage { slot: 0, sequence: 1, note, content: ContentId(5) };
    let lost = log.image().clone();
    assert_eq!(
        recovered(&[page], &lost),
        (vec![None, Some((0, 1)), None, None], 0),
        "records in RAM are lost"
    );
    log.begin_page();
    log.end_page();
    let durable = log.image().clone();
    assert_eq!(recovered(&[page], &durable), (vec![None, None, Some((0, 1)), None], 0));
}

#[test]
fn sharers_are_recovered_from_records_and_checkpoint() {
    let mut log = MapLog::new(1, PAGES, 8);
    log.begin_store(3, Lpn(0));
    log.end_store(true);
    let page = SlotPage { slot: 3, sequence: 1, note: log.note(3, false), content: ContentId(5) };
    log.push(Lpn(1), Some(3));
    log.begin_page();
    log.end_page();
    let none = u32::MAX;
    log.begin_checkpoint(&[3, 3, none, none]);
    log.end_checkpoint();
    assert_eq!(recovered(&[page], log.image()), (vec![Some((3, 2)), Some((3, 2)), None, None], 0));
}

#[test]
fn page_whose_slot_was_overwritten_is_lost() {
    // By change 1, page 0 points to slot 0, but slot 0 contains only the write of change 2.
    let image = image(&[(0, Some(0))]);
    assert_eq!(recovered(&[slot_page(0, 5, 3, 2, 6)], &image), (vec![None, None, None, Some((0, 1))], 1));
    // With change number 1, the page found is the one that the record refers to.
    assert_eq!(recovered(&[slot_page(0, 5, 3, 1, 6)], &image).1, 0);
    // The slot is not on flash at all.
    assert_eq!(recovered(&[], &image), (vec![None; 4], 1));
}

#[test]
fn pages_of_the_store_that_are_not_slots_are_skipped() {
    // 4 slots for pages, and 4 more for waiting records.
    let outside = slot_page(8, 5, 0, 1, 6);
    assert_eq!(recovered(&[outside], &MapImage::default()), (vec![None; 4], 0));
    let last = slot_page(7, 5, 0, 1, 6);
    assert_eq!(recovered(&[last], &MapImage::default()).0[0], Some((7, 1)));
}

#[test]
fn index_contains_the_equal_page_stored_first() {
    for kind in ["inline", "cagc"] {
        for order in [[0, 1, 2], [2, 1, 0]] {
            let pages = [slot_page(0, 9, 0, 3, 5), slot_page(1, 8, 1, 2, 5), slot_page(2, 7, 2, 1, 6)];
            let found = order.map(|at| pages[at]);
            let all = recover(&config(kind), PAGES, found, &MapImage::default()).unwrap();
            let known = |page: u32| all.sharing.slot_of(Lpn(page)).unwrap().2;
            assert_eq!([0, 1, 2].map(known), [ContentId::UNKNOWN, ContentId(5), ContentId(6)]);
        }
    }
}

#[test]
fn invalid_settings_fail_recovery() {
    let wrong: DedupConfig = serde_json::from_value(json!({"kind": "cagc", "threshold": 0})).unwrap();
    assert_eq!(recover(&wrong, PAGES, [], &MapImage::default()).err().unwrap().key, "threshold");
}
