//! Sequence numbers of pages in spare areas.

use super::*;

/// Sequence numbers are stored as 16-bit offsets from the number of the block's first page, if possible.
#[test]
fn sequence_numbers_survive_large_gaps_within_a_block() {
    let mut flash = ideal_nand(3).with_spare_area();
    let first = 1u64 << 40;
    let far = first + u64::from(u16::MAX);
    let sequences = |flash: &Nand<ContentId>, block: u32| -> Vec<u64> {
        let spares = flash.spare_area().unwrap().block(BlockId(block));
        spares.iter().map(|spare| spare.sequence).collect()
    };
    // The last offset that fits in 16 bits and the first one that does not are in the same run.
    program_run(&mut flash, (0, 0), 1, (first, Group::None, 0)).unwrap();
    program_run(&mut flash, (0, 1), 2, (far - 1, Group::None, 0)).unwrap();
    program_run(&mut flash, (1, 0), 1, (5, Group::None, 0)).unwrap();
    flash.tear_program(BlockId(1), 1);
    program_run(&mut flash, (1, 2), 1, (first, Group::None, 0)).unwrap();
    program_run(&mut flash, (0, 3), 1, (2 * first, Group::None, 0)).unwrap();
    assert_eq!(sequences(&flash, 0), [first, far - 1, far, 2 * first]);
    assert_eq!(flash.spare(BlockId(1), 1), PageState::Unreadable);
    program_run(&mut flash, (1, 3), 1, (first + 9, Group::None, 0)).unwrap();
    assert_eq!(sequences(&flash, 1), [5, first, first + 9]);
    // After an erase a block starts again, and its entry is free for another block.
    erase(&mut flash, 0).unwrap();
    program_run(&mut flash, (0, 0), 2, (far, Group::None, 0)).unwrap();
    program_run(&mut flash, (2, 0), 3, (7, Group::None, 0)).unwrap();
    program_run(&mut flash, (2, 3), 1, (first, Group::None, 0)).unwrap();
    assert_eq!(
        [0, 1, 2].map(|block| sequences(&flash, block)),
        [vec![far, far + 1], vec![5, first, first + 9], vec![7, 8, 9, first]]
    );
}
