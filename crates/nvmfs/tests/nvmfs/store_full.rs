//! Comparison of the blocks of a few files with a map, on small devices that are always full.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::sync::Arc;
use wearwell_nvmfs::api::{BLOCK_BYTES, Error, Ino, Kind, MAX_FILE_BYTES};
use wearwell_nvmfs::layout::{Inode, kind_bits};
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::MemorySsd;
use wearwell_nvmfs::store::{Batch, Store};

type SmallStore = Store<PlainNvram, MemorySsd>;

const NVRAM_BYTES: usize = 5 << 20;
const SSD_BLOCKS: u64 = 3072;
const FILES: u32 = 3;
const BLOCK: u64 = BLOCK_BYTES as u64;

/// Store with its expected content, and with a flush in progress.
struct StoreFixture {
    store: Option<SmallStore>,
    ssd: Arc<MemorySsd>,
    blocks: BTreeMap<(Ino, u64), Vec<u8>>,
    flushing: Option<Batch<MemorySsd>>,
    /// Number of writes that were refused entirely or partly for lack of space.
    refused: u32,
}

impl StoreFixture {
    fn new(placement: PlacementKind) -> Self {
        let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
        let format = Format { placement, inodes: Some(64), ..Format::default() };
        let nvram = PlainNvram::new(NVRAM_BYTES);
        let mut store =
            SmallStore::format(nvram, ssd.clone(), &format, Options::default()).expect("a fresh store");
        for number in 0..FILES {
            let mode = kind_bits(Kind::File) | 0o644;
            let inode = Inode { mode, links: 1, size_bytes: MAX_FILE_BYTES, ..Inode::default() };
            let at = store.region.inode_at(Ino(2 + number)).expect("an inode");
            store.region.store(at, &inode.encode());
            store.region.fence();
        }
        StoreFixture { store: Some(store), ssd, blocks: BTreeMap::new(), flushing: None, refused: 0 }
    }

    fn store(&mut self) -> &mut SmallStore {
        self.store.as_mut().expect("the store is open")
    }

    fn step(&mut self, numbers: &mut impl Rng) {
        let ino = Ino(2 + numbers.random_range(0..FILES));
        let block = block(numbers);
        match numbers.random_range(0..1000) {
            0..600 => {
                self.write(ino, block * BLOCK + numbers.random_range(0..BLOCK), length(numbers), numbers)
            }
            600..850 => self.read(ino, block, 1 + numbers.random_range(0..20)),
            850..955 => self.cut(ino, block, block + numbers.random_range(0..60)),
            955..957 => self.cut(ino, block, u64::MAX),
            957..970 => self.begin_flush(),
            970..985 => self.end_flush(),
            985..990 => self.store().flush_and_recycle().expect("a flush"),
            990..996 => _ = self.store().recycle_step(),
            996..998 => self.reopen(true),
            _ => self.reopen(false),
        }
    }

    fn write(&mut self, ino: Ino, offset: u64, length: usize, numbers: &mut impl Rng) {
        let mut data = vec![0; length];
        numbers.fill(&mut data[..]);
        let count = match self.store().write(ino, offset, &data) {
            Err(Error::NoSpace(_) | Error::TooLarge) => 0,
            count => count.expect("a write"),
        };
        self.refused += u32::from(count < length);
        let mut data = &data[..count];
        let mut at = offset;
        while !data.is_empty() {
            let within = (at % BLOCK) as usize;
            let (now, later) = data.split_at(data.len().min(BLOCK_BYTES - within));
            let block = self.blocks.entry((ino, at / BLOCK)).or_insert_with(|| vec![0; BLOCK_BYTES]);
            block[within..within + now.len()].copy_from_slice(now);
            (data, at) = (later, at + now.len() as u64);
        }
    }

