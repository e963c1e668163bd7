//! Flash that wears out, fails to program, or suffers read disturb; blocks of 3 pages.

use super::drive::{DOUBLE, Drive, SINGLE, build, config, flash};
use crate::counters::{Cause, Operation};
use crate::layer::{ContentId, Layer, LayerError, MediumError};
use crate::log::Reclaim;
use crate::nand::{Faults, Wear};
use crate::placement::Frontiers;
use crate::seed::{Seed, random_below};
use crate::units::Lpn;

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

#[test]
fn drive_with_too_few_blocks_reaches_end_of_life() {
    // Each block can be erased once. Three logical pages need one full block and the open block.
    let one_cycle = Wear { endurance_cycles: Some(1), ..Wear::default() };
    let mut drive =
        Drive::from_store(build(config(3, Reclaim::InPlace), flash(3, one_cycle), SINGLE()).unwrap());
    let round = [0, 1, 2];
    (0..6).for_each(|_| drive.write(&round));
    assert_eq!(drive.layout(), ["(0) (1) (2)", "(0) (1) (2)", "0 1 2"]);
    assert_eq!(drive.cleaning_counts(), [0, 0, 3]);
    // The first victim wears out, which leaves the two needed blocks; then the second victim wears out.
    let end = LayerError::EndOfLife { usable_blocks: 1, needed_blocks: 2 };
    assert_eq!(drive.store.write(&[Lpn(0)], &[ContentId(99)], 0), Err(end));
    assert_eq!(drive.layout(), ["bad", "bad", "0 1 2"]);
    let (layer, nand) = drive.reports();
    assert_eq!(
        layer.counters.incoming(Operation::Write),
        18,
        "what a dying drive did not take is not counted"
    );
    assert_eq!((nand.bad_blocks, nand.worn_out_blocks, nand.erases), (2, 2, 3));
    drive.check();
}

#[test]
fn drive_keeps_all_pages_until_end_of_life() {
    // Four pages need two full blocks, the open block, and the erased block that the pool keeps.
    let two_cycles = Wear { endurance_cycles: Some(2), ..Wear::default() };
    let mut drive = Drive::from_store(build(config(4, POOL), flash(6, two_cycles), SINGLE()).unwrap());
    let mut random = Seed(2).random();
    let mut written = 0;
    let error = loop {
        let page = random_below(&mut random, 4) as u32;
        match drive.store.write(&[Lpn(page)], &[ContentId(written + 1)], 0) {
            Ok(()) => drive.expected[page as usize] = written + 1,
            Err(error) => break error,
        }
        written += 1;
        drive.check();
    };
    assert!(error.is_end_of_life(), "{error}");
    drive.check();
    let (layer, nand) = drive.reports();
    assert_eq!(layer.counters.incoming(Operation::Write), written);
    assert!(nand.erases >= 8 && nand.worn_out_blocks == nand.bad_blocks, "{nand:?}");
    assert!(nand.erase_counts.iter().all(|erases| *erases <= 2));
}

#[test]
fn bad_blocks_are_never_used() {
    let bad = Wear { factory_bad_blocks: 2, ..Wear::default() };
    let mut drive = Drive::from_store(build(config(4, Reclaim::InPlace), flash(6, bad), SINGLE()).unwrap());
    (0..40).for_each(|step| drive.write(&[step % 4, 3 * step % 4]));
    assert_eq!(drive.layout().iter().filter(|row| *row == "bad").count(), 2);
    drive.check();
    assert_eq!(drive.reports().1.worn_out_blocks, 0);
}

/// Creates a drive whose programs fail with probability `rate`.
fn failing_drive(rate: f64, reclaim: Reclaim, seed: u64) -> Drive<Frontiers> {
    let faults = Faults { program_failure_rate: rate, read_disturb_limit: None };
    let nand = flash(40, Wear::default()).with_faults(faults, Seed(seed));
    Drive::from_store(build(config(30, reclaim), nand, SINGLE()).unwrap())
}

#[test]
fn failed_programs_are_repeated_elsewhere() {
    for (seed, reclaim) in (1..7).zip([POOL, Reclaim::FreePool { low: 2, high: 4 }].into_iter().cycle()) {
        let mut drive = failing_drive(0.02, reclaim, seed);
        let mut random = Seed(seed).random();
        let mut last_bad = 0;
        let error = loop {
            // Writes runs of several pages, so that a program can fail in the middle of a run.
            let first = random_below(&mut random, 26) as u32;
            let pages: Vec<Lpn> = (first..first + 1 + random_below(&mut random, 4) as u32).map(Lpn).collect();
            let versions: Vec<u64> = (drive.version + 1..).take(pages.len()).collect();
            drive.version += pages.len() as u64;
            let data: Vec<ContentId> = versions.iter().map(|&version| ContentId(version)).collect();
            if let Err(error) = drive.store.write(&pages, &data, 0) {
                break error;
            }
            pages.iter().zip(versions).for_each(|(page, version)| drive.expected[page.index()] = version);
            drive.check();
            let (layer, nand) = drive.reports();
            assert_eq!(layer.counters.incoming(Operation::Write), drive.version);
            assert_eq!(layer.counters.outgoing(Cause::Host, Operation::Write), drive.version);
            assert_eq!(
                layer.counters.outgoing_total(Operation::Write),
                nand.programs,
                "failures are no writes"
            );
            assert_eq!(layer.counters.outgoing_total(Operation::Read), nand.reads);
            assert!(nand.bad_blocks >= last_bad);
            last_bad = nand.bad_blocks;
        };
        assert!(error.is_end_of_life(), "{error}");
        // Ten blocks are full; the open and erased blocks are needed in addition.
        assert!((4..=31 - reclaim.reserved_blocks(1)).contains(&last_bad), "{last_bad} blocks failed");
        assert_eq!(drive.reports().1.erases, drive.cleaning_counts()[2]);
    }
}

