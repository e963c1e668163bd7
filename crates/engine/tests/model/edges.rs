//! The smallest and the fullest stores, and rejected requests and settings.

use crate::naive::cases::Op;
use crate::naive::observe::observe;
use crate::naive::rig::{Rig, Setup, Streams};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::Operation;
use wearwell_engine::layer::{Bytes, Layer, LayerError};
use wearwell_engine::log::{CopyOrder, Reclaim};
use wearwell_engine::nand::Nand;

const POLICIES: [&str; 4] = ["greedy", "fifo", "d_choices", "random"];

fn run(setup: &Setup, ops: &[Op]) -> Rig<Bytes<8>> {
    let mut rig = Rig::new(setup);
    for op in ops {
        rig.step(op).unwrap_or_else(|error| panic!("{setup:?}: {error}"));
        rig.compare();
    }
    rig
}

/// Returns the smallest accepted store, whose logical pages fill all blocks that are not needed as reserve.
fn smallest(pages_per_block: u32, streams: Streams, reclaim: Reclaim, victim: &'static str) -> Setup {
    let reserve = match reclaim {
        Reclaim::InPlace => streams.count(),
        Reclaim::FreePool { low, high } => streams.count() + high.max(low + 1),
    };
    Setup {
        blocks: reserve + 1,
        pages_per_block,
        logical_pages: pages_per_block,
        streams,
        reclaim,
        victim,
        copy_order: CopyOrder::Random,
        ..Setup::default()
    }
}

#[test]
fn stores_with_one_page_or_one_page_blocks_work() {
    let pool = Reclaim::FreePool { low: 1, high: 2 };
    for victim in POLICIES {
        for pages_per_block in [1, 2, 5] {
            for (streams, reclaim) in [
                (Streams::Single, Reclaim::InPlace),
                (Streams::Double, Reclaim::InPlace),
                (Streams::Single, pool),
                (Streams::Double, pool),
                (Streams::Mixing(5, false, false), pool),
            ] {
                let full = smallest(pages_per_block, streams, reclaim, victim);
                let one = Setup { logical_pages: 1, ..full.clone() };
                for setup in [full, one] {
                    run(&setup, &[Op::Sequence(0, 5000), Op::Burst(2, 20_000, true), Op::Trim(vec![0])]);
                }
            }
        }
    }
}

/// The demanded reserve suffices: with all logical pages stored, any workload runs without end. The only block with an
/// invalid page is hard to find at random, and the engine must continue until it finds this block.
#[test]
fn full_store_never_runs_out_of_space() {
    for victim in POLICIES {
        for pages_per_block in [1, 3] {
            for (streams, reclaim) in [
                (Streams::Single, Reclaim::InPlace),
                (Streams::Single, Reclaim::FreePool { low: 1, high: 2 }),
            ] {
                let reserve = if reclaim == Reclaim::InPlace { 1 } else { 3 };
                let logical_pages = (40 - reserve) * pages_per_block;
                let setup = Setup {
                    blocks: 40,
                    pages_per_block,
                    logical_pages,
                    streams,
                    reclaim,
                    victim,
                    choices: 1,
                    ..Setup::default()
                };
                let mut engine = setup.engine::<()>();
                for op in [Op::Sequence(0, 1000), Op::Burst(7, 60_000, false), Op::Sequence(0, 30_000)] {
                    let pages = op.pages(logical_pages);
                    engine
                        .write(&pages, &vec![(); pages.len()], 0)
                        .unwrap_or_else(|error| panic!("{setup:?}: {error}"));
                }
                engine.check().unwrap();
            }
        }
    }
}

#[test]
fn batch_may_exceed_the_device_and_repeat_pages() {
    let rig = run(&Setup::default(), &[Op::Sequence(3, 10_000), Op::Write(vec![4; 300], 0)]);
    assert_eq!(observe(&rig.engine).counters.incoming(Operation::Write), 800 + 300);
    assert_eq!(observe(&rig.engine).mapped_pages, 80);
}

#[test]
fn fully_trimmed_store_can_be_rewritten() {
    for victim in POLICIES {
        let setup = Setup { victim, ..Setup::default() };
        let rig = run(
            &setup,
            &[
                Op::Burst(1, 5000, false),
                Op::TrimAll,
                Op::TrimAll,
                Op::Read((0..80).collect()),
                Op::Sequence(7, 3000),
                Op::TrimAll,
            ],
        );
        let state = observe(&rig.engine);
        assert_eq!(state.mapped_pages, 0);
        assert!(state.blocks.iter().all(|block| block.valid == 0));
    }
}

#[test]
fn empty_and_out_of_range_batches_change_nothing() {
    let setup = Setup::default();
    let mut engine = setup.engine::<Bytes<8>>();
    engine.write(&[Lpn(79)], &[Bytes([7; 8])], 0).unwrap();
    let before = observe(&engine);
    engine.write(&[], &[], 0).unwrap();
    engine.trim(&[]).unwrap();
    engine.read(&[], &mut Vec::new()).unwrap();
    let refusal = Err(LayerError::OutOfRange { page: 80, pages: 80 });
    let pages = [Lpn(0), Lpn(80), Lpn(1)];
    let mut read = Vec::new();
    assert_eq!(engine.write(&pages, &[Bytes::default(); 3], 0), refusal);
    assert_eq!(engine.trim(&pages), refusal);
    assert_eq!(engine.read(&pages, &mut read), refusal);
    assert!(read.is_empty());
    assert_eq!(observe(&engine), before);
    engine.read(&[Lpn(79), Lpn(0)], &mut read).unwrap();
    assert_eq!(read, [Bytes([7; 8]), Bytes::default()], "the last page, and one never written");
}

#[test]
fn impossible_setups_are_refused_with_the_numbers() {
    let error_of =
        |setup: Setup| setup.engine_on::<Nand<()>>(setup.nand()).err().expect("refused").to_string();
    let full = error_of(Setup { logical_pages: 16 * 7, ..Setup::default() });
    for part in ["logical_pages", "112", "at least 17 blocks of 7 pages", "there are 16"] {
        assert!(full.contains(part), "{part:?} is not in {full:?}");
    }
    let pool = |low, high| error_of(Setup { reclaim: Reclaim::FreePool { low, high }, ..Setup::default() });
    assert!(pool(3, 2).contains("0 < low <= high"), "{}", pool(3, 2));
    assert!(pool(0, 2).contains("0 < low <= high"));
    assert!(
        pool(1, u32::MAX)
            .contains("more flash, smaller blocks, more spare space, fewer streams or lower watermarks")
    );
    assert!(error_of(Setup { logical_pages: 0, ..Setup::default() }).contains("at least one page"));
    let mixed = error_of(Setup { streams: Streams::Mixing(3, false, false), ..Setup::default() });
    assert!(mixed.contains("use free_pool"), "{mixed}");
}
