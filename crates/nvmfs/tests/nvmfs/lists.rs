//! Lengths of the clean and the dirty list, fixed and adaptive.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use wearwell_nvmfs::api::{BLOCK_BYTES, Error, Ino, Kind};
use wearwell_nvmfs::layout::{BlockLocation, Inode, kind_bits};
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Lists, Options};
use wearwell_nvmfs::ssd::MemorySsd;
use wearwell_nvmfs::stats::Counts;
use wearwell_nvmfs::store::{State, Store};

const NVRAM_BYTES: usize = 12 << 20;
const SSD_BLOCKS: u64 = 320 * 128;
const FILE: Ino = Ino(2);
/// Number of blocks of the file, more than ten times the size of the NVRAM.
const FILE_BLOCKS: u64 = 35_000;
const BLOCK: u64 = BLOCK_BYTES as u64;
/// Number of reads that is enough for the lists to adapt: each ghost hit changes the length by a few pages.
const READS: u64 = 20_000;

type SmallStore = Store<PlainNvram, MemorySsd>;

fn options(lists: Lists) -> Options {
    Options { lists, ..Options::default() }
}

/// Creates a file system with one unwritten file.
fn new_store(lists: Lists, ssd_blocks: u64) -> SmallStore {
    let format = Format { id: 7, inodes: Some(64), ..Format::default() };
    let ssd = Arc::new(MemorySsd::new(ssd_blocks));
    let mut store = Store::format(PlainNvram::new(NVRAM_BYTES), ssd, &format, options(lists)).unwrap();
    let inode = Inode {
        mode: kind_bits(Kind::File) | 0o644,
        links: 1,
        size_bytes: FILE_BLOCKS * BLOCK,
        ..Inode::default()
    };
    let at = store.region.inode_at(FILE).unwrap();
    store.region.store(at, &inode.encode());
    store.region.fence();
    store
}

fn write(store: &mut SmallStore, block: u64) -> bool {
    let written = match store.write(FILE, block * BLOCK, &[block as u8; BLOCK_BYTES]) {
        Ok(written) => written > 0,
        Err(Error::NoSpace(_)) => false,
        Err(error) => panic!("{error}"),
    };
    store.flush_and_recycle().unwrap();
    written
}

/// Reads a block in `pieces` pieces.
fn read(store: &mut SmallStore, block: u64, pieces: usize) {
    for piece in 0..pieces {
        let mut out = vec![0xee; BLOCK_BYTES / pieces];
        store.read(FILE, block * BLOCK + (piece * out.len()) as u64, &mut out).unwrap();
        assert!(out.iter().all(|byte| *byte == block as u8 || *byte == 0));
    }
    store.flush_and_recycle().unwrap();
}

/// Returns a store in which all blocks of the file are on the SSD, except the last ones.
fn filled(lists: Lists) -> SmallStore {
    let mut store = new_store(lists, SSD_BLOCKS);
    (0..FILE_BLOCKS).for_each(|block| assert!(write(&mut store, block)));
    store
}

/// Reads or writes random blocks starting at `first`; returns the counts.
fn load(store: &mut SmallStore, reads: bool, first: u64, blocks: u64, times: u64, seed: u64) -> Counts {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let before = store.counts;
    for _ in 0..times {
        let block = first + random.random_range(0..blocks);
        match reads {
            true => read(store, block, 1),
            false => assert!(write(store, block)),
        }
    }
    store.check().unwrap();
    store.counts - before
}

/// Returns the length of the dirty list as a fraction of the pages that data can use.
fn share(store: &SmallStore) -> f64 {
    let pages: u32 =
        [State::Free, State::Clean, State::Dirty].map(|state| store.pages_in(state)).iter().sum();
    f64::from(store.dirty_list_pages()) / f64::from(pages)
}

#[test]
fn adaptive_lists_follow_changing_load() {
    let mut kept = Vec::new();
    for lists in [Lists::Fixed, Lists::Adaptive] {
        let mut store = filled(lists);
        assert!(share(&store) > 0.9, "writing alone: {}", share(&store));
        // The blocks that are read fit into the NVRAM, but not into the part that a write-only workload leaves to
        // clean pages.
        let first = load(&mut store, true, 0, 2200, READS, 1);
        let reading = share(&store);
        let read = load(&mut store, true, 0, 2200, 4000, 2);
        load(&mut store, false, 10_000, 3000, 8000, 3);
        let writing = share(&store);
        let written = load(&mut store, false, 10_000, 3000, 8000, 4);
        load(&mut store, true, 0, 2200, READS, 5);
        let again = share(&store);
        let hits = |counts: &Counts| counts.read_hit_ratio().unwrap();
        if lists == Lists::Adaptive {
            assert!(reading < 0.6 && writing > 0.8 && again < 0.6, "{reading} {writing} {again}");
            assert!(hits(&read) > hits(&first) && first.clean_ghost_hits > 50);
            assert!(written.dirty_ghost_hits > 0);
        } else {
            assert_eq!((reading, writing, again), (1.0, 1.0, 1.0));
            assert_eq!(store.counts.clean_ghost_hits + store.counts.dirty_ghost_hits, 0);
            assert_eq!(store.probation_pages(), 0);
        }
        kept.push((hits(&read), written.ssd_written_blocks));
    }
    let [fixed, adaptive] = kept[..] else { panic!("two") };
    assert!(adaptive.0 > fixed.0 + 0.2, "hits when reading: {kept:?}");
    assert!(adaptive.1 as f64 <= 1.1 * fixed.1 as f64, "written when writing: {kept:?}");
}

