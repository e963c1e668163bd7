//! The ring of log pages and the checkpoint, step by step.

use super::*;

fn note(page: u32, number: u64) -> Note {
    Note { page: Lpn(page), number }
}

fn record(page: u32, number: u64, slot: Option<u32>) -> Record {
    Record { note: note(page, number), slot }
}

#[test]
fn log_size_follows_from_map_size() {
    // Given: records per page, and logical pages. Expected: pages of the checkpoint, and of half the ring.
    for (records, pages, checkpoint, half) in [
        (1, 3, 1, 2),
        (1, 4, 2, 2),
        (1, 9, 3, 3),
        (1, 10, 4, 4),
        (4, 12, 1, 2),
        (4, 13, 2, 2),
        (341, 5000, 5, 5),
    ] {
        let log = MapLog::new(records, pages, 1);
        assert_eq!(log.pages(), checkpoint + 2 * half, "{records} records, {pages} pages");
        assert_eq!(
            (log.image.checkpoint.len(), log.image.log.len()),
            (checkpoint as usize, 2 * half as usize)
        );
    }
    let huge = MapLog::new(u32::MAX, u32::MAX, 1);
    assert_eq!(huge.pages(), 1 + 4, "one page for all");
}

#[test]
fn note_numbers_count_stores_and_records() {
    let mut log = MapLog::new(4, 8, 5);
    assert_eq!(log.note(2, true), NO_NOTE);
    log.begin_store(2, Lpn(6));
    assert_eq!(log.note(2, true), note(6, 1), "about to be written");
    assert_eq!(log.note(2, false), NO_NOTE, "what was there before is moved meanwhile");
    assert_eq!(log.note(3, true), NO_NOTE, "another slot's");
    log.end_store(true);
    assert_eq!((log.note(2, true), log.note(2, false)), (note(6, 1), note(6, 1)));
    // A record also counts as a change; a failed store does not.
    log.push(Lpn(1), Some(2));
    log.begin_store(3, Lpn(7));
    assert_eq!(log.note(3, true), note(7, 3));
    log.end_store(false);
    assert_eq!(log.note(3, true), NO_NOTE);
    log.end_store(true);
    assert_eq!(log.note(3, true), NO_NOTE, "nothing is in hand");
    log.push(Lpn(2), None);
    assert_eq!(log.records, [record(1, 2, Some(2)), record(2, 3, None)]);
}

#[test]
fn records_stay_in_ram_until_page_is_written() {
    let mut log = MapLog::new(2, 6, 4);
    assert!(log.is_settled() && !log.is_full());
    assert_eq!((log.room(), log.begin_page()), (2, None));
    log.push(Lpn(0), Some(1));
    assert!(!log.is_settled() && !log.is_full());
    assert_eq!(log.room(), 1);
    log.push(Lpn(1), None);
    assert!(log.is_full());
    assert_eq!(log.room(), 0);
    log.urgent = true;
    // The one page of the checkpoint comes first, then the ring.
    assert_eq!(log.begin_page(), Some(1));
    assert!(!log.urgent && !log.is_settled() && !log.is_full(), "on its way, and not there yet");
    assert_eq!(log.image().records().count(), 0);
    log.end_page();
    assert!(log.is_settled());
    assert_eq!(log.stored_pages(), 1);
    assert_eq!(log.image().records().collect::<Vec<_>>(), [record(0, 1, Some(1)), record(1, 2, None)]);
}

/// A page that cleaning writes during another page write ends first.
#[test]
fn log_page_writes_may_be_nested() {
    let mut log = MapLog::new(1, 9, 4);
    log.push(Lpn(0), Some(1));
    assert_eq!(log.begin_page(), Some(3));
    log.push(Lpn(5), Some(2));
    assert_eq!(log.begin_page(), Some(4));
    log.end_page();
    assert_eq!(log.image().records().collect::<Vec<_>>(), [record(5, 2, Some(2))]);
    assert!(!log.is_settled());
    log.end_page();
    assert!(log.is_settled());
    assert_eq!(log.image().records().count(), 2);
}

