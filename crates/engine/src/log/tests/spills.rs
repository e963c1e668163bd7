//! Pages that cleaning writes to the open block of another stream, because no erased block is left; blocks of 3 pages.

use super::drive::{Drive, build, config, flash};
use crate::layer::{ContentId, Layer};
use crate::log::Reclaim;
use crate::nand::{Faults, StoredBlock, Wear};
use crate::placement::{PageContext, Placement};
use crate::seed::Seed;
use crate::units::{BlockId, Lpn, StreamId};

/// A placement with three streams of the host, chosen by page number, and a stream of moved pages.
struct ThreeHostStreams;

const MOVED: StreamId = StreamId(3);

impl Placement for ThreeHostStreams {
    fn streams(&self) -> u8 {
        4
    }

    fn cleaning_stream(&self) -> Option<StreamId> {
        Some(MOVED)
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        StreamId((context.page.0 % 3) as u8)
    }
}

/// Returns a drive on which the next write of page 11 cleans. One block is erased. Block 0 wears out at its next erase,
/// and all other blocks last.
fn nearly_full() -> Drive<ThreeHostStreams> {
    let wear = Wear { endurance_cycles: Some(5), ..Wear::default() };
    let mut nand = flash(11, wear);
    nand.restore(BlockId(0), &StoredBlock { erases: 5, is_bad: false, note: 0, pages: Vec::new() }).unwrap();
    let pool = Reclaim::FreePool { low: 1, high: 1 };
    let mut drive = Drive::from_store(build(config(12, pool), nand, ThreeHostStreams).unwrap());
    drive.write(&[0, 3, 6, 1, 4, 7]);
    (0..6).for_each(|_| drive.write(&[2, 5, 8]));
    drive.write(&[0, 9, 10]);
    let invalid = "(2) (5) (8)";
    let expected = ["(0) 3 6", "1 4 7", invalid, invalid, invalid, invalid, invalid];
    assert_eq!(drive.layout(), [&expected[..], &["2 5 8", "0 9 -", "10 - -", "- - -"]].concat());
    assert_eq!(drive.cleaning_counts(), [0; 3]);
    drive
}

#[test]
fn only_pages_beyond_the_room_of_their_stream_count_as_spilled() {
    let mut drive = nearly_full();
    drive.write(&[11]);
    // Pages 3 and 6 take the last erased block, and block 0 wears out. Page 1 fills the block of moved pages. Page 4
    // fills the block of stream 0, which has room for one page, and page 7 goes to stream 1, which has room for two.
    // The last victim has no live pages.
    let invalid = "(2) (5) (8)";
    let expected = ["bad", "11 - -", "- - -", invalid, invalid, invalid, invalid];
    assert_eq!(drive.layout(), [&expected[..], &["2 5 8", "0 9 4", "10 7 -", "3 6 1"]].concat());
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([5, 5, 2], vec![1, 0, 1, 1]));
    assert_eq!(drive.reports().0.spilled_pages, 2);
    drive.check();
}

#[test]
fn pages_whose_program_fails_do_not_count_as_spilled() {
    let mut drive = nearly_full();
    let medium = drive.store.medium_mut();
    let nand = std::mem::replace(medium, flash(11, Wear::default()));
    *medium = nand.with_faults(Faults { program_failure_rate: 1.0, read_disturb_limit: None }, Seed(1));
    // The pages of the victim are tried in the erased block and in the open blocks of streams 0 and 1.
    assert!(drive.store.write(&[Lpn(11)], &[ContentId(99)], 0).is_err());
    let (layer, nand) = drive.reports();
    assert_eq!((layer.spilled_pages, drive.cleaning_counts()[0], nand.programs), (0, 0, 27));
    drive.check();
}
