//! Operations of flash, page by page, and rejected operations.

mod bare;
mod sequences;

use super::*;
use crate::layer::{ContentId, no_data};
use crate::units::{Lpn, StreamId};

const PAGES: u32 = 4;

fn nand(blocks: u32, wear: Wear) -> Nand<ContentId> {
    Nand::new(Geometry::flat(blocks, PAGES, 4096), wear, Seed(1))
}

fn ideal_nand(blocks: u32) -> Nand<ContentId> {
    nand(blocks, Wear::default())
}

/// Programs a run of the host: pages 100, 101, … with their numbers as content, and sequence numbers from `sequence`.
fn program_run<F: Medium<Payload = ContentId>>(
    flash: &mut F,
    (block, page): (u32, u32),
    pages: u32,
    (sequence, group, note): (u64, Group, u64),
) -> Result<(), MediumError> {
    let owners: Vec<Lpn> = (100..100 + pages).map(Lpn).collect();
    let data: Vec<ContentId> = owners.iter().map(|owner| ContentId(owner.0.into())).collect();
    let (cause, stream) = (Cause::Cleaning, StreamId(3));
    flash.program(
        BlockId(block),
        page,
        Run { owners: Some(&owners), data: &data, sequence, cause, stream, group, note },
    )
}

fn program<F: Medium<Payload = ContentId>>(
    flash: &mut F,
    block: u32,
    page: u32,
    pages: u32,
) -> Result<(), MediumError> {
    program_run(flash, (block, page), pages, (7, Group::None, 0))
}

fn read<F: Medium<Payload = ContentId>>(
    flash: &mut F,
    block: u32,
    pages: &[u32],
) -> Result<Vec<u64>, MediumError> {
    let mut out = Vec::new();
    flash.read(BlockId(block), Pages::Listed(pages), Cause::Host, &mut out)?;
    Ok(out.iter().map(|content| content.0).collect())
}

fn erase<F: Medium<Payload = ContentId>>(flash: &mut F, block: u32) -> Result<(), MediumError> {
    flash.erase(BlockId(block), Cause::Cleaning)
}

fn report(flash: &impl Medium) -> NandReport {
    let mut reports = Reports::default();
    flash.describe(&mut reports);
    reports.nand.unwrap()
}

#[test]
fn pages_are_programmed_in_order_once() {
    let mut flash = ideal_nand(2);
    assert_eq!((flash.blocks(), flash.pages_per_block(), flash.next_page(BlockId(1))), (2, 4, Some(0)));
    program(&mut flash, 1, 0, 3).unwrap();
    assert_eq!((flash.next_page(BlockId(0)), flash.next_page(BlockId(1))), (Some(0), Some(3)));
    let out_of_order = |page: u32, expected: u32| Err(MediumError::OutOfOrder { block: 1, page, expected });
    assert_eq!(program(&mut flash, 1, 0, 1), out_of_order(0, 3));
    assert_eq!(program(&mut flash, 1, 2, 1), out_of_order(2, 3));
    program(&mut flash, 1, 3, 1).unwrap();
    assert_eq!(program(&mut flash, 1, 3, 1), out_of_order(3, 4));
    let outside = |block: u32, page: u32, end: u32| Err(MediumError::OutsideGeometry { block, page, end });
    assert_eq!(program(&mut flash, 1, 4, 1), outside(1, 4, 5));
    assert_eq!(program(&mut flash, 0, 0, 5), outside(0, 0, 5));
    assert_eq!(program(&mut flash, 0, u32::MAX, 5), outside(0, u32::MAX, u32::MAX));
    assert_eq!(program(&mut flash, 2, 0, 1), outside(2, 0, 1));
    assert_eq!(program(&mut flash, 0, 1, 1), Err(MediumError::OutOfOrder { block: 0, page: 1, expected: 0 }));
    assert_eq!((report(&flash).programs, report(&flash).erases), (4, 0));
    flash.check().unwrap();
}

