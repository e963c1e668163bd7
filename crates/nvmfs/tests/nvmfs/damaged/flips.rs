//! Single flipped bits anywhere on the devices: each relevant flip is detected, and reads never return wrong content.

use super::image::{Image, image, options};
use super::structures::Structures;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use wearwell_nvmfs::api::{BLOCK_BYTES, Caller, Error, FileSystem, Ino, Kind, Seek};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::{
    BlockLocation, ChangeNoteWords, Epoch, Field, INODE_BYTES, ListEnds, PageId, SUM_BYTES, SUPERBLOCK_BYTES,
    checked_number,
};
use wearwell_nvmfs::names::check::check;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};
use wearwell_nvmfs::store::Store;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

const FLIPS: u64 = 1000;
/// Bytes of a page table entry, and the offsets of the state, the copy and the checksum in it.
const PAGE_INFO_BYTES: usize = 32;
const COPY_AT: usize = 8;
const STATE_AT: usize = 24;
const CLEAN: u8 = 1;
const PAGE_SUM_AT: usize = 28;
const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 1_000 };

/// Everything that can be read from a file system, by kind, inode and offset.
type ReadContent = BTreeMap<(&'static str, Ino, u64), Result<Vec<u8>, ()>>;

/// File system with its relevant bytes, grouped by type, and with everything that can be read from it.
struct IntactImage {
    image: Image,
    nvram: Vec<Vec<Range<usize>>>,
    ssd: Vec<Vec<Range<usize>>>,
    content: ReadContent,
}

/// Returns a file system that was in use at a power cut, in which few inodes and pages were noted as changing.
fn crashed_image(placement: PlacementKind) -> Image {
    let closed = image(placement, true);
    let ssd = closed.ssd();
    let (mut fs, _) =
        Fs::mount(PlainNvram::from(closed.nvram), Arc::clone(&ssd), options()).expect("it was closed");
    let ino = fs.create(Ino(1), b"the last", Kind::File, 0o600, 0, &CALLER).expect("room").ino;
    fs.write(ino, 0, &[5; 20_000], &CALLER).expect("room");
    let nvram = fs.into_store().region.into_nvram().into_bytes();
    Image { nvram, ssd: (*ssd).clone(), areas: closed.areas }
}

impl IntactImage {
    fn new(image: Image, is_closed: bool) -> IntactImage {
        let pieces = Structures::find(&image);
        let changing = changing(&image, &pieces);
        let is_settled = |at: &usize| !changing.contains(at);
        let areas = &image.areas;
        let some = |ats: &[usize], length: usize| -> Vec<Range<usize>> {
            ats.iter().filter(|at| is_settled(at)).map(|at| *at..at + length).collect()
        };
        let metadata = [&pieces.directories, &pieces.pointers, &pieces.xattrs, &pieces.targets];
        let mut nvram = vec![
            vec![
                0..SUPERBLOCK_BYTES,
                areas.log..areas.log + 8,
                ChangeNoteWords::AT..ChangeNoteWords::AT + 8 * ChangeNoteWords::COUNT,
            ],
            some(&pieces.inodes, Field::Blocks as usize),
            some(&pieces.inodes.iter().map(|at| at + Field::Sum as usize).collect::<Vec<_>>(), 4),
            some(&pieces.inodes.iter().map(|at| at + 56).collect::<Vec<_>>(), INODE_BYTES - 56),
        ];
        nvram.extend(metadata.map(|pages| some(pages, BLOCK_BYTES)));
        nvram.push(metadata.iter().flat_map(|pages| sums_of(&image, some(pages, BLOCK_BYTES))).collect());
        let locations =
            pieces.locations.iter().filter_map(|pointer| match BlockLocation::decode(*pointer, areas) {
                Some(BlockLocation::Ssd(block)) => Some(block),
                _ => None,
            });
        let mut blocks: Vec<u64> = locations.collect();
        if is_closed {
            nvram.push(vec![
                ListEnds::CLEAN_AT..ListEnds::SUM_AT + 4,
                Epoch::AT..Epoch::AT + Epoch::BYTES,
                Epoch::NEXT_AT..Epoch::NEXT_AT + Epoch::BYTES,
            ]);
            nvram.push(some(
                &pieces.inodes.iter().map(|at| at + Field::Blocks as usize).collect::<Vec<_>>(),
                4,
            ));
            nvram.push(some(&pieces.data, BLOCK_BYTES));
            let table_bytes = areas.pages as usize * PAGE_INFO_BYTES;
            nvram.push(std::iter::once(areas.page_table..areas.page_table + table_bytes).collect());
            blocks.extend(copies(&image));
        }
        nvram.push(blocks.iter().map(|block| areas.ssd_sum(*block)).map(|at| at..at + SUM_BYTES).collect());
        let label = vec![0..36, Epoch::LABEL_AT..Epoch::LABEL_AT + Epoch::BYTES];
        let content = blocks.iter().map(|block| *block as usize * BLOCK_BYTES);
        let ssd = vec![label, content.map(|at| at..at + BLOCK_BYTES).collect()];
        let seen = read(&image.nvram, &image.ssd).expect("it is whole");
        let lost: Vec<_> = seen.iter().filter(|(_, what)| what.is_err()).map(|(key, _)| key).collect();
        assert_eq!(lost, Vec::<&(&str, Ino, u64)>::new());
        // Bytes to which no pointer leads are not relevant.
        let mut ssd = ssd;
        nvram.retain(|ranges| !ranges.is_empty());
        ssd.retain(|ranges| !ranges.is_empty());
        IntactImage { image, nvram, ssd, content: seen }
    }

    /// Flips a bit in bytes of a random type.
    fn flip(&self, random: &mut impl Rng) -> (Vec<u8>, MemorySsd, String) {
        let (mut nvram, ssd) = (self.image.nvram.clone(), self.image.ssd.clone());
        let kind = random.random_range(0..self.nvram.len() + self.ssd.len());
        let ranges = self.nvram.iter().chain(&self.ssd).nth(kind).expect("there are so many");
        let range = &ranges[random.random_range(0..ranges.len())];
        let (at, bit) = (random.random_range(range.clone()), random.random_range(0..8));
        if kind < self.nvram.len() {
            nvram[at] ^= 1 << bit;
        } else {
            let mut block = vec![0; BLOCK_BYTES];
            let number = (at / BLOCK_BYTES) as u64;
            ssd.read(number, &mut block).expect("within");
            block[at % BLOCK_BYTES] ^= 1 << bit;
            ssd.write(number, &block, 0).expect("within");
        }
        (nvram, ssd, format!("kind {kind}, bit {bit} of byte {at}"))
    }
}

/// Returns the offsets of the inodes and pages that were being changed: after a power cut, their checksums are
/// recomputed.
fn changing(image: &Image, pieces: &Structures) -> BTreeSet<usize> {
    let (words, _) =
        image.nvram[ChangeNoteWords::AT..ChangeNoteWords::AT + 8 * ChangeNoteWords::COUNT].as_chunks::<8>();
    let numbers = words.iter().map(|word| checked_number(u64::from_le_bytes(*word)).expect("it is whole"));
    let mut changing = BTreeSet::new();
    for number in numbers.filter(|number| *number > 0) {
        // The largest number is that of inode 0, the file of inode pages.
        let index = (number >> 1) as u32;
        if number & 1 == 1 {
            changing.insert(image.areas.page(PageId(index)));
        } else {
            let at = pieces.inode_at(image, Ino(index));
            changing.extend([0, Field::Blocks as usize, Field::Sum as usize, 56].map(|field| at + field));
        }
    }
    changing
}

/// Returns the ranges of the checksums of pages.
fn sums_of(image: &Image, pages: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let number = |page: Range<usize>| (page.start - image.areas.data) / BLOCK_BYTES;
    let sum_at = |number| image.areas.page_table + number * PAGE_INFO_BYTES + PAGE_SUM_AT;
    pages.into_iter().map(|page| sum_at(number(page))).map(|at| at..at + 4).collect()
}

/// Returns the locations on the SSD of copies of clean pages; after eviction, the copy is the only one.
fn copies(image: &Image) -> Vec<u64> {
    let table = &image.nvram[image.areas.page_table..][..image.areas.pages as usize * PAGE_INFO_BYTES];
    let clean = table.chunks(PAGE_INFO_BYTES).filter(|info| info[STATE_AT] == CLEAN);
    let copy = |info: &[u8]| u64::from_le_bytes(info[COPY_AT..COPY_AT + 8].try_into().expect("8 bytes"));
    clean.map(copy).collect()
}

/// Reads everything; `None` if the mount fails.
fn read(nvram: &[u8], ssd: &MemorySsd) -> Option<ReadContent> {
    let (mut fs, _) = Fs::mount(PlainNvram::from(nvram.to_vec()), Arc::new(ssd.clone()), options()).ok()?;
    let mut seen = ReadContent::new();
    for ino in fs.store().region.inos() {
        let attributes = match fs.attributes(ino) {
            Err(Error::NotFound) => continue,
            attributes => attributes.map_err(drop),
        };
        let (kind, size) = attributes.as_ref().map_or((None, 0), |of| (Some(of.kind), of.size_bytes));
        seen.insert(("attributes", ino, 0), attributes.map(|of| format!("{of:?}").into_bytes()));
        let names = fs.xattrs(ino).map_err(drop);
        for (number, name) in (0..).zip(names.as_ref().into_iter().flatten()) {
            seen.insert(("value", ino, number), fs.xattr(ino, name).map_err(drop));
        }
        seen.insert(("names", ino, 0), names.map(|names| names.concat()));
        match kind {
            Some(Kind::Directory) => drop(seen.insert(("entries", ino, 0), entries(&mut fs, ino))),
            Some(Kind::Symlink) => drop(seen.insert(("target", ino, 0), fs.read_link(ino).map_err(drop))),
            Some(Kind::File) => content(&mut fs, ino, size, &mut seen),
            _ => {}
        }
    }
    Some(seen)
}

fn entries(fs: &mut Fs, dir: Ino) -> Result<Vec<u8>, ()> {
    let mut names = Vec::new();
    let listed = fs.read_directory(dir, 0, &mut |entry| {
        names.extend(format!("{:?} {:?} ", entry.ino, entry.kind).bytes());
        names.extend(entry.name);
        ControlFlow::Continue(())
    });
    listed.map(|()| names).map_err(drop)
}

/// Reads the existing blocks; if they cannot be determined, records an error at offset 0.
fn content(fs: &mut Fs, ino: Ino, size: u64, content_read: &mut ReadContent) {
    let mut at = 0;
    while at < size {
        at = match fs.seek(ino, at, Seek::Data) {
            Ok(at) => at,
            Err(Error::NoDataOrHole) => return,
            Err(_) => return drop(content_read.insert(("unknown", ino, 0), Err(()))),
        };
        let mut block = vec![0; BLOCK_BYTES];
        let read = fs.read(ino, at, &mut block, &CALLER).map(|_| block).map_err(drop);
        content_read.insert(("content", ino, at), read);
        at += BLOCK_BYTES as u64;
    }
}

/// True if fsck finds a problem.
fn fsck_finds_problem(nvram: &[u8], ssd: &MemorySsd) -> bool {
    let nvram = PlainNvram::from(nvram.to_vec());
    let Ok((store, found)) = Store::open_damaged(nvram, Arc::new(ssd.clone()), options()) else {
        return true;
    };
    found.scan.problem_count > 0
        || check(&store.region).is_ok_and(|problems| !problems.is_empty())
        || !store.check_all_data().expect("it can be read").is_empty()
}

/// Returns an item that is missing, or whose content was never written.
fn wrongly_read(before: &ReadContent, after: &ReadContent) -> Option<(&'static str, Ino, u64)> {
    let mut read = after.iter().filter(|(_, what)| what.is_ok());
    let wrong = read.find(|(key, what)| before.get(*key) != Some(*what)).map(|(key, _)| *key);
    // Items that disappeared without an error are wrong, too.
    let is_reported = |ino: Ino| {
        [("attributes", ino, 0), ("unknown", ino, 0)].iter().any(|key| after.get(key) == Some(&Err(())))
    };
    wrong.or_else(|| before.keys().find(|key| !after.contains_key(*key) && !is_reported(key.1)).copied())
}

#[test]
fn every_relevant_bit_flip_is_detected_and_nothing_wrong_is_read() {
    let wholes = PlacementKind::ALL.into_iter().flat_map(|placement| {
        [IntactImage::new(image(placement, true), true), IntactImage::new(crashed_image(placement), false)]
    });
    let wholes: Vec<IntactImage> = wholes.collect();
    let (mut mounted, mut refused) = (0, 0);
    for seed in 0..FLIPS {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let whole = &wholes[seed as usize % wholes.len()];
        let (nvram, ssd, what) = whole.flip(&mut random);
        assert!(fsck_finds_problem(&nvram, &ssd), "seed {seed}, {what}: fsck finds nothing");
        match read(&nvram, &ssd) {
            Some(seen) => {
                mounted += 1;
                let wrong = wrongly_read(&whole.content, &seen);
                assert_eq!(wrong, None, "seed {seed}, {what}: read, and never written");
            }
            None => refused += 1,
        }
    }
    assert!(mounted > 50 && refused > 500, "{mounted} mounted, {refused} refused");
}
