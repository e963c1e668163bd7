//! The layer on a small drive: effects and costs of writes, reads and trims, and correct contents.

use super::super::*;
use super::drive::{Drive, DriveConfig, contents, lpns, roomy};
use crate::counters::Operation;
use crate::layer::{Ability, Answer, Command, Layer, LayerError, LayerExt, Query};
use crate::seed::{Seed, random_below};
use crate::timing::Step;
use serde_json::{Value, json};

fn hash(percent: u32) -> Step {
    Step::Hash { pages: 1, cause: Cause::Host, percent }
}

fn hits_and_misses(drive: &Drive) -> (u64, u64) {
    let report = drive.dedup();
    (report.hits, report.misses)
}

#[test]
fn equal_pages_are_stored_once_and_counted() {
    let mut drive = roomy(json!("inline"), 8).build();
    drive.write(&[0, 1, 2, 3], &[5, 6, 5, 0]);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|page| drive.slot(page)),
        [Some((0, 2)), Some((1, 1)), Some((0, 2)), Some((2, 1)), None]
    );
    assert_eq!(drive.steps(), [hash(100); 4], "what is in a page is known once it was hashed");
    drive.write(&[4], &[0]);
    assert_eq!(drive.slot(4), Some((3, 1)), "content that is like no other's is shared by nobody");
    drive.write(&[1], &[5]);
    drive.check();
    let (layer_report, nand) = drive.reports();
    let dedup = layer_report.dedup.unwrap();
    assert_eq!((dedup.hits, dedup.misses, dedup.host_hashed_pages), (2, 4, 6));
    assert_eq!((dedup.live_by_references, dedup.invalidated_by_references), ([2, 0, 1, 0], [1, 0, 0, 0]));
    assert_eq!(dedup.sharing_ratio, Some(5.0 / 3.0));
    assert_eq!((dedup.index_entries, dedup.index_bytes), (1, 24));
    assert_eq!((dedup.verify_reads, dedup.index_reads, dedup.index_writes, dedup.collisions), (0, 0, 0, 0));
    assert_eq!((layer_report.logical_pages, layer_report.mapped_pages), (8, 5));
    assert_eq!(layer_report.map_bytes, Some(4 * 8 + 4 * 8), "of a page and of a slot 4 bytes each");
    // 6 pages were written and 4 of them stored; the check read 8 pages, of which 5 hold data.
    assert_eq!(
        [Operation::Write, Operation::Read].map(|operation| layer_report.counters.incoming(operation)),
        [6, 8]
    );
    assert_eq!(layer_report.counters.outgoing(Cause::Host, Operation::Write), 4);
    assert_eq!((nand.programs, nand.reads), (4, 5));
    assert_eq!(layer_report.counters.outgoing_total(Operation::Write), 4);
}

#[test]
fn memory_is_the_sum_of_store_and_tables() {
    let bytes = |dedup: Value| roomy(dedup, 8).build().reports().0.memory_bytes;
    let tables = |dedup: Value| {
        let config: DedupConfig = serde_json::from_value(dedup).unwrap();
        SharedTables::new(&config, 8, 0).unwrap().lock().memory_bytes() as u64
    };
    let plain = bytes(json!("inline")) - tables(json!("inline"));
    assert_eq!(bytes(json!("cagc")) - tables(json!("cagc")), plain);
    assert!(plain > 0);
    let report = roomy(json!("inline"), 8).build().dedup();
    assert_eq!((report.index_memory_bytes, report.sharing_ratio), (2 * 64 + 8 * 8, None));
}

#[test]
fn reads_distinguish_stored_pages_from_empty_ones() {
    let mut drive = roomy(json!("inline"), 8).build();
    drive.write(&[1, 2, 5], &[7, 8, 7]);
    assert_eq!(drive.read(&[0, 1, 2, 3, 4, 5, 5, 7]), [0, 7, 8, 0, 0, 7, 7, 0]);
    assert!(drive.read(&[]).is_empty());
    let mut read = contents(&[9]);
    drive.layer.read(&lpns(&[2]), &mut read).unwrap();
    assert_eq!(read, contents(&[9, 8]), "appended");
    assert_eq!(drive.reports().0.counters.incoming(Operation::Read), 9);
    assert_eq!(drive.reports().0.counters.outgoing(Cause::Host, Operation::Read), 5);
}

