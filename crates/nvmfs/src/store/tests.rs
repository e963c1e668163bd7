//! Tests that every checksum is verified: a flipped byte anywhere in a checksummed record is noticed by each reader.

use super::change_notes::Unit;
use super::close_checksums::check_close_checksums;
use super::epoch::{read_label, write_label};
use super::pages::{self, State};
use super::snapshots::page_word;
use super::sums::{are_notes_valid, data_sum};
use super::{ChecksummedPart, DamagedArea, OpenError, Problem, ProblemKind, Scan, Store};
use crate::api::{BLOCK_BYTES, Caller, Error, FileSystem, Ino, Kind, ROOT, Result, SetXattr};
use crate::fs::Nvmfs;
use crate::layout::{
    Areas, BlockLocation, ChangeNoteWords, DIRECT, Epoch, FIRST_KEPT_INODE, Field, INODE_BYTES, ListEnds,
    PAGE_INFO_BYTES, PageId, SUM_BYTES, Superblock, checked_number, checked_word,
};
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::{MemorySsd, Ssd};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 100 };
/// Numbers of blocks of the file: all fit on NVRAM, or not.
const FEW: u64 = 10;
const MANY: u64 = 2500;
/// Bits that are flipped in a byte.
const FLIPPED: u8 = 0x10;

/// File system with a file, whose attributes have a page, and a long symbolic link. No unit is noted as changing.
struct Fixture {
    fs: Fs,
    ssd: Arc<MemorySsd>,
    file: Ino,
    blocks: u64,
    link: Ino,
}

/// Closed file system.
struct ClosedImage {
    bytes: Vec<u8>,
    ssd: Arc<MemorySsd>,
    superblock: Superblock,
    areas: Areas,
}

impl Fixture {
    fn new(blocks: u64) -> Self {
        let format = Format { inodes: Some(64), ..Format::default() };
        let ssd = Arc::new(MemorySsd::new(4096));
        let options = Options { index_bytes: 0, ..Options::default() };
        let mut fs = Fs::format(PlainNvram::new(8 << 20), Arc::clone(&ssd), &format, options).unwrap();
        let file = fs.create(ROOT, b"file", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
        for block in 0..blocks {
            fs.write(file, block * BLOCK_BYTES as u64, &[block as u8; BLOCK_BYTES], &CALLER).unwrap();
        }
        fs.set_xattr(file, b"user.a", &[1; 1000], SetXattr::Either, &CALLER).unwrap();
        let link = fs.symlink(ROOT, b"link", &[b'x'; 300], &CALLER).unwrap().ino;
        fs.store.region.update_all_checksums();
        Fixture { fs, ssd, file, blocks, link }
    }

    /// Flips bits of the NVRAM, without a note.
    fn flip(&mut self, at: usize) {
        let byte = self.fs.store.region.bytes()[at] ^ FLIPPED;
        self.fs.store.region.store(at, &[byte]);
    }

    fn page_at(&self, pointer: u64) -> PageId {
        match self.fs.store.region.location(pointer).unwrap() {
            BlockLocation::Nvram(page) => page,
            other => panic!("no page of the NVRAM: {other:?}"),
        }
    }

    fn page_of_block(&self, ino: Ino, block: u64) -> PageId {
        let at = self.fs.store.region.pointer_at(ino, block).unwrap().unwrap();
        self.page_at(self.fs.store.region.word(at))
    }

    /// Returns the pages of the directory, the link's target, the attributes, and the pointers to the fifth and later
    /// blocks; each with its part in a scan.
    fn metadata_pages(&self) -> [(PageId, ChecksummedPart); 4] {
        let inode = self.fs.store.region.inode(self.file).unwrap();
        [
            (self.page_of_block(ROOT, 0), ChecksummedPart::Block(0)),
            (self.page_of_block(self.link, 0), ChecksummedPart::Block(0)),
            (self.page_at(inode.xattrs), ChecksummedPart::Xattrs),
            (self.page_at(inode.pointers[DIRECT]), ChecksummedPart::Pointers(DIRECT as u64)),
        ]
    }

    /// Returns a block of the file file that is only on the SSD, and its location.
    fn block_on_ssd(&self) -> (u64, u64) {
        let location = |block: u64| match self.fs.store.region.location_of(self.file, block).unwrap() {
            BlockLocation::Ssd(location) => Some((block, location)),
            _ => None,
        };
        (0..self.blocks).find_map(location).expect("the file is larger than the NVRAM")
    }

    fn read_block(&mut self, block: u64) -> Result<Vec<u8>> {
        let mut out = vec![0xee; BLOCK_BYTES];
        self.fs.read(self.file, block * BLOCK_BYTES as u64, &mut out, &CALLER).map(|_| out)
    }

    /// Returns the problems that fsck finds.
    fn problems(self) -> Vec<Problem> {
        let nvram = self.fs.into_store().region.into_nvram();
        let (_, found) = Store::open_damaged(nvram, self.ssd, Options::default()).unwrap();
        found.scan.problems
    }

    fn close(self) -> ClosedImage {
        let bytes = self.fs.close().into_bytes();
        let superblock = Superblock::decode(&bytes).unwrap();
        let areas = superblock.areas().unwrap();
        ClosedImage { bytes, ssd: self.ssd, superblock, areas }
    }
}

impl ClosedImage {
    fn check(&self) -> Scan {
        check_close_checksums(&self.bytes, &self.areas, &self.superblock)
    }

