//! Layers without a log of their own on a small store, and a zoned drive.

use super::drive::{Drive, SINGLE, config, flash, reports};
use crate::counters::{Cause, Operation};
use crate::layer::{
    Ability, Answer, Arrivals, ContentId, Layer, LayerError, LayerExt, Query, Reports, ZoneState,
};
use crate::log::{
    ArrivalObserver, BoxedLayer, ObjectLayer, ObjectLayout, PassThrough, Reclaim, SparseLayer, TrimLogConfig,
    ZonedDrive, ZonedDriveConfig,
};
use crate::nand::Wear;
use crate::units::Lpn;

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

fn store() -> BoxedLayer<ContentId> {
    Box::new(Drive::new(20, config(24, POOL), SINGLE()).store)
}

fn lpns(pages: impl IntoIterator<Item = u32>) -> Vec<Lpn> {
    pages.into_iter().map(Lpn).collect()
}

fn write(layer: &mut impl Layer<ContentId>, pages: impl IntoIterator<Item = u32>) -> Result<(), LayerError> {
    let pages = lpns(pages);
    let data: Vec<ContentId> = pages.iter().map(|page| ContentId(u64::from(page.0) + 100)).collect();
    layer.write(&pages, &data, 0)
}

fn read(layer: &mut impl Layer<ContentId>, pages: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let mut read = Vec::new();
    layer.read(&lpns(pages), &mut read).unwrap();
    read.iter().map(|content| content.0).collect()
}

fn reports_of(layer: &impl Layer<ContentId>) -> Reports {
    let mut reports = Reports::default();
    layer.describe(&mut reports);
    reports
}

#[test]
fn pass_through_counts_forwarded_operations() {
    let mut layer = PassThrough::new(store(), 20);
    write(&mut layer, [0, 3, 19, 3]).unwrap();
    assert_eq!(read(&mut layer, [3, 4, 19]), [103, 0, 119]);
    layer.trim(&lpns([3, 4])).unwrap();
    layer.flush().unwrap();
    layer.check().unwrap();
    let all = reports_of(&layer);
    let (top, below) = (&all.layers[0], &all.layers[1]);
    assert_eq!((top.directory, top.logical_pages, top.physical_pages), ("none", 20, 24));
    assert_eq!((top.mapped_pages, below.mapped_pages, top.map_bytes), (2, 2, Some(0)));
    assert_eq!((top.trims.sent_pages, top.memory_bytes), (2, 8));
    for (operation, count) in
        [(Operation::Write, 4), (Operation::Read, 3), (Operation::Trim, 2), (Operation::Flush, 1)]
    {
        assert_eq!(top.counters.incoming(operation), count);
        assert_eq!(below.counters.incoming(operation), count);
    }
    assert_eq!(top.counters.outgoing(Cause::Host, Operation::Write), 4);
    assert_eq!(top.counters.outgoing(Cause::Host, Operation::Read), 3);
    let outside = LayerError::OutOfRange { page: 20, pages: 20 };
    assert_eq!(write(&mut layer, [20]), Err(outside.clone()));
    assert_eq!(layer.trim(&lpns([20])), Err(outside.clone()));
    assert_eq!(layer.read(&lpns([20]), &mut Vec::new()), Err(outside));
    assert_eq!(layer.logical_pages(), 20);
}

#[test]
fn observer_distinguishes_sequential_and_single_pages() {
    let mut layer = ArrivalObserver::new(store());
    // These pages continue a run: 1 and 2; later 3 (first run) and 12 (second run). Page 0 continues no run.
    write(&mut layer, [0, 1, 2]).unwrap();
    write(&mut layer, [10]).unwrap();
    write(&mut layer, [11]).unwrap();
    write(&mut layer, [3]).unwrap();
    write(&mut layer, [12, 0]).unwrap();
    layer.trim(&lpns([5, 6, 8, 9, 10])).unwrap();
    let arrivals = reports_of(&layer).layers[0].arrivals.unwrap();
    let expected = Arrivals {
        written_pages: 8,
        sequential_pages: 3,
        stream_sequential_pages: 5,
        trimmed_ranges: 2,
        trimmed_pages: 5,
    };
    assert_eq!(arrivals, expected);
    assert_eq!(expected.since(&expected), Arrivals::default());
    layer.check().unwrap();
    assert_eq!(layer.logical_pages(), 24);
}