#[test]
fn trimmed_pages_are_empty_and_the_last_one_frees_the_slot() {
    let mut drive = roomy(json!("inline"), 8).build();
    drive.write(&[0, 1, 2], &[7, 7, 8]);
    drive.trim(&[0, 3]);
    drive.check();
    assert_eq!((drive.slot(0), drive.slot(1)), (None, Some((0, 1))));
    drive.trim(&[1, 2]);
    drive.check();
    let (layer_report, _) = drive.reports();
    assert_eq!((layer_report.mapped_pages, layer_report.counters.incoming(Operation::Trim)), (0, 4));
    assert_eq!(layer_report.dedup.unwrap().live_by_references, [0; 4]);
    drive.layer.flush().unwrap();
    assert_eq!(drive.reports().0.counters.incoming(Operation::Flush), 1);
}

#[test]
fn request_with_an_invalid_page_is_refused_completely() {
    let mut drive = roomy(json!("inline"), 4).build();
    drive.write(&[0], &[7]);
    let refused = LayerError::OutOfRange { page: 4, pages: 4 };
    let (pages, data) = (lpns(&[1, 4]), contents(&[8, 9]));
    assert_eq!(drive.layer.write(&pages, &data, 0), Err(refused.clone()));
    assert_eq!(drive.layer.trim(&lpns(&[0, 4])), Err(refused.clone()));
    assert_eq!(drive.layer.read(&pages, &mut Vec::new()), Err(refused.clone()));
    assert_eq!(drive.layer.write_atomic(&pages, &data, 0), Err(refused));
    drive.check();
    assert_eq!(hits_and_misses(&drive), (0, 1));
    assert_eq!(drive.steps().len(), 1, "nothing was hashed for it");
    assert_eq!(drive.layer.logical_pages(), 4);
}

#[test]
fn store_of_the_wrong_size_is_refused() {
    let shape = roomy(json!("inline"), 4);
    let other = SharedTables::new(&shape.config(), 5, 0).unwrap();
    let error = Dedup::new(other, shape.build().layer.lower, None).err().unwrap();
    assert!(error.to_string().contains("needs 5 pages below, and 4 are there"), "{error}");
}

/// The hashes of contents 1, 4, 2 and 3 are in descending order.
#[test]
fn sampled_page_decides_for_its_request() {
    assert!([1, 4, 2, 3, 0].map(index::mix).is_sorted_by(|one, other| one > other));
    let mut drive = roomy(json!("sampled"), 16).build();
    assert!(drive.layer.needs_whole_requests());
    // Content 1 is hashed and not found; content 2 is stored without a lookup, and is not indexed.
    drive.write(&[0, 1], &[2, 1]);
    assert_eq!((hits_and_misses(&drive), drive.dedup().host_hashed_pages), ((0, 2), 1));
    // Content 1 is found, so contents 2 and 3 are also hashed, and are indexed from now on.
    drive.write(&[2, 3, 4], &[2, 1, 3]);
    assert_eq!((hits_and_misses(&drive), drive.dedup().host_hashed_pages), ((1, 4), 4));
    drive.write(&[5, 6], &[1, 2]);
    assert_eq!((hits_and_misses(&drive), drive.dedup().host_hashed_pages), ((3, 4), 6));
    // The sample, content 4, is not found; content 3 would have been found.
    drive.write(&[7, 8], &[4, 3]);
    assert_eq!(hits_and_misses(&drive), (3, 6));
    // Unknown content is never found.
    let hashed = drive.dedup().host_hashed_pages;
    drive.write(&[9, 10], &[0, 0]);
    drive.write(&[], &[]);
    assert_eq!(drive.dedup().host_hashed_pages, hashed + 1, "one of a request, none of an empty one");
    drive.check();
    assert_eq!(drive.steps().len() as u64, hashed + 1);
    // Of two equal pages, the first is the sample and is stored; the second is then found.
    let mut drive = roomy(json!("sampled"), 16).build();
    drive.write(&[0], &[1]);
    drive.write(&[1, 2, 3], &[1, 1, 2]);
    assert_eq!((hits_and_misses(&drive), drive.dedup().host_hashed_pages), ((2, 2), 1 + 3));
    assert!(!roomy(json!("inline"), 4).build().layer.needs_whole_requests());
}

