//! Reads, programs and hashes of the host.

use super::*;

#[test]
fn no_steps_make_no_operations() {
    assert_plan(TIMING, &[], &[]);
}

#[test]
fn units_of_a_flash_page_are_read_together() {
    let steps = reads(4, 0..3, HOST);
    assert_plan(TIMING, &steps, &["read host die 0 21+100 u2", "read host die 0 11+100 u1"]);
    // The units may come in any order; a unit read twice is transferred twice.
    let steps = [read(1, 3, HOST), read(1, 2, HOST), read(1, 2, HOST)];
    assert_plan(TIMING, &steps, &["read host die 1 31+100 u3"]);
}

#[test]
fn separate_reads_are_separate_operations() {
    let one = "read host die 0 11+100 u1";
    // A unit of another block on the same die, of another flash page, or after another operation is a separate read.
    assert_plan(TIMING, &[read(0, 0, HOST), read(4, 1, HOST)], &[one, one]);
    assert_plan(TIMING, &[read(0, 1, HOST), read(0, 2, HOST)], &[one, one]);
    assert_plan(TIMING, &[read(0, 0, HOST), read(0, 2, HOST), read(0, 1, HOST)], &[one, one, one]);
    let steps = [read(0, 0, HOST), hash(1, HOST), read(0, 1, HOST)];
    assert_plan(TIMING, &steps, &[one, "hash host 1 a 200", one]);
    // Reads with another cause are separate reads.
    let steps = [read(0, 0, HOST), read(0, 1, Cause::Dedup)];
    assert_plan(TIMING, &steps, &[one, "read other die 0 11+100 u1"]);
}

#[test]
fn planes_read_a_row_together() {
    // Flash pages 0 and 1 are row 0 of both planes, 2 and 3 row 1.
    let rows = ["read host die 0 41+100 u4", "read host die 0 21+100 u2"];
    assert_plan(SUPERBLOCKS, &reads(0, 0..6, HOST), &rows);
    assert_plan(SUPERBLOCKS, &reads(0, 2..4, HOST), &rows[1..]);
    let single = FlashTiming { multi_plane: false, ..SUPERBLOCKS };
    assert_plan(single, &reads(0, 0..6, HOST), &[rows[1]; 3]);
    // Dies work independently, even in the same row.
    let wide = FlashTiming { layout: Layout { superblock_blocks: 4, ..LAYOUT }, ..SUPERBLOCKS };
    assert_plan(wide, &reads(0, 0..8, HOST), &[rows[0], "read host die 1 41+100 u4"]);
}

#[test]
fn flash_page_is_programmed_with_its_last_unit() {
    // Unit 1 is the last of flash page 0; units 2 and 3 are page 1; of page 2, only the first unit is written.
    assert_plan(
        TIMING,
        &[program(1, 1, 4, HOST)],
        &["program host die 1 11+1000 u1", "program host die 1 21+1000 u2", "program host die 1 11+0 u1"],
    );
    assert_plan(TIMING, &[program(1, 0, 1, HOST)], &["program host die 1 11+0 u1"]);
    assert_plan(TIMING, &[program(1, 0, 2, HOST)], &["program host die 1 21+1000 u2"]);
    let other = "program other die 0 21+1000 u2";
    assert_plan(TIMING, &[program(0, 0, 2, Cause::LogMetadata)], &[other]);
}

