//! A log on a log: segments of 4 pages on blocks of 3, and the effect of TRIM.

use super::drive::{Drive, Fifo, SINGLE, config};
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{
    Answer, Command, ContentId, Layer, LayerExt, LayerReport, Medium, MediumError, PartitionReport, Reports,
    Run,
};
use crate::log::{
    ArrivalObserver, BoxedLayer, Directory, LogStore, PageTable, Reclaim, Segments, SharedLayer, StoreConfig,
    TrimRule, TrimUnit,
};
use crate::placement::{Frontiers, PageContext, Placement};
use crate::seed::{Seed, random_below};
use crate::units::{BlockId, Lpn, StreamId};

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

/// Creates a store of 24 pages that records the writes to it.
fn lower() -> BoxedLayer<ContentId> {
    Box::new(ArrivalObserver::new(Box::new(Drive::new(12, config(24, POOL), SINGLE()).store)))
}

fn program(
    segments: &mut Segments<ContentId>,
    block: u32,
    page: u32,
    contents: &[u64],
) -> Result<(), MediumError> {
    let data: Vec<ContentId> = contents.iter().map(|&name| ContentId(name)).collect();
    let owners = vec![Lpn(0); data.len()];
    let (cause, stream, group) = (Cause::Host, StreamId(0), crate::layer::Group::None);
    let run = Run { owners: Some(&owners), data: &data, sequence: 0, cause, stream, group, note: 0 };
    segments.program(BlockId(block), page, run)
}

fn reports_of(medium: &impl Medium) -> Reports {
    let mut reports = Reports::default();
    medium.describe(&mut reports);
    reports
}

#[test]
fn segments_present_layer_as_erase_blocks() {
    // Of the 24 pages, 20 form 4 segments of 5 pages.
    let mut segments = Segments::new(lower(), 5, Some(TrimRule::default()));
    assert_eq!((segments.blocks(), segments.pages_per_block()), (4, 5));
    program(&mut segments, 2, 0, &[7, 8]).unwrap();
    program(&mut segments, 2, 2, &[9]).unwrap();
    let mut read = Vec::new();
    segments.read(BlockId(2), crate::layer::Pages::Listed(&[2, 0]), Cause::Host, &mut read).unwrap();
    assert_eq!(read, [9, 7].map(ContentId));
    let order = MediumError::OutOfOrder { block: 2, page: 0, expected: 3 };
    assert_eq!(program(&mut segments, 2, 0, &[1]), Err(order));
    let outside = MediumError::OutsideGeometry { block: 2, page: 3, end: 6 };
    assert_eq!(program(&mut segments, 2, 3, &[1, 2, 3]), Err(outside));
    let outside_write = MediumError::OutsideGeometry { block: 4, page: 0, end: 1 };
    assert_eq!(program(&mut segments, 4, 0, &[1]), Err(outside_write));
    let unwritten = MediumError::NotProgrammed { block: 2, page: 3 };
    let listed = crate::layer::Pages::Listed(&[1, 3]);
    assert_eq!(segments.read(BlockId(2), listed, Cause::Host, &mut read), Err(unwritten));
    assert_eq!(reports_of(&segments).layers[0].mapped_pages, 3);
    segments.erase(BlockId(2), Cause::Cleaning).unwrap();
    assert_eq!(reports_of(&segments).layers[0].mapped_pages, 0, "its pages are trimmed");
    assert_eq!((segments.erases(BlockId(2)), segments.erases(BlockId(1))), (1, 0));
    program(&mut segments, 2, 0, &[5]).unwrap();
    let outside_erase = MediumError::OutsideGeometry { block: 4, page: 0, end: 0 };
    assert_eq!(segments.erase(BlockId(4), Cause::Cleaning), Err(outside_erase));
    assert!(!segments.is_bad(BlockId(0)));
    segments.flush().unwrap();
    segments.check().unwrap();
    assert_eq!(reports_of(&segments).layers[0].counters.incoming(Operation::Flush), 1);
    let mut without_trim = Segments::new(lower(), 5, None);
    program(&mut without_trim, 0, 0, &[7]).unwrap();
    without_trim.erase(BlockId(0), Cause::Cleaning).unwrap();
    assert_eq!(reports_of(&without_trim).layers[0].mapped_pages, 1, "nobody told the layer below");
}

type Upper = LogStore<Segments<ContentId>, PageTable, Fifo, Frontiers>;

/// Creates an upper store of 12 pages on 6 segments of 4 pages.
fn stack(trim: Option<TrimRule>) -> Upper {
    let segments = Segments::new(lower(), 4, trim);
    let config: StoreConfig = config(12, POOL);
    LogStore::new(config, segments, PageTable::new(12, 6, 4), Fifo::default(), SINGLE()).unwrap()
}

fn write(store: &mut impl Layer<ContentId>, pages: &[u32]) {
    for &page in pages {
        store.write(&[Lpn(page)], &[ContentId(u64::from(page) + 100)], 0).unwrap();
    }
}