#[test]
fn weak_hash_saves_the_full_hash() {
    let mut drive = roomy(json!({"kind": "pre_hashed", "pre_hash_bits": 1}), 16).build();
    // Contents 2 and 3 have the weak hash 1; contents 1 and 7 have the weak hash 0.
    drive.write(&[0], &[2]);
    assert_eq!(drive.steps(), [hash(10)]);
    drive.write(&[1], &[1]);
    assert_eq!(drive.steps(), [hash(10)]);
    drive.write(&[2], &[3]);
    assert_eq!(drive.steps(), [hash(10), hash(100)], "it may be there, and is not");
    drive.write(&[3], &[2]);
    assert_eq!(drive.steps(), [hash(10), hash(100)]);
    let report = drive.dedup();
    assert_eq!((report.hits, report.misses), (1, 3));
    assert_eq!((report.pre_hashed_pages, report.host_hashed_pages, report.idle_hashed_pages), (4, 2, 2));
    drive.check();
}

/// Contents 1 and 14 have the same 4-bit fingerprint.
#[test]
fn verified_pages_are_read_and_compared() {
    let index = json!({"fingerprint_bits": 4, "verify": true});
    let mut drive = roomy(json!({"kind": "inline", "index": index}), 8).build();
    drive.write(&[0], &[1]);
    drive.write(&[1], &[14]);
    assert_eq!(
        (hits_and_misses(&drive), drive.dedup().collisions, drive.dedup().verify_reads),
        ((0, 2), 1, 1)
    );
    drive.write(&[2], &[1]);
    assert_eq!(
        (hits_and_misses(&drive), drive.dedup().collisions, drive.dedup().verify_reads),
        ((1, 2), 1, 2)
    );
    let (layer_report, nand) = drive.reports();
    assert_eq!(layer_report.counters.outgoing(Cause::Dedup, Operation::Read), 2);
    assert_eq!((layer_report.counters.outgoing(Cause::Host, Operation::Read), nand.reads), (0, 2));
    drive.check();
    let index = json!({"fingerprint_bits": 4, "verify": false});
    let mut drive = roomy(json!({"kind": "inline", "index": index}), 8).build();
    drive.write(&[0, 1], &[1, 14]);
    assert_eq!(
        (hits_and_misses(&drive), drive.dedup().collisions, drive.dedup().verify_reads),
        ((1, 1), 1, 0)
    );
    assert_eq!(drive.read(&[1]), [1], "corrupt");
}

#[test]
fn groups_are_written_atomically() {
    let index = json!({"fingerprint_bits": 4, "verify": true});
    let dedup = json!({"kind": "inline", "index": index});
    let mut drive = DriveConfig { atomic_pages: 3, ..roomy(dedup, 8) }.build();
    assert_eq!(drive.layer.atomic_pages(), 3);
    drive.write_group(&[0, 1], &[5, 5]).unwrap();
    assert_eq!((drive.slot(0), drive.slot(1)), (Some((0, 2)), Some((0, 2))));
    assert_eq!(drive.dedup().verify_reads, 0, "what it equals is still in RAM");
    // Old content is kept until the end of the group: no slot is overwritten.
    drive.write_group(&[0, 1, 2], &[6, 7, 5]).unwrap();
    assert_eq!([0, 1, 2].map(|page| drive.slot(page)), [Some((1, 1)), Some((2, 1)), Some((0, 1))]);
    drive.write_group(&[0], &[8]).unwrap();
    assert_eq!((drive.slot(0), hits_and_misses(&drive)), (Some((3, 1)), (2, 4)));
    let refused = drive.write_group(&[0, 1, 2, 3], &[1, 2, 3, 4]);
    assert_eq!(refused, Err(LayerError::NotAtomic { pages: 4, longest: 3 }));
    drive.check();
    let none = roomy(json!("inline"), 8).build();
    assert_eq!(none.layer.atomic_pages(), 0);
    // With a log of the map there are more slots than pages, but still no atomic groups.
    let logged = roomy(json!({"kind": "inline", "map_log": true}), 8).build();
    assert_eq!(logged.layer.atomic_pages(), 0);
}