#[test]
fn planes_program_a_row_together() {
    let two_planes = "program host die 0 41+1000 u4";
    assert_plan(SUPERBLOCKS, &[program(0, 0, 4, HOST)], &[two_planes]);
    assert_plan(SUPERBLOCKS, &[program(0, 0, 8, HOST)], &[two_planes, two_planes]);
    // The write begins with the second page of a row; pages 2 and 3 are the next row.
    assert_plan(SUPERBLOCKS, &[program(0, 2, 6, HOST)], &["program host die 0 21+1000 u2", two_planes]);
    // This unit completes a page begun earlier; an incomplete page stays in the buffer.
    assert_plan(SUPERBLOCKS, &[program(0, 1, 3, HOST)], &["program host die 0 31+1000 u3"]);
    let buffered = "program host die 0 11+0 u1";
    assert_plan(SUPERBLOCKS, &[program(0, 0, 3, HOST)], &["program host die 0 21+1000 u2", buffered]);
    // Two steps become two operations, and so do two programs of one plane.
    let one = "program host die 0 21+1000 u2";
    assert_plan(SUPERBLOCKS, &[program(0, 0, 2, HOST), program(0, 2, 2, HOST)], &[one, one]);
    let single = FlashTiming { multi_plane: false, ..SUPERBLOCKS };
    assert_plan(single, &[program(0, 0, 4, HOST)], &[one, one]);
    let wide = FlashTiming { layout: Layout { superblock_blocks: 4, ..LAYOUT }, ..SUPERBLOCKS };
    assert_plan(wide, &[program(0, 0, 8, HOST)], &[two_planes, "program host die 1 41+1000 u4"]);
}

#[test]
fn striped_die_programs_its_planes_together() {
    let striping = Striping::Drive;
    let striped = FlashTiming { layout: Layout { striping, ..LAYOUT }, multi_plane: true, ..TIMING };
    // Flash pages 0 and 1 are a row of die 0, pages 2 and 3 a row of die 1: four units each.
    let row = "program host die 0 41+1000 u4";
    assert_plan(striped, &[program(0, 0, 8, HOST)], &[row, "program host die 1 41+1000 u4"]);
    assert_plan(striped, &[program(0, 0, 2, HOST)], &["program host die 0 21+0 u2"]);
    assert_plan(striped, &[program(0, 0, 3, HOST)], &["program host die 0 31+0 u3"]);
    assert_plan(striped, &[program(0, 3, 1, HOST)], &["program host die 0 11+1000 u1"]);
    assert_plan(
        striped,
        &[program(0, 2, 4, HOST)],
        &["program host die 0 21+1000 u2", "program host die 1 21+0 u2"],
    );
    // Block 1 continues where block 0 ended; erases go to the same dies as without striping.
    assert_plan(striped, &[program(1, 0, 4, HOST)], &[row]);
    assert_plan(striped, &[erase(1, CLEANING)], &["erase cleaning die 1 1+10000 u1 erases 1"]);
    let single = FlashTiming { multi_plane: false, ..striped };
    let one = "program host die 0 21+1000 u2";
    assert_plan(single, &[program(0, 0, 4, HOST)], &[one, one]);
}

#[test]
fn programs_of_a_block_follow_each_other_on_each_die() {
    let mut test = PlanTest::new(TIMING);
    test.plan(&[program(0, 0, 4, HOST), program(1, 0, 2, HOST), program(0, 4, 2, HOST)]);
    let created = &test.planner.created;
    let followers: Vec<Option<usize>> = created
        .iter()
        .map(|&id| created.iter().position(|&other| other == test.nodes[id].follower))
        .collect();
    // Two pages of block 0, the page of block 1, and the third page of block 0.
    assert_eq!(followers, [Some(1), Some(3), None, None]);
}

#[test]
fn programs_wait_for_the_reads_before_them() {
    let one = "read host die 0 11+100 u1";
    let steps = [read(0, 0, HOST), program(1, 0, 2, HOST)];
    assert_plan(TIMING, &steps, &[one, "program host die 1 21+1000 u2 after 0"]);
    let steps = [
        read(0, 0, HOST),
        read(4, 0, HOST),
        program(1, 0, 2, HOST),
        program(1, 2, 2, HOST),
        read(0, 8, HOST),
        program(1, 4, 2, TRANSLATION),
    ];
    assert_plan(
        TIMING,
        &steps,
        &[
            one,
            one,
            "gate host after 0,1",
            "program host die 1 21+1000 u2 after 2",
            "program host die 1 21+1000 u2 after 2",
            one,
            // The gate also waits for the earlier reads.
            "gate host after 2,5",
            "program other die 1 21+1000 u2 after 6",
        ],
    );
    // The host's programs do not wait for reads by cleaning.
    let steps = [read(0, 0, CLEANING), program(1, 0, 2, HOST)];
    assert_plan(TIMING, &steps, &["read cleaning die 0 11+100 u1", "program host die 1 21+1000 u2"]);
}

