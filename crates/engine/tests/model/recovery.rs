//! The locations of all pages can be rebuilt from the flash alone, and equal seeds give equal runs.

use crate::naive::cases::{Op, ops, setup};
use crate::naive::observe::observe;
use crate::naive::rig::Setup;
use proptest::prelude::*;
use std::collections::HashMap;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::layer::{Bytes, Layer};
use wearwell_engine::log::{Directory, Reclaim};
use wearwell_engine::nand::SpareArea;

/// Returns the location of the newest copy of each logical page, according to the spare areas alone.
fn newest_locations(spare: &SpareArea, blocks: u32) -> HashMap<Lpn, (BlockId, u32)> {
    let mut newest: HashMap<Lpn, (u64, BlockId, u32)> = HashMap::new();
    for block in (0..blocks).map(BlockId) {
        for (page, entry) in (0..).zip(spare.block(block)) {
            let newest_copy = newest.entry(entry.owner).or_insert((entry.sequence, block, page));
            if entry.sequence > newest_copy.0 {
                *newest_copy = (entry.sequence, block, page);
            }
        }
    }
    newest.into_iter().map(|(owner, (_, block, page))| (owner, (block, page))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// This holds for every mapped page. Copies of a trimmed page may remain on flash, and recovery would restore them:
    /// trims need separate records, which the spare areas of data pages cannot provide.
    #[test]
    fn newest_spare_area_locates_every_mapped_page(setup in setup(), ops in ops(14)) {
        let mut store = setup.engine_on(setup.nand::<Bytes<8>>().with_spare_area()).unwrap();
        for op in &ops {
            let pages = op.pages(setup.logical_pages);
            match op {
                Op::Trim(_) | Op::TrimAll => store.trim(&pages).unwrap(),
                Op::Read(_) | Op::Flush => {}
                _ => store.write(&pages, &vec![Bytes::default(); pages.len()], op.hint()).unwrap(),
            }
            let spare = store.medium().spare_area().expect("kept");
            let found = newest_locations(spare, setup.blocks);
            for page in (0..setup.logical_pages).map(Lpn) {
                let Some(block) = store.directory().block_of(page) else { continue };
                let location = (block, store.directory().page_in_block(page).unwrap());
                prop_assert_eq!(found.get(&page), Some(&location), "{:?}", page);
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_runs(setup in setup(), ops in ops(10)) {
        prop_assert_eq!(run(&setup, &ops), run(&setup, &ops));
    }
}

/// Returns a hash of the final state, and the last draw.
fn run(setup: &Setup, ops: &[Op]) -> (u64, u64) {
    let mut store = setup.engine::<()>();
    for op in ops {
        let pages = op.pages(setup.logical_pages);
        match op {
            Op::Trim(_) | Op::TrimAll => store.trim(&pages).unwrap(),
            Op::Read(_) | Op::Flush => {}
            _ => store.write(&pages, &vec![(); pages.len()], op.hint()).unwrap(),
        }
    }
    (observe(&store).hash(), store.final_draw())
}

#[test]
fn another_seed_gives_another_run() {
    let ops = [Op::Sequence(0, 1000), Op::Burst(1, 10_000, false)];
    let setup = |seed| Setup { victim: "d_choices", reclaim: Reclaim::InPlace, seed, ..Setup::default() };
    let (one, other) = (run(&setup(1), &ops), run(&setup(2), &ops));
    assert!(one.0 != other.0 && one.1 != other.1, "the seed reaches victims and final draw");
}

#[test]
fn trimmed_page_remains_on_flash() {
    let setup = Setup::default();
    let mut store = setup.engine_on(setup.nand::<()>().with_spare_area()).unwrap();
    store.write(&[Lpn(5)], &[()], 0).unwrap();
    store.trim(&[Lpn(5)]).unwrap();
    let spare = store.medium().spare_area().unwrap();
    assert!(
        newest_locations(spare, setup.blocks).contains_key(&Lpn(5)),
        "why trims need a record of their own"
    );
    assert_eq!(store.directory().block_of(Lpn(5)), None);
}
