//! A log with metadata: metadata writes counted by hand, and survival of the user's pages.

use super::stack::{Stack, drive, trims};
use crate::naive::cases::ops;
use crate::naive::observe::reports;
use crate::naive::rig::{Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Bytes, Layer, LayerError, MediumError, MetadataReport, no_data};
use wearwell_engine::log::{
    ArrivalObserver, MetadataLayout, MetadataPlan, OnFlush, Reclaim, Segments, SummaryPlace, TablePlace,
    TrimRule,
};

const PAGE_BYTES: u32 = 32;

/// A log with metadata on an FTL, with the size of its segments.
#[derive(Debug)]
struct Case {
    plan: MetadataPlan,
    upper: Setup,
    lower: Setup,
}

impl Case {
    /// Creates the case; `None` if the metadata leaves too little space.
    fn new(layout: MetadataLayout, shape: [u32; 3], load: f64, upper: Setup, lower: Setup) -> Option<Self> {
        let [segment_pages, segments, pages_per_block] = shape;
        let pages_below = segment_pages * segments;
        let plan =
            MetadataPlan::new(layout, PAGE_BYTES, segment_pages, pages_below).expect("a layout that fits");
        let spare = upper.streams.count() + u32::from(layout.metadata_streams.min(1)) + 2;
        let available_pages = plan.segments().checked_sub(spare)? * plan.data_pages();
        let logical_pages = (f64::from(available_pages.checked_sub(plan.log_pages() + 1)?) * load) as u32 + 1;
        let upper =
            Setup { blocks: plan.segments(), pages_per_block: plan.data_pages(), logical_pages, ..upper };
        let blocks = pages_below.div_ceil(pages_per_block) + lower.streams.count() + 2;
        let lower = Setup { blocks, pages_per_block, logical_pages: pages_below, ..lower };
        Some(Case { plan, upper, lower })
    }

    fn stack<P: Stamp>(&self, trim: Option<TrimRule>) -> Stack<P> {
        let lower = Box::new(ArrivalObserver::new(Box::new(self.lower.engine::<P>())));
        let segments = Segments::with_metadata(lower, self.plan.clone(), self.upper.logical_pages, trim);
        self.upper.engine_on(segments).expect("an upper store that fits")
    }
}

/// Creates a log with 40 segments of 4 pages and one stream.
fn small(layout: MetadataLayout) -> Stack<()> {
    let upper = Setup { reclaim: Reclaim::FreePool { low: 1, high: 1 }, ..Setup::default() };
    let layout = MetadataLayout { table_copies: 1, ..layout };
    Case::new(layout, [4, 40, 6], 1.0, upper, Setup::default()).expect("room").stack(None)
}

fn write(stack: &mut Stack<()>, pages: &[u32]) {
    let pages: Vec<Lpn> = pages.iter().copied().map(Lpn).collect();
    stack.write(&pages, no_data(pages.len()), 0).unwrap();
}

fn metadata(stack: &Stack<()>) -> MetadataReport {
    reports(stack).layers[0].metadata.expect("it keeps some")
}

