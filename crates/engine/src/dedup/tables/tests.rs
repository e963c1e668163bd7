//! Effects of map changes on references, lists, index and counts, by hand.

use super::super::config::{IndexSettings, Paged, Promotion};
use super::*;

const CLEANING: Detect = Detect::Cleaning { rehash: true, threshold: 1, promotion: Promotion::Now };

const NO_SLOTS: [u32; 0] = [];

/// Tables of 4 logical pages and 6 slots.
fn tables(detect: Detect, log: Option<u32>) -> Tables {
    let index = Index::new(&IndexSettings::default(), 6, None);
    let log = log.map(|records| MapLog::new(records, 4, 6));
    Tables::new(detect, false, index, log, 4, 6)
}

fn inline() -> Tables {
    tables(Detect::EveryPage, None)
}

fn merging() -> Tables {
    tables(CLEANING, None)
}

/// Writes the content to the page, with a lookup if `with_lookup`; returns the slots that lost their last page, which
/// are released at once.
fn write(tables: &mut Tables, page: u32, content: u64, with_lookup: bool) -> Vec<u32> {
    let found = if with_lookup { tables.find(ContentId(content)) } else { None };
    let planned = match found {
        Some(slot) => tables.plan_sharing(Lpn(page), slot),
        None => {
            let planned = tables.plan_storing(Lpn(page), true);
            tables.add_to_index(planned.slot, ContentId(content));
            planned
        }
    };
    let mut released = Vec::new();
    tables.commit(&[planned], &mut released);
    tables.release(&released);
    tables.check().unwrap();
    released.iter().map(|slot| slot.0).collect()
}

fn trim(tables: &mut Tables, page: u32) -> Vec<u32> {
    let mut released = Vec::new();
    tables.trim(Lpn(page), &mut released);
    tables.release(&released);
    tables.check().unwrap();
    released.iter().map(|slot| slot.0).collect()
}

fn map(tables: &Tables) -> [Option<u32>; 4] {
    [0, 1, 2, 3].map(|page| tables.slot_of(Lpn(page)))
}

#[test]
fn nothing_is_stored_initially() {
    let mut tables = inline();
    assert_eq!(map(&tables), [None; 4]);
    assert_eq!((tables.logical_pages(), tables.slots(), tables.mapped_pages()), (4, 6, 0));
    assert_eq!(tables.live_by_references(), [0; 4]);
    assert_eq!(trim(&mut tables, 2), NO_SLOTS);
    assert_eq!(tables.report, DedupReport::default());
    assert_eq!(tables.first_log_page(), 6);
    assert!(tables.cache().is_none());
}

#[test]
fn pages_of_equal_content_share_a_slot() {
    let mut tables = inline();
    assert_eq!(write(&mut tables, 0, 7, true), NO_SLOTS);
    assert_eq!(write(&mut tables, 1, 7, true), NO_SLOTS);
    assert_eq!(write(&mut tables, 2, 8, true), NO_SLOTS);
    assert_eq!(map(&tables), [Some(0), Some(0), Some(1), None]);
    assert_eq!((tables.references(0), tables.references(1), tables.mapped_pages()), (2, 1, 3));
    assert_eq!(tables.live_by_references(), [1, 1, 0, 0]);
    assert_eq!(tables.report.map_log_records, 1, "only of the page that was not stored no spare area tells");
    // An identical write changes nothing.
    assert_eq!(write(&mut tables, 1, 7, true), NO_SLOTS);
    assert_eq!((tables.references(0), tables.mapped_pages(), tables.report.map_log_records), (2, 3, 1));
    // With the content of another page, the old slot loses a reference.
    assert_eq!(write(&mut tables, 1, 8, true), NO_SLOTS);
    assert_eq!(map(&tables), [Some(0), Some(1), Some(1), None]);
    assert_eq!((tables.references(0), tables.references(1), tables.report.map_log_records), (1, 2, 2));
    assert_eq!(tables.report.invalidated_by_references, [0; 4]);
    // The last page leaves slot 0, which two pages shared at its peak.
    assert_eq!(write(&mut tables, 0, 8, true), [0]);
    assert_eq!(tables.report.invalidated_by_references, [0, 1, 0, 0]);
    assert_eq!(tables.find(ContentId(7)), None);
    assert_eq!((tables.live_by_references(), tables.mapped_pages()), ([0, 0, 1, 0], 3));
    // The slot freed last is taken first.
    write(&mut tables, 3, 9, true);
    assert_eq!(tables.slot_of(Lpn(3)), Some(0));
}