#[test]
fn observer_tracks_eight_runs() {
    for (other_runs, found) in [(7, 1), (8, 0)] {
        let mut layer = ArrivalObserver::new(store());
        write(&mut layer, [0]).unwrap();
        for other in 0..other_runs {
            write(&mut layer, [2 * other + 5]).unwrap();
        }
        write(&mut layer, [1]).unwrap();
        let arrivals = reports_of(&layer).layers[0].arrivals.unwrap();
        assert_eq!((arrivals.sequential_pages, arrivals.stream_sequential_pages), (0, found));
    }
}

#[test]
fn objects_store_pages_and_reject_invalid_settings() {
    let layout = ObjectLayout { object_pages: 5, classes: 3, decay_drive_writes: 0.5 };
    let mut layer = ObjectLayer::new(store(), layout).unwrap();
    write(&mut layer, [0, 7, 0, 23]).unwrap();
    layer.trim(&lpns([7])).unwrap();
    (0..40).for_each(|step| write(&mut layer, [step * 5 % 24]).unwrap());
    assert_eq!(read(&mut layer, [0, 23, 7]), [100, 123, 107]);
    layer.check().unwrap();
    let all = reports_of(&layer);
    // 24 pages make five objects of up to 5 pages; each object takes 32 bytes.
    assert_eq!((all.layers[0].directory, all.layers[0].map_bytes), ("objects", Some(5 * 32)));
    assert_eq!(all.layers[0].counters.incoming(Operation::Write), 44);
    let key = |layout: ObjectLayout| ObjectLayer::new(store(), layout).err().map(|error| error.key);
    assert_eq!(key(ObjectLayout { object_pages: 24, ..layout }), None);
    assert_eq!(key(ObjectLayout { object_pages: 25, ..layout }).as_deref(), Some("structure.object_size"));
    assert_eq!(key(ObjectLayout { object_pages: 0, ..layout }).as_deref(), Some("structure.object_size"));
    assert_eq!(key(ObjectLayout { classes: 0, ..layout }).as_deref(), Some("structure.classes"));
    let no_decay = ObjectLayout { decay_drive_writes: 0.0, ..layout };
    assert_eq!(key(no_decay).as_deref(), Some("structure.decay_drive_writes"));
}

#[test]
fn sparse_space_writes_records_of_trims() {
    // Two records per page, a trim log of four pages. The records of one trim are written together; records of three
    // trims are collected before a write.
    let log = TrimLogConfig { records_per_page: 2, trims_per_write: 3, pages: 4 };
    let mut layer = SparseLayer::new(store(), log).unwrap();
    assert_eq!((layer.logical_pages(), layer.needs_whole_requests()), (20, true));
    write(&mut layer, 0..10).unwrap();
    let records =
        |layer: &SparseLayer<ContentId>| reports_of(layer).layers[0].metadata.unwrap().trim_record_pages;
    layer.trim(&lpns([0])).unwrap();
    assert_eq!(records(&layer), 0);
    // Two more ranges are trimmed: the record of the first fills the page, and the record of the second waits.
    layer.trim(&lpns([2, 3, 5])).unwrap();
    assert_eq!(records(&layer), 1);
    layer.flush().unwrap();
    assert_eq!(records(&layer), 2);
    layer.flush().unwrap();
    assert_eq!(records(&layer), 2, "nothing waits");
    assert_eq!(read(&mut layer, [0, 1, 2, 4, 5]), [0, 101, 0, 104, 0]);
    let all = reports_of(&layer);
    assert_eq!((all.layers[0].mapped_pages, all.layers[0].map_bytes), (6, Some(8 * 6)));
    assert_eq!(all.layers[0].counters.outgoing(Cause::LogMetadata, Operation::Write), 2);
    assert_eq!(all.layers[1].counters.incoming(Operation::Write), 10 + 2);
    layer.check().unwrap();
    let key = |log: TrimLogConfig| SparseLayer::new(store(), log).err().map(|error| error.key);
    assert_eq!(key(TrimLogConfig { pages: 23, ..log }), None);
    assert_eq!(key(TrimLogConfig { pages: 24, ..log }).as_deref(), Some("structure.trim_log_pages"));
    assert_eq!(key(TrimLogConfig { pages: 0, ..log }).as_deref(), Some("structure.trim_log_pages"));
    assert_eq!(
        key(TrimLogConfig { trims_per_write: 0, ..log }).as_deref(),
        Some("structure.trims_per_write")
    );
    let in_place = Box::new(Drive::new(20, config(24, Reclaim::InPlace), SINGLE()).store);
    assert_eq!(SparseLayer::new(in_place as BoxedLayer<ContentId>, log).err().unwrap().key, "structure");
}

