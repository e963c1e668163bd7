//! Engine and naive model agree on the whole observable state after each operation of any sequence.

use crate::naive::cases::{Op, ops, setup};
use crate::naive::observe::observe;
use crate::naive::rig::{Rig, Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_engine::counters::Operation;
use wearwell_engine::layer::Bytes;
use wearwell_engine::log::{CopyOrder, Reclaim};

fn run_and_compare<P: Stamp>(setup: &Setup, ops: &[Op]) -> Rig<P> {
    let mut rig = Rig::<P>::new(setup);
    rig.compare();
    for op in ops {
        rig.step(op).expect("a store within the documented limits never runs out of space");
        rig.compare();
    }
    rig
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1200))]

    #[test]
    fn engine_agrees_with_page_contents(setup in setup(), ops in ops(14)) {
        run_and_compare::<Bytes<8>>(&setup, &ops);
    }

    #[test]
    fn engine_agrees_in_counting_runs(setup in setup(), ops in ops(14)) {
        run_and_compare::<()>(&setup, &ops);
    }
}

/// Verifies the property tests: their stores must clean, spill pages and select full victims.
#[test]
fn full_store_cleans_with_every_configuration() {
    let pool = Reclaim::FreePool { low: 1, high: 2 };
    let mut spilled = 0;
    for victim in ["greedy", "d_choices", "fifo", "random"] {
        for (streams, reclaim) in [
            (Streams::Single, Reclaim::InPlace),
            (Streams::Double, Reclaim::InPlace),
            (Streams::Single, pool),
            (Streams::Double, pool),
            (Streams::Mixing(4, false, false), pool),
            (Streams::Mixing(3, true, false), pool),
        ] {
            let reserve = streams.count() + if reclaim == pool { 2 } else { 0 };
            let setup = Setup {
                logical_pages: (16 - reserve) * 7,
                streams,
                reclaim,
                victim,
                copy_order: CopyOrder::Random,
                ..Setup::default()
            };
            let ops = [Op::Sequence(0, 1000), Op::Burst(5, 6000, true), Op::Burst(6, 3000, false)];
            let state = observe(&run_and_compare::<Bytes<8>>(&setup, &ops).engine);
            assert!(state.counters.outgoing_total(Operation::Erase) > 50, "{victim}, {streams:?}: cleaning");
            assert!(state.counters.write_amplification().unwrap() > 1.0);
            spilled += state.spilled_pages;
        }
    }
    assert!(spilled > 0, "some stream had to give way to another");
}
