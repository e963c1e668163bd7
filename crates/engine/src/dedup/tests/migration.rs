//! Decisions about a victim's live pages, page by page (CAGC, sec. III.B and Figure 5).

use super::super::*;
use crate::log::Decision;
use crate::timing::Step;
use serde_json::{Value, json};

/// Creates tables in which each of the first `pages` pages is stored in the slot of its number, without index
/// entries.
fn tables_with_pages(dedup: Value, logical_pages: u32, pages: u32) -> SharedTables {
    let config: DedupConfig = serde_json::from_value(dedup).unwrap();
    let sharing = SharedTables::new(&config, logical_pages, 0).unwrap();
    for page in 0..pages {
        let mut tables = sharing.lock();
        let planned = tables.plan_storing(Lpn(page), true);
        assert_eq!(planned.slot, page);
        tables.commit(&[planned], &mut Vec::new());
    }
    sharing
}

fn cagc(more: Value) -> Value {
    let mut value = json!({"kind": "cagc"});
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

/// Returns the decisions for these pages of a victim, given with their contents.
fn decide(sharing: &SharedTables, pages: &[(u32, u64)]) -> Vec<Decision> {
    let mut decisions = Vec::new();
    let (owners, data): (Vec<Lpn>, Vec<ContentId>) =
        pages.iter().map(|&(page, content)| (Lpn(page), ContentId(content))).unzip();
    sharing.migration_policy(None, true).unwrap().decide(&owners, &data, &mut decisions);
    sharing.check().unwrap();
    decisions
}

fn moved(references: u32) -> Decision {
    Decision::Move { references }
}

fn replaced(owner: u32, references: u32) -> Decision {
    Decision::Replace { owner: Lpn(owner), references }
}

fn slot(sharing: &SharedTables, page: u32) -> u32 {
    sharing.slot_of(Lpn(page)).unwrap().0
}

fn report(sharing: &SharedTables) -> crate::layer::DedupReport {
    sharing.lock().report
}

#[test]
fn new_contents_are_indexed_and_moved() {
    let sharing = tables_with_pages(cagc(json!({})), 4, 4);
    assert_eq!(decide(&sharing, &[(0, 5), (1, 6)]), [moved(1); 2]);
    assert_eq!([0, 1, 2].map(|page| sharing.lock().content(page)), [5, 6, 0].map(ContentId));
    assert_eq!((report(&sharing).cleaning_hashed_pages, report(&sharing).merged_pages), (2, 0));
    assert!(!sharing.lock().is_cold(0));
    // Unique content is only hashed.
    assert_eq!(decide(&sharing, &[(2, 0), (3, 0)]), [moved(1); 2]);
    assert_eq!((report(&sharing).cleaning_hashed_pages, sharing.lock().index().len()), (4, 2));
}

#[test]
fn equal_pages_of_a_victim_are_merged_and_placed_by_the_total_count() {
    let sharing = tables_with_pages(cagc(json!({})), 4, 4);
    // Three equal pages: the first is moved, with the references of all.
    assert_eq!(
        decide(&sharing, &[(2, 5), (0, 5), (3, 6), (1, 5)]),
        [moved(3), Decision::Drop, moved(1), Decision::Drop]
    );
    assert_eq!([0, 1, 2, 3].map(|page| slot(&sharing, page)), [2, 2, 2, 3]);
    assert!(sharing.lock().is_cold(2) && !sharing.lock().is_cold(3));
    assert_eq!((report(&sharing).merged_pages, report(&sharing).promoted_pages), (2, 0));
}

#[test]
fn stored_duplicate_is_promoted_once() {
    let sharing = tables_with_pages(cagc(json!({})), 5, 5);
    assert_eq!(decide(&sharing, &[(0, 5)]), [moved(1)]);
    // Page 0 is not in the victim, and has one reference more than the threshold: it is rewritten in the cold region.
    assert_eq!(decide(&sharing, &[(1, 5), (2, 6)]), [replaced(0, 2), moved(1)]);
    assert!(sharing.lock().is_cold(0));
    // Page 0 is already in the cold region.
    assert_eq!(decide(&sharing, &[(3, 5)]), [Decision::Drop]);
    assert_eq!((report(&sharing).merged_pages, report(&sharing).promoted_pages), (2, 1));
    assert_eq!(sharing.slot_of(Lpn(3)), Some((0, 3, ContentId(5))));
    // A page moved with three references stays cold; a page moved with one reference becomes hot.
    assert_eq!(decide(&sharing, &[(0, 5)]), [moved(3)]);
    assert!(sharing.lock().is_cold(0));
    for page in [1, 3] {
        sharing.lock().trim(Lpn(page), &mut Vec::new());
    }
    assert_eq!(decide(&sharing, &[(0, 5)]), [moved(1)]);
    assert!(!sharing.lock().is_cold(0));
}

#[test]
fn promotion_counts_the_references_of_the_whole_victim() {
    let sharing = tables_with_pages(cagc(json!({})), 4, 4);
    decide(&sharing, &[(0, 5)]);
    assert_eq!(decide(&sharing, &[(1, 5), (2, 5), (3, 5)]), [replaced(0, 4), Decision::Drop, Decision::Drop]);
}

#[test]
fn references_up_to_the_threshold_promote_nothing() {
    let sharing = tables_with_pages(cagc(json!({"threshold": 2})), 5, 5);
    decide(&sharing, &[(0, 5)]);
    assert_eq!(decide(&sharing, &[(1, 5)]), [Decision::Drop], "two references are not more than two");
    assert!(!sharing.lock().is_cold(0));
    assert_eq!(decide(&sharing, &[(2, 5)]), [replaced(0, 3)]);
    let later = tables_with_pages(cagc(json!({"promotion": "when_moved"})), 3, 3);
    decide(&later, &[(0, 5)]);
    assert_eq!(decide(&later, &[(1, 5), (2, 5)]), [Decision::Drop; 2]);
    assert!(!later.lock().is_cold(0));
    assert_eq!(decide(&later, &[(0, 5)]), [moved(3)]);
    assert!(later.lock().is_cold(0));
}

#[test]
fn indexed_pages_are_hashed_again_only_with_rehash() {
    for rehash in [true, false] {
        let sharing = tables_with_pages(cagc(json!({"rehash": rehash})), 3, 3);
        decide(&sharing, &[(0, 5), (1, 6)]);
        assert_eq!(decide(&sharing, &[(0, 5), (1, 6), (2, 7)]), [moved(1); 3]);
        assert_eq!(report(&sharing).cleaning_hashed_pages, if rehash { 5 } else { 3 });
    }
}

#[test]
fn pages_of_the_current_write_and_of_the_index_are_moved_without_lookup() {
    let paged = json!({"index": {"paged": {"page_entries": 1, "cached_pages": 1}}});
    let sharing = tables_with_pages(cagc(paged), 4, 4);
    decide(&sharing, &[(0, 5)]);
    let planned = sharing.lock().plan_storing(Lpn(1), true);
    let mut decisions = Vec::new();
    let pages = [1, 4, 2].map(Lpn);
    sharing.migration_policy(None, false).unwrap().decide(&pages, &[ContentId(5); 3], &mut decisions);
    // Page 1 is being replaced, page 4 is the first page of the index, page 2 equals page 0.
    assert_eq!(decisions, [moved(1), moved(1), replaced(0, 2)]);
    assert_eq!(report(&sharing).cleaning_hashed_pages, 2);
    sharing.lock().commit(&[planned], &mut Vec::new());
    sharing.check().unwrap();
}

#[test]
fn without_detection_only_references_are_reported() {
    let sharing = tables_with_pages(json!("inline"), 4, 2);
    let shared = sharing.lock().plan_sharing(Lpn(2), 1);
    sharing.lock().commit(&[shared], &mut Vec::new());
    assert_eq!(decide(&sharing, &[(0, 5), (1, 5)]), [moved(1), moved(2)]);
    assert_eq!(report(&sharing).cleaning_hashed_pages, 0);
    assert!(!sharing.lock().is_cold(1), "nothing is cold where nobody asks");
}

/// Contents 1 and 14 have the same 4-bit fingerprint.
#[test]
fn fingerprint_collisions_corrupt_data_unless_verified() {
    let sharing = tables_with_pages(cagc(json!({"index": {"fingerprint_bits": 4}})), 3, 3);
    decide(&sharing, &[(0, 1)]);
    assert_eq!(decide(&sharing, &[(1, 14)]), [replaced(0, 2)]);
    assert_eq!((report(&sharing).collisions, report(&sharing).merged_pages), (1, 1));
    assert!(sharing.lock().to_verify.is_empty());
    let sharing = tables_with_pages(cagc(json!({"index": {"fingerprint_bits": 4, "verify": true}})), 3, 3);
    decide(&sharing, &[(0, 1)]);
    assert_eq!(decide(&sharing, &[(1, 14), (2, 1)]), [moved(1), replaced(0, 2)]);
    assert_eq!((report(&sharing).collisions, report(&sharing).merged_pages), (1, 1));
    assert_eq!(sharing.lock().to_verify, [Lpn(0), Lpn(0)], "read for each comparison");
}

/// A page of the log has 3 records.
#[test]
fn merge_records_are_written_in_place_of_a_saved_page() {
    let logged = |more: Value| {
        let mut value = cagc(more);
        value["map_log"] = json!(true);
        value["map_log_page_records"] = json!(3);
        value
    };
    // No other page of the victim is dropped in favour of the log's page, so the promotion is cancelled.
    let sharing = tables_with_pages(logged(json!({})), 4, 4);
    decide(&sharing, &[(0, 5)]);
    assert_eq!(decide(&sharing, &[(1, 5), (2, 6)]), [Decision::Drop, moved(1)]);
    assert!(!sharing.lock().is_cold(0));
    assert_eq!((report(&sharing).merged_pages, report(&sharing).promoted_pages), (1, 0));
    // Seven slots, then the one page of the checkpoint, then the ring.
    let mut migration = sharing.migration_policy(None, false).unwrap();
    assert_eq!(migration.last_page(), Some((Lpn(7 + 1), ContentId::UNKNOWN)));
    migration.last_page_written(Cause::Cleaning);
    assert_eq!((report(&sharing).map_log_pages, report(&sharing).map_log_records), (1, 1));
    assert_eq!(sharing.map_image().records().count(), 1);
    assert_eq!(migration.last_page(), None, "once is enough");
    // Of two promotions, the later one is cancelled; a promotion next to a dropped page is kept.
    let sharing = tables_with_pages(logged(json!({})), 6, 6);
    decide(&sharing, &[(0, 5), (1, 6)]);
    assert_eq!(decide(&sharing, &[(2, 5), (3, 6)]), [replaced(0, 2), Decision::Drop]);
    assert!(sharing.lock().is_cold(0) && !sharing.lock().is_cold(1));
    let sharing = tables_with_pages(logged(json!({})), 6, 6);
    decide(&sharing, &[(0, 5)]);
    assert_eq!(decide(&sharing, &[(1, 5), (2, 5)]), [replaced(0, 3), Decision::Drop]);
    assert_eq!(report(&sharing).promoted_pages, 1);
}

#[test]
fn page_whose_records_do_not_fit_is_moved_unmerged() {
    let log = json!({"map_log": true, "map_log_page_records": 3});
    let sharing = tables_with_pages(cagc(log), 4, 4);
    // Page 3 shares slot 2 by a record; two more records fit.
    let shared = sharing.lock().plan_sharing(Lpn(3), 2);
    sharing.lock().commit(&[shared], &mut Vec::new());
    decide(&sharing, &[(0, 5)]);
    assert_eq!(decide(&sharing, &[(1, 5)]), [Decision::Drop]);
    assert_eq!(decide(&sharing, &[(2, 5)]), [moved(2)], "two records, and room for one");
    assert_eq!(report(&sharing).merged_pages, 1);
}

#[test]
fn last_page_without_merge_is_none() {
    let config: DedupConfig = serde_json::from_value(json!({"kind": "cagc", "map_log": true})).unwrap();
    let sharing = SharedTables::new(&config, 4, 0).unwrap();
    sharing.lock().log.as_mut().unwrap().push(Lpn(0), None);
    assert_eq!(
        sharing.migration_policy(None, false).unwrap().last_page(),
        None,
        "the host's records may wait"
    );
    assert_eq!(
        tables_with_pages(cagc(json!({})), 2, 2).migration_policy(None, false).unwrap().last_page(),
        None
    );
}

#[test]
fn hash_is_recorded_when_its_page_is_reached() {
    let sharing = tables_with_pages(cagc(json!({"rehash": false})), 3, 3);
    decide(&sharing, &[(1, 6)]);
    let journal = Journal::default();
    let mut migration = sharing.migration_policy(Some(journal.clone()), false).unwrap();
    migration.decide(&[0, 1, 2].map(Lpn), &[5, 6, 7].map(ContentId), &mut Vec::new());
    let taken = || {
        let mut steps = Vec::new();
        journal.take(&mut steps);
        steps
    };
    let hash = Step::Hash { pages: 1, cause: Cause::Cleaning, percent: 100 };
    assert_eq!(taken(), []);
    let steps = [0, 1, 2].map(|at| {
        migration.before_page(at);
        taken()
    });
    assert_eq!(steps, [vec![hash], vec![], vec![hash]]);
    // The next victim has different pages.
    migration.decide(&[1].map(Lpn), &[6].map(ContentId), &mut Vec::new());
    migration.before_page(0);
    assert_eq!(taken(), []);
}