#[test]
fn summary_in_the_area_is_written_when_its_segment_is_full() {
    let layout =
        MetadataLayout { summary_bytes_per_page: 8, summary: SummaryPlace::Area, ..Default::default() };
    let mut stack = small(layout);
    assert_eq!(metadata(&stack).area_pages, 40, "a page for each segment");
    write(&mut stack, &[0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(metadata(&stack).summary_pages, 1);
    write(&mut stack, &[7]);
    assert_eq!(metadata(&stack).summary_pages, 2);
    assert_eq!(reports(&stack).layers[1].counters.incoming(Operation::Write), 10);
}

#[test]
fn summary_in_the_segment_precedes_its_pages_in_one_run() {
    let mut stack = small(MetadataLayout { summary_bytes_per_page: 8, ..Default::default() });
    assert_eq!(metadata(&stack).in_segment_pages, 40, "a page of four, for the three others");
    write(&mut stack, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(metadata(&stack).summary_pages, 2);
    let arrivals = reports(&stack).layers[1].arrivals.unwrap();
    assert_eq!((arrivals.written_pages, arrivals.sequential_pages), (8, 7));
}

/// Four entries per page of the map, two segments per page of segment information, a checkpoint every four pages.
fn tables(map: TablePlace, tables: TablePlace) -> MetadataLayout {
    MetadataLayout {
        map_entry_bytes: 8,
        map,
        segment_info_bytes: 16,
        tables,
        checkpoint_every_pages: 4,
        checkpoint_pages: 2,
        checkpoint_pages_per_stream: 1,
        ..Default::default()
    }
}

#[test]
fn checkpoint_writes_the_pages_of_tables_that_changed() {
    let mut stack = small(tables(TablePlace::Area, TablePlace::Area));
    write(&mut stack, &[0, 1, 2, 3]);
    let first = metadata(&stack);
    assert_eq!((first.map_pages, first.segment_info_pages, first.checkpoint_pages), (1, 1, 3));
    // The second segment has changed because of the writes, and the first because of an invalidation: together they
    // change one page of segment information.
    write(&mut stack, &[0, 4, 8, 12]);
    let second = metadata(&stack);
    assert_eq!((second.map_pages, second.segment_info_pages, second.checkpoint_pages), (5, 2, 6));
    assert_eq!((second.checkpoints, second.written()), (2, 13));
}

#[test]
fn map_in_the_log_is_appended_and_has_its_own_index() {
    let layout = MetadataLayout { map_index_bytes: 16, ..tables(TablePlace::InLog, TablePlace::Area) };
    let mut stack = small(layout);
    write(&mut stack, &[0, 1, 2, 3]);
    let first = metadata(&stack);
    // The page of the map opens the second segment; its index is another page.
    assert_eq!((first.map_pages, first.segment_info_pages, first.checkpoint_pages), (2, 1, 3));
    write(&mut stack, &[0, 4, 8, 12]);
    // Four pages of the map are written: the first two have their entries in one page of the index, the last two in
    // another page.
    assert_eq!(metadata(&stack).map_pages, 2 + 4 + 2);
    let report = &reports(&stack).layers[0];
    assert_eq!(report.mapped_pages, 7, "the user's pages alone");
    assert_eq!(report.counters.outgoing(Cause::LogMetadata, Operation::Write), metadata(&stack).written());
}

/// Creates a log with eight entries per page of map and trees, and a checkpoint for each cleaned segment.
fn nilfs2(logical_share: f64) -> Stack<()> {
    let layout = MetadataLayout {
        map_entry_bytes: 4,
        frees_map_entries: true,
        tree_entry_bytes: 4,
        checkpoint_every_pages: 1000,
        checkpoint_after_cleaned: 1,
        table_copies: 1,
        ..Default::default()
    };
    let upper = Setup { reclaim: Reclaim::FreePool { low: 1, high: 1 }, ..Setup::default() };
    Case::new(layout, [16, 40, 6], logical_share, upper, Setup::default()).expect("room").stack(None)
}

#[test]
fn cleaned_segments_are_followed_by_a_checkpoint() {
    let mut stack = nilfs2(0.3);
    let pages = stack.logical_pages();
    // Without cleaning no checkpoint is due.
    write(&mut stack, &[0, 1, 2]);
    assert_eq!(metadata(&stack).checkpoints, 0);
    (0..4000u32).for_each(|page| write(&mut stack, &[page.wrapping_mul(2_654_435_761) % pages]));
    let report = &reports(&stack).layers[0];
    let (counts, erases) = (metadata(&stack), report.counters.outgoing(Cause::Cleaning, Operation::Erase));
    // A segment that must be cleaned for the pages of a checkpoint counts for the next checkpoint.
    assert!(
        counts.checkpoints <= erases && 2 * counts.checkpoints > erases,
        "{} {erases}",
        counts.checkpoints
    );
    assert!(counts.tree_pages > 0 && counts.map_pages > counts.tree_pages, "{counts:?}");
}

#[test]
fn cleaning_that_gains_less_than_its_checkpoints_is_reported() {
    let mut stack = nilfs2(1.0);
    let pages = stack.logical_pages();
    let mut order = (0..40_000u32).map(|page| Lpn(page.wrapping_mul(2_654_435_761) % pages));
    let written = order.try_for_each(|page| stack.write(&[page], no_data(1), 0));
    assert_eq!(written, Err(overrun_error()));
    assert!(overrun_error().to_string().contains("checkpoint_after_cleaned"));
}

fn layouts() -> impl Strategy<Value = MetadataLayout> {
    let place = || prop::sample::select(&[TablePlace::InLog, TablePlace::Area][..]);
    let summary = prop::sample::select(&[SummaryPlace::InSegment, SummaryPlace::Area][..]);
    let bytes = (0..9u32, 0..5u32, 0..9u32, 0..9u32);
    let checkpoint = (1..40u64, 0..3u32, 0..2u32, 1..3u32, 0..3u8);
    let flush = prop::sample::select(&[OnFlush::Nothing, OnFlush::Map, OnFlush::Checkpoint][..]);
    let f2fs = (any::<bool>(), prop::sample::select(&[0, 8][..]), 0..3u32, flush);
    let nilfs2 = (any::<bool>(), 0..3u32, prop::sample::select(&[0, 0, 2, 8, 20][..]));
    (bytes, summary, any::<bool>(), place(), place(), checkpoint, (f2fs, nilfs2)).prop_map(
        |(
            bytes,
            summary,
            partial,
            map,
            tables,
            checkpoint,
            (f2fs, (frees, tree_entry_bytes, after_cleaned)),
        )| {
            let (packed, journal_bytes, inode, on_flush) = f2fs;
            // Options are disabled without their prerequisites.
            let packed = packed && bytes.0 > 0;
            let in_log = map == TablePlace::InLog && bytes.1 > 0;
            MetadataLayout {
                packed_summaries: packed,
                journal_bytes: if packed { journal_bytes } else { 0 },
                inode_entries: if in_log { inode } else { 0 },
                on_flush: if on_flush == OnFlush::Map && !in_log { OnFlush::Nothing } else { on_flush },
                summary_bytes_per_page: bytes.0,
                summary,
                partial_segment_pages: if partial { 4 } else { 0 },
                map_entry_bytes: bytes.1,
                map,
                frees_map_entries: frees && bytes.1 > 0,
                tree_entry_bytes,
                map_index_bytes: bytes.2,
                segment_info_bytes: bytes.3,
                tables,
                table_copies: checkpoint.3,
                checkpoint_every_pages: checkpoint.0,
                checkpoint_after_cleaned: after_cleaned,
                checkpoint_pages: checkpoint.1,
                checkpoint_pages_per_stream: checkpoint.2,
                metadata_streams: checkpoint.4,
                streams: None,
            }
        },
    )
}

prop_compose! {
    fn cases()(
        layout in layouts(),
        parts in 1..4u32,
        (segments, pages_per_block) in (30..45u32, 1..=12u32),
        load in 0.3..=1.0f64,
        victims in prop::array::uniform2(prop::sample::select(&["greedy", "d_choices", "fifo", "random"][..])),
        streams in prop::sample::select(&[Streams::Mixing(3, false, false), Streams::Double, Streams::Single][..]),
        seed in any::<u64>(),
    ) -> Option<Case> {
        let reclaim = Reclaim::FreePool { low: 1, high: 2 };
        let upper = Setup { streams, reclaim, victim: victims[0], seed, ..Setup::default() };
        let lower = Setup { victim: victims[1], seed: seed ^ 1, ..Setup::default() };
        Case::new(layout, [4 * parts, segments, pages_per_block], load, upper, lower)
    }
}

/// A store fails with an error if the checkpoints caused by cleaning need more space than cleaning gains.
fn overrun_error() -> LayerError {
    MediumError::EndlessCheckpoints.into()
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(160) })]

    #[test]
    fn user_pages_survive_the_metadata(
        case in cases().prop_filter_map("no room", |case| case),
        ops in ops(7),
        trim in trims(),
    ) {
        let pages = case.plan.segment_pages();
        let result = drive(&mut case.stack::<Bytes<8>>(trim), &ops, pages, trim);
        prop_assert!(result.is_ok() || result == Err(overrun_error()), "{result:?}");
    }

    #[test]
    fn batches_do_not_change_the_result(case in cases().prop_filter_map("no room", |case| case), step in 1..50usize) {
        let pages: Vec<Lpn> =
            (0..3000u32).map(|page| Lpn(page.wrapping_mul(2_654_435_761) % case.upper.logical_pages)).collect();
        let counts = [3000, step].map(|step| {
            let mut stack = case.stack::<()>(None);
            let mut chunks = pages.chunks(step);
            let written = chunks.try_for_each(|pages| stack.write(pages, no_data(pages.len()), 0));
            assert!(written.is_ok() || written == Err(overrun_error()), "{written:?}");
            (written, metadata(&stack), reports(&stack).nand.unwrap().programs)
        });
        prop_assert_eq!(&counts[0], &counts[1]);
    }
}

/// Placement with streams that do not separate pages, so that only the number of streams has an effect.
#[test]
fn more_streams_write_more_metadata() {
    let layout = MetadataLayout {
        summary_bytes_per_page: 4,
        summary: SummaryPlace::Area,
        table_copies: 2,
        checkpoint_every_pages: 64,
        ..tables(TablePlace::InLog, TablePlace::Area)
    };
    let written = [2, 4, 6].map(|streams| {
        let reclaim = Reclaim::FreePool { low: 1, high: 2 };
        let upper = Setup { streams: Streams::Mixing(streams, false, false), reclaim, ..Setup::default() };
        let upper = Case::new(layout, [8, 200, 12], 0.5, upper, Setup::default()).expect("room");
        let mut stack = upper.stack::<()>(None);
        // Each number of streams gets the same 300 pages.
        (0..20_000u32).for_each(|page| write(&mut stack, &[page.wrapping_mul(2_654_435_761) % 300]));
        let metadata = metadata(&stack);
        assert_eq!(metadata.checkpoint_pages, metadata.checkpoints * (2 + u64::from(streams)));
        metadata.written()
    });
    assert!(written[0] < written[1] && written[1] < written[2], "{written:?}");
}