#[test]
fn unshared_slot_is_overwritten_in_place() {
    let mut tables = inline();
    write(&mut tables, 0, 7, true);
    tables.set_cold(0, true);
    let planned = tables.plan_storing(Lpn(0), true);
    assert_eq!((planned.page, planned.slot, planned.mode), (Lpn(0), 0, WriteMode::InPlace));
    assert_eq!(tables.find(ContentId(7)), None, "what it held is about to be gone");
    tables.add_to_index(0, ContentId(8));
    tables.commit(&[planned], &mut Vec::new());
    assert_eq!((tables.find(ContentId(8)), tables.mapped_pages()), (Some(0), 1));
    assert_eq!(tables.report.invalidated_by_references, [1, 0, 0, 0], "the content died, the slot did not");
    assert!(!tables.is_cold(0), "what was known of the old content says nothing of the new");
    tables.check().unwrap();
    // During a group, old content must stay until the end.
    let planned = tables.plan_storing(Lpn(0), false);
    assert_eq!((planned.slot, planned.mode), (1, WriteMode::New));
    assert_eq!(tables.content(0), ContentId(8));
    let mut dead = Vec::new();
    tables.commit(&[planned], &mut dead);
    assert_eq!((dead, tables.references(0), tables.references(1)), (vec![Lpn(0)], 0, 1));
    assert_eq!(tables.report.invalidated_by_references, [2, 0, 0, 0]);
}

#[test]
fn peak_belongs_to_the_content_not_to_the_slot() {
    let mut tables = inline();
    (0..3).for_each(|page| drop(write(&mut tables, page, 7, true)));
    write(&mut tables, 0, 1, true);
    write(&mut tables, 1, 2, true);
    // Slot 0 now belongs to page 2 alone, and is overwritten: its old content had three references at its peak.
    write(&mut tables, 2, 3, true);
    assert_eq!((tables.slot_of(Lpn(2)), tables.report.invalidated_by_references), (Some(0), [0, 0, 1, 0]));
    // The new content had one reference.
    assert_eq!(trim(&mut tables, 2), [0]);
    assert_eq!(tables.report.invalidated_by_references, [1, 0, 1, 0]);
    // A freed slot that is taken again starts with a new peak.
    write(&mut tables, 2, 5, true);
    assert_eq!((tables.slot_of(Lpn(2)), trim(&mut tables, 2)), (Some(0), vec![0]));
    assert_eq!(tables.report.invalidated_by_references, [2, 0, 1, 0]);
}

#[test]
fn more_than_three_references_are_counted_together() {
    let mut tables = inline();
    (0..4).for_each(|page| drop(write(&mut tables, page, 7, true)));
    assert_eq!(tables.live_by_references(), [0, 0, 0, 1]);
    (0..4).for_each(|page| drop(trim(&mut tables, page)));
    assert_eq!(
        (tables.report.invalidated_by_references, tables.report.map_log_records),
        ([0, 0, 0, 1], 3 + 4)
    );
    assert_eq!((tables.mapped_pages(), tables.live_by_references()), (0, [0; 4]));
}

#[test]
fn group_shares_content_that_it_is_about_to_store() {
    let mut tables = inline();
    let first = tables.plan_storing(Lpn(0), false);
    tables.add_to_index(first.slot, ContentId(7));
    assert_eq!(tables.find(ContentId(7)), Some(0));
    let second = tables.plan_sharing(Lpn(1), 0);
    assert_eq!((second.page, second.slot, second.mode), (Lpn(1), 0, WriteMode::Shared));
    assert_eq!((tables.references(0), tables.mapped_pages(), map(&tables)), (2, 0, [None; 4]));
    tables.commit(&[first, second], &mut Vec::new());
    assert_eq!((map(&tables)[..2].to_vec(), tables.mapped_pages()), (vec![Some(0); 2], 2));
    tables.check().unwrap();
}

#[test]
fn cancelled_writes_only_make_content_unknown() {
    let mut tables = inline();
    write(&mut tables, 0, 7, true);
    write(&mut tables, 1, 8, true);
    let new = tables.plan_storing(Lpn(2), true);
    tables.add_to_index(new.slot, ContentId(9));
    let shared = tables.plan_sharing(Lpn(3), 0);
    let in_place = tables.plan_storing(Lpn(1), true);
    tables.add_to_index(in_place.slot, ContentId(10));
    let mut dead = Vec::new();
    tables.cancel(&[new, shared, in_place], &mut dead);
    assert_eq!(dead, [Lpn(2)], "only the new slot is nobody's");
    tables.release(&dead);
    assert_eq!((map(&tables), tables.mapped_pages()), ([Some(0), Some(1), None, None], 2));
    assert_eq!((tables.references(0), tables.references(1), tables.references(2)), (1, 1, 0));
    // The content of the slot that may have been overwritten is unknown.
    assert_eq!([7, 8, 9, 10].map(|name| tables.find(ContentId(name))), [Some(0), None, None, None]);
    assert!(tables.is_settled(1), "it can be merged again");
    tables.check().unwrap();
}

