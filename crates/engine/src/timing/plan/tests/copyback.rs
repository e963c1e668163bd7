//! Pages moved within their die by copyback.

use super::*;

/// Blocks 0 and 4 lie on plane 0 of die 0, block 2 on its plane 1, block 1 on die 1.
#[test]
fn whole_pages_are_copied_within_their_plane() {
    let timing = FlashTiming { copyback: true, ..TIMING };
    let moved = |to: Step| [reads(0, 2..4, CLEANING), vec![to]].concat();
    // The read becomes a gate; one operation reads and programs, and takes the channel only for its command.
    let copied = ["gate cleaning", "program cleaning die 0 1+1100 u2 after 0"];
    assert_plan(timing, &moved(program(4, 6, 2, CLEANING)), &copied);
    let read = "read cleaning die 0 21+100 u2";
    let other_plane = |die: u32| format!("program cleaning die {die} 21+1000 u2 after 0");
    assert_plan(timing, &moved(program(2, 6, 2, CLEANING)), &[read, &other_plane(0)]);
    assert_plan(timing, &moved(program(1, 6, 2, CLEANING)), &[read, &other_plane(1)]);
    assert_plan(TIMING, &moved(program(4, 6, 2, CLEANING)), &[read, &other_plane(0)]);
    // A page is not copied back if it is not full, or if it is only a part of the page that was read.
    let half = "program cleaning die 0 11+0 u1 after 0";
    let rest = "program cleaning die 0 11+1000 u1 after 0";
    assert_plan(timing, &moved(program(4, 6, 1, CLEANING)), &[read, half]);
    assert_plan(timing, &moved(program(4, 5, 2, CLEANING)), &[read, rest, half]);
    // Pages that the host writes are not moves by cleaning, so they are not copied back.
    assert_plan(timing, &moved(program(4, 6, 2, HOST)), &[read, "program host die 0 21+1000 u2"]);
}

#[test]
fn only_pages_read_whole_and_alone_are_copied() {
    let timing = FlashTiming { copyback: true, ..TIMING };
    let one = "read cleaning die 0 11+100 u1";
    // The two units are halves of different pages.
    let steps = [read(0, 1, CLEANING), read(0, 2, CLEANING), program(4, 0, 2, CLEANING)];
    assert_plan(timing, &steps, &[one, one, "program cleaning die 0 21+1000 u2 after 0,1"]);
    // Only one unit of the page was read.
    let steps = [read(0, 1, CLEANING), program(4, 0, 2, CLEANING)];
    assert_plan(timing, &steps, &[one, "program cleaning die 0 21+1000 u2 after 0"]);
    // No page was read.
    assert_plan(timing, &[program(4, 0, 2, CLEANING)], &["program cleaning die 0 21+1000 u2"]);
    // The page was hashed.
    let steps = [reads(0, 0..2, CLEANING), vec![hash(1, CLEANING), program(4, 0, 2, CLEANING)]].concat();
    let expected = [
        "read cleaning die 0 21+100 u2",
        "hash cleaning 1 a 200 after 0",
        "program cleaning die 0 21+1000 u2 after 0,1",
    ];
    assert_plan(timing, &steps, &expected);
    // The second page is copied back; the first is not, because its destination is on the other die.
    let steps =
        [reads(0, 0..4, CLEANING), vec![program(1, 0, 2, CLEANING), program(4, 0, 2, CLEANING)]].concat();
    let expected = [
        "read cleaning die 0 21+100 u2",
        "gate cleaning",
        "program cleaning die 1 21+1000 u2 after 0",
        "program cleaning die 0 1+1100 u2 after 1",
    ];
    assert_plan(timing, &steps, &expected);
    // One unit of the first page was written already.
    let steps =
        [reads(0, 0..2, CLEANING), vec![program(1, 0, 1, CLEANING), program(4, 0, 2, CLEANING)]].concat();
    let expected = [
        "read cleaning die 0 21+100 u2",
        "program cleaning die 1 11+0 u1 after 0",
        "program cleaning die 0 21+1000 u2 after 0",
    ];
    assert_plan(timing, &steps, &expected);
}

#[test]
fn copyback_handles_planes_one_by_one() {
    let timing = FlashTiming { copyback: true, ..SUPERBLOCKS };
    // Pages to be copied back are read alone, even if the planes could work together; host reads are not.
    assert_plan(timing, &reads(0, 0..4, HOST), &["read host die 0 41+100 u4"]);
    let steps = [reads(0, 0..4, CLEANING), vec![program(2, 0, 4, CLEANING), erase(0, CLEANING)]].concat();
    assert_plan(
        timing,
        &steps,
        &[
            "gate cleaning",
            "gate cleaning",
            "program cleaning die 0 1+1100 u2 after 0",
            "program cleaning die 0 1+1100 u2 after 1",
            // The erase waits for all four operations, including the reads that became gates.
            "gate cleaning after 0,1,2,3",
            "erase cleaning die 0 1+10000 u1 erases 0 after 4",
        ],
    );
    // The next program cannot join a copyback.
    let steps = [reads(0, 0..2, CLEANING), vec![program(2, 0, 4, CLEANING)]].concat();
    assert_plan(
        timing,
        &steps,
        &["gate cleaning", "program cleaning die 0 1+1100 u2 after 0", "program cleaning die 0 21+1000 u2"],
    );
    // A copyback does not join an earlier program.
    let steps = [read(0, 1, CLEANING), read(0, 4, CLEANING), read(0, 5, CLEANING)];
    let steps = [steps.to_vec(), vec![program(2, 1, 1, CLEANING), program(2, 4, 2, CLEANING)]].concat();
    assert_plan(
        timing,
        &steps,
        &[
            "read cleaning die 0 11+100 u1",
            "gate cleaning",
            "program cleaning die 0 11+1000 u1 after 0",
            "program cleaning die 0 1+1100 u2 after 1",
        ],
    );
}

#[test]
fn copy_waits_for_the_erase_of_its_block_and_no_gate() {
    let timing = FlashTiming { copyback: true, ..TIMING };
    let steps =
        [vec![read(1, 0, HOST), erase(4, HOST)], reads(0, 0..2, CLEANING), vec![program(4, 0, 2, CLEANING)]];
    assert_plan(
        timing,
        &steps.concat(),
        &[
            "read host die 1 11+100 u1",
            "erase host die 0 1+10000 u1 erases 4",
            "gate cleaning",
            "program cleaning die 0 1+1100 u2 after 1,2",
        ],
    );
}
