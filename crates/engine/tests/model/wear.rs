//! Flash that wears out: blocks are retired, life ends with an error, and until then no page is lost.

use crate::naive::cases::{Op, op, ops, wearing_setup};
use crate::naive::observe::{observe, reports};
use crate::naive::rig::{Rig, Setup, Stamp, Streams};
use crate::naive::{BlockState, Model};
use proptest::prelude::*;
use wearwell_base::seed::Seed;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::layer::{Bytes, Layer, LayerError, Medium, MediumError};
use wearwell_engine::log::{BlockTable, LogStore, Reclaim};
use wearwell_engine::nand::{Nand, Wear};
use wearwell_engine::placement::Frontiers;

/// Runs engine and model until an operation ends the flash's life, in both with the same error.
fn run_until_end_of_life(setup: &Setup, ops: &[Op]) -> (Rig<Bytes<8>>, Option<LayerError>) {
    let mut rig = Rig::<Bytes<8>>::new(setup);
    for op in ops {
        if let Err(error) = rig.step(op) {
            assert!(matches!(error, LayerError::EndOfLife { .. }), "{error:?}");
            check_reads_after_end_of_life(&mut rig, setup);
            return (rig, Some(error));
        }
        rig.compare();
    }
    (rig, None)
}

/// Checks that written pages can still be read after the end of life. With in-place reclaim, where a victim is erased
/// before its pages are written back, the pages that were in RAM are lost; reading them fails, but never returns
/// wrong data.
fn check_reads_after_end_of_life(rig: &mut Rig<Bytes<8>>, setup: &Setup) {
    if setup.reclaim != Reclaim::InPlace {
        rig.engine.check().unwrap();
    }
    for page in (0..setup.logical_pages).map(Lpn) {
        let mut read = Vec::new();
        match (rig.engine.read(&[page], &mut read), content(&rig.model, page)) {
            (Ok(()), expected) => assert_eq!(Some(read[0]), expected, "{page:?}"),
            (Err(LayerError::Medium(MediumError::BadBlock { .. })), None) => {
                assert_eq!(setup.reclaim, Reclaim::InPlace, "{page:?} is lost");
            }
            (answer, expected) => panic!("{page:?}: {answer:?}, not {expected:?}"),
        }
    }
}

fn content(model: &Model, page: Lpn) -> Option<Bytes<8>> {
    model.content(page).map(Bytes::stamp)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn engine_wears_out_like_the_model(setup in wearing_setup(), ops in ops(25)) {
        run_until_end_of_life(&setup, &ops);
    }

    /// Block endurance varies, which the model does not support: the newest version of each page is compared instead.
    #[test]
    fn no_page_is_lost_until_the_end_of_life(
        setup in wearing_setup(),
        spread in 0.0..0.9f64,
        ops in prop::collection::vec(op(), 1..25),
    ) {
        let wear = Wear { endurance_spread: spread, ..setup.wear };
        let setup = Setup { wear, ..setup };
        let mut engine = setup.engine::<Bytes<8>>();
        let all: Vec<Lpn> = (0..setup.logical_pages).map(Lpn).collect();
        let mut shadow = vec![Bytes::default(); all.len()];
        for (at, op) in ops.iter().enumerate() {
            let pages = op.pages(setup.logical_pages);
            let data: Vec<Bytes<8>> = (0..pages.len() as u64).map(|page| Bytes::stamp(page + 1000 * at as u64)).collect();
            if !matches!(op, Op::Write(..) | Op::Burst(..) | Op::Sequence(..)) {
                continue;
            }
            match engine.write(&pages, &data, 0) {
                Ok(()) => pages.iter().zip(data).for_each(|(page, data)| shadow[page.index()] = data),
                Err(error) => {
                    prop_assert!(matches!(error, LayerError::EndOfLife { .. }), "{:?}", error);
                    break;
                }
            }
            engine.check().unwrap();
            let mut read = Vec::new();
            engine.read(&all, &mut read).unwrap();
            prop_assert_eq!(&read, &shadow);
        }
    }
}

#[test]
fn every_configuration_reaches_its_end_of_life() {
    let wear = Wear { endurance_cycles: Some(6), endurance_spread: 0.0, factory_bad_blocks: 3 };
    for victim in ["greedy", "fifo", "d_choices", "random"] {
        for reclaim in [Reclaim::InPlace, Reclaim::FreePool { low: 1, high: 2 }] {
            for streams in [Streams::Single, Streams::Double] {
                let setup = Setup {
                    blocks: 24,
                    logical_pages: 90,
                    wear,
                    victim,
                    reclaim,
                    streams,
                    ..Setup::default()
                };
                let (rig, error) = run_until_end_of_life(&setup, &vec![Op::Burst(4, 1000, false); 100]);
                assert!(error.is_some(), "{setup:?} did not end");
                let nand = reports(&rig.engine).nand.unwrap();
                assert!(nand.worn_out_blocks > 0 && nand.bad_blocks == nand.worn_out_blocks + 3, "{nand:?}");
                assert!(nand.erase_counts.iter().all(|&erases| erases <= 6));
            }
        }
    }
}

#[test]
fn factory_bad_blocks_are_never_used() {
    let wear = Wear { factory_bad_blocks: 5, ..Wear::default() };
    let setup = Setup { blocks: 21, wear, ..Setup::default() };
    let mut rig = Rig::<Bytes<8>>::new(&setup);
    let bad: Vec<u32> = (0..21).filter(|&block| rig.engine.medium().is_bad(BlockId(block))).collect();
    assert_eq!(bad.len(), 5);
    rig.step(&Op::Sequence(0, 1000)).unwrap();
    rig.step(&Op::Burst(1, 20_000, false)).unwrap();
    rig.compare();
    let state = observe(&rig.engine);
    for block in bad {
        let view = state.blocks[block as usize];
        assert_eq!((view.state, view.written, view.erases), (BlockState::Bad, 0, 0));
        assert!(state.locations.iter().flatten().all(|(place, _)| *place != block));
    }
}

/// Without page identities, the pages of a block that could not be erased cannot be moved elsewhere. Therefore the
/// first worn-out block is reported as an error.
#[test]
fn block_directory_ends_with_the_first_worn_out_block() {
    let wear = Wear { endurance_cycles: Some(2), ..Wear::default() };
    let setup = Setup { wear, ..Setup::default() };
    let nand: Nand<()> = setup.nand();
    let directory = BlockTable::new(setup.logical_pages);
    let mut store =
        LogStore::new(setup.config(), nand, directory, setup.boxed_victim(), Frontiers::single()).unwrap();
    let mut random = Seed(3).random();
    let error = (0..10_000).find_map(|_| {
        let page = Lpn(wearwell_base::seed::random_below(&mut random, setup.logical_pages.into()) as u32);
        store.write(&[page], &[()], 0).err()
    });
    assert!(
        matches!(error, Some(LayerError::Medium(MediumError::WornOut { erases: 2, .. }))),
        "{error:?} instead of the worn-out block"
    );
}