#[test]
fn reads_return_the_programmed_content() {
    let mut flash = ideal_nand(2);
    program(&mut flash, 0, 0, 2).unwrap();
    program(&mut flash, 0, 2, 1).unwrap();
    assert_eq!(read(&mut flash, 0, &[2, 0, 1, 1]), Ok(vec![100, 100, 101, 101]));
    assert_eq!(read(&mut flash, 1, &[]), Ok(vec![]));
    assert_eq!(read(&mut flash, 0, &[1, 3]), Err(MediumError::NotProgrammed { block: 0, page: 3 }));
    assert_eq!(read(&mut flash, 1, &[0]), Err(MediumError::NotProgrammed { block: 1, page: 0 }));
    assert_eq!(read(&mut flash, 2, &[0]), Err(MediumError::OutsideGeometry { block: 2, page: 0, end: 1 }));
    let mut out = Vec::new();
    flash.read(BlockId(0), Pages::Counted(3), Cause::Host, &mut out).unwrap();
    assert_eq!(out, [ContentId::default(); 3], "which ones was of no interest");
    let counted = flash.read(BlockId(0), Pages::Counted(4), Cause::Host, &mut out);
    assert_eq!(counted, Err(MediumError::NotProgrammed { block: 0, page: 3 }));
    assert_eq!(report(&flash).reads, 4 + 3);
    flash.count_reads(10);
    assert_eq!(report(&flash).reads, 17);
    flash.flush().unwrap();
}

#[test]
fn erase_makes_a_block_writable_again() {
    let mut flash = ideal_nand(2);
    program(&mut flash, 0, 0, 4).unwrap();
    program(&mut flash, 1, 0, 1).unwrap();
    erase(&mut flash, 0).unwrap();
    assert_eq!(read(&mut flash, 0, &[0]), Err(MediumError::NotProgrammed { block: 0, page: 0 }));
    assert_eq!(read(&mut flash, 1, &[0]), Ok(vec![100]));
    program(&mut flash, 0, 0, 1).unwrap();
    erase(&mut flash, 0).unwrap();
    erase(&mut flash, 0).unwrap();
    assert_eq!(erase(&mut flash, 2), Err(MediumError::OutsideGeometry { block: 2, page: 0, end: 0 }));
    let report = report(&flash);
    assert_eq!((report.erases, report.erase_counts, report.bad_blocks), (3, vec![3, 0], 0));
    assert_eq!((flash.erases(BlockId(0)), flash.erases(BlockId(1))), (3, 0));
    flash.check().unwrap();
}

#[test]
fn block_wears_out_after_its_endurance() {
    let mut flash = nand(2, Wear { endurance_cycles: Some(2), ..Wear::default() });
    erase(&mut flash, 0).unwrap();
    erase(&mut flash, 0).unwrap();
    assert_eq!(erase(&mut flash, 0), Err(MediumError::WornOut { block: 0, erases: 2 }));
    let bad = Err(MediumError::BadBlock { block: 0 });
    assert_eq!(erase(&mut flash, 0), bad);
    assert_eq!(program(&mut flash, 0, 0, 1), bad);
    assert_eq!(program(&mut flash, 0, u32::MAX, 1), bad, "the mark of a bad block is no page");
    assert_eq!(read(&mut flash, 0, &[0]).map(drop), bad);
    assert!(flash.is_bad(BlockId(0)) && !flash.is_bad(BlockId(1)));
    assert_eq!((flash.next_page(BlockId(0)), report(&flash).erases), (None, 2));
    assert_eq!((report(&flash).bad_blocks, report(&flash).worn_out_blocks), (1, 1));
    // Block 1 is retired for another reason. Retiring it again has no effect.
    flash.retire(BlockId(1));
    flash.retire(BlockId(1));
    assert_eq!((report(&flash).bad_blocks, report(&flash).worn_out_blocks), (2, 2));
    flash.check().unwrap();
}

#[test]
fn endurance_is_spread_evenly_around_its_mean() {
    let wear = Wear { endurance_cycles: Some(100), endurance_spread: 0.2, factory_bad_blocks: 0 };
    let limits = nand(4000, wear).endurance.unwrap();
    assert_eq!((limits.iter().min(), limits.iter().max()), (Some(&80), Some(&120)));
    let mean = limits.iter().map(|limit| f64::from(*limit)).sum::<f64>() / 4000.0;
    assert!((mean - 100.0).abs() < 0.7, "{mean}");
    let without_spread = nand(9, Wear { endurance_cycles: Some(100), ..Wear::default() });
    assert_eq!(without_spread.endurance.unwrap(), [100; 9]);
}

#[test]
fn factory_bad_blocks_are_counted_exactly() {
    for count in [0, 1, 7, 10, 11] {
        let flash = nand(10, Wear { factory_bad_blocks: count, ..Wear::default() });
        let bad = (0..10).filter(|&block| flash.is_bad(BlockId(block))).count() as u32;
        assert_eq!((bad, report(&flash).bad_blocks, report(&flash).worn_out_blocks), (count.min(10), bad, 0));
    }
}