/// Returns the number of 300 frequently read blocks that are still on NVRAM after a scan of the whole file, with
/// `pieces` requests per block.
fn hot_after_scan(lists: Lists, pieces: usize) -> usize {
    let mut store = filled(lists);
    for _ in 0..3 {
        (0..300).for_each(|block| read(&mut store, block, 1));
    }
    (300..FILE_BLOCKS).for_each(|block| read(&mut store, block, pieces));
    store.check().unwrap();
    let before = store.counts;
    (0..300).for_each(|block| read(&mut store, block, 1));
    (store.counts - before).read_hits as usize
}

#[test]
fn scan_does_not_evict_blocks_read_twice() {
    assert_eq!(hot_after_scan(Lists::Fixed, 1), 0);
    assert_eq!(hot_after_scan(Lists::Adaptive, 1), 300);
    // Reading a block in pieces does not count as repeated use of the block.
    assert_eq!(hot_after_scan(Lists::Adaptive, 4), 300);
}

#[test]
fn adaptive_lists_follow_changing_hot_set() {
    let mut store = filled(Lists::Adaptive);
    for hot in [0, 10_000, 20_000] {
        load(&mut store, true, hot, 1500, 8000, hot);
        let hits = load(&mut store, true, hot, 1500, 3000, hot + 1).read_hit_ratio().unwrap();
        assert!(hits > 0.95, "{hits} from {hot} on");
    }
}

#[test]
fn full_ssd_keeps_dirty_list_long_and_capacity_constant() {
    let mut store = new_store(Lists::Adaptive, 40 * 128);
    let capacity = store.capacity_blocks();
    let written = (0..FILE_BLOCKS).take_while(|block| write(&mut store, *block)).count() as u64;
    assert!(store.used_blocks() + 10 > store.capacity_blocks(), "it is full");
    for seed in 0..4 {
        // The workload reads only blocks that are not on the NVRAM, so that each of them needs a page.
        load(&mut store, true, 0, written.min(2500), 4000, seed);
        assert!(share(&store) > 0.95, "{}", share(&store));
        // Pointer pages reduce the capacity.
        assert!((capacity - 10..=capacity).contains(&store.capacity_blocks()));
        assert!(store.used_blocks() <= store.capacity_blocks());
        load(&mut store, false, 0, written, 500, 10 + seed);
    }
    // Truncation frees space, so the dirty list may be short.
    store.remove_blocks(FILE, 2200, FILE_BLOCKS).unwrap();
    (3000..5000).for_each(|block| assert!(write(&mut store, block)));
    load(&mut store, true, 0, 2200, READS, 20);
    assert!(share(&store) < 0.8, "{}", share(&store));
    store.check().unwrap();
}

#[test]
fn lists_survive_remount() {
    for (before, after) in [(Lists::Adaptive, Lists::Adaptive), (Lists::Adaptive, Lists::Fixed)] {
        let mut store = filled(before);
        (0..300).cycle().take(600).for_each(|block| read(&mut store, block, 1));
        (5000..5200).for_each(|block| read(&mut store, block, 1));
        let (clean, probation) = (store.pages_in(State::Clean), store.probation_pages());
        assert!((200..clean - 250).contains(&probation), "{probation} of {clean}");
        let ssd = Arc::clone(store.ssd());
        let (mut store, found) = Store::open(store.close(), ssd, options(after)).unwrap();
        assert!(found.was_closed);
        store.check().unwrap();
        assert_eq!(store.pages_in(State::Clean), clean);
        assert_eq!(store.probation_pages(), if after == Lists::Fixed { 0 } else { probation });
        if after == Lists::Adaptive {
            (10_000..20_000).for_each(|block| read(&mut store, block, 1));
            let location = |block| store.region.location_of(FILE, block).unwrap();
            assert!(
                (0..300).all(|block| matches!(location(block), BlockLocation::Nvram(_))),
                "hot blocks stayed"
            );
        }
    }
}
