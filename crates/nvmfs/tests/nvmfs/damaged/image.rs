//! Image of a small file system with all types of files.

use crate::common::content;
use std::sync::Arc;
use wearwell_nvmfs::api::{
    ACCESS_ACL, Allocate, BLOCK_BYTES, Caller, DEFAULT_ACL, FileSystem, Ino, Kind, ROOT, SetXattr,
};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::{Areas, BlockLocation, Checksums, Superblock};
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};

/// Size of the NVRAM, bytes.
pub const NVRAM_BYTES: usize = 4 << 20;
const SSD_BLOCKS: u64 = 2048;
const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 1_000 };
const BLOCK: u64 = BLOCK_BYTES as u64;
/// ACL with entries for the owner, user 5, the owning group, the mask and other users.
const ACL: &[u8] = b"\x02\0\0\0\
    \x01\0\x07\0\xff\xff\xff\xff\x02\0\x06\0\x05\0\0\0\x04\0\x05\0\xff\xff\xff\xff\
    \x10\0\x07\0\xff\xff\xff\xff\x20\0\x01\0\xff\xff\xff\xff";

/// Content of the devices.
pub struct Image {
    pub nvram: Vec<u8>,
    pub ssd: MemorySsd,
    pub areas: Areas,
}

impl Image {
    /// Returns a separate drive with the same content.
    pub fn ssd(&self) -> Arc<MemorySsd> {
        Arc::new(self.ssd.clone())
    }
}

/// Returns the options for these file systems: they flush early, so that little data is enough to use both devices.
pub fn options() -> Options {
    Options { small_file_bytes: 16 << 10, flush_above: 0.3, flush_below: 0.1, ..Options::default() }
}

/// Returns an image with all types of files, closed if `is_closed` is true.
pub fn image(placement: PlacementKind, is_closed: bool) -> Image {
    image_with(placement, is_closed, Checksums::All)
}

/// Does what [`image`] does, with these checksums.
pub fn image_with(placement: PlacementKind, is_closed: bool, checksums: Checksums) -> Image {
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    let format = Format { inodes: Some(16), id: 7, placement, checksums, ..Format::default() };
    let nvram = PlainNvram::new(NVRAM_BYTES);
    let mut fs = Nvmfs::format(nvram, Arc::clone(&ssd), &format, options()).expect("a fresh file system");
    names(&mut fs);
    contents(&mut fs);
    let nvram = if is_closed { fs.close() } else { fs.into_store().region.into_nvram() };
    let nvram = nvram.into_bytes();
    let areas = Superblock::decode(&nvram).expect("it was made").areas().expect("it was made");
    Image { nvram, ssd: (*ssd).clone(), areas }
}

fn file(fs: &mut impl FileSystem, dir: Ino, name: &[u8]) -> Ino {
    fs.create(dir, name, Kind::File, 0o644, 0, &CALLER).expect("room for a file").ino
}

/// Creates directories with one block, with several blocks, and with a pointer block. Creates files of all types, and
/// so many files that the file of inode pages has a pointer block.
fn names(fs: &mut impl FileSystem) {
    let dirs = [(&b"few"[..], 3, 10), (b"some", 80, 150), (b"many", 100, 230)];
    for (dir_name, count, width) in dirs {
        let dir = fs.make_directory(ROOT, dir_name, 0o755, &CALLER).expect("room").ino;
        for number in 0..count {
            let name = format!("{number:0width$}");
            match number % 4 {
                0 => drop(file(fs, dir, name.as_bytes())),
                1 => {
                    fs.create(dir, name.as_bytes(), Kind::Fifo, 0o600, 0, &CALLER).expect("room");
                }
                2 => drop(fs.symlink(dir, name.as_bytes(), b"short", &CALLER).expect("room")),
                _ if number < 20 => {
                    fs.make_directory(dir, name.as_bytes(), 0o700, &CALLER).expect("room");
                }
                _ => {}
            }
        }
    }
    fs.symlink(ROOT, b"long", &[b'x'; 300], &CALLER).expect("room");
    fs.create(ROOT, b"device", Kind::BlockDevice, 0o600, 0x801, &CALLER).expect("room");
    let xattrs = file(fs, ROOT, b"xattrs");
    for (number, name) in [b"user.a", b"user.b", b"user.c"].into_iter().enumerate() {
        fs.set_xattr(xattrs, name, &[number as u8; 500], SetXattr::Either, &CALLER).expect("room");
    }
    // The permission bits must match the ACLs of the files.
    let listed = fs.make_directory(ROOT, b"listed", 0o755, &CALLER).expect("room").ino;
    for name in [ACCESS_ACL, DEFAULT_ACL] {
        fs.set_xattr(listed, name, ACL, SetXattr::Either, &CALLER).expect("room");
    }
    fs.make_directory(listed, b"below", 0o750, &CALLER).expect("room");
    file(fs, listed, b"file");
    let open = file(fs, ROOT, b"open");
    fs.open(open).expect("it is there");
    fs.write(open, 0, &[3; 9000], &CALLER).expect("room");
    fs.unlink(ROOT, b"open", &CALLER).expect("it is there");
}

/// Creates files with blocks at all levels of pointers; their data does not fit on NVRAM.
fn contents(fs: &mut impl FileSystem) {
    let deepest = (4 + 512 + 512 * 512 + 700) * BLOCK + 5;
    let starts = [0, 3 * BLOCK + 100, 500 * BLOCK, (4 + 512 + 505) * BLOCK, deepest];
    for (number, start) in starts.into_iter().enumerate() {
        let ino = file(fs, ROOT, format!("file {number}").as_bytes());
        fs.write(ino, start, &content(number as u8 + 1, 60_000), &CALLER).expect("room");
        fs.write(ino, 0, &content(number as u8 + 9, 100), &CALLER).expect("room");
    }
    let reserved = file(fs, ROOT, b"reserved");
    fs.write(reserved, 0, &content(5, 9000), &CALLER).expect("room");
    for (start, blocks) in [(1, 6), (500, 30)] {
        let how = Allocate::Reserve { keep_size: start > 1 };
        fs.allocate(reserved, how, start * BLOCK, blocks * BLOCK, &CALLER).expect("room");
    }
    let large = file(fs, ROOT, b"large");
    for part in 0..15 {
        fs.write(large, part * 100_000, &content(part as u8, 100_000), &CALLER).expect("room");
    }
    fs.link(large, ROOT, b"large too", &CALLER).expect("room");
    // Some blocks are read back as clean pages, and some are written again.
    let mut out = vec![0; 400_000];
    fs.read(large, 0, &mut out, &CALLER).expect("the drive is well");
    fs.write(large, 1_000_000, &content(99, 200_000), &CALLER).expect("room");
}

/// The image contains all structures that the tests damage.
#[test]
fn image_contains_all_structures() {
    for placement in PlacementKind::ALL {
        let image = image(placement, true);
        let pieces = super::structures::Structures::find(&image);
        let counts = (pieces.directories.len(), pieces.pointers.len());
        assert!(counts.0 > 5 && counts.1 > 6, "{counts:?}");
        let is_reserved =
            |pointer: &&u64| BlockLocation::decode(**pointer, &image.areas) == Some(BlockLocation::Reserved);
        assert_eq!(pieces.locations.iter().filter(is_reserved).count(), 4 + 30);
        assert!(pieces.inode_pages.len() > 4, "some are behind a block of pointers");
        assert!(!pieces.xattrs.is_empty() && !pieces.targets.is_empty());
        assert!(image.ssd.stored_blocks() > 100 && image.ssd.blocks() == SSD_BLOCKS);
    }
}