#[test]
fn spare_areas_contain_the_owners() {
    let mut flash = ideal_nand(2).with_spare_area();
    assert_eq!(flash.spare(BlockId(0), 0), PageState::Erased);
    program_run(&mut flash, (0, 0), 2, (70, Group::None, 5)).unwrap();
    program_run(&mut flash, (0, 2), 1, (90, Group::None, 6)).unwrap();
    let spare = |owner: u32, sequence: u64| Spare {
        owner: Lpn(owner),
        sequence,
        stream: StreamId(3),
        cause: Cause::Cleaning,
        group_continues: false,
    };
    let expected = [spare(100, 70), spare(101, 71), spare(100, 90)];
    assert_eq!(flash.spare_area().unwrap().block(BlockId(0)), expected);
    assert_eq!(flash.spare(BlockId(0), 1), PageState::Written(expected[1]));
    assert_eq!((flash.spare(BlockId(0), 3), flash.note(BlockId(0))), (PageState::Erased, 6));
    assert_eq!((Flash::next_page(&flash, BlockId(0)), report(&flash).spare_reads), (Some(3), 0));
    assert_eq!(flash.read_spare(BlockId(0), 0, Cause::Host), PageState::Written(expected[0]));
    assert_eq!(report(&flash).spare_reads, 1);
    erase(&mut flash, 0).unwrap();
    assert_eq!((flash.spare(BlockId(0), 0), flash.note(BlockId(0))), (PageState::Erased, 0));
    program_run(&mut flash, (0, 0), 1, (3, Group::None, 0)).unwrap();
    assert_eq!(flash.spare_area().unwrap().block(BlockId(0)), [spare(100, 3)]);
    // Pages without an owner, and runs with a wrong number of owners, cannot be written.
    let missing = Err(MediumError::OwnersMissing { block: 1 });
    for owners in [None, Some(&[Lpn(1)][..])] {
        let run = Run {
            owners,
            data: &[ContentId(1); 2],
            sequence: 0,
            cause: Cause::Host,
            stream: StreamId(0),
            group: Group::None,
            note: 0,
        };
        assert_eq!(flash.program(BlockId(1), 0, run), missing);
    }
    assert!(ideal_nand(1).spare_area().is_none());
}

#[test]
fn spare_areas_mark_the_end_of_groups() {
    let group_marks = |runs: &[(u32, Group)]| {
        let mut flash = ideal_nand(1).with_spare_area();
        let mut page = 0;
        for &(pages, group) in runs {
            program_run(&mut flash, (0, page), pages, (1, group, 0)).unwrap();
            page += pages;
        }
        let spares = flash.spare_area().unwrap().block(BlockId(0));
        spares.iter().map(|spare| spare.group_continues).collect::<Vec<_>>()
    };
    assert_eq!(group_marks(&[(4, Group::None)]), [false; 4]);
    assert_eq!(group_marks(&[(3, Group::Continues), (1, Group::Ends)]), [true, true, true, false]);
    assert_eq!(group_marks(&[(3, Group::Ends), (1, Group::Continues)]), [true, true, false, true]);
    assert_eq!(group_marks(&[(1, Group::None), (1, Group::Ends), (2, Group::None)]), [false; 4]);
}

#[test]
fn torn_pages_can_be_neither_read_nor_programmed() {
    let mut flash = ideal_nand(2).with_spare_area();
    program(&mut flash, 0, 0, 1).unwrap();
    flash.tear_program(BlockId(0), 1);
    assert_eq!(flash.spare(BlockId(0), 1), PageState::Unreadable);
    assert_eq!(read(&mut flash, 0, &[0]), Ok(vec![100]));
    let unreadable = |block: u32, page: u32| Err(MediumError::Unreadable { block, page });
    assert_eq!(read(&mut flash, 0, &[0, 1]).map(drop), unreadable(0, 1));
    let mut out = Vec::new();
    assert_eq!(flash.read(BlockId(0), Pages::Counted(2), Cause::Host, &mut out), unreadable(0, 1));
    assert_eq!(program(&mut flash, 0, 1, 1), Err(MediumError::OutOfOrder { block: 0, page: 1, expected: 2 }));
    program(&mut flash, 0, 2, 1).unwrap();
    assert_eq!(read(&mut flash, 0, &[2]), Ok(vec![100]));
    assert_eq!(flash.spare_area().unwrap().block(BlockId(0)).len(), 2);
    flash.tear_erase(BlockId(1));
    assert_eq!(
        (0..4).map(|page| flash.spare(BlockId(1), page)).collect::<Vec<_>>(),
        [PageState::Unreadable; 4]
    );
    assert_eq!(program(&mut flash, 1, 0, 1), Err(MediumError::OutOfOrder { block: 1, page: 0, expected: 4 }));
    assert_eq!(read(&mut flash, 1, &[3]).map(drop), unreadable(1, 3));
    // An erase restores both blocks, and reads no longer need checks.
    erase(&mut flash, 1).unwrap();
    erase(&mut flash, 0).unwrap();
    program(&mut flash, 1, 0, 4).unwrap();
    assert_eq!(read(&mut flash, 1, &[0, 3]), Ok(vec![100, 103]));
    flash.check().unwrap();
}