/// Creates a drive with zones of two blocks of 3 pages, two of which may be open.
fn zoned_drive(blocks: u32, wear: Wear) -> ZonedDrive<crate::nand::Nand<ContentId>> {
    ZonedDrive::new(flash(blocks, wear), ZonedDriveConfig { zone_blocks: 2, max_open_zones: 2 }).unwrap()
}

#[test]
fn zones_require_sequential_writes_and_whole_resets() {
    let mut drive = zoned_drive(7, Wear::default());
    assert_eq!((drive.logical_pages(), drive.zone_pages()), (18, 6), "the last block is no zone");
    write(&mut drive, 0..4).unwrap();
    write(&mut drive, [6]).unwrap();
    let order = LayerError::NotSequential { zone: 0, page: 3, expected: 4 };
    assert_eq!(write(&mut drive, [3]), Err(order));
    assert_eq!(write(&mut drive, [12]), Err(LayerError::TooManyOpenZones { zone: 2, limit: 2 }));
    assert_eq!((0..3).map(|zone| drive.write_pointer(zone)).collect::<Vec<_>>(), [4, 1, 0]);
    let state = ZoneState { pages: 6, written: 4, is_finished: false, is_offline: false, open_limit: None };
    assert_eq!(drive.zone(Lpn(5)), Some(state));
    assert_eq!(drive.zone(Lpn(12)), Some(ZoneState { written: 0, open_limit: Some(2), ..state }));
    // A full zone is no longer open; the next page in the same call opens another zone.
    write(&mut drive, [4, 5, 12]).unwrap();
    assert_eq!(write(&mut drive, [0]), Err(LayerError::NotSequential { zone: 0, page: 0, expected: 6 }));
    assert_eq!(read(&mut drive, [0, 5, 6, 7, 12, 17]), [100, 105, 106, 0, 112, 0]);
    for (pages, zone) in [(0..5, 0), (1..6, 0), (0..8, 1), (6..11, 1)] {
        assert_eq!(drive.trim(&lpns(pages)), Err(LayerError::PartialReset { zone }));
    }
    drive.trim(&lpns(0..12)).unwrap();
    drive.check().unwrap();
    assert_eq!((0..3).map(|zone| drive.write_pointer(zone)).collect::<Vec<_>>(), [0, 0, 1]);
    drive.flush().unwrap();
    let (layer, nand) = reports(&drive);
    // Zone 0 had two written blocks to erase, zone 1 had one.
    assert_eq!((layer.counters.outgoing(Cause::Host, Operation::Erase), nand.erases), (3, 3));
    assert_eq!((layer.mapped_pages, layer.physical_pages, layer.map_bytes), (1, 21, Some(3 * 16)));
    assert_eq!(
        [Operation::Write, Operation::Trim, Operation::Flush].map(|kind| layer.counters.incoming(kind)),
        [8, 12, 1]
    );
    assert_eq!((layer.counters.incoming(Operation::Read), nand.reads, nand.programs), (6, 4, 8));
    // Both zones can be opened again.
    write(&mut drive, [0, 13]).unwrap();
    assert_eq!(write(&mut drive, [6]), Err(LayerError::TooManyOpenZones { zone: 1, limit: 2 }));
    assert_eq!((drive.final_draw(), drive.offline_zones()), (0, 0));
}

#[test]
fn left_valid_counts_pages_in_blocks_of_zones() {
    let mut drive = zoned_drive(7, Wear::default());
    // In the first zone, block 0 is full and block 1 holds one page; in the second, block 2 is full and block 3 holds
    // two pages.
    write(&mut drive, (0..4).chain(6..11)).unwrap();
    let left_valid = |pages: &[u32]| drive.query(Query::LeftValid(&lpns(pages.iter().copied())));
    let answer = |valid_pages, block_pages| Answer::LeftValid { valid_pages, block_pages };
    assert_eq!(left_valid(&[0]), answer(2, 3));
    assert_eq!(left_valid(&[0, 1, 2, 3]), answer(0, 6));
    assert_eq!(left_valid(&[3]), answer(0, 3));
    assert_eq!(left_valid(&[1, 9]), answer(3, 6));
    assert_eq!(left_valid(&[4, 5, 11, 12]), answer(0, 0), "nothing is there");
}

