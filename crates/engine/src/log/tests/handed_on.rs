//! Operations that a layer does not implement itself are forwarded, with translated page numbers.

use super::drive::{Drive, Fifo, SINGLE, config};
use crate::counters::Cause;
use crate::layer::tests::seams::{Heard, Listener, Said};
use crate::layer::{
    Abilities, Ability, Answer, Command, Content, Group, Layer, LayerError, LayerExt, LayerReport, Medium,
    MediumExt, Query, Reports, Run,
};
use crate::log::{
    BoxedLayer, LogStore, MetadataLayout, MetadataPlan, ObjectLayout, Objects, Observed, PageTable,
    PassThrough, Reclaim, Segments, Shared, Sparse, StoreConfig, SummaryPlace, TrimLog, TrimRule, TrimUnit,
};
use crate::units::{BlockId, Lpn, StreamId};

/// A layer without a log of its own, on top of a layer that logs its calls.
struct Wrapped {
    name: &'static str,
    layer: BoxedLayer<Content>,
    heard: Heard,
    /// Page of the layer below that stores page 0 of this layer.
    first: u32,
    abilities: Abilities,
    /// Number of reports: of this layer and of the layer below.
    reports: usize,
    final_draw: u64,
}

fn wrapped() -> Vec<Wrapped> {
    let layout = ObjectLayout { object_pages: 4, classes: 1, decay_drive_writes: 9.0 };
    let log = TrimLog { records_per_page: 9, trims_per_write: 9, pages: 1 };
    let all = Abilities::of(&Ability::ALL.map(|ability| (ability, true)));
    let wrap = |name, wrap: &dyn Fn(BoxedLayer<Content>) -> BoxedLayer<Content>, reports| {
        let heard = Heard::default();
        let layer = wrap(Box::new(Listener(heard.clone())));
        Wrapped { name, layer, heard, first: 0, abilities: all, reports, final_draw: 77 }
    };
    let page_by_page = |wrapped: Wrapped| Wrapped { abilities: all.without(Ability::Runs), ..wrapped };
    vec![
        page_by_page(wrap("pass-through", &|lower| Box::new(PassThrough::new(lower, 7)), 2)),
        wrap("observed", &|lower| Box::new(Observed::new(lower)), 1),
        page_by_page(wrap("objects", &|lower| Box::new(Objects::new(lower, layout).unwrap()), 2)),
        page_by_page(wrap("sparse", &|lower| Box::new(Sparse::new(lower, log).unwrap()), 2)),
        // The shared layer is described, and draws its final number, only once.
        Wrapped {
            first: 3,
            abilities: all.without(Ability::Attribution),
            final_draw: 0,
            ..wrap("partition", &|lower| Box::new(Shared::new(lower, &[3, 5]).1.remove(1)), 0)
        },
    ]
}

