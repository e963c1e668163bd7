//! Locations of metadata, and the pages that a checkpoint writes, page by page; pages of 32 bytes, segments of 4
//! pages.

use super::*;

const PAGE_BYTES: u32 = 32;

fn plan(layout: MetadataLayout, pages_below: u32) -> Result<MetadataPlan, String> {
    let layout = MetadataLayout { table_copies: layout.table_copies.max(1), ..layout };
    MetadataPlan::new(layout, PAGE_BYTES, 4, pages_below).map_err(|error| error.key)
}

/// Returns the pages of the area, the number of segments, the data pages in each, and the metadata pages of the log.
fn shape(layout: MetadataLayout) -> Result<[u32; 4], String> {
    plan(layout, 160).map(|plan| {
        assert_eq!((plan.segment_pages(), plan.capacity()), (4, plan.segments() * plan.data_pages()));
        [plan.area_pages, plan.segments(), plan.data_pages(), plan.log_pages()]
    })
}

#[test]
fn log_without_metadata_has_all_pages_for_data() {
    let layout = MetadataLayout::default();
    assert_eq!(shape(layout), Ok([0, 40, 4, 0]));
    assert!(!plan(layout, 160).unwrap().has_metadata_stream());
    assert!(plan(MetadataLayout { metadata_streams: 1, ..layout }, 160).unwrap().has_metadata_stream());
    let copies = |table_copies: u32| MetadataPlan::new(MetadataLayout { table_copies, ..layout }, 32, 4, 160);
    assert_eq!([0, 1, 8, 9].map(|count| copies(count).is_ok()), [false, true, true, false]);
    assert_eq!(copies(0).unwrap_err().key, "table_copies");
}

#[test]
fn summaries_take_pages_of_segments_or_area() {
    let summary = |bytes: u32, partial_segment_pages: u32| MetadataLayout {
        summary_bytes_per_page: bytes,
        partial_segment_pages,
        ..MetadataLayout::default()
    };
    // Three data pages have 24 bytes of summary, which fit in one page; with 16 bytes per page, summaries need two
    // pages.
    assert_eq!(shape(summary(8, 0)), Ok([0, 40, 3, 0]));
    assert_eq!(shape(summary(16, 0)), Ok([0, 40, 2, 0]));
    // The segment has two halves, each with one summary.
    assert_eq!(shape(summary(8, 2)), Ok([0, 40, 2, 0]));
    assert_eq!(shape(summary(8, 3)), Err("partial_segment".to_owned()));
    assert_eq!(shape(summary(8, 1)), Err("partial_segment".to_owned()), "no room for data");
    // Without the area there would be 40 segments. With 20 segments, the summaries of 9 bytes per page take 80 pages.
    let area = |bytes: u32| MetadataLayout { summary: SummaryPlace::Area, ..summary(bytes, 0) };
    assert_eq!(shape(area(8)), Ok([40, 30, 4, 0]));
    assert_eq!(shape(area(9)), Ok([80, 20, 4, 0]));
    let metadata = Metadata::new(plan(area(9), 160).unwrap(), 10);
    assert_eq!([0, 3].map(|block| metadata.area_summary(BlockId(block))), [0..2, 6..8]);
    assert!(Metadata::new(plan(summary(8, 0), 160).unwrap(), 10).area_summary(BlockId(3)).is_empty());
    assert_eq!(Metadata::new(plan(summary(8, 2), 160).unwrap(), 10).counts.in_segment_pages, 80);
}

#[test]
fn data_pages_follow_their_summaries() {
    let page_in_segment = |partial_segment_pages: u32, page: u32| {
        let layout =
            MetadataLayout { summary_bytes_per_page: 8, partial_segment_pages, ..MetadataLayout::default() };
        Metadata::new(plan(layout, 160).unwrap(), 10).page_in_segment(page)
    };
    assert_eq!([0, 1, 2].map(|page| page_in_segment(0, page)), [1, 2, 3]);
    assert_eq!([0, 1].map(|page| page_in_segment(2, page)), [1, 3]);
}

/// Four entries fit in a page of the map, two in a page of segment information.
fn tables(map: TablePlace, tables: TablePlace) -> MetadataLayout {
    MetadataLayout {
        map_entry_bytes: 8,
        map,
        map_index_bytes: 4,
        segment_info_bytes: 16,
        tables,
        table_copies: 2,
        checkpoint_every_pages: 4,
        checkpoint_pages: 2,
        checkpoint_pages_per_stream: 1,
        ..MetadataLayout::default()
    }
}