    /// Flips each byte of a range alone; `check` must notice each time.
    fn flip_each(&mut self, range: impl Iterator<Item = usize>, is_noticed: impl Fn(&Self) -> bool) {
        for at in range {
            self.bytes[at] ^= FLIPPED;
            assert!(is_noticed(self), "byte {at}");
            self.bytes[at] ^= FLIPPED;
        }
        assert_eq!((self.check().problem_count, is_noticed(self)), (0, false));
    }
}

fn is_damaged<T>(outcome: Result<T>) -> bool {
    matches!(outcome, Err(Error::Damaged(_)))
}

/// Runs a whole pass of the scrub; returns the mismatches since the file system was opened.
fn scrub(fs: &mut Fs) -> u64 {
    while let Some(scrub) = fs.store.begin_scrub() {
        let outcome = scrub.read();
        fs.store.end_scrub(scrub, outcome).unwrap();
    }
    fs.store.checksum_stats().unwrap().mismatches
}

fn write_flipped(ssd: &MemorySsd, location: u64, content: &[u8], at: usize) {
    let mut flipped = content.to_vec();
    flipped[at] ^= FLIPPED;
    ssd.write(location, &flipped, 0).unwrap();
}

#[test]
fn flipped_byte_of_inode_is_noticed() {
    let mut fixture = Fixture::new(FEW);
    let start = fixture.fs.store.region.inode_at(fixture.file).unwrap();
    let before = fixture.fs.attributes(fixture.file).unwrap();
    // The block count is recomputed and has no checksum; the checksum itself is covered.
    for byte in (0..INODE_BYTES).filter(|byte| !(Field::Blocks as usize..Field::Sum as usize).contains(byte))
    {
        fixture.flip(start + byte);
        assert!(is_damaged(fixture.fs.attributes(fixture.file)), "byte {byte}");
        assert!(is_damaged(fixture.fs.write(fixture.file, 0, b"x", &CALLER)), "byte {byte}");
        fixture.flip(start + byte);
    }
    assert_eq!(fixture.fs.attributes(fixture.file).unwrap(), before);
}

#[test]
fn flipped_byte_of_metadata_page_is_noticed() {
    let mut fixture = Fixture::new(FEW);
    for (page, part) in fixture.metadata_pages() {
        let areas = &fixture.fs.store.region.areas;
        let (start, sum) = (areas.page(page), areas.page_sum(page));
        for at in (start..start + BLOCK_BYTES).chain(sum..sum + SUM_BYTES) {
            fixture.flip(at);
            assert!(is_damaged(fixture.fs.store.region.verified_page(page)), "{part}, byte {at}");
            fixture.flip(at);
        }
        assert!(fixture.fs.store.region.verified_page(page).is_ok(), "{part}");
    }
}

#[test]
fn readers_of_names_targets_and_attributes_notice_damage() {
    let mut fixture = Fixture::new(FEW);
    let [(directory, _), (target, _), (xattrs, _), _] = fixture.metadata_pages();
    let [directory, target, xattrs] =
        [directory, target, xattrs].map(|page| fixture.fs.store.region.areas.page(page) + BLOCK_BYTES - 1);
    let (file, link) = (fixture.file, fixture.link);
    let list = |fs: &mut Fs| fs.read_directory(ROOT, 0, &mut |_| ControlFlow::Continue(()));
    fixture.flip(directory);
    assert!(is_damaged(fixture.fs.lookup(ROOT, b"file")) && is_damaged(list(&mut fixture.fs)));
    fixture.flip(directory);
    assert!(fixture.fs.lookup(ROOT, b"file").is_ok() && list(&mut fixture.fs).is_ok());
    fixture.flip(target);
    assert!(is_damaged(fixture.fs.read_link(link)));
    fixture.flip(target);
    assert_eq!(fixture.fs.read_link(link).unwrap(), [b'x'; 300]);
    fixture.flip(xattrs);
    assert!(is_damaged(fixture.fs.xattr(file, b"user.a")) && is_damaged(fixture.fs.xattrs(file)));
    fixture.flip(xattrs);
    assert_eq!(fixture.fs.xattr(file, b"user.a").unwrap(), [1; 1000]);
}

#[test]
fn scan_and_scrub_notice_damage_of_each_unit() {
    for number in 0..5 {
        let mut fixture = Fixture::new(FEW);
        let (at, part) = match fixture.metadata_pages().get(number) {
            Some((page, part)) => (fixture.fs.store.region.areas.page(*page) + BLOCK_BYTES - 1, *part),
            // The most significant byte of the access time.
            None => {
                let start = fixture.fs.store.region.inode_at(fixture.file).unwrap();
                (start + Field::Accessed as usize + 7, ChecksummedPart::Inode)
            }
        };
        assert_eq!(scrub(&mut fixture.fs), 0, "{part}");
        fixture.fs.store.check().unwrap();
        fixture.flip(at);
        assert!(fixture.fs.store.check().is_err(), "{part}");
        // The second pass does not count the damage again.
        assert_eq!((scrub(&mut fixture.fs), scrub(&mut fixture.fs)), (1, 1), "{part}");
        let problems = fixture.problems();
        assert!(problems.iter().any(|problem| problem.kind == ProblemKind::Checksum(part)), "{problems:?}");
    }
}

#[test]
fn scan_notices_damage_of_snapshots() {
    let has = |problems: Vec<Problem>, kind: ProblemKind| {
        problems.iter().any(|problem| problem.ino.0 >= FIRST_KEPT_INODE && problem.kind == kind)
    };
    let block = |number| ProblemKind::Checksum(ChecksummedPart::Block(number));
    // Returns the page with the record of the snapshot, and the page with the kept inode.
    let snapshot = || {
        let mut fixture = Fixture::new(FEW);
        fixture.fs.create_snapshot("s", 1).unwrap();
        fixture.fs.write(fixture.file, 0, b"changed", &CALLER).unwrap();
        fixture.fs.store.region.update_all_checksums();
        let region = &fixture.fs.store.region;
        let records = PageId(checked_number(region.word(page_word(0))).unwrap() as u32 - 1);
        let tree = region.areas.kept_inode(region.areas.page(records));
        let is_kept = |page: &PageId| {
            pages::state_of(region, *page) == State::Metadata && pages::owner_of(region, *page).0 == tree
        };
        let kept: Vec<PageId> = (0..region.areas.pages).map(PageId).filter(is_kept).collect();
        (fixture, records, kept)
    };
    let (fixture, ..) = snapshot();
    assert_eq!(fixture.problems(), []);
    for byte in 0..8 {
        let (mut fixture, ..) = snapshot();
        fixture.flip(page_word(0) + byte);
        assert!(has(fixture.problems(), ProblemKind::Records), "byte {byte}");
    }
    let (mut fixture, records, _) = snapshot();
    fixture.flip(fixture.fs.store.region.areas.page(records) + BLOCK_BYTES - 1);
    assert!(has(fixture.problems(), block(0)));
    let (mut fixture, _, kept) = snapshot();
    let pages: Vec<usize> = kept.iter().map(|page| fixture.fs.store.region.areas.page(*page)).collect();
    assert!(!pages.is_empty());
    pages.iter().for_each(|start| fixture.flip(start + BLOCK_BYTES - 1));
    let problems = fixture.problems();
    assert_eq!(problems.len(), pages.len(), "{problems:?}");
    assert!(problems.iter().all(|problem| matches!(problem.kind, ProblemKind::Checksum(_))), "{problems:?}");
}

#[test]
fn flipped_byte_of_block_on_ssd_is_noticed() {
    let mut fixture = Fixture::new(MANY);
    let (block, location) = fixture.block_on_ssd();
    let content = vec![block as u8; BLOCK_BYTES];
    for at in 0..BLOCK_BYTES {
        write_flipped(&fixture.ssd, location, &content, at);
        assert!(is_damaged(fixture.read_block(block)), "byte {at}");
    }
    // A write of a part of the block needs the rest.
    assert!(is_damaged(fixture.fs.write(fixture.file, block * BLOCK_BYTES as u64, b"x", &CALLER)));
    let found = fixture.fs.store.check_all_data().unwrap();
    let kinds: Vec<ProblemKind> = found.iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds, [ProblemKind::Checksum(ChecksummedPart::SsdData(block))]);
    let before = fixture.fs.store.checksum_stats().unwrap().mismatches;
    assert!(before > BLOCK_BYTES as u64, "{before}");
    assert_eq!(scrub(&mut fixture.fs), before + 1);
    fixture.ssd.write(location, &content, 0).unwrap();
    let sum = fixture.fs.store.region.areas.ssd_sum(location);
    for at in sum..sum + SUM_BYTES {
        fixture.flip(at);
        assert!(is_damaged(fixture.read_block(block)), "byte {at}");
        fixture.flip(at);
    }
    assert_eq!(scrub(&mut fixture.fs), before + 1 + SUM_BYTES as u64);
    assert_eq!(fixture.read_block(block).unwrap(), content);
}