fn counters(store: &impl Layer<ContentId>) -> Vec<Counters> {
    let mut reports = Reports::default();
    store.describe(&mut reports);
    reports.layers.iter().map(|layer| layer.counters).collect()
}

#[test]
fn outgoing_pages_of_log_equal_incoming_pages_below() {
    for (trim, trimmed) in [(None, 0), (Some(TrimRule::default()), 4)] {
        let mut store = stack(trim);
        write(&mut store, &(0..12).collect::<Vec<_>>());
        write(&mut store, &[0, 1, 2, 3]);
        // Five segments are open or full; for the next page, the log frees a segment without live pages.
        write(&mut store, &[4]);
        let [upper, lower] = counters(&store)[..] else { panic!("two layers") };
        assert_eq!(upper.outgoing(Cause::Cleaning, Operation::Erase), 0);
        assert_eq!((upper.outgoing_total(Operation::Write), lower.incoming(Operation::Write)), (17, 17));
        write(&mut store, &[5, 6, 7]);
        write(&mut store, &[8]);
        let [upper, lower] = counters(&store)[..] else { panic!("two layers") };
        assert_eq!(upper.outgoing(Cause::Cleaning, Operation::Erase), 1);
        assert_eq!(upper.outgoing(Cause::Cleaning, Operation::Write), 0);
        assert_eq!((lower.incoming(Operation::Write), lower.incoming(Operation::Trim)), (21, trimmed));
        store.check().unwrap();
    }
}

#[test]
fn pages_that_the_layer_below_moved_first_count_when_cleaning_reads_them() {
    let mut drive = Drive::new(5, config(6, POOL), SINGLE());
    drive.store.count_moves();
    let mut segments = Segments::new(Box::new(drive.store), 2, None);
    // Segments of two pages on blocks of three: 0 1 2, 3 4 5, 0 1 0 and 1 0 1. For the next page, page 2 is moved.
    for block in [0, 1, 2, 0, 0, 0, 0] {
        segments.erase(BlockId(block), Cause::Cleaning).unwrap();
        program(&mut segments, block, 0, &[1, 2]).unwrap();
    }
    let mut moved_first = |block, cause| {
        let listed = crate::layer::Pages::Listed(&[0, 1]);
        segments.read(BlockId(block), listed, cause, &mut Vec::new()).unwrap();
        // The count belongs to the log above.
        let mut reports = Reports { layers: vec![LayerReport::default()], nand: None };
        segments.describe(&mut reports);
        assert_eq!(reports.layers[1].counters.outgoing(Cause::Cleaning, Operation::Write), 1);
        reports.layers[0].moved_below_first_pages
    };
    assert_eq!([0, 1, 2].map(|block| moved_first(block, Cause::Host)), [0, 0, 0]);
    assert_eq!([0, 1, 2, 1].map(|block| moved_first(block, Cause::Cleaning)), [0, 1, 1, 2]);
}

#[test]
fn trim_unit_page_trims_invalidated_pages_immediately() {
    let rule = TrimRule { unit: TrimUnit::Page, ..TrimRule::default() };
    let mut store = stack(Some(rule));
    write(&mut store, &[0, 1, 2, 3, 1, 2]);
    let [_, lower] = counters(&store)[..] else { panic!("two layers") };
    assert_eq!(lower.incoming(Operation::Trim), 2);
    store.trim(&[Lpn(0), Lpn(5)]).unwrap();
    store.flush().unwrap();
    let mut reports = Reports::default();
    store.describe(&mut reports);
    assert_eq!(
        (reports.layers[1].counters.incoming(Operation::Trim), reports.layers[1].mapped_pages),
        (3, 3)
    );
    assert_eq!((reports.layers[0].trims.sent_pages, reports.layers[0].mapped_pages), (3, 3));
    store.check().unwrap();
}

#[test]
fn content_survives_cleaning_of_both_logs() {
    for trim in
        [None, Some(TrimRule::default()), Some(TrimRule { unit: TrimUnit::Page, ..TrimRule::default() })]
    {
        let mut store = stack(trim);
        let mut expected = [0; 12];
        let mut random = Seed(6).random();
        for version in 1..800 {
            let page = random_below(&mut random, 12) as u32;
            if version % 9 == 0 {
                store.trim(&[Lpn(page)]).unwrap();
                expected[page as usize] = 0;
            } else {
                store.write(&[Lpn(page)], &[ContentId(version)], 0).unwrap();
                expected[page as usize] = version;
            }
            store.check().unwrap();
        }
        let mut read = Vec::new();
        store.read(&(0..12).map(Lpn).collect::<Vec<_>>(), &mut read).unwrap();
        assert_eq!(read, expected.iter().map(|&version| ContentId(version)).collect::<Vec<_>>());
        let [upper, lower] = counters(&store)[..] else { panic!("two layers") };
        assert!(lower.outgoing(Cause::Cleaning, Operation::Erase) > 50);
        for operation in [Operation::Write, Operation::Read] {
            assert_eq!(upper.outgoing_total(operation), lower.incoming(operation));
        }
    }
}

