//! Tests of allocating and freeing inode pages.

use super::Nvmfs;
use crate::api::{Caller, Error, FileSystem, Ino, Kind, ROOT, Result};
use crate::layout::{Field, INODES, INODES_PER_PAGE};
use crate::names::check::check;
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::MemorySsd;
use crate::store::Store;
use std::collections::BTreeSet;
use std::sync::Arc;

const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 100 };
const TABLE: u32 = 16;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

fn fresh() -> Fs {
    let format = Format { inodes: Some(TABLE), ..Format::default() };
    Nvmfs::format(PlainNvram::new(5 << 20), Arc::new(MemorySsd::new(8192)), &format, Options::default())
        .unwrap()
}

fn name(number: u32) -> Vec<u8> {
    format!("{number:06}").into_bytes()
}

fn make(fs: &mut Fs, number: u32) -> Result<(Ino, u32)> {
    fs.create(ROOT, &name(number), Kind::File, 0o644, 0, &CALLER).map(|made| (made.ino, made.generation))
}

fn make_one(fs: &mut Fs, number: u32) {
    make(fs, number).unwrap();
}

fn remove(fs: &mut Fs, number: u32) {
    fs.unlink(ROOT, &name(number), &CALLER).unwrap();
}

fn assert_consistent(fs: &Fs) {
    fs.store.check().unwrap();
    assert_eq!(check(&fs.store.region).unwrap(), []);
}

/// Mounts the file system again, with a close before it if `is_closed`.
fn remount(fs: Fs, is_closed: bool) -> Fs {
    let ssd = Arc::clone(fs.store.ssd());
    let nvram = if is_closed { fs.close() } else { fs.into_store().region.into_nvram() };
    Nvmfs::mount(nvram, ssd, Options::default()).unwrap().0
}

/// An inode page is added when all inodes before it are used. It is freed when it is unused and at least as many
/// other inodes are free.
#[test]
fn inode_pages_are_added_and_freed_on_demand() {
    let mut fs = fresh();
    let in_table = TABLE - 2;
    for number in 0..2000 {
        make(&mut fs, number).unwrap();
        let paged = (number + 1).saturating_sub(in_table);
        assert_eq!(fs.stats().inode_pages, paged.div_ceil(INODES_PER_PAGE), "after {number}");
        if number % 700 == 699 {
            assert_consistent(&fs);
            fs = remount(fs, number % 1400 == 699);
        }
    }
    assert_eq!(fs.stats().inodes, 2001);
    assert_consistent(&fs);
    // The files that were created last are on the last inode pages.
    for number in (1000..2000).rev() {
        remove(&mut fs, number);
    }
    // 986 inodes are outside of the table: 31 full or partly used pages, and one page that is kept in reserve.
    assert_eq!(fs.stats().inode_pages, 31 + 1);
    fs = remount(fs, false);
    assert_consistent(&fs);
    (0..1000).rev().for_each(|number| remove(&mut fs, number));
    // One inode page is kept in reserve, with the pointer block that leads to it.
    assert_eq!((fs.stats().inode_pages, fs.stats().inodes, fs.stats().metadata_pages), (1, 1, 1));
    assert_consistent(&fs);
}

/// Creating and removing a file at the boundary of an inode page does not add and free the page each time.
#[test]
fn create_and_remove_at_page_boundary_keeps_inode_pages() {
    let mut fs = fresh();
    (0..TABLE - 2 + INODES_PER_PAGE).for_each(|number| make_one(&mut fs, number));
    assert_eq!(fs.stats().inode_pages, 1);
    for number in 0..100 {
        make(&mut fs, 1000 + number).unwrap();
        assert_eq!(fs.stats().inode_pages, 2);
        remove(&mut fs, 1000 + number);
        assert_eq!(fs.stats().inode_pages, 2);
    }
}

