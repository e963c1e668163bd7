//! Moves and erases by cleaning, and the operations that wait for them.

use super::*;

#[test]
fn moved_page_waits_for_its_own_read() {
    // Units 0 and 1 are read by one operation, unit 2 by another. The first program takes three units, which are in two
    // flash pages.
    let mut steps = reads(0, 0..3, CLEANING);
    steps.extend([read(0, 6, CLEANING), program(1, 0, 3, CLEANING), program(1, 3, 2, CLEANING)]);
    assert_plan(
        TIMING,
        &steps,
        &[
            "read cleaning die 0 21+100 u2",
            "read cleaning die 0 11+100 u1",
            "read cleaning die 0 11+100 u1",
            "program cleaning die 1 21+1000 u2 after 0",
            "program cleaning die 1 11+0 u1 after 1",
            // This program takes the page that was read fourth; no page was read for the units after it.
            "program cleaning die 1 11+1000 u1 after 2",
            "program cleaning die 1 11+0 u1",
        ],
    );
    // Both pages were read by one operation, and each program waits for it.
    let mut steps = reads(0, 0..2, CLEANING);
    steps.extend([program(1, 0, 1, CLEANING), program(1, 1, 1, CLEANING)]);
    assert_plan(
        TIMING,
        &steps,
        &[
            "read cleaning die 0 21+100 u2",
            "program cleaning die 1 11+0 u1 after 0",
            "program cleaning die 1 11+1000 u1 after 0",
        ],
    );
}

#[test]
fn cleaning_erase_waits_for_all_earlier_cleaning() {
    let mut steps =
        vec![read(0, 0, HOST), read(0, 4, CLEANING), program(1, 0, 1, CLEANING), erase(0, CLEANING)];
    // Without cleaning operations since the last erase, the next erase waits for nothing; an erase after a read waits
    // only for that read.
    steps.extend([erase(4, CLEANING), read(8, 0, CLEANING), erase(8, CLEANING)]);
    assert_plan(
        TIMING,
        &steps,
        &[
            "read host die 0 11+100 u1",
            "read cleaning die 0 11+100 u1",
            "program cleaning die 1 11+0 u1 after 1",
            "gate cleaning after 1,2",
            "erase cleaning die 0 1+10000 u1 erases 0 after 3",
            "erase cleaning die 0 1+10000 u1 erases 4",
            "read cleaning die 0 11+100 u1",
            "erase cleaning die 0 1+10000 u1 erases 8 after 6",
        ],
    );
}

#[test]
fn erases_of_other_causes_wait_only_for_such_causes() {
    // The host's erases wait for nothing. Erases for the map wait for all operations of causes other than host and
    // cleaning.
    let steps = [
        read(0, 0, HOST),
        read(1, 0, TRANSLATION),
        program(1, 2, 1, Cause::Validity),
        erase(4, HOST),
        erase(5, TRANSLATION),
        erase(9, Cause::WearLevelling),
    ];
    assert_plan(
        TIMING,
        &steps,
        &[
            "read host die 0 11+100 u1",
            "read other die 1 11+100 u1",
            "gate host after 0,1",
            "program other die 1 11+0 u1 after 2",
            "erase host die 0 1+10000 u1 erases 4",
            "gate other after 1,3",
            "erase other die 1 1+10000 u1 erases 5 after 5",
            // The previous erase counts as well.
            "erase other die 1 1+10000 u1 erases 9",
        ],
    );
}

#[test]
fn all_planes_of_a_superblock_are_erased() {
    let single = FlashTiming { multi_plane: false, ..SUPERBLOCKS };
    let one = "erase host die 0 1+10000 u1";
    assert_plan(single, &[erase(2, HOST)], &[one, one, "gate host erases 2 after 0,1"]);
    assert_plan(SUPERBLOCKS, &[erase(2, HOST)], &["erase host die 0 1+10000 u1 erases 2"]);
    let wide = FlashTiming { layout: Layout { superblock_blocks: 4, ..LAYOUT }, ..SUPERBLOCKS };
    let other = "erase host die 1 1+10000 u1";
    assert_plan(wide, &[erase(0, HOST)], &[one, other, "gate host erases 0 after 0,1"]);
    let wide = FlashTiming { multi_plane: false, ..wide };
    assert_plan(wide, &[erase(0, HOST)], &[one, one, other, other, "gate host erases 0 after 0,1,2,3"]);
    // The erase of each plane waits for all earlier operations.
    assert_plan(
        single,
        &[read(0, 0, CLEANING), erase(0, CLEANING)],
        &[
            "read cleaning die 0 11+100 u1",
            "erase cleaning die 0 1+10000 u1 after 0",
            "erase cleaning die 0 1+10000 u1 after 0",
            "gate cleaning erases 0 after 1,2",
        ],
    );
}

