//! Tests that every checksum of an image is verified: a flipped byte anywhere in it is noticed.

use super::check::damaged_pages;
use super::files::Files;
use super::medium::Medium;
use super::metadata_pages::read_own;
use super::records::{BlockRecord, BlockState, RECORD_BYTES};
use super::scan::scan;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use wearwell_engine::counters::Cause;
use wearwell_engine::flash_format::{DATA, PageType, SPARE_BYTES, SpareRecord, crc};
use wearwell_engine::nand::{MetadataNote, Spare};
use wearwell_engine::units::{BlockId, Lpn, StreamId};
use wearwell_stack::StoredFlashPlan;

const PAGE_BYTES: usize = 64;
/// Content ID of the user page.
const CONTENT: u64 = 5;
/// Bits that are flipped in a byte.
const FLIPPED: u8 = 0x10;

/// Returns the plan of a drive with two blocks of two pages.
fn plan() -> StoredFlashPlan {
    let device = "[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\n";
    StoredFlashPlan {
        scenario: toml::from_str(device).unwrap(),
        blocks: 2,
        pages_per_block: 2,
        page_bytes: PAGE_BYTES as u32,
        shares_contents: false,
        no_recovery_reason: None,
    }
}

/// Creates an image: block 0 has a user page and a translation page, and block 1 was erased by operation 3.
fn create_image(folder: &Path) -> Files {
    let mut files = Files::open(folder, &plan()).unwrap();
    let content: [u8; PAGE_BYTES] = std::array::from_fn(|at| at as u8 + 1);
    for (slot, content_id, class) in [(0, CONTENT, DATA), (1, 0, PageType::Translation as u8)] {
        let spare = Spare {
            owner: Lpn(7),
            sequence: slot,
            stream: StreamId(0),
            cause: Cause::Host,
            group_continues: false,
        };
        let (operation, page_crc, ftl_note) = (slot + 1, crc(&content), MetadataNote::new(class));
        let record = SpareRecord { spare, note: 0, content_id, operation, page_crc, ftl_note };
        files.write_page(slot, &content).unwrap();
        files.write_spare(slot, &record.encode()).unwrap();
    }
    files.write_block(1, &BlockRecord { state: BlockState::InUse, erases: 3, operation: 3 }).unwrap();
    files.sync(2).unwrap();
    files.sync(3).unwrap();
    files
}

/// Flips bits of a byte of a file.
fn flip(file: &Path, at: usize) {
    let file = File::options().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at as u64).unwrap();
    file.write_all_at(&[byte[0] ^ FLIPPED], at as u64).unwrap();
}

#[test]
fn scan_notices_flipped_byte_of_spare_area_or_block_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = create_image(folder.path());
    let found = scan(&mut files).unwrap().unwrap();
    assert_eq!((found.operation, found.blocks[0].pages.len(), found.blocks[1].record.erases), (3, 2, 3));
    // Two spare areas of programmed pages, and two of erased ones; the records of both blocks.
    for (name, range) in [("spares", 0..4 * SPARE_BYTES), ("blocks", 2 * RECORD_BYTES..4 * RECORD_BYTES)] {
        let path = folder.path().join(name);
        assert_eq!(path.metadata().unwrap().len(), range.end as u64);
        for at in range {
            flip(&path, at);
            assert!(scan(&mut files).unwrap().is_err(), "byte {at} of {name}");
            flip(&path, at);
        }
    }
    assert!(scan(&mut files).unwrap().is_ok());
}

#[test]
fn flipped_byte_of_sync_record_leaves_the_other_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = create_image(folder.path());
    let path = folder.path().join("blocks");
    assert_eq!(files.last_synced().unwrap(), Ok(3));
    for at in 0..RECORD_BYTES {
        // The records of operations 2 and 3.
        flip(&path, at);
        assert_eq!(files.last_synced().unwrap(), Ok(3), "byte {at}");
        flip(&path, RECORD_BYTES + at);
        assert!(files.last_synced().unwrap().is_err() && scan(&mut files).unwrap().is_err(), "byte {at}");
        flip(&path, at);
        assert_eq!(files.last_synced().unwrap(), Ok(2), "byte {at}");
        // All later operations are there.
        assert_eq!(scan(&mut files).unwrap().unwrap().operation, 3, "byte {at}");
        flip(&path, RECORD_BYTES + at);
    }
}

#[test]
fn readers_notice_flipped_byte_of_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = create_image(folder.path());
    let found = scan(&mut files).unwrap().unwrap();
    let medium = Medium::new(files.try_clone().unwrap(), &found);
    let path = folder.path().join("pages");
    let (mut content, mut metadata) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
    let damaged = || damaged_pages(&files, &found, &mut |_| true).unwrap();
    for at in 0..PAGE_BYTES {
        flip(&path, at);
        assert!(medium.read(CONTENT, &mut content).is_err(), "byte {at}");
        assert!(damaged()[..] == ["block 0, page 0: the checksum of its bytes is another"], "byte {at}");
        flip(&path, at);
        flip(&path, PAGE_BYTES + at);
        assert!(read_own(&files, BlockId(0), 1, &mut metadata).is_err(), "byte {at}");
        assert!(damaged()[..] == ["block 0, page 1: the checksum of its bytes is another"], "byte {at}");
        flip(&path, PAGE_BYTES + at);
    }
    assert!(damaged().is_empty() && medium.read(CONTENT, &mut content).unwrap());
    read_own(&files, BlockId(0), 1, &mut metadata).unwrap();
    assert_eq!(content, metadata);
}

#[test]
fn flipped_byte_of_head_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    drop(create_image(folder.path()));
    let path = folder.path().join("flash");
    for at in 0..path.metadata().unwrap().len() as usize {
        flip(&path, at);
        assert!(Files::read_only(folder.path()).is_err(), "byte {at}");
        assert!(Files::open(folder.path(), &plan()).is_err(), "byte {at}");
        flip(&path, at);
    }
    assert!(Files::read_only(folder.path()).is_ok());
}