#[test]
fn wrappers_forward_unhandled_operations() {
    for Wrapped { name, mut layer, heard, first, abilities, reports, final_draw } in wrapped() {
        let (page, below) = ([Lpn(2)], [Lpn(first + 2)]);
        heard.take();
        let expected = Heard::default();
        layer.flush().unwrap();
        expected.note("flush");
        assert_eq!(layer.query(Query::MovedPages(&page)), Answer::Pages(3), "{name}");
        expected.note(Query::MovedPages(&below));
        assert_eq!((layer.atomic_pages(), layer.clean_ahead()), (5, Ok(true)), "{name}");
        expected.note(Query::AtomicPages);
        expected.note(Said::CleanAhead);
        layer.write_atomic(&page, &[Content(9)], 0).unwrap();
        expected.note(Command::WriteAtomic { pages: &below, data: &[Content(9)], hint: 0 });
        let mut read = Vec::new();
        layer.read(&page, &mut read).unwrap();
        assert_eq!(read, [Content(100 + u64::from(below[0].0))], "{name}");
        layer.trim(&page).unwrap();
        expected.note(("trim", &below[..]));
        let data = [Content(4); 2];
        let write = |first| Command::WriteRun { first, data: &data, hint: 5 };
        let trim = |first| Command::TrimRun { first, pages: 2 };
        let done = [layer.command(write(page[0])), layer.command(trim(page[0]))];
        if abilities.has(Ability::Runs) {
            assert_eq!(done, [Ok(Answer::Done(true)), Ok(Answer::Done(true))], "{name}");
            expected.note(write(below[0]));
            expected.note(trim(below[0]));
        } else {
            assert_eq!(done, [Err(LayerError::NotListed), Err(LayerError::NotListed)], "{name}");
        }
        assert_eq!(heard.take(), expected.take(), "{name}");
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
    let heard = Heard::default();
    let layer = || Box::new(Listener(heard.clone()));
    let mut segments = Segments::new(layer(), 3, None);
    assert_eq!((segments.blocks(), segments.pages_per_block()), (2, 3), "two pages are left over");
    heard.take();
    let expected = Heard::default();
    assert_eq!(segments.left_valid(BlockId(1)), 0.75);
    expected.note(Query::LeftValid(&[3, 4, 5].map(Lpn)));
    assert_eq!(segments.clean_ahead(), Ok(true));
    expected.note(Said::CleanAhead);
    segments.notify_cleaning(true);
    expected.note(Said::CleaningAbove { begins: true });
    segments.flush().unwrap();
    expected.note("flush");
    segments.erase(BlockId(1), Cause::Cleaning).unwrap();
    assert_eq!(heard.take(), expected.take(), "nothing is trimmed without a rule");
    assert_eq!((segments.erases(BlockId(0)), segments.erases(BlockId(1))), (0, 1));
    assert!(segments.abilities_below().has(Ability::LeftValid));
    assert_eq!(segments.check(), Err("a defect".to_owned()));
    // Segments keep no metadata and do not fail; without a trim rule they do not need invalidations.
    assert!(!segments.has_own_stream() && !segments.wants_invalidations());
    assert_eq!((segments.metadata_pages(), segments.until_checkpoint()), (0, u64::MAX));
    assert_eq!(
        (segments.take_disturbed(), segments.is_bad(BlockId(0)), segments.set_streams(2)),
        (None, false, Ok(()))
    );
    for (unit, hears) in [(TrimUnit::Page, true), (TrimUnit::Segment, false)] {
        let rule = TrimRule { unit, ..TrimRule::default() };
        assert_eq!(Segments::new(layer(), 3, Some(rule)).wants_invalidations(), hears);
    }
}

/// The abilities of a log depend on its parts and, for forwarded operations, on the layer below.
#[test]
fn abilities_of_log_depend_on_its_parts() {
    let can = |change: fn(&mut StoreConfig)| {
        let mut config = config(7, Reclaim::FreePool { low: 2, high: 2 });
        change(&mut config);
        Drive::new(30, config, SINGLE()).store.abilities()
    };
    let always = [Ability::Attribution, Ability::MoveCounts, Ability::LeftValid, Ability::Runs]
        .map(|ability| (ability, true));
    let plain = Abilities::of(&always).with(Ability::AtomicGroups, true);
    assert_eq!(can(|_| ()), plain);
    assert_eq!(can(|config| config.reclaim = Reclaim::InPlace), plain.without(Ability::AtomicGroups));
    assert_eq!(can(|config| config.deferred_low = Some(1)), plain.with(Ability::Deferral, true));
    assert_eq!(can(|config| config.idle_high = Some(4)), plain.with(Ability::IdleCleaning, true));
    assert_eq!(can(|config| config.prefetch = Some(true)), plain.with(Ability::LookAhead, true));

    let heard = Heard::default();
    let segments = Segments::new(Box::new(Listener(heard.clone())), 2, None);
    let config = config(2, Reclaim::FreePool { low: 1, high: 1 });
    let table = PageTable::new(2, 4, 2);
    let mut log = LogStore::new(config, segments, table, Fifo::default(), SINGLE()).unwrap();
    // Segments do not support atomic groups for the log above.
    let handed_on = [Ability::Deferral, Ability::IdleCleaning].map(|ability| (ability, true));
    assert_eq!(log.abilities(), Abilities::of(&[always.as_slice(), &handed_on].concat()));
    heard.take();
    log.cleaning_above(true);
    let expected = Heard::default();
    expected.note(Said::CleaningAbove { begins: true });
    // The log itself has nothing to gain from cleaning, but the layer below may have.
    assert_eq!(log.command(Command::CleanAhead), Ok(Answer::Done(true)));
    expected.note(Said::CleanAhead);
    assert_eq!(heard.take(), expected.take());
}

/// A summary is written in front of the pages that it lists, or to its location in the area when the segment is full.
#[test]
fn summaries_are_written_with_their_segments() {
    for (summary, runs, pages) in [
        (SummaryPlace::InSegment, [2, 1], [&[0][..], &[1, 2], &[3]]),
        (SummaryPlace::Area, [2, 2], [&[4, 5][..], &[6, 7], &[0]]),
    ] {
        let layout =
            MetadataLayout { summary_bytes_per_page: 8, summary, table_copies: 1, ..Default::default() };
        let plan = MetadataPlan::new(layout, 32, 4, 8).unwrap();
        let heard = Heard::default();
        let layer = Box::new(Listener(heard.clone()));
        let mut segments = Segments::with_metadata(layer, plan, 3, None).with_first_hint(7);
        heard.take();
        let mut page = 0;
        for count in runs {
            let owners: Vec<Lpn> = (0..count).map(Lpn).collect();
            let data = vec![Content(5); owners.len()];
            let (sequence, cause, group) = (page.into(), Cause::Host, Group::None);
            let owners = Some(&owners[..]);
            let run = Run { owners, data: &data, sequence, cause, stream: StreamId(1), group, note: 0 };
            segments.program(BlockId(0), page, run).unwrap();
            page += count;
        }
        let expected = Heard::default();
        for written in pages {
            if *written == [0] {
                expected.note(("write", [Lpn(0)], [Content::default()], 8));
                continue;
            }
            let data = vec![Content(5); written.len()];
            expected.note(Command::WriteRun { first: Lpn(written[0]), data: &data, hint: 8 });
        }
        assert_eq!(heard.take(), expected.take(), "{summary:?}");
        let mut reports = Reports { layers: vec![LayerReport::default()], nand: None };
        segments.describe(&mut reports);
        assert_eq!(reports.layers[0].metadata.unwrap().summary_pages, 1);
    }
}