#[test]
fn program_waits_for_the_erase_of_its_block() {
    assert_plan(
        TIMING,
        &[erase(4, HOST), program(4, 0, 2, HOST), program(0, 0, 2, HOST), program(4, 2, 2, CLEANING)],
        &[
            "erase host die 0 1+10000 u1 erases 4",
            "program host die 0 21+1000 u2 after 0",
            "program host die 0 21+1000 u2",
            "program cleaning die 0 21+1000 u2 after 0",
        ],
    );
    // The block's erase by an earlier request ends at `end_ns`: the wait counts as caused by cleaning.
    for (end_ns, waits_ns) in [(50, 43), (8, 1), (7, 0), (2, 0)] {
        let mut test = PlanTest::new(TIMING);
        test.erased.begin(BlockId(4), 99);
        test.erased.end(BlockId(4), 99, end_ns);
        test.plan(&[program(4, 0, 2, HOST), program(0, 0, 2, HOST)]);
        let [waiting, free] = [0, 1].map(|at| test.planner.created[at]);
        assert_eq!((test.nodes[waiting].release_ns, test.nodes[free].release_ns), (7 + waits_ns, 7));
        assert_eq!(test.nodes.wait_parts(waiting), Parts { cleaning_ns: waits_ns, ..Parts::default() });
    }
}

#[test]
fn foreground_cleaning_delays_host_programs() {
    let steps = [
        read(0, 0, CLEANING),
        program(1, 0, 1, CLEANING),
        erase(0, CLEANING),
        program(5, 0, 2, HOST),
        program(5, 2, 2, HOST),
        read(4, 0, CLEANING),
        program(5, 4, 2, HOST),
    ];
    let cleaning = [
        "read cleaning die 0 11+100 u1",
        "program cleaning die 1 11+0 u1 after 0",
        "gate cleaning after 0,1",
        "erase cleaning die 0 1+10000 u1 erases 0 after 2",
    ];
    let mut expected = cleaning.to_vec();
    expected.extend([
        "gate cleaning after 0,1,3",
        "program host die 1 21+1000 u2 after 4",
        "program host die 1 21+1000 u2 after 4",
        "read cleaning die 0 11+100 u1",
        // The gate waits for all cleaning before it, including the earlier gate.
        "gate cleaning after 4,7",
        "program host die 1 21+1000 u2 after 8",
    ]);
    assert_foreground_plan(&steps, &expected);
    let mut expected = cleaning.to_vec();
    let free = "program host die 1 21+1000 u2";
    expected.extend([free, free, "read cleaning die 0 11+100 u1", free]);
    assert_plan(TIMING, &steps, &expected);
    // Reads do not wait, and neither do programs for cleaning.
    let steps = [read(0, 0, CLEANING), read(1, 0, HOST), program(5, 0, 1, HOST)];
    assert_foreground_plan(
        &steps,
        &[
            "read cleaning die 0 11+100 u1",
            "read host die 1 11+100 u1",
            "program host die 1 11+0 u1 after 0,1",
        ],
    );
}

#[test]
fn hashed_pages_are_programmed_before_pages_only_read() {
    // Of three pages that were read, two are hashed, each after its read. Programs take first the hashed pages, then
    // the third page.
    let mut steps = vec![read(0, 0, CLEANING), read(4, 0, CLEANING), read(8, 0, CLEANING)];
    steps.extend([hash(2, CLEANING), program(1, 0, 1, CLEANING), program(1, 1, 2, CLEANING)]);
    let one = "read cleaning die 0 11+100 u1";
    assert_plan(
        TIMING,
        &steps,
        &[
            one,
            one,
            one,
            "hash cleaning 1 a 200 after 0",
            "hash cleaning 1 a 200 after 1",
            "gate cleaning after 3,4",
            "program cleaning die 1 11+0 u1 after 5",
            "program cleaning die 1 11+1000 u1 after 5",
            "program cleaning die 1 11+0 u1 after 2",
        ],
    );
    // A program that takes both a hashed page and a page that was only read waits for both.
    let mut steps = vec![read(0, 0, CLEANING), read(4, 0, CLEANING)];
    steps.extend([hash(1, CLEANING), program(1, 0, 2, CLEANING)]);
    let expected = [one, one, "hash cleaning 1 a 200 after 0", "program cleaning die 1 21+1000 u2 after 1,2"];
    assert_plan(TIMING, &steps, &expected);
    // A hash of no pages is no operation.
    assert_plan(
        TIMING,
        &[hash(0, CLEANING), program(1, 0, 1, CLEANING)],
        &["program cleaning die 1 11+0 u1"],
    );
}

#[test]
fn unwritten_hashed_pages_are_dropped_by_next_hash_or_erase() {
    let one = "read cleaning die 0 11+100 u1";
    // The hash after the second read is of the second page: the first page was a duplicate.
    let steps = [read(0, 0, CLEANING), hash(1, CLEANING), read(4, 0, CLEANING), hash(1, CLEANING)];
    let mut all = steps.to_vec();
    all.extend([program(1, 0, 1, CLEANING), program(1, 1, 1, CLEANING)]);
    let hash_after = |line: usize| format!("hash cleaning 1 a 200 after {line}");
    let (first, second) = (hash_after(0), hash_after(2));
    let mut expected = vec![one, &first, one, &second, "program cleaning die 1 11+0 u1 after 3"];
    expected.push("program cleaning die 1 11+1000 u1");
    assert_plan(TIMING, &all, &expected);
    // After an erase the next victim begins.
    let all = [
        read(0, 0, CLEANING),
        hash(1, CLEANING),
        erase(0, CLEANING),
        read(4, 0, CLEANING),
        program(1, 0, 1, CLEANING),
    ];
    assert_plan(
        TIMING,
        &all,
        &[
            one,
            &first,
            "gate cleaning after 0,1",
            "erase cleaning die 0 1+10000 u1 erases 0 after 2",
            one,
            "program cleaning die 1 11+0 u1 after 4",
        ],
    );
}