#[test]
fn slots_of_the_current_write_are_not_settled() {
    let mut tables = merging();
    write(&mut tables, 0, 7, false);
    assert!(tables.is_settled(0));
    assert!(!tables.is_settled(1), "nobody refers to it");
    assert!(!tables.is_settled(6) && !tables.is_settled(100), "no slot");
    let planned = tables.plan_storing(Lpn(0), true);
    assert_eq!((planned.slot, tables.is_settled(0)), (0, false));
    tables.commit(&[planned], &mut Vec::new());
    assert!(tables.is_settled(0));
}

#[test]
fn merge_redirects_all_pages() {
    let mut tables = merging();
    (0..4).for_each(|page| drop(write(&mut tables, page, 10 + u64::from(page), false)));
    tables.to_verify = vec![Lpn(3), Lpn(1), Lpn(0)];
    tables.merge(1, 0);
    tables.check().unwrap();
    assert_eq!(map(&tables), [Some(0), Some(0), Some(2), Some(3)]);
    assert_eq!((tables.references(0), tables.references(1)), (2, 0));
    assert_eq!((tables.report.merged_pages, tables.report.map_log_records), (1, 1));
    assert_eq!(tables.find(ContentId(11)), None);
    assert_eq!(tables.to_verify, [Lpn(3), Lpn(0), Lpn(0)], "one that holds the same is compared instead");
    // Two pages are redirected at once, with one record each.
    tables.merge(0, 3);
    tables.check().unwrap();
    assert_eq!(map(&tables), [Some(3), Some(3), Some(2), Some(3)]);
    assert_eq!((tables.references(3), tables.report.merged_pages, tables.report.map_log_records), (3, 2, 3));
    assert_eq!((tables.live_by_references(), tables.mapped_pages()), ([1, 0, 1, 0], 4));
    assert_eq!(tables.report.invalidated_by_references, [0; 4], "the content lives on");
    // The peak includes all merged references.
    [0, 1, 3].iter().for_each(|&page| drop(trim(&mut tables, page)));
    assert_eq!(tables.report.invalidated_by_references, [0, 0, 1, 0]);
}

#[test]
fn slot_left_by_a_record_in_ram_is_retained() {
    // 3 records per page; 9 slots per page of the checkpoint, which has one page.
    let mut tables = tables(Detect::EveryPage, Some(3));
    assert_eq!((tables.first_log_page(), tables.log.as_ref().unwrap().pages()), (6, 1 + 4));
    write(&mut tables, 0, 7, true);
    write(&mut tables, 1, 8, true);
    assert!(tables.log.as_ref().unwrap().is_settled(), "the spare areas tell of both");
    // A hit: page 1 leaves slot 1, which no other page refers to.
    assert_eq!(write(&mut tables, 1, 7, true), NO_SLOTS);
    assert_eq!(tables.log.as_ref().unwrap().unreferenced, [Lpn(1)]);
    assert_eq!(tables.report.invalidated_by_references, [1, 0, 0, 0]);
    // Page 1 leaves slot 0 as well; only page 0 refers to it now, but it is not overwritten.
    assert_eq!(trim(&mut tables, 1), NO_SLOTS);
    assert_eq!((tables.references(0), tables.log.as_ref().unwrap().retained.clone()), (1, vec![1, 0]));
    let planned = tables.plan_storing(Lpn(0), true);
    assert_eq!((planned.slot, planned.mode), (2, WriteMode::New));
    tables.add_to_index(2, ContentId(9));
    let mut dead = Vec::new();
    tables.commit(&[planned], &mut dead);
    assert_eq!((dead.len(), tables.log.as_ref().unwrap().unreferenced.clone()), (0, vec![Lpn(1), Lpn(0)]));
    // Slots are not released before the records are on flash.
    tables.release_retained(&mut dead);
    assert_eq!(dead, []);
    assert_eq!(tables.log.as_mut().unwrap().begin_page(), Some(1));
    tables.release_retained(&mut dead);
    assert_eq!(dead, []);
    tables.log.as_mut().unwrap().end_page();
    tables.release_retained(&mut dead);
    assert_eq!(dead, [Lpn(1), Lpn(0)]);
    tables.release(&dead);
    tables.check().unwrap();
    // Now an unshared slot is overwritten in place again.
    let planned = tables.plan_storing(Lpn(0), true);
    assert_eq!((planned.slot, planned.mode), (2, WriteMode::InPlace));
}

