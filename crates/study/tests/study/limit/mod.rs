//! Lower bound compared with the exact optimum of small drives.

mod optimum;
mod oracle;

use optimum::{Op, fewest_rewrites};
use proptest::prelude::*;
use wearwell_base::units::Lpn;
use wearwell_study::limit::{FlashGeometry, HistoryRecorder, InitialFlash, WriteHistory, least_rewrites};

fn history(ops: &[Op]) -> WriteHistory {
    let mut recorder = HistoryRecorder::new(16);
    for &op in ops {
        match op {
            Op::Write(page) => recorder.write(Lpn(page.into())),
            Op::Trim(page) => recorder.trim(Lpn(page.into())),
        }
    }
    recorder.take()
}

fn bound(ops: &[Op], blocks: usize, pages_per_block: u8, start: InitialFlash) -> u64 {
    let flash = FlashGeometry { blocks: blocks as u64, pages_per_block: pages_per_block.into() };
    least_rewrites(&history(ops), flash, start)
}

/// Cases computed by hand: two blocks of two pages.
#[test]
fn optimum_of_small_drives_matches_hand_computed_values() {
    let writes = |pages: &[u8]| pages.iter().map(|&page| Op::Write(page)).collect::<Vec<_>>();
    let fewest = |pages: &[u8]| fewest_rewrites(&writes(pages), 2, 2);
    // All pages fit without an erase.
    assert_eq!(fewest(&[0, 1, 2, 0]), Some(0));
    // Pages 0 and 1 share a block, which is free after both are rewritten.
    assert_eq!(fewest(&[0, 1, 2, 0, 1]), Some(0));
    // Page 2 cannot share a block with 0 or 1 without delaying the erase of that block.
    assert_eq!(fewest(&[0, 2, 1, 0, 1, 0]), Some(0));
    // Four pages fill the flash; the fifth write needs an erase and moves the other page of the block.
    assert_eq!(fewest(&[0, 1, 2, 3, 0]), Some(1));
    assert_eq!(fewest(&[0, 1, 2, 3, 0, 1, 0, 1]), Some(4));
    // The fifth page does not fit on the flash.
    assert_eq!(fewest(&[0, 1, 2, 3, 4]), None);
    let mut trimmed = writes(&[0, 1, 2, 3]);
    trimmed.extend([Op::Trim(0), Op::Trim(1), Op::Write(1), Op::Write(0)]);
    assert_eq!(fewest_rewrites(&trimmed, 2, 2), Some(0));
}

/// All sequences of four writes after thirty fixed writes, to five pages on two blocks of three pages.
#[test]
fn bound_is_below_the_optimum_for_all_sequences() {
    let before: Vec<u8> = (0..30).map(|at| (at * 7 % 11) as u8 % 5).collect();
    for_each_sequence(&mut Vec::new(), 4, 5, &mut |pages| {
        let ops: Vec<Op> = before.iter().chain(pages).map(|&page| Op::Write(page)).collect();
        let optimum = fewest_rewrites(&ops, 2, 3).expect("five pages fit into six");
        let bound = bound(&ops, 2, 3, InitialFlash::Erased);
        assert!((1..=optimum).contains(&bound), "{pages:?}: bound {bound}, optimum {optimum}");
    });
}

fn for_each_sequence(pages: &mut Vec<u8>, length: usize, max_page: u8, visit: &mut impl FnMut(&[u8])) {
    if pages.len() == length {
        visit(pages);
        return;
    }
    for page in 0..max_page {
        pages.push(page);
        for_each_sequence(pages, length, max_page, visit);
        pages.pop();
    }
}

/// Numbers of blocks, pages per block and logical pages.
const DRIVES: [(usize, u8, u8); 5] = [(2, 2, 3), (2, 3, 5), (3, 2, 5), (2, 4, 7), (3, 3, 7)];

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn bound_is_below_the_optimum(
        drive in 0..DRIVES.len(), draws in prop::collection::vec((0u8..20, any::<u8>()), 1..40),
    ) {
        let (blocks, pages_per_block, pages) = DRIVES[drive];
        let op = |&(kind, draw): &(u8, u8)| {
            if kind == 0 { Op::Trim(draw % pages) } else { Op::Write(draw % pages) }
        };
        let ops: Vec<Op> = draws.iter().map(op).collect();
        let optimum = fewest_rewrites(&ops, blocks, pages_per_block).expect("all pages fit");
        let erased = bound(&ops, blocks, pages_per_block, InitialFlash::Erased);
        prop_assert!(erased <= optimum, "bound {erased}, optimum {optimum}");
        prop_assert!(bound(&ops, blocks, pages_per_block, InitialFlash::Arbitrary) <= erased);
    }

    /// A stretch may begin with any state of the drive.
    #[test]
    fn sum_of_stretch_bounds_is_below_the_optimum(
        drive in 0..DRIVES.len(), draws in prop::collection::vec(any::<u8>(), 2..40), cut in any::<prop::sample::Index>(),
    ) {
        let (blocks, pages_per_block, pages) = DRIVES[drive];
        let ops: Vec<Op> = draws.iter().map(|draw| Op::Write(draw % pages)).collect();
        let cut = cut.index(ops.len());
        let flash = FlashGeometry { blocks: blocks as u64, pages_per_block: pages_per_block.into() };
        let mut recorder = HistoryRecorder::new(16);
        let mut sum = 0;
        for (at, &op) in ops.iter().enumerate() {
            if at == cut {
                sum += least_rewrites(&recorder.take(), flash, InitialFlash::Erased);
            }
            let Op::Write(page) = op else { unreachable!("writes alone") };
            recorder.write(Lpn(page.into()));
        }
        sum += least_rewrites(&recorder.take(), flash, if cut == 0 { InitialFlash::Erased } else { InitialFlash::Arbitrary });
        prop_assert!(sum <= fewest_rewrites(&ops, blocks, pages_per_block).expect("all pages fit"));
    }
}

/// Nearly full drives, where only the bound `b / (s + 1)` applies.
#[test]
fn drive_without_spare_block_has_positive_bound() {
    for (blocks, pages_per_block, pages) in DRIVES.into_iter().take(4) {
        let ops: Vec<Op> = (0..100).map(|at| Op::Write((at * 7 % 11) as u8 % pages)).collect();
        let optimum = fewest_rewrites(&ops, blocks, pages_per_block).unwrap();
        let bound = bound(&ops, blocks, pages_per_block, InitialFlash::Erased);
        println!(
            "{blocks} x {pages_per_block}, {pages} pages: bound {bound}, optimum {optimum} of {}",
            ops.len()
        );
        assert!(bound <= optimum);
        // A drive with one spare page and blocks of at least three pages.
        assert_eq!(
            bound > 0,
            blocks * usize::from(pages_per_block) == usize::from(pages) + 1 && pages_per_block > 2
        );
    }
}