#[test]
fn tables_take_pages_of_area_or_log() {
    use TablePlace::{Area, InLog};
    let without_checkpoints = |layout: MetadataLayout| MetadataLayout { checkpoint_every_pages: 0, ..layout };
    assert_eq!(shape(without_checkpoints(tables(InLog, InLog))), Err("checkpoint_every".to_owned()));
    let wide = MetadataLayout { map_entry_bytes: 33, ..tables(InLog, InLog) };
    assert_eq!(shape(wide), Err("map_entry_bytes".to_owned()));
    let whole = MetadataLayout { map_entry_bytes: 32, map_index_bytes: 0, ..tables(InLog, InLog) };
    assert_eq!(shape(whole).unwrap()[3], 18 + 160 + 20, "an entry that fills a page");
    // A checkpoint of 2 pages, plus one page for each of 16 streams; 40 pages of map, 5 of its index, 20 of segment
    // information.
    assert_eq!(shape(tables(InLog, InLog)), Ok([0, 40, 4, 18 + 40 + 5 + 20]));
    // Two alternating checkpoints, and two copies of the index and of the segment information: 86 pages, rounded up
    // to whole segments.
    assert_eq!(shape(tables(InLog, Area)), Ok([88, 18, 4, 40]));
    // A map in the area has no index: 36 + 80 + 40.
    assert_eq!(shape(tables(Area, Area)), Ok([156, 1, 4, 0]));
}

fn numbers(pages: &[Lpn]) -> Vec<u32> {
    pages.iter().map(|page| page.0).collect()
}

/// Takes a checkpoint. Returns the pages that the checkpoint appends, the pages that it writes in place, and the
/// numbers of pages written in place by kind.
fn checkpoint(metadata: &mut Metadata) -> (Vec<u32>, Vec<u32>, [u64; 3]) {
    let (mut in_log, mut in_area) = (Vec::new(), vec![Lpn(99)]);
    metadata.begin_checkpoint(&mut in_log);
    let written = metadata.end_checkpoint(&mut in_area);
    metadata.record_checkpoint(written);
    (numbers(&in_log), numbers(&in_area), written)
}

#[test]
fn checkpoint_in_area_writes_changed_pages_to_alternating_copies() {
    // Two checkpoints of 18 pages, then two copies of 400 pages of map and of 200 pages of segment information.
    let plan = plan(tables(TablePlace::Area, TablePlace::Area), 1600).unwrap();
    assert_eq!((plan.area_pages, plan.segments()), (36 + 800 + 400, 91));
    let mut metadata = Metadata::new(plan, 300);
    metadata.set_streams(1).unwrap();
    assert_eq!(metadata.pages_until_checkpoint(), 4);
    metadata.record_write(BlockId(5), 0, Some(&[0, 1, 9].map(Lpn)), 3, Cause::Host);
    assert_eq!(metadata.pages_until_checkpoint(), 1);
    metadata.invalidated(Lpn(17), BlockId(6));
    metadata.record_write(BlockId(5), 0, None, 2, Cause::Host);
    assert_eq!(metadata.pages_until_checkpoint(), 0, "late is due");
    // Changed are entries 0, 1, 9 and 17 of the map, and segments 5 and 6; a checkpoint of one stream is also written.
    assert_eq!(checkpoint(&mut metadata), (vec![], vec![36, 38, 40, 838, 839, 0, 1, 2], [3, 2, 3]));
    assert_eq!(
        (metadata.pages_until_checkpoint(), metadata.outside_log_pages, metadata.counts.checkpoints),
        (4, 8, 1)
    );
    metadata.record_write(BlockId(4), 0, Some(&[Lpn(1)]), 1, Cause::Cleaning);
    // The second checkpoint writes to the other copies and to the other checkpoint area.
    assert_eq!(checkpoint(&mut metadata), (vec![], vec![436, 1038, 18, 19, 20], [1, 1, 3]));
    metadata.record_erase(BlockId(5), Cause::Cleaning);
    metadata.set_streams(3).unwrap();
    assert_eq!(checkpoint(&mut metadata), (vec![], vec![838, 0, 1, 2, 3, 4], [0, 1, 5]));
    let counts = metadata.counts;
    assert_eq!((counts.map_pages, counts.segment_info_pages, counts.checkpoint_pages), (4, 4, 11));
    assert_eq!((counts.moved_pages, counts.written(), metadata.outside_log_pages), (0, 19, 19));
    metadata.count_summary(2);
    assert_eq!((metadata.counts.summary_pages, metadata.outside_log_pages), (2, 21));
}