#[test]
fn slot_is_retained_once_regardless_of_page_count() {
    let mut tables = tables(Detect::EveryPage, Some(9));
    (0..3).for_each(|page| drop(write(&mut tables, page, 7, true)));
    (0..3).for_each(|page| assert_eq!(trim(&mut tables, page), NO_SLOTS));
    let log = tables.log.as_ref().unwrap();
    assert_eq!((log.retained.clone(), log.unreferenced.clone()), (vec![0], vec![Lpn(0)]));
    assert_eq!(tables.report.map_log_records, 2 + 3);
}

#[test]
fn slot_whose_records_do_not_fit_is_not_merged() {
    let plain = merging();
    assert!(plain.may_merge(0), "without a log there is always room");
    let mut tables = tables(CLEANING, Some(3));
    (0..4).for_each(|page| drop(write(&mut tables, page, 10 + u64::from(page), false)));
    tables.merge(1, 0);
    let log = tables.log.as_ref().unwrap();
    assert!(log.urgent && !log.is_settled());
    // One of three records is used: slot 0 has two references, slot 2 one.
    assert!(tables.may_merge(0) && tables.may_merge(2));
    tables.merge(2, 3);
    assert_eq!(tables.log.as_ref().unwrap().room(), 1);
    assert!(!tables.may_merge(0) && !tables.may_merge(3), "two references each, room for one");
}

#[test]
fn pages_of_an_index_in_flash_lie_before_the_log() {
    let paged = Some(Paged { page_entries: 1, cached_pages: 1 });
    let index = Index::new(&IndexSettings { paged, ..IndexSettings::default() }, 6, None);
    let mut tables = Tables::new(Detect::EveryPage, false, index, None, 4, 6);
    // 6 entries that fill three quarters of pages of 1 entry.
    assert_eq!((tables.first_log_page(), tables.cache().unwrap().pages()), (6 + 8, 8));
}

#[test]
fn recovery_restores_map_and_index() {
    for detect in [Detect::EveryPage, CLEANING] {
        let mut tables = tables(detect, None);
        tables.restore(Lpn(0), 2);
        tables.restore(Lpn(3), 2);
        tables.restore(Lpn(1), 4);
        // Slot 5 is unreferenced; slots 2 and 4 have equal contents, and 4 was stored first.
        tables.restore_index([(5, ContentId(6)), (4, ContentId(8)), (2, ContentId(8))].into_iter());
        tables.check().unwrap();
        assert_eq!(map(&tables), [Some(2), Some(4), None, Some(2)]);
        assert_eq!((tables.mapped_pages(), tables.references(2), tables.references(4)), (3, 2, 1));
        assert_eq!((tables.find(ContentId(8)), tables.find(ContentId(6))), (Some(4), None));
        // Free slots are taken in the usual order: 0, 1, 3, 5.
        let taken: Vec<u32> = (0..4).map(|_| tables.plan_storing(Lpn(2), true).slot).collect();
        assert_eq!(taken, [0, 1, 3, 5]);
    }
}

#[test]
fn memory_is_the_sum_of_the_parts() {
    // 4 bytes in the map per page; 16 bytes per slot, and 4 in the free list; the index is a bucket of 64.
    let maps = 4 * (4 + 6) + 16 * 6;
    assert_eq!((inline().memory_bytes(), inline().index_memory_bytes()), (maps + 64, 64 + 8 * 6));
    assert_eq!(merging().memory_bytes(), maps + 64 + 8 * 4 + 4 * 6, "and the lists");
    let logged = tables(Detect::EveryPage, Some(3));
    let log = logged.log.as_ref().unwrap().memory_bytes();
    assert_eq!(logged.memory_bytes(), maps + 64 + log);
    assert!(log > 0);
}

/// A change that makes tables inconsistent.
type Corruption = fn(&mut Tables);

#[test]
fn inconsistent_tables_are_detected() {
    let sound = || {
        let mut tables = merging();
        (0..3).for_each(|page| drop(write(&mut tables, page, 10 + u64::from(page), false)));
        tables.merge(1, 0);
        tables.check().unwrap();
        tables
    };
    let corruptions: [(&str, Corruption); 7] = [
        ("2 references counted, 3 found", |tables| tables.map[3] = 0),
        ("pages hold something", |tables| tables.mapped += 1),
        ("both or neither", |tables| tables.free.truncate(3)),
        ("both or neither", |tables| *tables.free.last_mut().unwrap() = 2),
        ("both or neither", |tables| tables.free.push(5)),
        ("list of slot 0", |tables| {
            tables.map.swap(0, 2);
        }),
        ("to be found", |tables| tables.slots.set_content(3, ContentId(10))),
    ];
    for (expected, corrupt) in corruptions {
        let mut tables = sound();
        corrupt(&mut tables);
        let error = tables.check().unwrap_err();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}