#[test]
fn failed_program_keeps_the_pages_before_it() {
    let faults = Faults { program_failure_rate: 0.3, read_disturb_limit: None };
    let mut flash = ideal_nand(400).with_spare_area().with_faults(faults, Seed(4));
    let (mut failures, mut programmed) = (0, 0);
    for block in 0..400 {
        let Err(error) = program_run(&mut flash, (block, 0), 4, (0, Group::Ends, 0)) else {
            assert_eq!(read(&mut flash, block, &[0, 3]), Ok(vec![100, 103]));
            programmed += 4;
            continue;
        };
        let MediumError::ProgramFailed { block: failed, page } = error else { panic!("{error}") };
        assert_eq!(failed, block);
        failures += 1;
        programmed += page;
        assert_eq!(flash.next_page(BlockId(block)), Some(page + 1));
        assert_eq!(flash.spare(BlockId(block), page), PageState::Unreadable);
        // The written pages of the group are marked as continued.
        let spares = flash.spare_area().unwrap().block(BlockId(block));
        assert_eq!(spares.len() as u32, page);
        assert!(spares.iter().all(|spare| spare.group_continues));
        assert_eq!(read(&mut flash, block, &(0..page).collect::<Vec<_>>()).unwrap().len() as u32, page);
    }
    assert_eq!(report(&flash).programs, u64::from(programmed));
    // 0.7^4 of the runs succeed: 304 of 400 fail, within three standard deviations of 8.5.
    assert!((278..330).contains(&failures), "{failures}");
    let (attempts, rate) = (f64::from(programmed + failures), 0.3);
    assert!((f64::from(failures) - rate * attempts).abs() < 3.5 * (attempts * rate * 0.7).sqrt());
    // With a rate of 0 no program fails.
    let mut flash = ideal_nand(100).with_faults(Faults::default(), Seed(4));
    (0..100).for_each(|block| program(&mut flash, block, 0, 4).unwrap());
}

#[test]
fn disturbed_blocks_are_reported_once() {
    let faults = Faults { program_failure_rate: 0.0, read_disturb_limit: Some(5) };
    let mut flash = ideal_nand(3).with_faults(faults, Seed(1));
    (0..3).for_each(|block| program(&mut flash, block, 0, 4).unwrap());
    read(&mut flash, 0, &[0, 1, 2, 3]).unwrap();
    assert_eq!(flash.take_disturbed(), None);
    read(&mut flash, 1, &[0, 1, 2, 3]).unwrap();
    read(&mut flash, 1, &[0]).unwrap();
    read(&mut flash, 0, &[0, 1]).unwrap();
    assert_eq!(
        [flash.take_disturbed(), flash.take_disturbed(), flash.take_disturbed()],
        [Some(BlockId(1)), Some(BlockId(0)), None]
    );
    read(&mut flash, 0, &[0, 1]).unwrap();
    read(&mut flash, 1, &[0]).unwrap();
    assert_eq!(flash.take_disturbed(), None, "they were named");
    assert_eq!([0, 1, 2].map(|block| flash.reads_before_refresh(BlockId(block))), [2, 4, 5]);
    read(&mut flash, 1, &[0, 1, 2, 3]).unwrap();
    assert_eq!(flash.take_disturbed(), Some(BlockId(1)), "again after as many more reads");
    erase(&mut flash, 0).unwrap();
    program(&mut flash, 0, 0, 4).unwrap();
    read(&mut flash, 0, &[0, 1, 2, 3]).unwrap();
    assert_eq!(flash.take_disturbed(), None, "an erase makes it new");
    read(&mut flash, 0, &[0]).unwrap();
    assert_eq!(flash.take_disturbed(), Some(BlockId(0)));
    read(&mut flash, 2, &[0, 1, 2, 3]).unwrap();
    read(&mut flash, 2, &[0]).unwrap();
    erase(&mut flash, 2).unwrap();
    assert_eq!(flash.take_disturbed(), None, "it was emptied before anybody asked");
    assert_eq!(
        (ideal_nand(1).take_disturbed(), ideal_nand(1).reads_before_refresh(BlockId(0))),
        (None, u32::MAX)
    );
}

