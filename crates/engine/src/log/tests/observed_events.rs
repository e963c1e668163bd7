//! Recorded events, compared with the state of the store that caused them.

use super::drive::{DOUBLE, Fifo, PAGES_PER_BLOCK, SINGLE, config, flash};
use crate::layer::{ContentId, EventLog, Layer, Medium, MediumEvent};
use crate::log::{Directory, LogStore, PageTable, Reclaim, Segments, TrimRule};
use crate::nand::Wear;
use crate::placement::Frontiers;
use crate::seed::{Seed, random_below};
use crate::timing::{Journal, RecordingNand};
use crate::units::{BlockId, Lpn};
use std::collections::BTreeMap;

/// State of the flash as reconstructed from observed events.
#[derive(Default)]
struct ObservedState {
    /// Owner and validity of each written physical page.
    pages: BTreeMap<(u32, u32), (Lpn, bool)>,
}

impl ObservedState {
    fn apply(&mut self, events: Vec<(usize, MediumEvent)>, number: usize) {
        for (_, event) in events.into_iter().filter(|(medium, _)| *medium == number) {
            match event {
                MediumEvent::Programmed { block, page, pages, owners, .. } => {
                    assert_eq!(pages as usize, owners.len());
                    for (page, owner) in (page..).zip(owners) {
                        let old = self
                            .pages
                            .values_mut()
                            .find(|(stored_owner, is_valid)| *stored_owner == owner && *is_valid);
                        old.into_iter().for_each(|(_, is_valid)| *is_valid = false);
                        self.pages.insert((block.0, page), (owner, true));
                    }
                }
                MediumEvent::Invalidated(invalidation) => {
                    let page = self
                        .pages
                        .get_mut(&(invalidation.block.0, invalidation.page))
                        .expect("it was written");
                    assert_eq!(*page, (invalidation.owner, true));
                    page.1 = false;
                }
                MediumEvent::Erased { block, .. } => {
                    self.pages.retain(|(stored_block, _), _| *stored_block != block.0)
                }
                MediumEvent::Read { block, pages, .. } => {
                    assert!(
                        pages <= PAGES_PER_BLOCK.max(4)
                            && self.pages.keys().any(|(stored_block, _)| *stored_block == block.0)
                    );
                }
            }
        }
    }

    /// Compares the written and valid pages of each block, and the location of each page, with the store.
    fn assert_matches<M: Medium<Payload = ContentId>>(
        &self,
        store: &LogStore<M, PageTable, Fifo, Frontiers>,
    ) {
        let pages_per_block = store.medium().pages_per_block();
        for block in 0..store.medium().blocks() {
            let of_block = || self.pages.range((block, 0)..(block + 1, 0)).map(|(_, page)| page);
            let (written, valid) =
                (of_block().count() as u32, of_block().filter(|(_, is_valid)| *is_valid).count() as u32);
            assert_eq!(written, store.written(BlockId(block)), "block {block}");
            if written > 0 {
                // Unwritten pages of an open block count as valid in the store.
                let unwritten = pages_per_block - written;
                assert_eq!(valid, store.blocks().valid_pages(BlockId(block)) - unwritten, "block {block}");
            }
        }
        for page in (0..store.logical_pages()).map(Lpn) {
            let location = self.pages.iter().find(|(_, (owner, is_valid))| *owner == page && *is_valid);
            let location = location.map(|((block, page), _)| (BlockId(*block), *page));
            assert_eq!(location, store.directory().location_of(page), "{page:?}");
        }
    }
}

/// Performs random writes of one to three pages and occasional trims with `layer`.
fn run_requests(mut layer: impl FnMut(&[Lpn], Option<&[ContentId]>), pages: u32, seed: u64) {
    let mut random = Seed(seed).random();
    for version in 0..400 {
        let count = 1 + random_below(&mut random, 3) as u32;
        let first = random_below(&mut random, u64::from(pages - count + 1)) as u32;
        let numbers: Vec<Lpn> = (first..first + count).map(Lpn).collect();
        let data = vec![ContentId(version); count as usize];
        layer(&numbers, (random_below(&mut random, 6) > 0).then_some(&data[..]));
    }
}

fn store<M: Medium<Payload = ContentId>>(
    medium: M,
    pages: u32,
    reclaim: Reclaim,
    placement: Frontiers,
) -> LogStore<M, PageTable, Fifo, Frontiers> {
    let table = PageTable::new(pages, medium.blocks(), medium.pages_per_block());
    LogStore::new(config(pages, reclaim), medium, table, Fifo::default(), placement).unwrap()
}

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

fn apply_request<L: Layer<ContentId>>(store: &mut L, pages: &[Lpn], data: Option<&[ContentId]>) {
    match data {
        Some(data) => store.write(pages, data, 0).unwrap(),
        None => store.trim(pages).unwrap(),
    }
}

#[test]
fn observed_flash_matches_store() {
    for (seed, reclaim, placement) in [
        (1, POOL, SINGLE()),
        (2, POOL, DOUBLE()),
        (3, Reclaim::InPlace, SINGLE()),
        (4, Reclaim::InPlace, DOUBLE()),
    ] {
        let (log, mut observed, mut erases) = (EventLog::default(), ObservedState::default(), 0);
        let medium = RecordingNand::new(flash(12, Wear::default()), Journal::paused())
            .with_watcher(Some(log.recorder(7)));
        let mut store = store(medium, 20, reclaim, placement);
        run_requests(
            |pages, data| {
                apply_request(&mut store, pages, data);
                let events = log.take();
                erases +=
                    events.iter().filter(|(_, event)| matches!(event, MediumEvent::Erased { .. })).count();
                observed.apply(events, 7);
                observed.assert_matches(&store);
            },
            20,
            seed,
        );
        store.check().unwrap();
        assert!(erases > 20, "{erases}");
    }
}

#[test]
fn observed_segments_match_log() {
    for trim in [None, Some(TrimRule::default())] {
        let (log, mut observed) = (EventLog::default(), ObservedState::default());
        let medium = RecordingNand::new(flash(20, Wear::default()), Journal::paused())
            .with_watcher(Some(log.recorder(1)));
        let lower = store(medium, 48, POOL, SINGLE());
        let segments = Segments::new(Box::new(lower), 4, trim).with_recorder(Some(log.recorder(0)));
        let mut store = store(segments, 30, POOL, SINGLE());
        let mut below = ObservedState::default();
        run_requests(
            |pages, data| {
                apply_request(&mut store, pages, data);
                let events = log.take();
                observed.apply(events.clone(), 0);
                below.apply(events, 1);
                observed.assert_matches(&store);
            },
            30,
            5,
        );
        store.check().unwrap();
    }
}

#[test]
fn observation_changes_no_result() {
    let run = |watched: bool| {
        let log = EventLog::default();
        let medium = RecordingNand::new(flash(12, Wear::default()), Journal::paused());
        let mut store = store(medium.with_watcher(watched.then(|| log.recorder(0))), 20, POOL, DOUBLE());
        run_requests(|pages, data| apply_request(&mut store, pages, data), 20, 9);
        let mut reports = crate::layer::Reports::default();
        store.describe(&mut reports);
        (reports.layers[0].counters, reports.nand.unwrap().erase_counts, store.final_draw())
    };
    assert_eq!(run(true), run(false));
}
