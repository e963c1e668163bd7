//! Bits that flip while the file system is in use: operations that need the damaged bytes fail, all other operations
//! continue, and a wrong checksum never becomes valid without a repair.

use crate::common::content;
use crate::damaged::image::options;
use std::sync::Arc;
use wearwell_nvmfs::api::{BLOCK_BYTES, Caller, Change, Error, FileSystem, Ino, Kind, ROOT};
use wearwell_nvmfs::fs::{Nvmfs, Work};
use wearwell_nvmfs::layout::{BlockLocation, Field};
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::Format;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};
use wearwell_nvmfs::store::{ProblemKind, Store};

type Fs = Nvmfs<PlainNvram, MemorySsd>;

const BLOCKS: u64 = 1500;
const BLOCK: u64 = BLOCK_BYTES as u64;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 5 };

/// Creates a small file, and a large file that is mostly on the SSD.
fn fixture() -> (Arc<MemorySsd>, Fs, Ino, Ino) {
    let ssd = Arc::new(MemorySsd::new(4096));
    let format = Format { inodes: Some(64), ..Format::default() };
    let mut fs = Fs::format(PlainNvram::new(4 << 20), Arc::clone(&ssd), &format, options()).expect("it fits");
    let large = fs.create(ROOT, b"large", Kind::File, 0o600, 0, &CALLER).expect("room").ino;
    let small = fs.create(ROOT, b"small", Kind::File, 0o600, 0, &CALLER).expect("room").ino;
    for block in 0..BLOCKS {
        fs.write(large, block * BLOCK, &content(block as u8, BLOCK_BYTES), &CALLER).expect("room");
    }
    // The file system is remounted, so that nothing is noted as changing.
    let (fs, _) = Fs::mount(fs.close(), Arc::clone(&ssd), options()).expect("it was closed");
    (ssd, fs, large, small)
}

/// Returns a block of a file that is only on the SSD, and its location.
fn on_ssd(fs: &Fs, ino: Ino, not_before: u64) -> (u64, u64) {
    let location = |block| match fs.store().region.location_of(ino, block).expect("it is whole") {
        BlockLocation::Ssd(location) => Some((block, location)),
        _ => None,
    };
    (not_before..BLOCKS).find_map(location).expect("most are there")
}

fn flip_on_ssd(ssd: &MemorySsd, location: u64) {
    let mut block = vec![0; BLOCK_BYTES];
    ssd.read(location, &mut block).expect("within");
    block[1234] ^= 8;
    ssd.write(location, &block, 0).expect("within");
}

fn read(fs: &mut Fs, ino: Ino, block: u64) -> Result<Vec<u8>, Error> {
    let mut out = vec![0; BLOCK_BYTES];
    fs.read(ino, block * BLOCK, &mut out, &CALLER).map(|_| out)
}

fn is_checksum_error<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Damaged(text)) if text.contains("checksum"))
}

/// Returns the number of mismatches found so far.
fn mismatches(fs: &Fs) -> u64 {
    fs.stats().checksums.expect("there are some").mismatches
}

#[test]
fn damaged_data_fails_reads_until_rewritten() {
    let (ssd, mut fs, large, _) = fixture();
    let (block, location) = on_ssd(&fs, large, 0);
    flip_on_ssd(&ssd, location);
    assert!(is_checksum_error(read(&mut fs, large, block)));
    assert!(is_checksum_error(fs.write(large, block * BLOCK + 5, b"a part", &CALLER)));
    assert_eq!(mismatches(&fs), 2);
    let found = fs.store().check_all_data().expect("it can be read");
    assert!(
        found.len() == 1 && found[0].ino == large && matches!(found[0].kind, ProblemKind::Checksum(_)),
        "{found:?}"
    );
    for other in (0..BLOCKS).filter(|other| *other != block) {
        assert!(read(&mut fs, large, other).expect("it is whole") == content(other as u8, BLOCK_BYTES));
    }
    fs.write(large, block * BLOCK, &content(1, BLOCK_BYTES), &CALLER).expect("a whole block");
    assert!(read(&mut fs, large, block).expect("it is new") == content(1, BLOCK_BYTES));
    assert!(fs.store().check_all_data().expect("it can be read").is_empty());
    fs.store().check().expect("the store adds up");
}

#[test]
fn cleaning_does_not_validate_damaged_data() {
    let (ssd, mut fs, large, _) = fixture();
    let (block, location) = on_ssd(&fs, large, 0);
    flip_on_ssd(&ssd, location);
    // The extent of the damaged block gets the fewest valid blocks, so that it would be recycled first.
    for other in (0..BLOCKS).filter(|other| *other != block) {
        // Other extents are not full, either.
        if other % 7 == 0
            || matches!(fs.store().region.location_of(large, other), Ok(BlockLocation::Ssd(there)) if there / 128 == location / 128)
        {
            fs.write(large, other * BLOCK, &content(7, BLOCK_BYTES), &CALLER).expect("room");
        }
    }
    fs.auto_flush = false;
    let mut store = fs.into_store();
    // Recycling continues until all other extents are full.
    while store.recycle_step().expect("there is room") {
        assert!(store.counts.recycled_extents < 200, "no end");
    }
    assert!(store.counts.recycled_extents > 0);
    let mut fs = Fs::from_store(store).expect("there is a root");
    assert!(is_checksum_error(read(&mut fs, large, block)));
    fs.store().check().expect("the store adds up");
}

#[test]
fn scrub_detects_damage_in_unused_data() {
    let (ssd, fs, large, small) = fixture();
    let mut store = fs.into_store();
    let at = store.region.field(small, Field::Modified).expect("an inode");
    let (block, location) = (0..BLOCKS)
        .find_map(|block| match store.region.location_of(large, block) {
            Ok(BlockLocation::Ssd(location)) => Some((block, location)),
            _ => None,
        })
        .expect("most are there");
    flip_on_ssd(&ssd, location);
    store.region.store_volatile(at, &[0xff]);
    let mut fs = Fs::from_store(store).expect("there is a root");
    while let Some(work) = fs.begin_check() {
        assert!(matches!(work, Work::Check(_)));
        let outcome = work.run();
        fs.end_background(work, outcome).expect("it can be read");
    }
    let checksums = fs.stats().checksums.expect("there are some");
    assert_eq!((checksums.mismatches, checksums.passes), (2, 1), "{checksums:?}");
    assert!(checksums.checked_blocks > 300 && checksums.checked_metadata > 64, "{checksums:?}");
    assert!(is_checksum_error(fs.attributes(small)) && is_checksum_error(read(&mut fs, large, block)));
    let change = Change { permissions: Some(0o644), ..Change::default() };
    assert!(is_checksum_error(fs.set_attributes(small, &change, &CALLER)));
    assert_eq!(fs.attributes(large).expect("it is whole").size_bytes, BLOCKS * BLOCK);
    // A close does not make the checksum valid.
    let nvram = fs.close().into_bytes();
    assert!(Fs::mount(PlainNvram::from(nvram.clone()), Arc::clone(&ssd), options()).is_err());
    let (store, found) =
        Store::open_damaged(PlainNvram::from(nvram), ssd, options()).expect("it is a file system");
    assert!(
        found.scan.descriptions()[0].contains("checksum of its inode"),
        "{:?}",
        found.scan.descriptions()
    );
    assert_eq!(store.check_all_data().expect("it can be read").len(), 1);
}
