//! Operations that a layer does not implement itself are forwarded, with translated page numbers.

use super::drive::{Drive, Fifo, SINGLE, config};
use crate::counters::Cause;
use crate::layer::tests::interfaces::{CallLog, EmptyCommand, LoggingLayer};
use crate::layer::{
    Abilities, Ability, Answer, Command, ContentId, Group, Layer, LayerError, LayerExt, LayerReport, Medium,
    MediumExt, Query, Reports, Run,
};
use crate::log::{
    ArrivalObserver, BoxedLayer, LogStore, MetadataLayout, MetadataPlan, ObjectLayer, ObjectLayout,
    PageTable, PassThrough, Reclaim, Segments, SharedLayer, SparseLayer, StoreConfig, SummaryPlace,
    TrimLogConfig, TrimRule, TrimUnit,
};
use crate::units::{BlockId, Lpn, StreamId};

/// A layer without a separate log, on top of a layer that logs its calls.
struct WrapperCase {
    name: &'static str,
    layer: BoxedLayer<ContentId>,
    calls: CallLog,
    /// Page of the layer below that stores page 0 of this layer.
    first: u32,
    abilities: Abilities,
    /// Number of reports, including that of the layer below.
    reports: usize,
    final_draw: u64,
}

fn wrapper_cases() -> Vec<WrapperCase> {
    let layout = ObjectLayout { object_pages: 4, classes: 1, decay_drive_writes: 9.0 };
    let log = TrimLogConfig { records_per_page: 9, trims_per_write: 9, pages: 1 };
    let all = Abilities::of(&Ability::ALL.map(|ability| (ability, true)));
    let case = |name, wrap: &dyn Fn(BoxedLayer<ContentId>) -> BoxedLayer<ContentId>, reports| {
        let calls = CallLog::default();
        let layer = wrap(Box::new(LoggingLayer(calls.clone())));
        WrapperCase { name, layer, calls, first: 0, abilities: all, reports, final_draw: 77 }
    };
    let without_runs =
        |wrapped: WrapperCase| WrapperCase { abilities: all.without(Ability::Runs), ..wrapped };
    vec![
        without_runs(case("pass-through", &|lower| Box::new(PassThrough::new(lower, 7)), 2)),
        case("observed", &|lower| Box::new(ArrivalObserver::new(lower)), 1),
        without_runs(case("objects", &|lower| Box::new(ObjectLayer::new(lower, layout).unwrap()), 2)),
        without_runs(case("sparse", &|lower| Box::new(SparseLayer::new(lower, log).unwrap()), 2)),
        // The shared layer is described, and draws its final number, only once.
        WrapperCase {
            first: 3,
            abilities: all.without(Ability::Attribution),
            final_draw: 0,
            ..case("partition", &|lower| Box::new(SharedLayer::new(lower, &[3, 5]).1.remove(1)), 0)
        },
    ]
}