/// The checksum of a block that was read in advance is computed for the owner that the block had then.
#[test]
fn damage_of_block_read_in_advance_is_noticed() {
    let mut fixture = Fixture::new(MANY);
    let (block, location) = fixture.block_on_ssd();
    let (content, file) = (vec![block as u8; BLOCK_BYTES], fixture.file);
    let mut read_in_advance = |owner: (Ino, u32)| {
        let fetch = fixture.fs.store.begin_reading(&[(location, owner)]);
        let outcome = fetch.read();
        fixture.fs.store.end_fetch(fetch, outcome).unwrap();
        let mut out = vec![0xee; BLOCK_BYTES];
        fixture.fs.store.read_ssd(location, &mut out).map(|()| out)
    };
    let (owner, other) = ((file, block as u32), (file, block as u32 + 1));
    for known in [owner, other] {
        assert_eq!(read_in_advance(known).unwrap(), content);
        for at in [0, 1, 100, BLOCK_BYTES - 1] {
            write_flipped(&fixture.ssd, location, &content, at);
            assert!(is_damaged(read_in_advance(known)), "byte {at}");
        }
        fixture.ssd.write(location, &content, 0).unwrap();
    }
}

#[test]
fn checksum_of_data_covers_owner_and_content() {
    let content: Vec<u8> = (0..BLOCK_BYTES).map(|at| (at % 251) as u8).collect();
    let (ino, block) = (Ino(0x0102_0304), 0x0506_0708);
    let sum = data_sum(ino, block, &content);
    for bit in 0..32 {
        assert_ne!(data_sum(Ino(ino.0 ^ 1 << bit), block, &content), sum, "bit {bit} of the inode");
        assert_ne!(data_sum(ino, block ^ 1 << bit, &content), sum, "bit {bit} of the block");
    }
    for at in 0..BLOCK_BYTES {
        let mut flipped = content.clone();
        flipped[at] ^= FLIPPED;
        assert_ne!(data_sum(ino, block, &flipped), sum, "byte {at}");
    }
}

