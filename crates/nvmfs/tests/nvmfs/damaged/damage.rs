//! Thousands of images with random and deliberate damage.

use super::image::{Image, NVRAM_BYTES, image, image_with, options};
use super::life_cycle::{Fate, run_life_cycle};
use super::nvrams::AccessLimitedNvram;
use super::structures::Structures;
use crate::common::{OP_WORDS, more_cases};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;
use std::sync::Arc;
use wearwell_nvmfs::api::{BLOCK_BYTES, MAX_FILE_BYTES};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::{
    Checksums, Field, INODE_BYTES, LayoutError, ListEnds, NVRAM_BASE, SUPERBLOCK_BYTES, Superblock,
};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};
use wearwell_nvmfs::store::OpenError;

type Random = Xoshiro256PlusPlus;

fn pick<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.random_range(0..of.len())]
}

/// Returns a range of bytes to damage, and the size of the objects in it.
fn target(image: &Image, pieces: &Structures, random: &mut Random) -> (Range<usize>, usize) {
    let areas = &image.areas;
    let page = |at: usize| (at..at + BLOCK_BYTES, BLOCK_BYTES);
    match random.random_range(0..20) {
        0 => (ListEnds::CLEAN_AT..ListEnds::AT + 16, 8),
        1 => (areas.log..areas.log + 1024, 64),
        2 => (areas.bitmap..areas.page_table, 64),
        3 => (areas.page_table..areas.owners, 32),
        4 => (areas.owners..areas.data, 64),
        5..=9 => {
            let at = pick(random, &pieces.inodes);
            (at..at + INODE_BYTES, INODE_BYTES)
        }
        10..=12 => page(pick(random, &pieces.directories)),
        13..=15 => page(pick(random, &pieces.pointers)),
        16 => page(pick(random, &pieces.xattrs)),
        17 => page(pick(random, &pieces.targets)),
        18 => page(pick(random, &pieces.data)),
        _ => (areas.log..NVRAM_BYTES, BLOCK_BYTES),
    }
}

/// Returns a word that is likely to be valid somewhere in the image.
fn plausible_word(image: &Image, pieces: &Structures, random: &mut Random) -> u64 {
    let areas = &image.areas;
    let small = random.random_range(0..300);
    let sizes =
        [MAX_FILE_BYTES, MAX_FILE_BYTES - 1, MAX_FILE_BYTES + 1, 1 << 39, 1 << 38, u64::MAX - 4095, 5000];
    let locations = [
        NVRAM_BASE,
        NVRAM_BASE + areas.log as u64,
        NVRAM_BASE + areas.inode_table as u64,
        NVRAM_BASE + areas.page_table as u64,
        NVRAM_BASE + areas.data as u64 + 8,
        NVRAM_BASE + areas.nvram_bytes,
        NVRAM_BASE + areas.nvram_bytes - BLOCK_BYTES as u64,
        4096,
        128 * 4096,
        (areas.ssd_blocks - 1) * 4096,
        areas.ssd_blocks * 4096,
    ];
    match random.random_range(0..10) {
        0 => pick(random, &[0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, 1 << 32, u64::MAX << 32]),
        1 => pick(random, &sizes),
        2 => pick(random, &locations),
        // The word is the head of a directory record: inode, length, length of the name, file type.
        3 => small | pick(random, &[8, 16, 24, 4096, 0, 7, 65_528]) << 32 | small << 48 | 4 << 56,
        // The word is a mode and a link count.
        4 => pick(random, &[0o040_755, 0o100_644, 0o120_777, 0o010_600, 0o170_000]) | small << 32,
        5 => random.random(),
        _ => pick(random, &pieces.locations),
    }
}

/// Damages one object.
fn damage(nvram: &mut [u8], image: &Image, pieces: &Structures, random: &mut Random) {
    let (range, unit_bytes) = target(image, pieces, random);
    let at = random.random_range(range.clone());
    let word_at = at & !7;
    match random.random_range(0..10) {
        0..=2 => nvram[at] ^= 1 << random.random_range(0..8),
        3..=6 => {
            let word = plausible_word(image, pieces, random);
            nvram[word_at..word_at + 8].copy_from_slice(&word.to_le_bytes());
        }
        7 => {
            let length = random.random_range(1..64).min(range.end - at);
            random.fill(&mut nvram[at..at + length]);
        }
        // The object is replaced by another object of the same or a different type.
        8 => {
            let (from, _) = target(image, pieces, random);
            let to = range.start + (at - range.start) / unit_bytes * unit_bytes;
            let length = unit_bytes.min(from.len()).min(range.end - to);
            nvram.copy_within(from.start..from.start + length, to);
        }
        // A line is zeroed, as if its memory had lost its content.
        _ => {
            let line = at & !63;
            nvram[line..line + 64].fill(0);
        }
    }
}