#[test]
fn wrappers_forward_unhandled_operations() {
    for WrapperCase { name, mut layer, calls, first, abilities, reports, final_draw } in wrapper_cases() {
        let (page, page_below) = ([Lpn(2)], [Lpn(first + 2)]);
        calls.take();
        let expected = CallLog::default();
        layer.flush().unwrap();
        expected.record("flush");
        assert_eq!(layer.query(Query::MovedPages(&page)), Answer::Pages(3), "{name}");
        expected.record(Query::MovedPages(&page_below));
        assert_eq!((layer.atomic_pages(), layer.clean_while_idle()), (5, Ok(true)), "{name}");
        expected.record(Query::AtomicPages);
        expected.record(EmptyCommand::CleanWhileIdle);
        layer.write_atomic(&page, &[ContentId(9)], 0).unwrap();
        expected.record(Command::WriteAtomic { pages: &page_below, data: &[ContentId(9)], hint: 0 });
        let mut read = Vec::new();
        layer.read(&page, &mut read).unwrap();
        assert_eq!(read, [ContentId(100 + u64::from(page_below[0].0))], "{name}");
        layer.trim(&page).unwrap();
        expected.record(("trim", &page_below[..]));
        let data = [ContentId(4); 2];
        let write = |first| Command::WriteRun { first, data: &data, hint: 5 };
        let trim = |first| Command::TrimRun { first, pages: 2 };
        let results = [layer.command(write(page[0])), layer.command(trim(page[0]))];
        if abilities.has(Ability::Runs) {
            assert_eq!(results, [Ok(Answer::Done(true)), Ok(Answer::Done(true))], "{name}");
            expected.record(write(page_below[0]));
            expected.record(trim(page_below[0]));
        } else {
            assert_eq!(
                results,
                [Err(LayerError::RunsUnsupported), Err(LayerError::RunsUnsupported)],
                "{name}"
            );
        }
        assert_eq!(calls.take(), expected.take(), "{name}");
        assert_eq!(layer.abilities(), abilities, "{name}");
        assert_eq!(layer.check(), Err("a defect".to_owned()), "{name}");
        let mut described = Reports::default();
        layer.describe(&mut described);
        assert_eq!((described.layers.len(), layer.final_draw()), (reports, final_draw), "{name}");
    }
}

/// Segments forward queries about a block as queries about its pages.
#[test]
fn segments_forward_block_queries_as_page_queries() {
    let calls = CallLog::default();
    let layer = || Box::new(LoggingLayer(calls.clone()));
    let mut segments = Segments::new(layer(), 3, None);
    assert_eq!((segments.blocks(), segments.pages_per_block()), (2, 3), "two pages are left over");
    calls.take();
    let expected = CallLog::default();
    assert_eq!(segments.left_valid(BlockId(1)), 0.75);
    expected.record(Query::LeftValid(&[3, 4, 5].map(Lpn)));
    assert_eq!(segments.clean_while_idle(), Ok(true));
    expected.record(EmptyCommand::CleanWhileIdle);
    segments.notify_cleaning(true);
    expected.record(EmptyCommand::CleaningAbove { begins: true });
    segments.flush().unwrap();
    expected.record("flush");
    segments.erase(BlockId(1), Cause::Cleaning).unwrap();
    assert_eq!(calls.take(), expected.take(), "nothing is trimmed without a rule");
    assert_eq!((segments.erases(BlockId(0)), segments.erases(BlockId(1))), (0, 1));
    assert!(segments.abilities_below().has(Ability::LeftValid));
    assert_eq!(segments.check(), Err("a defect".to_owned()));
    // These segments store no metadata of the log; without a trim rule they do not need invalidations.
    assert!(!segments.has_metadata_stream() && !segments.wants_invalidations());
    assert_eq!((segments.metadata_pages(), segments.pages_until_checkpoint()), (0, u64::MAX));
    assert_eq!(
        (segments.take_disturbed(), segments.is_bad(BlockId(0)), segments.set_streams(2)),
        (None, false, Ok(()))
    );
    for (unit, wants) in [(TrimUnit::Page, true), (TrimUnit::Segment, false)] {
        let rule = TrimRule { unit, ..TrimRule::default() };
        assert_eq!(Segments::new(layer(), 3, Some(rule)).wants_invalidations(), wants);
        let store = Drive::new(20, config(10, Reclaim::FreePool { low: 1, high: 1 }), SINGLE()).store;
        let segments = Segments::new(Box::new(store), 2, Some(rule));
        assert_eq!(segments.abilities_below().has(Ability::WholeRequests), wants);
    }
}