fn bytes_at(start: usize, length: usize) -> Range<usize> {
    start..start + length
}

#[test]
fn flipped_byte_of_closed_lists_is_noticed() {
    let mut image = Fixture::new(FEW).close();
    let is_noticed = |image: &ClosedImage| image.check().areas.contains(&DamagedArea::Lists);
    image.flip_each(bytes_at(ListEnds::AT, 16).chain(bytes_at(ListEnds::SUM_AT, 4)), is_noticed);
    // Each byte of the first and the last entries, and one byte of each entry.
    let (table, entries) = (image.areas.page_table, image.areas.pages as usize);
    let end = table + entries * PAGE_INFO_BYTES;
    let ends = bytes_at(table, 3 * PAGE_INFO_BYTES).chain(bytes_at(end - PAGE_INFO_BYTES, PAGE_INFO_BYTES));
    image.flip_each(ends, is_noticed);
    image.flip_each(
        (0..entries).map(|entry| table + entry * PAGE_INFO_BYTES + entry % PAGE_INFO_BYTES),
        is_noticed,
    );
}

#[test]
fn flipped_byte_of_closed_data_page_is_noticed() {
    let (fixture, block) = (Fixture::new(FEW), FEW - 1);
    let (page, file) = (fixture.page_of_block(fixture.file, block), fixture.file);
    let mut image = fixture.close();
    let kind = ProblemKind::Checksum(ChecksummedPart::NvramData(block));
    let start = image.areas.page(page);
    let is_noticed = |image: &ClosedImage| {
        let found = image.check().problems;
        found.iter().any(|problem| (problem.ino, problem.kind) == (file, kind))
    };
    image.flip_each(bytes_at(start, BLOCK_BYTES), is_noticed);
    let sum = image.areas.page_sum(page);
    image.flip_each(bytes_at(sum, SUM_BYTES), is_noticed);
}