#[test]
fn failed_program_without_pool_is_an_error() {
    let mut drive = failing_drive(0.2, Reclaim::InPlace, 1);
    let mut page = 0;
    let error = loop {
        match drive.store.write(&[Lpn(page % 30)], &[ContentId(1)], 0) {
            Ok(()) => page += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LayerError::Medium(MediumError::ProgramFailed { .. })), "{error}");
}

/// Creates a drive whose blocks must be rewritten after four reads.
fn disturbed_drive(blocks: u32) -> Drive<Frontiers> {
    let faults = Faults { program_failure_rate: 0.0, read_disturb_limit: Some(4) };
    let nand = flash(blocks, Wear::default()).with_faults(faults, Seed(1));
    Drive::from_store(build(config(6, POOL), nand, SINGLE()).unwrap())
}

#[test]
fn block_read_too_often_is_rewritten() {
    let mut drive = disturbed_drive(6);
    drive.write(&[0, 1, 2, 3, 4, 5, 1]);
    let read = |drive: &mut Drive, page: u32, times: u32| {
        for _ in 0..times {
            drive.store.read(&[Lpn(page)], &mut Vec::new()).unwrap();
        }
    };
    read(&mut drive, 0, 3);
    assert_eq!(drive.layout()[..3], ["0 (1) 2", "3 4 5", "1 - -"]);
    read(&mut drive, 2, 1);
    // The live pages are appended behind page 1, with wear levelling as the cause; the block itself is cleaned later.
    assert_eq!(drive.layout(), ["(0) (1) (2)", "3 4 5", "1 0 2", "- - -", "- - -", "- - -"]);
    let counters = drive.counters();
    assert_eq!(counters.outgoing(Cause::WearLevelling, Operation::Write), 2);
    assert_eq!(counters.outgoing(Cause::WearLevelling, Operation::Read), 2);
    assert_eq!(drive.cleaning_counts(), [0; 3]);
    // Each block is reported once, and an erase resets its count; reads of other blocks do not count.
    read(&mut drive, 3, 3);
    assert_eq!(drive.counters().outgoing(Cause::WearLevelling, Operation::Write), 2);
    // An open block is closed, and erased once its pages are moved.
    drive.write(&[0]);
    assert_eq!(drive.layout()[3..], ["0 - -", "- - -", "- - -"]);
    read(&mut drive, 0, 9);
    assert_eq!(drive.layout()[3..], ["- - -", "- - -", "0 - -"]);
    assert_eq!(drive.counters().outgoing(Cause::WearLevelling, Operation::Write), 4);
    drive.store.check().unwrap();
}

/// A block is rewritten after the read that reaches the limit, whether reads come alone or together.
#[test]
fn size_of_reads_does_not_change_what_is_rewritten() {
    let reads: Vec<Lpn> = (0..24).map(|at| Lpn(at % 3)).collect();
    let rewritten = |batch: usize| {
        let mut drive = disturbed_drive(7);
        drive.write(&[0, 1, 2, 3, 4, 5]);
        for pages in reads.chunks(batch) {
            drive.store.read(pages, &mut Vec::new()).unwrap();
        }
        drive.store.check().unwrap();
        (drive.layout(), drive.counters().outgoing(Cause::WearLevelling, Operation::Write))
    };
    let alone = rewritten(1);
    // Six times four reads of a block of three pages.
    assert_eq!(alone.1, 18);
    for batch in [2, 3, 5, 24] {
        assert_eq!(rewritten(batch), alone, "{batch} pages together");
    }
}

/// With in-place reclaim, cleaning has an open block only while moved pages have not filled it.
#[test]
fn refresh_with_in_place_reclaim_uses_the_available_block() {
    let faults = Faults { program_failure_rate: 0.0, read_disturb_limit: Some(4) };
    let nand = flash(6, Wear::default()).with_faults(faults, Seed(1));
    let mut drive = Drive::from_store(build(config(9, Reclaim::InPlace), nand, DOUBLE()).unwrap());
    drive.write(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let mut random = Seed(3).random();
    for step in 0..600 {
        let page = random_below(&mut random, 9) as u32;
        match step % 5 {
            0 => drive.write(&[page]),
            _ => drive.store.read(&[Lpn(page)], &mut Vec::new()).unwrap(),
        }
        drive.store.check().unwrap();
    }
    drive.check();
    assert!(drive.counters().outgoing(Cause::WearLevelling, Operation::Write) > 50);
}

#[test]
fn refresh_continues_while_the_drive_is_readable() {
    let mut drive = disturbed_drive(7);
    drive.write(&[0, 1, 2, 3, 4, 5]);
    let mut random = Seed(3).random();
    for step in 0..400 {
        let page = random_below(&mut random, 6) as u32;
        match step % 9 {
            0 => drive.write(&[page]),
            _ => drive.store.read(&[Lpn(page)], &mut Vec::new()).unwrap(),
        }
        drive.store.check().unwrap();
    }
    drive.check();
    let (layer, nand) = drive.reports();
    assert!(layer.counters.outgoing(Cause::WearLevelling, Operation::Write) > 100);
    assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(layer.counters.outgoing_total(Operation::Read), nand.reads);
}