#[test]
fn partitions_behave_as_separate_layers() {
    let (mut shared, mut parts) = SharedLayer::new(lower(), &[10, 6]);
    assert_eq!(parts.iter().map(Layer::logical_pages).collect::<Vec<_>>(), [10, 6]);
    write(&mut parts[0], &[0, 9]);
    write(&mut parts[1], &[0, 5, 5]);
    parts[1].trim(&[Lpn(0)]).unwrap();
    parts[0].flush().unwrap();
    let mut read = Vec::new();
    parts[1].read(&[0, 5].map(Lpn), &mut read).unwrap();
    parts[0].read(&[0, 5].map(Lpn), &mut read).unwrap();
    assert_eq!(read, [0, 105, 100, 0].map(ContentId));
    let outside = crate::layer::LayerError::OutOfRange { page: 6, pages: 6 };
    assert_eq!(parts[1].write(&[Lpn(6)], &[ContentId(1)], 0), Err(outside.clone()));
    assert_eq!(parts[1].read(&[Lpn(6)], &mut read), Err(outside.clone()));
    assert_eq!(parts[1].trim(&[Lpn(6)]), Err(outside));
    shared.check().unwrap();
    let mut reports = Reports::default();
    shared.describe(&mut reports);
    let all = &reports.layers[0].partitions;
    let shape: Vec<(u32, u32)> = all.iter().map(|part: &PartitionReport| (part.first, part.pages)).collect();
    assert_eq!(shape, [(0, 10), (10, 6)]);
    let incoming = |part: usize| {
        [Operation::Write, Operation::Read, Operation::Trim, Operation::Flush]
            .map(|operation| all[part].incoming.incoming(operation))
    };
    assert_eq!((incoming(0), incoming(1)), ([2, 2, 0, 1], [3, 2, 1, 0]));
    assert_eq!(reports.layers[0].mapped_pages, 3);
    assert_eq!(reports.layers[0].moved_pages, [[0; 3]; 3], "two users, and the pages of nobody");
    shared.final_draw();
}

/// A placement that is called for each page and selects stream 0 for all pages.
struct PageByPage;

impl Placement for PageByPage {
    fn streams(&self) -> u8 {
        1
    }

    fn place(&mut self, _context: &PageContext) -> StreamId {
        StreamId(0)
    }
}

/// Performs random writes and trims of consecutive pages, as lists of pages or as runs. Returns the locations of all
/// pages and the counts of two logs, as text.
fn run_consecutive(placement: impl Placement, unit: TrimUnit, by_run: bool) -> String {
    let lower = ArrivalObserver::new(Box::new(Drive::new(16, config(32, POOL), SINGLE()).store));
    let segments = Segments::new(Box::new(lower), 4, Some(TrimRule { unit, ..TrimRule::default() }));
    let table = PageTable::new(12, 8, 4);
    let mut log = LogStore::new(config(12, POOL), segments, table, Fifo::default(), placement).unwrap();
    log.count_moves();
    let mut random = Seed(6).random();
    let mut draw = |bound: u32| random_below(&mut random, bound.into()) as u32;
    for number in 0..2000 {
        let first = draw(12);
        let pages: Vec<Lpn> = (first..=first + draw(12 - first)).map(Lpn).collect();
        let (first, data) = (pages[0], vec![ContentId(number); pages.len()]);
        let trims = draw(3) == 0;
        let run = match trims {
            true => Command::TrimRun { first, pages: pages.len() as u32 },
            false => Command::WriteRun { first, data: &data, hint: 1 },
        };
        match (by_run, trims) {
            (true, _) => assert_eq!(log.command(run), Ok(Answer::Nothing)),
            (false, true) => log.trim(&pages).unwrap(),
            (false, false) => log.write(&pages, &data, 1).unwrap(),
        }
    }
    log.check().unwrap();
    let all: Vec<Lpn> = (0..12).map(Lpn).collect();
    let locations: Vec<_> = all.iter().map(|&page| log.directory().location_of(page)).collect();
    let (mut read, mut reports) = (Vec::new(), Reports::default());
    log.read(&all, &mut read).unwrap();
    log.describe(&mut reports);
    format!("{locations:?} {read:?} {reports:?}")
}

#[test]
fn run_of_pages_equals_list_of_pages() {
    for unit in [TrimUnit::Segment, TrimUnit::Page] {
        assert_eq!(run_consecutive(SINGLE(), unit, true), run_consecutive(SINGLE(), unit, false), "{unit:?}");
        assert_eq!(
            run_consecutive(PageByPage, unit, true),
            run_consecutive(PageByPage, unit, false),
            "{unit:?}"
        );
    }
}