#[test]
fn flipped_byte_of_closed_words_is_noticed() {
    let mut image = Fixture::new(FEW).close();
    for (range, area) in [
        (bytes_at(image.areas.log, 8), DamagedArea::Log),
        (bytes_at(ListEnds::CLEAN_AT, 8), DamagedArea::Closed),
        (bytes_at(ChangeNoteWords::AT, 8 * ChangeNoteWords::COUNT), DamagedArea::ChangeNotes),
        (bytes_at(Epoch::AT, Epoch::BYTES), DamagedArea::Epoch),
        (bytes_at(Epoch::NEXT_AT, Epoch::BYTES), DamagedArea::Epoch),
    ] {
        image.flip_each(range, |image| image.check().areas.contains(&area));
    }
    // A closed file system has no notes, not even valid ones.
    let note = checked_word(Unit::Inode(ROOT).number());
    image.bytes[bytes_at(ChangeNoteWords::AT, 8)].copy_from_slice(&note.to_le_bytes());
    assert_eq!(image.check().areas, [DamagedArea::ChangeNotes]);
    image.bytes[bytes_at(ChangeNoteWords::AT, 8)].fill(0);
    // The check before a mount must be part of the mount.
    image.bytes[image.areas.log] ^= FLIPPED;
    let nvram = PlainNvram::from(image.bytes);
    let opened = Store::open(nvram, image.ssd, Options::default());
    assert!(matches!(opened, Err(OpenError::Damaged { .. })));
}

#[test]
fn flipped_byte_of_note_is_noticed() {
    let mut fixture = Fixture::new(FEW);
    let start = fixture.fs.store.region.inode_at(fixture.file).unwrap();
    fixture.fs.store.region.note_changing(start);
    let note = checked_word(Unit::Inode(fixture.file).number());
    let region = &fixture.fs.store.region;
    let slots = (0..ChangeNoteWords::COUNT).map(|slot| ChangeNoteWords::AT + 8 * slot);
    let at = slots.into_iter().find(|at| region.word(*at) == note).expect("the note is there");
    let areas = region.areas.clone();
    for byte in at..at + 8 {
        fixture.flip(byte);
        assert!(!are_notes_valid(fixture.fs.store.region.bytes(), &areas), "byte {byte}");
        fixture.flip(byte);
    }
    assert!(are_notes_valid(fixture.fs.store.region.bytes(), &areas));
}

#[test]
fn flipped_byte_of_ssd_label_is_noticed() {
    let ssd = MemorySsd::new(4096);
    let (id, epoch) = (0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10, Epoch { count: 7, nonce: 8 });
    write_label(&ssd, id, epoch).unwrap();
    assert_eq!(read_label(&ssd, id).unwrap(), Ok(Some(epoch)));
    assert!(read_label(&ssd, id + 1).unwrap().is_err());
    let mut whole = vec![0; BLOCK_BYTES];
    ssd.read(0, &mut whole).unwrap();
    // First bytes, identifier and checksum.
    for at in 0..36 {
        write_flipped(&ssd, 0, &whole, at);
        assert!(read_label(&ssd, id).unwrap().is_err(), "byte {at}");
    }
    for at in bytes_at(Epoch::LABEL_AT, Epoch::BYTES) {
        write_flipped(&ssd, 0, &whole, at);
        assert_eq!(read_label(&ssd, id).unwrap(), Ok(None), "byte {at}");
    }
}