fn power_cut_flash(power: &PowerSource) -> PowerCutFlash<Nand<ContentId>> {
    PowerCutFlash::new(ideal_nand(4).with_spare_area(), power.clone())
}

#[test]
fn power_cut_within_a_run_leaves_a_torn_page() {
    for torn in [false, true] {
        let power = PowerSource::new(false);
        let mut flash = power_cut_flash(&power);
        program(&mut flash, 0, 0, 2).unwrap();
        erase(&mut flash, 1).unwrap();
        assert_eq!(power.operations(), 3);
        power.schedule_cut(Some(PowerCut { after: 5, torn }));
        let power_lost = Err(MediumError::PowerLost);
        assert_eq!(program_run(&mut flash, (2, 0), 4, (0, Group::Ends, 0)), power_lost);
        assert!(power.is_off() && !power.is_failing());
        assert_eq!(power.operations(), 5, "two pages of the run");
        assert_eq!(program(&mut flash, 3, 0, 1), power_lost);
        assert_eq!(erase(&mut flash, 0), power_lost);
        assert_eq!(read(&mut flash, 0, &[0]).map(drop), power_lost);
        assert_eq!(flash.flush(), power_lost);
        power.restore();
        assert_eq!(power.operations(), 5, "nothing was done without power");
        assert_eq!(read(&mut flash, 2, &[0, 1]), Ok(vec![100, 101]));
        let third = if torn { PageState::Unreadable } else { PageState::Erased };
        assert_eq!(flash.spare(BlockId(2), 2), third);
        assert_eq!(flash.next_page(BlockId(2)), Some(2 + u32::from(torn)));
        let group_continues = |page: u32| match flash.spare(BlockId(2), page) {
            PageState::Written(spare) => spare.group_continues,
            other => panic!("{other:?}"),
        };
        assert!(group_continues(0) && group_continues(1));
        assert_eq!(flash.spare(BlockId(3), 0), PageState::Erased);
        flash.flush().unwrap();
        flash.check().unwrap();
    }
}

#[test]
fn power_cut_at_erase_leaves_block_intact_or_unreadable() {
    for torn in [false, true] {
        let power = PowerSource::new(false);
        let mut flash = power_cut_flash(&power);
        program(&mut flash, 0, 0, 2).unwrap();
        power.schedule_cut(Some(PowerCut { after: 2, torn }));
        assert_eq!(erase(&mut flash, 0), Err(MediumError::PowerLost));
        power.restore();
        let first = flash.read_spare(BlockId(0), 0, Cause::Host);
        assert_eq!(first == PageState::Unreadable, torn, "{first:?}");
        erase(&mut flash, 0).unwrap();
        assert_eq!((power.operations(), flash.erases(BlockId(0))), (3, 1));
        // A past or cancelled cut has no effect; a cut at the very end of a run comes with the next operation.
        power.schedule_cut(Some(PowerCut { after: 4, torn }));
        power.schedule_cut(None);
        program(&mut flash, 1, 0, 2).unwrap();
        power.schedule_cut(Some(PowerCut { after: 7, torn }));
        program(&mut flash, 2, 0, 2).unwrap();
        assert!(!power.is_off());
        assert_eq!(program(&mut flash, 3, 0, 1), Err(MediumError::PowerLost));
        assert_eq!(flash.spare(BlockId(3), 0) == PageState::Unreadable, torn);
    }
}

#[test]
fn program_cut_before_its_start_changes_nothing() {
    let power = PowerSource::new(false);
    let mut flash = power_cut_flash(&power);
    power.schedule_cut(Some(PowerCut { after: 0, torn: false }));
    assert_eq!(program_run(&mut flash, (0, 0), 2, (0, Group::None, 5)), Err(MediumError::PowerLost));
    power.restore();
    assert_eq!((flash.note(BlockId(0)), flash.next_page(BlockId(0))), (0, Some(0)));
    program_run(&mut flash, (0, 0), 2, (0, Group::None, 5)).unwrap();
    assert_eq!(flash.note(BlockId(0)), 5);
}