#[test]
fn checkpoint_in_log_appends_changed_pages_and_their_index() {
    // The metadata pages of the log: 18 of the checkpoint, 40 of the map from 18 on, 5 of its index from 58 on, and
    // 20 of segment information.
    let mut metadata = Metadata::new(plan(tables(TablePlace::InLog, TablePlace::InLog), 160).unwrap(), 60);
    metadata.record_write(BlockId(1), 0, Some(&[0, 5].map(Lpn)), 2, Cause::Host);
    let appended = vec![78, 79, 118, 123, 60, 61, 62];
    assert_eq!(checkpoint(&mut metadata), (appended.clone(), vec![], [0; 3]));
    // Appended pages are counted only when the log writes them.
    assert_eq!(metadata.counts.written(), 0);
    let pages: Vec<Lpn> = appended.into_iter().map(Lpn).collect();
    metadata.record_write(BlockId(2), 0, Some(&pages), 7, Cause::LogMetadata);
    let counts = metadata.counts;
    assert_eq!((counts.map_pages, counts.segment_info_pages, counts.checkpoint_pages), (3, 1, 3));
    assert_eq!((metadata.outside_log_pages, counts.log_pages, counts.checkpoints), (0, 83, 1));
    // A moved page of the map has a new location, so the index changes. A moved page of a checkpoint has no entry in
    // the index.
    metadata.record_write(BlockId(3), 0, Some(&[78, 60].map(Lpn)), 2, Cause::Cleaning);
    assert_eq!(metadata.counts.moved_pages, 2);
    assert_eq!(checkpoint(&mut metadata), (vec![118, 124, 60, 61, 62], vec![], [0; 3]));
    metadata.invalidated(Lpn(61), BlockId(9));
    assert_eq!(checkpoint(&mut metadata).0, [127, 60, 61, 62], "a page of its own that dies is in no map");
}

#[test]
fn layout_with_fixed_streams_rejects_other_placements() {
    let set_streams = |layout: MetadataLayout, placed: u8| {
        Metadata::new(plan(layout, 160).unwrap(), 60).set_streams(placed).map_err(|error| error.to_string())
    };
    let any_streams = MetadataLayout { metadata_streams: 2, ..MetadataLayout::default() };
    assert_eq!((set_streams(any_streams, 1), set_streams(any_streams, 14)), (Ok(()), Ok(())));
    assert!(set_streams(any_streams, 15).unwrap_err().contains("there are 17"));
    let three_streams = MetadataLayout { streams: Some(3), ..any_streams };
    assert_eq!(set_streams(three_streams, 1), Ok(()));
    assert!(set_streams(three_streams, 2).unwrap_err().contains("the placement has 2 and needs 1"));
}

/// Expected values from `fs/f2fs/segment.c` (`f2fs_npages_for_summary_flush`) and from the constants
/// `NAT_JOURNAL_ENTRIES` and `SIT_JOURNAL_ENTRIES` of `f2fs_fs.h`.
#[test]
fn packed_summaries_follow_the_journals() {
    let layout = MetadataLayout {
        summary_bytes_per_page: 7,
        summary: SummaryPlace::Area,
        segment_info_bytes: 74,
        map_index_bytes: 9,
        map_entry_bytes: 4,
        tables: TablePlace::Area,
        checkpoint_every_pages: 16,
        checkpoint_pages: 2,
        packed_summaries: true,
        journal_bytes: 507,
        table_copies: 2,
        ..MetadataLayout::default()
    };
    let plan = MetadataPlan::new(layout, 4096, 512, 512 * 200).unwrap();
    let journals: Vec<u32> = plan.tables.iter().map(|table| table.shape.journal).collect();
    assert_eq!(journals, [0, 38, 6]);
    // The first page holds the summaries of 439 or 440 pages, each other page of 584 or 585: the model omits the
    // footer of 5 bytes.
    let packed = [0, 439, 441, 1023, 1026, 3 * 511].map(|written| plan.packed_pages(written));
    assert_eq!(packed, [1, 1, 2, 2, 3, 3]);
    let mut metadata = Metadata::new(plan, 60);
    metadata.set_streams(2).unwrap();
    let mut size = |stream: u8, pages: u32| {
        metadata.record_open_pages(StreamId(stream), pages);
        metadata.checkpoint_pages()
    };
    assert_eq!([size(0, 300), size(1, 300), size(2, 500), size(0, 512), size(1, 512)], [3, 4, 4, 3, 3]);
}