/// One cached page of the index, and roughly one entry per page.
#[test]
fn index_in_flash_is_read_and_written() {
    let paged = json!({"page_entries": 1, "cached_pages": 1});
    let mut drive = roomy(json!({"kind": "inline", "index": {"paged": paged}}), 32).build();
    for round in 0..3 {
        for page in 0..32 {
            drive.write(&[page], &[u64::from(page) % 20 + 1 + round]);
            let report = drive.dedup();
            let (layer_report, nand) = drive.reports();
            assert_eq!(layer_report.counters.outgoing(Cause::Dedup, Operation::Write), report.index_writes);
            assert_eq!(layer_report.counters.outgoing(Cause::Dedup, Operation::Read), report.index_reads);
            assert_eq!(layer_report.counters.outgoing(Cause::Host, Operation::Write), report.misses);
            assert_eq!(layer_report.counters.outgoing(Cause::Host, Operation::Read), 0);
            assert_eq!(nand.programs, report.misses + report.index_writes);
            assert_eq!(nand.reads, report.index_reads);
            assert_eq!(report.index_bytes, 24, "a page of one entry is in RAM");
            drive.layer.check().unwrap();
        }
    }
    let report = drive.dedup();
    assert!(report.index_reads > 20 && report.index_writes > 20 && report.hits > 20, "{report:?}");
    drive.check();
}

#[test]
fn pages_stored_directly_in_the_store_are_detected() {
    let mut drive = roomy(json!("inline"), 8).build();
    drive.write(&[0, 1], &[5, 6]);
    drive.layer.lower.trim(&[Lpn(1)]).unwrap();
    assert!(drive.layer.check().unwrap_err().contains("1 pages are stored for 2 slots in use"));
    let mut drive = roomy(json!("inline"), 8).build();
    drive.write(&[0, 1], &[5, 6]);
    drive.layer.sharing.lock().set_cold(0, true);
    drive.layer.check().unwrap();
    drive.layer.sharing.lock().restore(Lpn(2), 0);
    drive.layer.check().unwrap();
    drive.layer.sharing.lock().restore(Lpn(2), 1);
    assert!(drive.layer.check().is_err(), "a page in two slots");
}