#[test]
fn spare_areas_are_read_one_by_one_before_their_pages() {
    let one = "read host die 0 2+3 u0";
    let steps = [spare(0, 0, HOST), spare(0, 1, HOST), read(0, 1, HOST), program(1, 0, 2, HOST)];
    let page = "read host die 0 11+100 u1 after 1";
    assert_plan(
        TIMING,
        &steps,
        &[one, one, page, "gate host after 0,1,2", "program host die 1 21+1000 u2 after 3"],
    );
    // A read of another page does not wait, and a read of the map's spare area counts as a read of the map.
    let steps = [spare(0, 0, HOST), read(0, 4, HOST), spare(0, 2, TRANSLATION), read(1, 0, HOST)];
    let after_map = "read host die 1 11+100 u1 after 2";
    assert_plan(TIMING, &steps, &[one, "read host die 0 11+100 u1", "read other die 0 2+3 u0", after_map]);
    // A victim is erased after the reads of its spare areas; these are not pages to be moved.
    let steps = [spare(0, 0, CLEANING), read(0, 0, CLEANING), program(1, 0, 1, CLEANING), erase(0, CLEANING)];
    assert_plan(
        TIMING,
        &steps,
        &[
            "read cleaning die 0 2+3 u0",
            "read cleaning die 0 11+100 u1 after 0",
            "program cleaning die 1 11+0 u1 after 1",
            "gate cleaning after 0,1,2",
            "erase cleaning die 0 1+10000 u1 erases 0 after 3",
        ],
    );
}

#[test]
fn spare_area_is_read_on_the_die_of_its_page() {
    // Rows of superblocks over both dies: the first two flash pages of two units lie on die 0, the next two on die 1.
    let wide = FlashTiming { layout: Layout { superblock_blocks: 4, ..LAYOUT }, ..SUPERBLOCKS };
    for (page, die) in [(0, 0), (3, 0), (4, 1), (7, 1), (8, 0), (12, 1)] {
        let lines = [format!("read host die {die} 2+3 u0"), format!("read host die {die} 11+100 u1 after 0")];
        assert_plan(wide, &[spare(0, page, HOST), read(0, page, HOST)], &[&lines[0], &lines[1]]);
    }
}

#[test]
fn host_reads_wait_for_the_map() {
    let map = "read other die 0 11+100 u1";
    let steps = [
        read(8, 0, HOST),
        read(0, 0, TRANSLATION),
        read(1, 0, HOST),
        read(0, 4, TRANSLATION),
        read(1, 4, HOST),
        read(1, 5, HOST),
        program(1, 8, 2, HOST),
    ];
    assert_plan(
        TIMING,
        &steps,
        &[
            "read host die 0 11+100 u1",
            map,
            "read host die 1 11+100 u1 after 1",
            map,
            // This read waits for the last read of the map, once for both units.
            "read host die 1 21+100 u2 after 3",
            "gate host after 0,1,2,3,4",
            "program host die 1 21+1000 u2 after 5",
        ],
    );
    // Other causes do not use the map, and host reads do not wait for them.
    let steps =
        [read(0, 0, Cause::Validity), read(1, 0, HOST), read(0, 2, TRANSLATION), read(1, 2, Cause::Dedup)];
    assert_plan(TIMING, &steps, &[map, "read host die 1 11+100 u1", map, "read other die 1 11+100 u1"]);
}

#[test]
fn programs_wait_for_the_last_hash() {
    let steps = [
        hash(3, HOST),
        program(0, 0, 2, HOST),
        Step::Hash { pages: 1, cause: HOST, percent: 25 },
        hash(2, Cause::Dedup),
        read(1, 0, HOST),
        program(0, 2, 2, HOST),
    ];
    assert_plan(
        TIMING,
        &steps,
        &[
            "hash host 3 a 200",
            "program host die 0 21+1000 u2 after 0",
            "hash host 1 a 50",
            "hash other 2 a 200",
            "read host die 1 11+100 u1",
            "program host die 0 21+1000 u2 after 3,4",
        ],
    );
}