#[test]
fn invalid_layouts_are_rejected_by_key() {
    let f2fs = MetadataLayout {
        summary_bytes_per_page: 4,
        packed_summaries: true,
        journal_bytes: 8,
        inode_entries: 4,
        on_flush: OnFlush::Map,
        ..tables(TablePlace::InLog, TablePlace::Area)
    };
    assert!(shape(f2fs).is_ok());
    // An inode with as many entries as any other page of the map, or more, is treated like the other pages.
    assert_eq!(shape(MetadataLayout { inode_entries: 873, ..f2fs }), shape(f2fs));
    let wrong: [(&str, MetadataLayout); 8] = [
        (
            "frees_map_entries",
            MetadataLayout {
                frees_map_entries: true,
                map_entry_bytes: 0,
                inode_entries: 0,
                on_flush: OnFlush::Nothing,
                ..f2fs
            },
        ),
        (
            "checkpoint_after_cleaned",
            MetadataLayout { checkpoint_after_cleaned: 1, ..MetadataLayout::default() },
        ),
        ("journal_bytes", MetadataLayout { journal_bytes: 16, ..f2fs }),
        ("journal_bytes", MetadataLayout { packed_summaries: false, ..f2fs }),
        ("packed_summaries", MetadataLayout { summary_bytes_per_page: 0, ..f2fs }),
        ("inode_entries", MetadataLayout { map: TablePlace::Area, ..f2fs }),
        ("on_flush", MetadataLayout { map: TablePlace::Area, inode_entries: 0, ..f2fs }),
        ("on_flush", MetadataLayout { on_flush: OnFlush::Checkpoint, ..MetadataLayout::default() }),
    ];
    for (key, layout) in wrong {
        assert_eq!(shape(layout), Err(key.to_owned()));
    }
}

#[test]
fn flush_writes_changed_map_or_checkpoint() {
    let layout = |on_flush: OnFlush| MetadataLayout {
        on_flush,
        inode_entries: 2,
        ..tables(TablePlace::InLog, TablePlace::Area)
    };
    let metadata_with = |on_flush: OnFlush| Metadata::new(plan(layout(on_flush), 160).unwrap(), 60);
    let flush = |metadata: &mut Metadata| {
        let mut pages = Vec::new();
        let begins = metadata.begin_flush(&mut pages);
        (numbers(&pages), begins)
    };
    let mut map = metadata_with(OnFlush::Map);
    assert_eq!(flush(&mut map), (vec![], false));
    // Two entries in the first page, four in each other page, so entry 7 is in the third. Pages moved by cleaning do
    // not change the inode.
    map.record_write(BlockId(1), 0, Some(&[Lpn(7)]), 1, Cause::Host);
    assert_eq!(flush(&mut map), (vec![60, 62], false));
    map.record_write(BlockId(1), 0, Some(&[Lpn(2)]), 1, Cause::Cleaning);
    assert_eq!(flush(&mut map), (vec![61], false));
    assert_eq!(flush(&mut map), (vec![], false));
    let mut checkpoint = metadata_with(OnFlush::Checkpoint);
    assert_eq!(flush(&mut checkpoint), (vec![], false), "nothing was written yet");
    checkpoint.record_write(BlockId(1), 0, Some(&[Lpn(0)]), 1, Cause::Host);
    assert_eq!(flush(&mut checkpoint), (vec![60], true));
    let written = checkpoint.end_checkpoint(&mut Vec::new());
    checkpoint.record_checkpoint(written);
    assert_eq!((flush(&mut checkpoint), checkpoint.counts.checkpoints), ((vec![], false), 1));
}

/// Metadata of a log with 60 logical pages and segments of 4 pages. Four entries fit in a page of the map and two in
/// a page of the trees.
fn metadata_with_trees(checkpoint_after_cleaned: u32) -> Metadata {
    let layout = MetadataLayout {
        map_entry_bytes: 8,
        frees_map_entries: true,
        tree_entry_bytes: 16,
        checkpoint_every_pages: 100,
        checkpoint_after_cleaned,
        ..MetadataLayout::default()
    };
    // The metadata pages of the log: 40 of the map and 80 of the trees.
    Metadata::new(plan(layout, 160).unwrap(), 60)
}

