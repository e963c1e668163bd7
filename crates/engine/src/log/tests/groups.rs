//! Atomic groups: their flags in spare areas, and the absence of erases while a group is written.

use super::drive::{Drive, SINGLE, config};
use crate::counters::Operation;
use crate::layer::{ContentId, LayerError, LayerExt};
use crate::log::Reclaim;
use crate::units::{BlockId, Lpn};

const POOL: Reclaim = Reclaim::FreePool { low: 1, high: 1 };

fn write_group(drive: &mut Drive, pages: &[u32]) -> Result<(), LayerError> {
    let data: Vec<ContentId> = (drive.version + 1..).take(pages.len()).map(ContentId).collect();
    let all: Vec<Lpn> = pages.iter().map(|&page| Lpn(page)).collect();
    drive.store.write_atomic(&all, &data, 0)?;
    drive.version += pages.len() as u64;
    pages.iter().zip(data).for_each(|(&page, data)| drive.expected[page as usize] = data.0);
    Ok(())
}

/// Returns the pages of a block as text, with a `+` behind each page whose group continues.
fn group_marks(drive: &Drive, block: u32) -> String {
    let spares = drive.store.medium().spare_area().unwrap().block(BlockId(block));
    let mark = |spare: &crate::nand::Spare| {
        format!("{}{}", spare.owner.0, if spare.group_continues { "+" } else { "" })
    };
    spares.iter().map(mark).collect::<Vec<_>>().join(" ")
}

#[test]
fn all_pages_of_group_but_last_are_flagged() {
    let mut drive = Drive::new(6, config(6, POOL), SINGLE());
    assert_eq!(drive.store.atomic_pages(), 3, "the pages of a block");
    drive.write(&[5]);
    write_group(&mut drive, &[0, 1, 2]).unwrap();
    write_group(&mut drive, &[3]).unwrap();
    write_group(&mut drive, &[]).unwrap();
    write_group(&mut drive, &[4, 0]).unwrap();
    drive.write(&[1]);
    assert_eq!([0, 1, 2].map(|block| group_marks(&drive, block)), ["5 0+ 1+", "2 3 4+", "0 1"]);
    drive.check();
    assert_eq!(drive.counters().incoming(Operation::Write), 8);
    let rejected = write_group(&mut drive, &[0, 1, 2, 3]);
    assert_eq!(rejected, Err(LayerError::NotAtomic { pages: 4, longest: 3 }));
    assert_eq!(write_group(&mut drive, &[6]), Err(LayerError::OutOfRange { page: 6, pages: 6 }));
    let in_place = Drive::new(6, config(6, Reclaim::InPlace), SINGLE());
    assert_eq!(in_place.store.atomic_pages(), 0);
}

#[test]
fn cleaning_makes_room_before_group() {
    let fill = [0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0];
    // There are one free page and one erased block, which is enough for a group of one page.
    let mut drive = Drive::new(5, config(6, POOL), SINGLE());
    drive.write(&fill);
    write_group(&mut drive, &[1]).unwrap();
    assert_eq!(drive.cleaning_counts(), [0; 3]);
    let rows = ["(0) (1) 2", "(3) (4) 5", "(0) (1) 3", "4 0 1"];
    assert_eq!(drive.layout(), [rows[0], rows[1], rows[2], rows[3], "- - -"]);
    // A group of two pages needs one more block: cleaning moves page 2 to the free page, and then two blocks are
    // erased.
    let mut drive = Drive::new(5, config(6, POOL), SINGLE());
    drive.write(&fill);
    write_group(&mut drive, &[1, 2]).unwrap();
    assert_eq!(drive.layout(), ["- - -", rows[1], "(0) (1) 3", "4 0 (2)", "1 2 -"]);
    assert_eq!((drive.cleaning_counts(), group_marks(&drive, 4)), ([1, 1, 1], "1+ 2".to_owned()));
    drive.check();
}