#[test]
fn log_page_is_followed_by_checkpoint_page() {
    // 3 slots per page: the map of 5 pages takes two pages, and half the ring is two pages.
    let mut log = MapLog::new(1, 5, 9);
    let map = [4, NONE, 6, 7, 8];
    assert_eq!(log.begin_checkpoint(&map), None, "nothing was written yet");
    let write = |log: &mut MapLog, page: u32, slot: u32| {
        log.push(Lpn(page), Some(slot));
        let at = log.begin_page();
        if at.is_some() {
            log.end_page();
        }
        at
    };
    let checkpoint = |log: &mut MapLog, map: &[u32]| {
        let page = log.begin_checkpoint(map);
        log.end_checkpoint();
        page
    };
    assert_eq!(write(&mut log, 0, 4), Some(2));
    assert_eq!(log.room(), 1);
    assert_eq!(checkpoint(&mut log, &map), Some(0));
    assert_eq!(
        log.image().records().collect::<Vec<_>>()[1..],
        [record(0, 1, Some(4)), record(1, 1, None), record(2, 1, Some(6))]
    );
    assert_eq!(checkpoint(&mut log, &map), None, "one for each");
    assert_eq!(write(&mut log, 3, 7), Some(3));
    // The half is full: the log has no free space before the checkpoint is complete.
    assert_eq!((log.room(), write(&mut log, 4, 8)), (0, None));
    assert_eq!(log.records.len(), 1, "what found no page waits");
    assert_eq!(checkpoint(&mut log, &map), Some(1));
    assert_eq!(
        log.image().records().skip(2 + 3).collect::<Vec<_>>(),
        [record(3, 3, Some(7)), record(4, 3, Some(8))]
    );
    assert_eq!((log.stored_pages(), log.room()), (4, 0));
    // The other half is used next, from its first page.
    assert_eq!(checkpoint(&mut log, &map), None);
    assert_eq!(log.room(), 0, "the record that waits fills a page");
    assert_eq!(log.begin_page(), Some(4));
    log.end_page();
    assert_eq!(checkpoint(&mut log, &map), Some(0));
    assert_eq!(write(&mut log, 0, 1), Some(5));
    assert_eq!(checkpoint(&mut log, &map), Some(1));
    assert_eq!(checkpoint(&mut log, &map), None);
    // After that, the first half is used again and overwritten.
    assert_eq!(log.stored_pages(), 6);
    assert_eq!(write(&mut log, 1, 2), Some(2));
    assert_eq!(log.stored_pages(), 6);
    let first = log.image().records().next();
    assert_eq!(first, Some(record(1, 5, Some(2))));
}

#[test]
fn checkpoint_not_on_flash_has_no_records() {
    let mut log = MapLog::new(1, 3, 4);
    log.push(Lpn(0), Some(1));
    log.begin_page();
    log.end_page();
    log.end_checkpoint();
    assert_eq!(log.stored_pages(), 1, "none was begun");
    assert_eq!(log.begin_checkpoint(&[1, NONE, NONE]), Some(0));
    assert_eq!(log.stored_pages(), 1);
    log.push(Lpn(1), Some(2));
    log.end_checkpoint();
    log.end_checkpoint();
    // The checkpoint is as old as the map from which it was made.
    let records: Vec<Record> = log.image().records().skip(1).collect();
    assert_eq!(records, [record(0, 1, Some(1)), record(1, 1, None), record(2, 1, None)]);
    assert_eq!(log.stored_pages(), 2);
}

#[test]
fn memory_covers_notes_records_and_checkpoint() {
    let mut log = MapLog::new(2, 6, 10);
    assert_eq!(log.memory_bytes(), 16 * 10);
    log.push(Lpn(0), Some(1));
    log.push(Lpn(1), Some(1));
    log.begin_page();
    log.end_page();
    let records = log.image.log.iter().flatten().map(Vec::capacity).sum::<usize>();
    assert_eq!(log.memory_bytes(), 160 + size_of::<Record>() * records);
    assert!(records >= 2);
    log.begin_checkpoint(&[1; 6]);
    log.end_checkpoint();
    assert_eq!(log.memory_bytes(), 160 + size_of::<Record>() * records + 4 * 6);
}