fn ops(random: &mut Random, count: usize) -> Vec<[u32; OP_WORDS]> {
    (0..count).map(|_| random.random()).collect()
}

fn images() -> Vec<Image> {
    // Without checksums, only validation of the content protects users from damage.
    let kinds = [
        (true, Checksums::None),
        (false, Checksums::None),
        (true, Checksums::All),
        (false, Checksums::Metadata),
    ];
    PlacementKind::ALL
        .into_iter()
        .flat_map(|kind| kinds.map(|(is_closed, checksums)| image_with(kind, is_closed, checksums)))
        .collect()
}

/// Tests `count` damaged images; returns the number of images for each fate.
fn count_fates(first_seed: u64, count: u64) -> [u64; 3] {
    let images: Vec<(Image, Structures)> = images()
        .into_iter()
        .map(|image| {
            let pieces = Structures::find(&image);
            (image, pieces)
        })
        .collect();
    let mut fates = [0; 3];
    for seed in first_seed..first_seed + count {
        let mut random = Random::seed_from_u64(seed);
        let (image, pieces) = &images[seed as usize % images.len()];
        let mut nvram = image.nvram.clone();
        for _ in 0..random.random_range(1..6) {
            damage(&mut nvram, image, pieces, &mut random);
        }
        let ops = ops(&mut random, 200);
        let live = std::panic::AssertUnwindSafe(|| run_life_cycle(nvram, &image.ssd(), &ops));
        let fate = std::panic::catch_unwind(live).unwrap_or_else(|_| panic!("seed {seed}"));
        fates[fate as usize] += 1;
    }
    fates
}

#[test]
fn damaged_images_are_rejected_or_used_and_repaired() {
    let [_, repaired, mounted] = count_fates(0, 400 * more_cases());
    assert!(repaired > 40 && mounted > 40, "{repaired} put right first, {mounted} mounted");
}

#[test]
fn more_damaged_images_are_rejected_or_used_and_repaired() {
    let [_, repaired, mounted] = count_fates(1_000_000, 400 * more_cases());
    assert!(repaired > 40 && mounted > 40, "{repaired} put right first, {mounted} mounted");
}

/// Sets each word of some inodes to several values in turn.
#[test]
fn images_with_arbitrary_inode_words_are_usable() {
    let image = image_with(PlacementKind::Nvmfs, true, Checksums::None);
    let pieces = Structures::find(&image);
    let mut random = Random::seed_from_u64(5);
    let few = pieces.inodes.iter().step_by(pieces.inodes.len() / 4).chain(pieces.inodes.last());
    for at in few.flat_map(|inode| (*inode..inode + INODE_BYTES).step_by(8)) {
        for word in
            [0, u64::MAX, MAX_FILE_BYTES, 1 << 39, pieces.locations[9], pick(&mut random, &pieces.locations)]
        {
            let mut nvram = image.nvram.clone();
            nvram[at..at + 8].copy_from_slice(&word.to_le_bytes());
            let ops = ops(&mut random, 20);
            assert_ne!(run_life_cycle(nvram, &image.ssd(), &ops), Fate::Refused);
        }
    }
}

fn mount(nvram: Vec<u8>, ssd: MemorySsd) -> Result<(), OpenError> {
    Nvmfs::mount(AccessLimitedNvram::new(nvram, 1_000_000), Arc::new(ssd), options()).map(drop)
}

#[test]
fn every_flipped_superblock_bit_is_detected() {
    let image = image(PlacementKind::Nvmfs, true);
    for bit in 0..SUPERBLOCK_BYTES * 8 {
        let mut nvram = image.nvram.clone();
        nvram[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(mount(nvram, image.ssd.clone()), Err(OpenError::NoFileSystem)), "bit {bit}");
    }
}