/// Each page reads back its last write after merges, moves, evictions and lookups.
#[test]
fn each_page_reads_back_what_was_written() {
    let kinds = [
        (json!({"kind": "inline"}), "single", "greedy"),
        (json!({"kind": "inline", "index": {"entries": 9}}), "double", "random"),
        (json!({"kind": "inline", "map_log": true, "map_log_page_records": 3}), "references", "fifo"),
        (json!({"kind": "sampled"}), "single", "d_choices"),
        (json!({"kind": "pre_hashed", "pre_hash_bits": 3}), "single", "greedy"),
        (json!({"kind": "cagc"}), "references", "greedy"),
        (json!({"kind": "cagc", "threshold": 2, "rehash": false}), "double", "random"),
        (json!({"kind": "cagc", "index": {"fingerprint_bits": 3, "verify": true}}), "references", "fifo"),
        (json!({"kind": "cagc", "map_log": true, "map_log_page_records": 3}), "references", "greedy"),
        (
            json!({"kind": "cagc", "index": {"entries": 9, "paged": {"page_entries": 2, "cached_pages": 2}}}),
            "references",
            "greedy",
        ),
    ];
    for (dedup, placement, victim) in kinds {
        let is_logged = dedup["map_log"] == json!(true);
        let is_cagc = dedup["kind"] == "cagc";
        let shape = DriveConfig {
            placement,
            victim,
            spare_blocks: 1,
            atomic_pages: if is_logged { 0 } else { 2 },
            ..roomy(dedup, 40)
        };
        let mut drive = shape.build();
        let mut random = Seed(9).random();
        for step in 0..1500 {
            let pages = [random_below(&mut random, 40) as u32, random_below(&mut random, 40) as u32];
            let names = [random_below(&mut random, 25), random_below(&mut random, 25)];
            match random_below(&mut random, 12) {
                0 => drive.trim(&pages),
                1 if !is_logged && pages[0] != pages[1] => drive.write_group(&pages, &names).unwrap(),
                2 => drive.layer.flush().unwrap(),
                _ => drive.write(&pages, &names),
            }
            if step % 10 == 0 {
                drive.check();
            }
        }
        let (layer_report, nand) = drive.reports();
        let report = layer_report.dedup.unwrap();
        assert!(nand.erases > 50, "{shape:?} never cleaned");
        assert_eq!(report.merged_pages > 0, is_cagc, "{shape:?}");
        assert_eq!(report.hits > 0, !is_cagc, "{shape:?}");
        assert_eq!(report.hits + report.misses, layer_report.counters.incoming(Operation::Write));
        let own_writes = report.index_writes + report.map_log_pages + report.map_checkpoint_pages;
        assert_eq!(layer_report.counters.outgoing(Cause::Dedup, Operation::Write), own_writes);
        assert_eq!(
            layer_report.counters.outgoing(Cause::Dedup, Operation::Read),
            report.index_reads + report.verify_reads
        );
        assert_eq!(layer_report.counters.outgoing_total(Operation::Write), nand.programs);
        assert_eq!(layer_report.counters.outgoing_total(Operation::Read), nand.reads);
        assert_eq!(layer_report.counters.outgoing(Cause::Host, Operation::Write), report.misses);
    }
}

/// A shared slot becomes invalid with the last of its pages; until then it is valid in its block.
#[test]
fn trims_keep_slots_shared_with_other_pages() {
    let mut drive = roomy(json!("inline"), 8).build();
    // Pages 0 and 2 share a slot; all three slots lie in one block.
    drive.write(&[0, 1, 2, 3], &[5, 6, 5, 0]);
    let valid_left = |pages: &[u32]| drive.layer.query(Query::LeftValid(&lpns(pages)));
    for (pages, valid_pages) in [(&[0][..], 3), (&[0, 2], 2), (&[1], 2), (&[0, 1], 2), (&[0, 1, 2, 3], 0)] {
        assert_eq!(valid_left(pages), Answer::LeftValid { valid_pages, block_pages: 4 }, "{pages:?}");
    }
    assert_eq!(valid_left(&[5]), Answer::LeftValid { valid_pages: 0, block_pages: 0 }, "nothing is there");
}

#[test]
fn deduplication_keeps_some_abilities_of_the_store() {
    use Ability::{AtomicGroups, LeftValid, MoveCounts, WholeRequests};
    for (kind, atomic_pages, expected) in [
        ("inline", 0, &[MoveCounts, LeftValid][..]),
        ("inline", 3, &[AtomicGroups, MoveCounts, LeftValid]),
        ("sampled", 0, &[WholeRequests, MoveCounts, LeftValid]),
    ] {
        let mut drive = DriveConfig { atomic_pages, ..roomy(json!(kind), 8) }.build();
        assert!(
            drive.layer.abilities().iter().eq(expected.iter().copied()),
            "{kind}: {:?}",
            drive.layer.abilities()
        );
        assert_eq!(drive.layer.atomic_pages(), atomic_pages);
        assert_eq!(drive.layer.command(Command::SetPartitions { ends: &[8] }), Ok(Answer::Nothing));
        assert!(drive.reports().0.moved_pages.is_empty(), "whose pages are moved is not told apart");
        let all = lpns(&[0, 1]);
        assert_eq!(drive.layer.query(Query::MovedPages(&all)), Answer::Nothing, "nobody has asked to count");
        drive.layer.count_moves();
        assert_eq!(drive.layer.query(Query::MovedPages(&all)), Answer::Pages(0));
    }
}