#[test]
fn trees_change_on_host_writes_but_not_on_moves() {
    let mut metadata = metadata_with_trees(0);
    assert_eq!(metadata.counts.log_pages, 40 + 80);
    metadata.record_write(BlockId(1), 0, Some(&[0, 9].map(Lpn)), 2, Cause::Host);
    metadata.invalidated(Lpn(20), BlockId(2));
    let pages = vec![60, 62, 65, 100, 104, 110];
    assert_eq!(checkpoint(&mut metadata).0, pages);
    let pages: Vec<Lpn> = pages.into_iter().map(Lpn).collect();
    metadata.record_write(BlockId(2), 0, Some(&pages), 6, Cause::LogMetadata);
    assert_eq!((metadata.counts.map_pages, metadata.counts.tree_pages, metadata.counts.written()), (3, 3, 6));
    metadata.record_write(BlockId(3), 0, Some(&[9, 104].map(Lpn)), 2, Cause::Cleaning);
    assert_eq!(checkpoint(&mut metadata).0, [62]);
}

#[test]
fn segment_erase_changes_map_entries_of_its_pages() {
    let mut metadata = metadata_with_trees(0);
    metadata.record_write(BlockId(1), 0, Some(&[0, 60].map(Lpn)), 2, Cause::Host);
    metadata.record_write(BlockId(1), 2, Some(&[Lpn(9)]), 1, Cause::Host);
    metadata.record_write(BlockId(2), 0, Some(&[Lpn(30)]), 1, Cause::Host);
    checkpoint(&mut metadata);
    metadata.record_erase(BlockId(1), Cause::Cleaning);
    assert_eq!(checkpoint(&mut metadata).0, [60, 62], "of pages 0 and 9; the log's own has none");
    metadata.record_erase(BlockId(1), Cause::Cleaning);
    assert_eq!(checkpoint(&mut metadata).0, [0; 0], "nothing was written to it since");
}

#[test]
fn cleaned_segments_make_checkpoint_due() {
    let mut metadata = metadata_with_trees(2);
    metadata.record_write(BlockId(1), 0, Some(&[Lpn(0)]), 1, Cause::Host);
    metadata.record_write(BlockId(2), 0, Some(&[Lpn(5)]), 1, Cause::Cleaning);
    assert_eq!(metadata.pages_until_checkpoint(), 99, "what cleaning moves does not count");
    metadata.record_erase(BlockId(1), Cause::Cleaning);
    assert!(!metadata.is_checkpoint_due_to_cleaning());
    metadata.record_erase(BlockId(3), Cause::Host);
    assert!(!metadata.is_checkpoint_due_to_cleaning(), "that was not cleaning");
    metadata.record_erase(BlockId(4), Cause::Cleaning);
    assert_eq!((metadata.is_checkpoint_due_to_cleaning(), metadata.pages_until_checkpoint()), (true, 0));
    metadata.begin_checkpoint(&mut Vec::new());
    // A segment cleaned during the checkpoint counts for the next checkpoint.
    metadata.record_erase(BlockId(5), Cause::Cleaning);
    metadata.record_checkpoint([0; 3]);
    assert_eq!(metadata.pages_until_checkpoint(), 100);
    metadata.record_erase(BlockId(6), Cause::Cleaning);
    assert_eq!(metadata.pages_until_checkpoint(), 0);
}

#[test]
fn endless_checkpoints_are_detected() {
    let mut metadata = metadata_with_trees(1);
    let repeat_checkpoints = |metadata: &mut Metadata, times: u32| {
        (0..times).for_each(|_| {
            metadata.record_erase(BlockId(1), Cause::Cleaning);
            checkpoint(metadata);
        });
        metadata.has_endless_checkpoints()
    };
    assert!(!repeat_checkpoints(&mut metadata, 40), "as many as there are segments");
    metadata.record_write(BlockId(1), 0, Some(&[0, 1].map(Lpn)), 2, Cause::Host);
    assert!(!repeat_checkpoints(&mut metadata, 41), "the host had written in between");
    assert!(repeat_checkpoints(&mut metadata, 1));
}
