//! The store and the naive model process the same operations.

use super::naive::cases::{Op, ops, setup, wearing_setup};
use super::naive::rig::{Rig, Setup, Streams};
use crate::layer::Bytes;
use crate::log::{CopyOrder, Reclaim};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn store_agrees_with_model_after_each_operation(setup in setup(), ops in ops(14)) {
        let mut rig = Rig::<Bytes<8>>::new(&setup);
        for op in &ops {
            rig.step(op).unwrap();
            rig.compare();
        }
    }

    /// Counting runs on flash that wears out: store and model reach the end of life together.
    #[test]
    fn store_and_model_wear_out_together(setup in wearing_setup(), ops in ops(14)) {
        let setup = Setup { reclaim: Reclaim::FreePool { low: 1, high: 2 }, ..setup };
        let room = setup.logical_pages.div_ceil(setup.pages_per_block) + setup.streams.count() + 2;
        let setup = Setup { blocks: setup.blocks.max(room + setup.wear.factory_bad_blocks), ..setup };
        let mut rig = Rig::<()>::new(&setup);
        for op in &ops {
            if rig.step(op).is_err() {
                break;
            }
            rig.compare();
        }
    }
}

/// Stores with as many logical pages as possible, with all combinations of streams and reclaim methods.
#[test]
fn full_stores_agree_with_model() {
    let pool = Reclaim::FreePool { low: 1, high: 2 };
    for victim in ["greedy", "d_choices", "fifo", "random"] {
        for (streams, reclaim) in [
            (Streams::Single, Reclaim::InPlace),
            (Streams::Double, Reclaim::InPlace),
            (Streams::Double, pool),
            (Streams::Mixing(4, false, false), pool),
            (Streams::Mixing(3, true, false), Reclaim::FreePool { low: 2, high: 2 }),
        ] {
            let reserve = streams.count() + if reclaim == Reclaim::InPlace { 0 } else { 3 };
            let logical_pages = (16 - reserve) * 7;
            let copy_order = CopyOrder::Random;
            let setup = Setup { logical_pages, streams, reclaim, victim, copy_order, ..Setup::default() };
            let mut rig = Rig::<Bytes<8>>::new(&setup);
            for op in [Op::Sequence(0, 1000), Op::Burst(5, 2500, true), Op::Burst(6, 2500, false)] {
                rig.step(&op).unwrap();
                rig.compare();
            }
        }
    }
}
