//! Coordination of cleaning across layers: deferral for the log above, and victims that empty blocks below.

use crate::naive::cases::ops;
use crate::naive::observe::{observe, reports};
use crate::naive::rig::{Engine, Setup};
use proptest::prelude::*;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Layer, LayerExt, no_data};
use wearwell_engine::log::{Directory, Reclaim};
use wearwell_engine::nand::Nand;

/// Recounts, from the directory, the valid pages in the blocks that hold any of these pages, without these pages.
fn recount_left_valid(store: &Engine<Nand<()>>, trimmed: std::ops::Range<u32>) -> f64 {
    let blocks: Vec<BlockId> = (0..store.blocks().len())
        .map(BlockId)
        .filter(|&block| trimmed.clone().any(|page| store.directory().block_of(Lpn(page)) == Some(block)))
        .collect();
    let is_left_valid = |page: &u32| {
        let holder = store.directory().block_of(Lpn(*page));
        !trimmed.contains(page) && holder.is_some_and(|holder| blocks.contains(&holder))
    };
    let left_valid = (0..store.logical_pages()).filter(is_left_valid).count() as f64;
    if blocks.is_empty() {
        0.0
    } else {
        left_valid / (blocks.len() as f64 * f64::from(store.blocks().pages_per_block()))
    }
}

proptest! {
    #[test]
    fn left_valid_answer_matches_a_recount(
        ops in ops(25), first in 0..80u32, pages in 0..40u32, seed in any::<u64>(),
    ) {
        let setup = Setup { seed, ..Setup::default() };
        let mut store = setup.engine::<()>();
        for op in ops {
            let pages = op.pages(setup.logical_pages);
            store.write(&pages, no_data(pages.len()), op.hint()).unwrap();
        }
        let end = (first + pages).min(setup.logical_pages);
        let found = store.left_valid(&(first..end).map(Lpn).collect::<Vec<_>>());
        prop_assert!((found - recount_left_valid(&store, first..end)).abs() < 1e-12, "{found}");
    }

    /// Both policies draw the same blocks, and flash has no layer below.
    #[test]
    fn completing_on_flash_behaves_like_d_choices(ops in ops(60), seed in any::<u64>()) {
        let stores = ["completing", "d_choices"].map(|victim| {
            let setup = Setup { seed, victim, choices: 10, ..Setup::default() };
            let mut store = setup.engine::<()>();
            for op in &ops {
                let pages = op.pages(setup.logical_pages);
                store.write(&pages, no_data(pages.len()), op.hint()).unwrap();
            }
            store
        });
        observe(&stores[0]).assert_equals(&observe(&stores[1]));
    }
}

fn waiting_store(deferred_low: Option<u32>) -> Engine<Nand<()>> {
    let setup = Setup {
        blocks: 24,
        pages_per_block: 4,
        logical_pages: 64,
        reclaim: Reclaim::FreePool { low: 4, high: 6 },
        deferred_low,
        ..Setup::default()
    };
    let mut store = setup.engine::<()>();
    let all: Vec<Lpn> = (0..64).map(Lpn).collect();
    store.write(&all, no_data(64), 0).unwrap();
    store
}

fn cleaning_erases(store: &Engine<Nand<()>>) -> u64 {
    reports(store).layers[0].counters.outgoing(Cause::Cleaning, Operation::Erase)
}

fn write_blocks(store: &mut Engine<Nand<()>>, blocks: u32) {
    for page in 0..4 * blocks {
        store.write(&[Lpn(page * 5 % 64)], no_data(1), 0).unwrap();
    }
}

/// Of 24 blocks, 16 are full and 8 erased. After four more filled blocks, the pool is at the low watermark; after
/// seven, at the deferred one.
#[test]
fn waiting_store_cleans_from_the_deferred_mark_on() {
    for (deferred, blocks, cleans) in
        [(None, 4, false), (None, 5, true), (Some(1), 7, false), (Some(1), 8, true)]
    {
        let mut store = waiting_store(deferred);
        store.notify_cleaning_above(true);
        write_blocks(&mut store, blocks);
        assert_eq!(cleaning_erases(&store) > 0, cleans, "{deferred:?}, {blocks} blocks");
        store.check().unwrap();
    }
}

#[test]
fn waiting_ends_with_the_last_log_above() {
    let mut store = waiting_store(Some(1));
    store.notify_cleaning_above(true);
    store.notify_cleaning_above(true);
    store.notify_cleaning_above(false);
    write_blocks(&mut store, 6);
    assert_eq!((cleaning_erases(&store), reports(&store).layers[0].deferrals), (0, Some(2)));
    store.notify_cleaning_above(false);
    write_blocks(&mut store, 1);
    assert!(cleaning_erases(&store) >= 4, "the pool is refilled to its high mark");
    store.check().unwrap();
}

/// A store that never had to defer cleaning behaves like a store without the setting.
#[test]
fn unused_deferred_mark_changes_nothing() {
    let stores = [None, Some(2)].map(|deferred| {
        let mut store = waiting_store(deferred);
        write_blocks(&mut store, 40);
        store
    });
    observe(&stores[0]).assert_equals(&observe(&stores[1]));
}

#[test]
fn deferred_mark_out_of_range_is_refused() {
    for (deferred, reclaim) in [
        (0, Reclaim::FreePool { low: 2, high: 2 }),
        (2, Reclaim::FreePool { low: 2, high: 2 }),
        (1, Reclaim::InPlace),
    ] {
        let setup = Setup { reclaim, deferred_low: Some(deferred), logical_pages: 40, ..Setup::default() };
        let refused = setup.engine_on(setup.nand::<()>()).err().expect("a refusal");
        assert_eq!(refused.key, "free_blocks_deferred");
    }
}