#[test]
fn battery_completes_operations_and_reports_failure() {
    let power = PowerSource::new(true);
    let mut flash = power_cut_flash(&power);
    power.schedule_cut(Some(PowerCut { after: 2, torn: true }));
    program(&mut flash, 0, 0, 2).unwrap();
    assert!(!power.is_failing());
    program(&mut flash, 0, 2, 2).unwrap();
    assert!(power.is_failing() && !power.is_off());
    erase(&mut flash, 1).unwrap();
    assert_eq!(power.operations(), 5);
    power.restore();
    assert!(!power.is_failing());
}

#[test]
fn geometry_totals_are_products_of_dimensions() {
    let geometry = Geometry {
        channels: 2,
        ways: 3,
        dies: 4,
        planes: 2,
        blocks_per_plane: 10,
        unused_blocks: 0,
        superblock_blocks: 1,
        pages_per_block: 8,
        page_bytes: 512,
        spare_bytes: 16,
    };
    geometry.validate().unwrap();
    assert_eq!(
        (geometry.total_planes(), geometry.blocks(), geometry.pages(), geometry.bytes()),
        (48, 480, 3840, 1_966_080)
    );
    // Superblocks of one plane, of both planes of a die, and of all planes of a number of dies that divides 24.
    let fits = |superblock_blocks: u32| Geometry { superblock_blocks, ..geometry }.validate().is_ok();
    assert_eq!((1..=50).filter(|blocks| fits(*blocks)).collect::<Vec<_>>(), [1, 2, 4, 6, 8, 12, 16, 24, 48]);
    assert_eq!(Geometry { superblock_blocks: 16, ..geometry }.blocks(), 30);
    let unused = |unused_blocks, superblock_blocks| Geometry { unused_blocks, superblock_blocks, ..geometry };
    assert_eq!((unused(47, 1).validate(), unused(47, 1).blocks()), (Ok(()), 433));
    assert_eq!((unused(32, 16).validate(), unused(32, 16).blocks()), (Ok(()), 28));
    for (blocks, superblock) in [(48, 1), (8, 16)] {
        assert!(matches!(unused(blocks, superblock).validate(), Err(GeometryError::Unused { .. })));
    }
    let zero = |shape: Geometry| match shape.validate() {
        Err(GeometryError::Zero { dimension }) => dimension,
        other => panic!("{other:?}"),
    };
    assert_eq!(zero(Geometry { channels: 0, ..geometry }), "channels");
    assert_eq!(zero(Geometry { page_bytes: 0, ..geometry }), "page_bytes");
    assert_eq!(zero(Geometry { superblock_blocks: 0, ..geometry }), "superblock_blocks");
    // 2^32 - 1 pages are one too many, because that number means "no page".
    let flat = |blocks: u32| Geometry::flat(blocks, 1, 1).validate();
    assert_eq!(flat(u32::MAX), Err(GeometryError::TooManyPages { pages: u128::from(u32::MAX) }));
    assert_eq!(flat(u32::MAX - 1), Ok(()));
}

#[test]
fn memory_is_the_sum_of_tables_and_contents() {
    // 8 bytes per block; 4 pages of 8 bytes for each block with data; 7 bytes per page of spare area, and 32 per
    // block.
    let mut flash = ideal_nand(10);
    assert_eq!(report(&flash).memory_bytes, 80);
    program(&mut flash, 3, 0, 1).unwrap();
    assert_eq!(report(&flash).memory_bytes, 80 + 32);
    erase(&mut flash, 3).unwrap();
    assert_eq!(report(&flash).memory_bytes, 80);
    let limited = nand(10, Wear { endurance_cycles: Some(5), ..Wear::default() });
    assert_eq!(report(&limited).memory_bytes, 80 + 40);
    let spare = report(&ideal_nand(10).with_spare_area()).memory_bytes;
    assert_eq!(spare, 80 + 280 + 320);
}

#[test]
fn inconsistent_counts_are_detected() {
    let mut flash = ideal_nand(3);
    erase(&mut flash, 1).unwrap();
    flash.blocks[1].erases += 1;
    assert!(flash.check().unwrap_err().contains("1 erases counted"));
    let mut flash = ideal_nand(3);
    flash.blocks[2].next_page = 4;
    flash.check().unwrap();
    flash.blocks[2].next_page = 5;
    assert!(flash.check().unwrap_err().contains("block 2"));
}