/// A finished zone is no longer open and accepts no writes; a reset erases only its written blocks.
#[test]
fn finished_zones_free_an_open_slot() {
    let mut drive = zoned_drive(7, Wear::default());
    write(&mut drive, [0, 6]).unwrap();
    assert_eq!(write(&mut drive, [12]), Err(LayerError::TooManyOpenZones { zone: 2, limit: 2 }));
    assert_eq!(drive.finish_zone(Lpn(3)), Ok(true));
    drive.check().unwrap();
    assert_eq!(write(&mut drive, [1]), Err(LayerError::NotSequential { zone: 0, page: 1, expected: 6 }));
    let state = drive.zone(Lpn(0)).unwrap();
    assert_eq!((state.written, state.is_finished, state.write_pointer()), (1, true, 6));
    write(&mut drive, [12]).unwrap();
    let mut found = Vec::new();
    drive.read(&lpns(0..2), &mut found).unwrap();
    assert_eq!(found[1], ContentId::default());
    drive.trim(&lpns(0..6)).unwrap();
    assert_eq!(drive.write_pointer(0), 0);
    assert_eq!(reports(&drive).0.counters.outgoing_total(Operation::Erase), 1);
    // Finishing an empty zone, and a full one.
    assert_eq!(drive.finish_zone(Lpn(0)), Ok(true));
    assert_eq!(write(&mut drive, [0]), Err(LayerError::NotSequential { zone: 0, page: 0, expected: 6 }));
    write(&mut drive, 7..12).unwrap();
    assert_eq!(drive.finish_zone(Lpn(6)), Ok(true));
    assert!(!drive.zone(Lpn(6)).unwrap().is_finished, "it was full");
    drive.check().unwrap();
}

/// A zoned drive never moves pages, so its counts of moved pages are exact: zero.
#[test]
fn zones_report_no_moved_pages() {
    let mut drive = zoned_drive(7, Wear::default());
    let expected = [Ability::Attribution, Ability::MoveCounts, Ability::LeftValid, Ability::Zones];
    assert!(drive.abilities().iter().eq(expected));
    drive.count_moves();
    drive.set_partitions(&[6, 18]);
    write(&mut drive, 0..6).unwrap();
    drive.trim(&lpns(0..6)).unwrap();
    write(&mut drive, 0..6).unwrap();
    assert_eq!(drive.query(Query::MovedPages(&lpns(0..6))), Answer::Pages(0));
    assert_eq!(reports(&drive).0.moved_pages, vec![vec![0; 3]; 3]);
    assert_eq!((drive.query(Query::AtomicPages), drive.clean_while_idle()), (Answer::Nothing, Ok(false)));
}

#[test]
fn zone_with_bad_block_is_offline() {
    let mut drive = zoned_drive(6, Wear { endurance_cycles: Some(1), ..Wear::default() });
    write(&mut drive, 0..6).unwrap();
    drive.trim(&lpns(0..6)).unwrap();
    write(&mut drive, 0..2).unwrap();
    drive.trim(&lpns(0..6)).unwrap();
    assert_eq!((drive.offline_zones(), drive.write_pointer(0)), (1, 0));
    let offline = LayerError::ZoneOffline { zone: 0 };
    assert!(offline.is_end_of_life());
    assert_eq!(write(&mut drive, [0]), Err(offline));
    assert_eq!(read(&mut drive, [0]), [0]);
    drive.trim(&lpns(0..6)).unwrap();
    drive.check().unwrap();
    write(&mut drive, [6, 12]).unwrap();
    let bad = zoned_drive(6, Wear { factory_bad_blocks: 1, ..Wear::default() });
    assert_eq!(bad.offline_zones(), 1);
    let key = |zone_blocks: u32, max_open_zones: u32| {
        let config = ZonedDriveConfig { zone_blocks, max_open_zones };
        ZonedDrive::new(flash(6, Wear::default()), config).err().map(|error| error.key)
    };
    assert_eq!((key(6, 1), key(7, 1).as_deref()), (None, Some("zone_blocks")));
    assert_eq!(key(0, 1).as_deref(), Some("zone_blocks"));
    assert_eq!(key(2, 0).as_deref(), Some("max_open_zones"));
}