/// An inode number never occurs twice with the same generation, even if its page was freed in between.
#[test]
fn inode_number_and_generation_are_never_reused_together() {
    let mut fs = fresh();
    let mut seen = BTreeSet::new();
    for round in 0..6 {
        for number in 0..300 {
            let created = make(&mut fs, number).unwrap();
            assert!(seen.insert(created), "{created:?} in round {round}");
        }
        let max_pages = fs.stats().inode_pages;
        fs = remount(fs, round % 2 == 0);
        (0..300).for_each(|number| remove(&mut fs, number));
        assert!(fs.stats().inode_pages < max_pages);
        fs = remount(fs, round % 3 == 0);
    }
    assert_consistent(&fs);
}

/// Fills the NVRAM with names and inodes. Checks the reported numbers of free inodes, and that all space is free
/// again after removal.
#[test]
fn files_can_be_created_until_nvram_is_full() {
    let mut fs = fresh();
    let before = fs.statistics().unwrap();
    assert_eq!(before.inodes - before.free_inodes, 1);
    let mut created = 0;
    let refused = loop {
        match make(&mut fs, created) {
            Ok(_) => created += 1,
            Err(Error::NoSpace(reason)) => break reason,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(refused.contains("NVRAM"), "{refused}");
    // Names of 6 bytes are among the shortest, so nearly all space goes to inodes; a few pages hold pointers.
    let free = before.free_inodes;
    assert!(u64::from(created) <= free && u64::from(created) * 100 >= free * 98, "{created} of {free}");
    let full = fs.statistics().unwrap();
    assert_eq!(full.inodes - full.free_inodes, u64::from(created) + 1);
    assert!(full.free_inodes < 300, "{full:?}");
    assert_consistent(&fs);
    fs = remount(fs, false);
    for number in 0..created {
        assert!(fs.lookup(ROOT, &name(number)).is_ok());
        remove(&mut fs, number);
    }
    assert_consistent(&fs);
    // One inode page is kept.
    let after = fs.statistics().unwrap();
    assert!(after.free_inodes + 300 >= free, "{after:?}, before {free}");
}

/// The next mount frees pointer blocks that were allocated for an inode page which was not created.
#[test]
fn mount_frees_pointer_blocks_without_inode_page() {
    let mut fs = fresh();
    for number in 0..TABLE - 2 + 4 * INODES_PER_PAGE {
        make(&mut fs, number).unwrap();
    }
    let before = fs.stats();
    fs.store.pointer_for(INODES, 4).unwrap();
    assert_eq!(fs.stats().metadata_pages, before.metadata_pages + 1);
    let fs = remount(fs, false);
    assert_eq!(fs.stats().metadata_pages, before.metadata_pages);
    assert_consistent(&fs);
}

/// An inode page that no pointer leads to is lost with its files; nothing else is lost.
#[test]
fn lost_inode_page_is_reported_and_its_names_are_removed() {
    let mut fs = fresh();
    (0..200).for_each(|number| make_one(&mut fs, number));
    let at = fs.store.region.field(INODES, Field::Pointers).unwrap() + 8;
    fs.store.region.store_word(at, 0);
    let ssd = Arc::clone(fs.store.ssd());
    let (mut store, found) = Store::open_damaged(fs.close(), ssd, Options::default()).unwrap();
    assert!(found.scan.problem_count > 0, "the count of its blocks is wrong");
    store.begin_epoch().unwrap();
    store.repair_all(found.scan).unwrap();
    let mut fs = Fs::open_for_repair(store).unwrap();
    let problems = super::repair(&mut fs, &CALLER).unwrap();
    assert_eq!(problems.len(), INODES_PER_PAGE as usize, "{problems:?}");
    let mut fs = remount(fs, true);
    let present = (0..200).filter(|number| fs.lookup(ROOT, &name(*number)).is_ok()).count();
    assert_eq!(present, 200 - INODES_PER_PAGE as usize);
    (300..400).for_each(|number| make_one(&mut fs, number));
    assert_consistent(&fs);
}