/// The abilities of a log depend on its parts and, for forwarded operations, on the layer below.
#[test]
fn abilities_of_log_depend_on_its_parts() {
    let abilities_with = |change: fn(&mut StoreConfig)| {
        let mut config = config(7, Reclaim::FreePool { low: 2, high: 2 });
        change(&mut config);
        Drive::new(30, config, SINGLE()).store.abilities()
    };
    let fixed = [Ability::Attribution, Ability::MoveCounts, Ability::LeftValid, Ability::Runs]
        .map(|ability| (ability, true));
    let plain = Abilities::of(&fixed).with(Ability::AtomicGroups, true);
    assert_eq!(abilities_with(|_| ()), plain);
    assert_eq!(
        abilities_with(|config| config.reclaim = Reclaim::InPlace),
        plain.without(Ability::AtomicGroups)
    );
    assert_eq!(abilities_with(|config| config.deferred_low = Some(1)), plain.with(Ability::Deferral, true));
    assert_eq!(abilities_with(|config| config.idle_high = Some(4)), plain.with(Ability::IdleCleaning, true));
    assert_eq!(abilities_with(|config| config.prefetch = Some(true)), plain.with(Ability::Prefetch, true));

    let calls = CallLog::default();
    let segments = Segments::new(Box::new(LoggingLayer(calls.clone())), 2, None);
    let config = config(2, Reclaim::FreePool { low: 1, high: 1 });
    let table = PageTable::new(2, 4, 2);
    let mut log = LogStore::new(config, segments, table, Fifo::default(), SINGLE()).unwrap();
    // Segments do not support atomic groups for the log above.
    let forwarded =
        [Ability::WholeRequests, Ability::Deferral, Ability::IdleCleaning].map(|ability| (ability, true));
    assert_eq!(log.abilities(), Abilities::of(&[fixed.as_slice(), &forwarded].concat()));
    calls.take();
    log.notify_cleaning_above(true);
    let expected = CallLog::default();
    expected.record(EmptyCommand::CleaningAbove { begins: true });
    // Cleaning the log itself gains no space, but the layer below may gain some.
    assert_eq!(log.command(Command::CleanWhileIdle), Ok(Answer::Done(true)));
    expected.record(EmptyCommand::CleanWhileIdle);
    assert_eq!(calls.take(), expected.take());
}

/// A summary is written in front of the pages that it lists or, if it belongs in the area, when the segment is full.
#[test]
fn summaries_are_written_with_their_segments() {
    for (summary, runs, pages) in [
        (SummaryPlace::InSegment, [2, 1], [&[0][..], &[1, 2], &[3]]),
        (SummaryPlace::Area, [2, 2], [&[4, 5][..], &[6, 7], &[0]]),
    ] {
        let layout =
            MetadataLayout { summary_bytes_per_page: 8, summary, table_copies: 1, ..Default::default() };
        let plan = MetadataPlan::new(layout, 32, 4, 8).unwrap();
        let calls = CallLog::default();
        let layer = Box::new(LoggingLayer(calls.clone()));
        let mut segments = Segments::with_metadata(layer, plan, 3, None).with_first_hint(7);
        calls.take();
        let mut page = 0;
        for count in runs {
            let owners: Vec<Lpn> = (0..count).map(Lpn).collect();
            let data = vec![ContentId(5); owners.len()];
            let (sequence, cause, group) = (page.into(), Cause::Host, Group::None);
            let owners = Some(&owners[..]);
            let run = Run { owners, data: &data, sequence, cause, stream: StreamId(1), group, note: 0 };
            segments.program(BlockId(0), page, run).unwrap();
            page += count;
        }
        let expected = CallLog::default();
        for written in pages {
            if *written == [0] {
                expected.record(("write", [Lpn(0)], [ContentId::default()], 8));
                continue;
            }
            let data = vec![ContentId(5); written.len()];
            expected.record(Command::WriteRun { first: Lpn(written[0]), data: &data, hint: 8 });
        }
        assert_eq!(calls.take(), expected.take(), "{summary:?}");
        let mut reports = Reports { layers: vec![LayerReport::default()], nand: None };
        segments.describe(&mut reports);
        assert_eq!(reports.layers[0].metadata.unwrap().summary_pages, 1);
    }
}