/// A superblock with a valid checksum may still contain any values.
#[test]
fn invalid_superblock_sizes_are_rejected() {
    let image = image(PlacementKind::Nvmfs, true);
    let superblock = Superblock::decode(&image.nvram).expect("it is whole");
    let with = |change: &dyn Fn(&mut Superblock)| {
        let (mut changed, mut nvram) = (superblock.clone(), image.nvram.clone());
        change(&mut changed);
        nvram[..SUPERBLOCK_BYTES].copy_from_slice(&changed.encode());
        mount(nvram, image.ssd.clone())
    };
    for bytes in [0, 1, NVRAM_BYTES as u64 - 4096, 1 << 47, u64::MAX] {
        let found = with(&|superblock| superblock.nvram_bytes = bytes);
        assert!(matches!(found, Err(OpenError::NvramSize { .. })), "{bytes}: {found:?}");
    }
    for blocks in [2049, u64::MAX, 1 << 60] {
        let found = with(&|superblock| superblock.ssd_blocks = blocks);
        assert!(matches!(found, Err(OpenError::SsdSize { .. })), "{blocks}: {found:?}");
    }
    let found = with(&|superblock| superblock.ssd_blocks = 5);
    assert!(matches!(found, Err(OpenError::Layout(LayoutError::TooSmallSsd(5)))), "{found:?}");
    let found = with(&|superblock| superblock.inodes = u32::MAX);
    assert!(matches!(found, Err(OpenError::Layout(LayoutError::TooManyInodes(u32::MAX)))), "{found:?}");
    let found = with(&|superblock| superblock.inodes = 1 << 20);
    assert!(matches!(found, Err(OpenError::Layout(LayoutError::TooLittleNvram { .. }))), "{found:?}");
    let found = with(&|superblock| superblock.inodes = 0);
    assert!(matches!(found, Err(OpenError::Layout(LayoutError::TooFewInodes(0)))), "{found:?}");
    with(&|superblock| superblock.reserve_permille = u16::MAX).expect("nothing is free, all can be read");
    let found = with(&|superblock| superblock.id ^= 1);
    assert!(matches!(found, Err(OpenError::WrongSsd(_))), "{found:?}");
}

#[test]
fn short_or_foreign_devices_are_rejected() {
    let image = image(PlacementKind::Nvmfs, false);
    for bytes in [4096, 8192, 1 << 20, NVRAM_BYTES - 4096] {
        let found = mount(image.nvram[..bytes].to_vec(), image.ssd.clone());
        assert!(matches!(found, Err(OpenError::NvramSize { .. })), "{bytes}: {found:?}");
    }
    let found = mount(vec![0; 4096], image.ssd.clone());
    assert!(matches!(found, Err(OpenError::NoFileSystem)), "{found:?}");
    let found = mount(image.nvram.clone(), MemorySsd::new(2047));
    assert!(matches!(found, Err(OpenError::SsdSize { expected: 2048, found: 2047 })), "{found:?}");
    let found = mount(image.nvram.clone(), MemorySsd::new(2048));
    assert!(matches!(found, Err(OpenError::WrongSsd(_))), "{found:?}");
    for byte in [0, 20, 33] {
        let ssd = image.ssd.clone();
        let mut label = [0; BLOCK_BYTES];
        ssd.read(0, &mut label).expect("it is there");
        label[byte] ^= 4;
        ssd.write(0, &label, 0).expect("it is there");
        let found = mount(image.nvram.clone(), ssd);
        assert!(matches!(found, Err(OpenError::WrongSsd(_))), "{byte}: {found:?}");
    }
}

/// A directory and a file of the maximum size are as fast to use as small ones.
#[test]
fn holes_of_huge_files_take_no_time() {
    let image = image_with(PlacementKind::Nvmfs, true, Checksums::None);
    let pieces = Structures::find(&image);
    for size in [MAX_FILE_BYTES, 1 << 39, 1 << 35] {
        let mut nvram = image.nvram.clone();
        for inode in &pieces.inodes {
            let at = inode + Field::Size as usize;
            nvram[at..at + 8].copy_from_slice(&u64::to_le_bytes(size));
        }
        let ops = ops(&mut Random::seed_from_u64(size), 300);
        assert_ne!(run_life_cycle(nvram, &image.ssd(), &ops), Fate::Refused);
    }
}
