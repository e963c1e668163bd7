//! Events seen by an observer, compared with the state of the store that caused them.

use super::drive::{DOUBLE, Fifo, PAGES_PER_BLOCK, SINGLE, config, flash};
use crate::layer::{Content, Layer, Medium, Seen, Watch};
use crate::log::{Directory, LogStore, PageTable, Reclaim, Segments, TrimRule};
use crate::nand::Wear;
use crate::placement::Frontiers;
use crate::seed::{Seed, below};
use crate::timing::{Journal, Timed};
use crate::units::{BlockId, Lpn};
use std::collections::BTreeMap;

/// State of the flash as reconstructed from observed events.
#[derive(Default)]
struct Picture {
    /// Owner and validity of each written physical page.
    pages: BTreeMap<(u32, u32), (Lpn, bool)>,
}

impl Picture {
    fn of(&mut self, seen: Vec<(usize, Seen)>, number: usize) {
        for (_, seen) in seen.into_iter().filter(|(medium, _)| *medium == number) {
            match seen {
                Seen::Programmed { block, page, pages, owners, .. } => {
                    assert_eq!(pages as usize, owners.len());
                    for (page, owner) in (page..).zip(owners) {
                        let old = self.pages.values_mut().find(|(own, lives)| *own == owner && *lives);
                        old.into_iter().for_each(|(_, lives)| *lives = false);
                        self.pages.insert((block.0, page), (owner, true));
                    }
                }
                Seen::Invalidated(invalidation) => {
                    let page = self
                        .pages
                        .get_mut(&(invalidation.block.0, invalidation.page))
                        .expect("it was written");
                    assert_eq!(*page, (invalidation.owner, true));
                    page.1 = false;
                }
                Seen::Erased { block, .. } => self.pages.retain(|(own, _), _| *own != block.0),
                Seen::Read { block, pages, .. } => {
                    assert!(
                        pages <= PAGES_PER_BLOCK.max(4) && self.pages.keys().any(|(own, _)| *own == block.0)
                    );
                }
            }
        }
    }

    /// Compares the written and valid pages of each block, and the location of each page, with the store.
    fn agrees<M: Medium<Payload = Content>>(&self, store: &LogStore<M, PageTable, Fifo, Frontiers>) {
        let pages_per_block = store.medium().pages_per_block();
        for block in 0..store.medium().blocks() {
            let of_block = || self.pages.range((block, 0)..(block + 1, 0)).map(|(_, page)| page);
            let (written, valid) =
                (of_block().count() as u32, of_block().filter(|(_, lives)| *lives).count() as u32);
            assert_eq!(written, store.written(BlockId(block)), "block {block}");
            if written > 0 {
                // Unwritten pages of an open block count as valid in the store.
                let ahead = pages_per_block - written;
                assert_eq!(valid, store.blocks().valid_pages(BlockId(block)) - ahead, "block {block}");
            }
        }
        for page in (0..store.logical_pages()).map(Lpn) {
            let place = self.pages.iter().find(|(_, (owner, lives))| *owner == page && *lives);
            let place = place.map(|((block, page), _)| (BlockId(*block), *page));
            assert_eq!(place, store.directory().place_of(page), "{page:?}");
        }
    }
}

/// Performs random writes of one to three pages and occasional trims with `layer`.
fn work(mut layer: impl FnMut(&[Lpn], Option<&[Content]>), pages: u32, seed: u64) {
    let mut random = Seed(seed).random();
    for version in 0..400 {
        let count = 1 + below(&mut random, 3) as u32;
        let first = below(&mut random, u64::from(pages - count + 1)) as u32;
        let numbers: Vec<Lpn> = (first..first + count).map(Lpn).collect();
        let data = vec![Content(version); count as usize];
        layer(&numbers, (below(&mut random, 6) > 0).then_some(&data[..]));
    }
}

fn store<M: Medium<Payload = Content>>(
    medium: M,
    pages: u32,
    reclaim: Reclaim,
    placement: Frontiers,
) -> LogStore<M, PageTable, Fifo, Frontiers> {
    let table = PageTable::new(pages, medium.blocks(), medium.pages_per_block());
    LogStore::new(config(pages, reclaim), medium, table, Fifo::default(), placement).unwrap()
}

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

fn act<L: Layer<Content>>(store: &mut L, pages: &[Lpn], data: Option<&[Content]>) {
    match data {
        Some(data) => store.write(pages, data, 0).unwrap(),
        None => store.trim(pages).unwrap(),
    }
}

#[test]
fn observed_flash_agrees_with_the_store() {
    for (seed, reclaim, placement) in [
        (1, POOL, SINGLE()),
        (2, POOL, DOUBLE()),
        (3, Reclaim::InPlace, SINGLE()),
        (4, Reclaim::InPlace, DOUBLE()),
    ] {
        let (watch, mut picture, mut erases) = (Watch::default(), Picture::default(), 0);
        let medium = Timed::new(flash(12, Wear::default()), Journal::paused()).watched(Some(watch.medium(7)));
        let mut store = store(medium, 20, reclaim, placement);
        work(
            |pages, data| {
                act(&mut store, pages, data);
                let seen = watch.take();
                erases += seen.iter().filter(|(_, seen)| matches!(seen, Seen::Erased { .. })).count();
                picture.of(seen, 7);
                picture.agrees(&store);
            },
            20,
            seed,
        );
        store.check().unwrap();
        assert!(erases > 20, "{erases}");
    }
}

#[test]
fn observed_segments_agree_with_the_log() {
    for trim in [None, Some(TrimRule::default())] {
        let (watch, mut picture) = (Watch::default(), Picture::default());
        let medium = Timed::new(flash(20, Wear::default()), Journal::paused()).watched(Some(watch.medium(1)));
        let lower = store(medium, 48, POOL, SINGLE());
        let segments = Segments::new(Box::new(lower), 4, trim).watched(Some(watch.medium(0)));
        let mut store = store(segments, 30, POOL, SINGLE());
        let mut below = Picture::default();
        work(
            |pages, data| {
                act(&mut store, pages, data);
                let seen = watch.take();
                picture.of(seen.clone(), 0);
                below.of(seen, 1);
                picture.agrees(&store);
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
        let watch = Watch::default();
        let medium = Timed::new(flash(12, Wear::default()), Journal::paused());
        let mut store = store(medium.watched(watched.then(|| watch.medium(0))), 20, POOL, DOUBLE());
        work(|pages, data| act(&mut store, pages, data), 20, 9);
        let mut reports = crate::layer::Reports::default();
        store.describe(&mut reports);
        (reports.layers[0].counters, reports.nand.unwrap().erase_counts, store.final_draw())
    };
    assert_eq!(run(true), run(false));
}