    fn read(&mut self, ino: Ino, first: u64, blocks: u64) {
        let mut out = vec![0xa5; (blocks * BLOCK) as usize];
        self.store().read(ino, first * BLOCK, &mut out).expect("a read");
        for (block, found) in (first..).zip(out.chunks(BLOCK_BYTES)) {
            match self.blocks.get(&(ino, block)) {
                Some(expected) => assert!(found == expected, "block {block} of {ino:?} is another"),
                None => assert!(found.iter().all(|byte| *byte == 0), "hole {block} of {ino:?} is none"),
            }
        }
    }

    fn cut(&mut self, ino: Ino, first: u64, end: u64) {
        self.store().remove_blocks(ino, first, end).expect("a cut");
        self.blocks.retain(|(of, block), _| *of != ino || *block < first || *block >= end);
    }

    fn begin_flush(&mut self) {
        self.end_flush();
        self.flushing = self.store().begin_flush().expect("a flush");
    }

    fn end_flush(&mut self) {
        if let Some(batch) = self.flushing.take() {
            let written = batch.write();
            self.store().end_flush(batch, written).expect("the end of a flush");
        }
    }

    /// Opens the store again, after a close or after a simulated crash of the process, which preserves all stores to
    /// NVRAM.
    fn reopen(&mut self, is_closed: bool) {
        if is_closed {
            self.end_flush();
        }
        self.flushing = None;
        let store = self.store.take().expect("the store is open");
        let nvram = if is_closed { store.close() } else { store.region.into_nvram() };
        let (store, found) =
            SmallStore::open(nvram, self.ssd.clone(), Options::default()).expect("opens again");
        assert_eq!(found.was_closed, is_closed);
        assert_eq!(found.scan.problem_count, 0);
        self.store = Some(store);
        self.check();
    }

    /// Checks that the expected blocks exist, and no other blocks.
    fn check(&mut self) {
        self.store().check().expect("counts agree");
        let keys: Vec<_> = self.blocks.keys().copied().collect();
        for number in 0..FILES {
            let ino = Ino(2 + number);
            let mut next = 0;
            for (_, block) in keys.iter().filter(|(of, _)| *of == ino) {
                let found =
                    self.store().region.next_block(ino, next, MAX_FILE_BYTES / BLOCK, true).expect("a look");
                assert_eq!(found, Some(*block), "of {ino:?}");
                next = block + 1;
            }
            assert_eq!(
                self.store().region.next_block(ino, next, MAX_FILE_BYTES / BLOCK, true).expect("a look"),
                None
            );
        }
        for (ino, block) in keys {
            self.read(ino, block, 1);
        }
    }
}

/// Returns a block near the beginning, or near the start of a level of pointers.
fn block(numbers: &mut impl Rng) -> u64 {
    let base = [0, 0, 0, 4 + 512, 4 + 512 + 512 * 512][numbers.random_range(0..5)];
    let width = [20, 500, 2500][numbers.random_range(0..3)];
    (base + numbers.random_range(0..width as u64)).saturating_sub(10)
}

fn length(numbers: &mut impl Rng) -> usize {
    match numbers.random_range(0..10) {
        0..2 => numbers.random_range(1..600_000),
        2..6 => numbers.random_range(1..40_000),
        _ => numbers.random_range(1..6000),
    }
}

fn exercise(placement: PlacementKind, seeds: u64) {
    const STEPS: u32 = 1_000;
    let mut refused = 0;
    for seed in 0..seeds {
        println!("{placement:?}, seed {seed}");
        let mut numbers = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut rig = StoreFixture::new(placement);
        for _ in 0..STEPS {
            rig.step(&mut numbers);
        }
        rig.end_flush();
        rig.check();
        refused += rig.refused;
        let counts = &rig.store().counts;
        println!("{counts:?}");
        assert!(counts.read_blocks > counts.read_hits, "everything fits on NVRAM");
    }
    assert!(refused > 0, "there was always room");
}

#[test]
fn nvmfs_placement_keeps_blocks() {
    exercise(PlacementKind::Nvmfs, 3);
}

#[test]
fn conquest_placement_keeps_blocks() {
    exercise(PlacementKind::Conquest, 3);
}
