//! Tests of the layer and medium interfaces themselves.

pub mod interfaces;

use super::*;
use crate::units::BlockId;

#[test]
fn pages_beyond_the_end_are_rejected() {
    let check = |pages: &[u32], logical_pages: u32| {
        check_range(&pages.iter().map(|&page| Lpn(page)).collect::<Vec<_>>(), logical_pages)
    };
    assert_eq!(check(&[], 0), Ok(()));
    assert_eq!(check(&[0, 3, 1], 4), Ok(()));
    assert_eq!(check(&[0, 4, 7, 1], 4), Err(LayerError::OutOfRange { page: 7, pages: 4 }));
    assert_eq!(check(&[0], 0), Err(LayerError::OutOfRange { page: 0, pages: 0 }));
}

#[test]
fn listed_and_counted_pages_must_be_programmed() {
    let check = |pages: Pages<'_>, programmed: Option<u32>| pages.check_programmed(BlockId(9), programmed);
    assert_eq!((Pages::Listed(&[4, 2]).len(), Pages::Counted(3).len()), (2, 3));
    assert!(Pages::Listed(&[]).is_empty() && Pages::Counted(0).is_empty() && !Pages::Counted(1).is_empty());
    for (pages, needed) in [
        (Pages::Listed(&[4, 2]), 5),
        (Pages::Listed(&[0]), 1),
        (Pages::Counted(5), 5),
        (Pages::Listed(&[]), 0),
        (Pages::Counted(0), 0),
    ] {
        assert_eq!(check(pages, Some(needed)), Ok(()));
        if needed > 0 {
            let missing = MediumError::NotProgrammed { block: 9, page: needed - 1 };
            assert_eq!(check(pages, Some(needed - 1)), Err(missing));
        }
        assert_eq!(check(pages, None), Err(MediumError::OutsideGeometry { block: 9, page: 0, end: needed }));
    }
}

#[test]
fn end_of_life_is_detected_at_any_depth() {
    let in_medium_error = |error: LayerError| LayerError::Medium(MediumError::Lower(Box::new(error)));
    let end = LayerError::EndOfLife { usable_blocks: 1, needed_blocks: 2 };
    let offline = LayerError::ZoneOffline { zone: 3 };
    let lost = LayerError::Medium(MediumError::PowerLost);
    for (error, is_end, is_power_lost) in [
        (end.clone(), true, false),
        (in_medium_error(end.clone()), true, false),
        (in_medium_error(in_medium_error(offline)), true, false),
        (lost.clone(), false, true),
        (in_medium_error(in_medium_error(lost)), false, true),
        (LayerError::NoSpace, false, false),
        (in_medium_error(LayerError::NoSpace), false, false),
        (LayerError::Medium(MediumError::BadBlock { block: 1 }), false, false),
    ] {
        assert_eq!((error.is_end_of_life(), error.is_power_loss()), (is_end, is_power_lost), "{error}");
    }
    assert_eq!(end.to_string(), "end of life: 1 usable blocks are left, 2 are needed");
}

#[test]
fn empty_payloads_have_no_size() {
    assert_eq!(no_data(12).len(), 12);
    assert!(no_data(0).is_empty());
    assert_eq!(format!("{:?}", Bytes::<16>::default()), "Bytes<16>([00, 00, 00, 00, 00, 00, 00, 00]…)");
    assert_eq!(format!("{:?}", Bytes([0xab, 1])), "Bytes<2>([ab, 01]…)");
}

#[test]
fn written_metadata_sums_all_kinds() {
    let report = MetadataReport {
        summary_pages: 1,
        map_pages: 20,
        segment_info_pages: 300,
        tree_pages: 600_000,
        checkpoint_pages: 4000,
        trim_record_pages: 50_000,
        checkpoints: 7,
        moved_pages: 8,
        ..MetadataReport::default()
    };
    assert_eq!(report.written(), 654_321);
}

#[test]
fn since_returns_differences_of_counts() {
    let arrivals = |times: u64| Arrivals {
        written_pages: times,
        sequential_pages: 2 * times,
        stream_sequential_pages: 3 * times,
        trimmed_ranges: 4 * times,
        trimmed_pages: 5 * times,
    };
    assert_eq!(arrivals(9).since(&arrivals(2)), arrivals(7));
    let dedup = |times: u64, now: u64| DedupReport {
        hits: times,
        misses: 2 * times,
        host_hashed_pages: 3 * times,
        cleaning_hashed_pages: 4 * times,
        pre_hashed_pages: 5 * times,
        idle_hashed_pages: 6 * times,
        verify_reads: 7 * times,
        collisions: 8 * times,
        merged_pages: 9 * times,
        promoted_pages: 10 * times,
        index_evictions: 11 * times,
        index_reads: 12 * times,
        index_writes: 13 * times,
        map_log_records: 14 * times,
        map_log_pages: 15 * times,
        map_checkpoint_pages: 16 * times,
        invalidated_by_references: [17 * times, 18 * times, 19 * times, 20 * times],
        // Values that describe the current state.
        index_entries: now,
        index_bytes: 2 * now,
        index_memory_bytes: 3 * now,
        sharing_ratio: Some(now as f64),
        live_by_references: [now, 0, 0, 1],
    };
    assert_eq!(dedup(9, 100).since(&dedup(2, 50)), dedup(7, 100));
    // Adding the counts of an earlier power cycle does not change the values of the current state.
    let mut all = dedup(7, 100);
    all.add(&dedup(2, 50));
    assert_eq!(all, dedup(9, 100));
}
