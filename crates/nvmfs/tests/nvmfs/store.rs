//! Comparison of file blocks with a simple model: random writes, reads and truncations with constant flushing and
//! cleaning, with closing and opening, and with power cuts at any moment.

use crate::common::simulated::{PowerSource, SimulatedNvram, SimulatedSsd};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use wearwell_nvmfs::api::{BLOCK_BYTES, Error, Ino, Kind};
use wearwell_nvmfs::layout::{Inode, kind_bits};
use wearwell_nvmfs::nvram::{Nvram, PlainNvram};
use wearwell_nvmfs::options::{Format, Grouping, Lists, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};
use wearwell_nvmfs::store::{State, Store};

const NVRAM_BYTES: usize = 4 << 20;
const SSD_BLOCKS: u64 = 32 * 128;
const FILES: u32 = 5;
/// Number of blocks of a file. It exceeds what the direct pointers and the first tree address, so that trees of two
/// levels occur.
const FILE_BLOCKS: u64 = 700;

fn format(placement: PlacementKind) -> Format {
    Format { id: 7, inodes: Some(64), placement, ..Format::default() }
}

/// Returns options with `grouping`. One grouping is tested with fixed lists, the other with adaptive lists.
fn options(grouping: Grouping) -> Options {
    let lists = match grouping {
        Grouping::Lru => Lists::Fixed,
        Grouping::UpdateLikelihood => Lists::Adaptive,
    };
    Options { grouping, lists, recycle_free: 0.5, recycle_fragmentation: 0.05, ..Options::default() }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Write { file: u32, offset: u64, length: usize, byte: u8 },
    Read { file: u32, offset: u64, length: usize },
    Remove { file: u32, first: u64, end: u64 },
    Settle,
}

fn draw(random: &mut impl Rng) -> Op {
    let file = random.random_range(0..FILES);
    let block = BLOCK_BYTES as u64;
    // Most accesses go to a few blocks, so that some pages are used frequently.
    let blocks = if random.random_bool(0.5) { 40 } else { FILE_BLOCKS };
    let offset = random.random_range(0..blocks * block);
    let longest = (FILE_BLOCKS * block - offset) as usize;
    let length = if random.random_bool(0.1) { 300_000 } else { 9000 };
    let length = random.random_range(1..=length).min(longest);
    match random.random_range(0..100) {
        0..60 => Op::Write { file, offset, length, byte: random.random_range(1..=255) },
        60..90 => Op::Read { file, offset, length },
        90..93 => {
            let first = offset / block;
            Op::Remove { file, first, end: first + random.random_range(1..200) }
        }
        _ => Op::Settle,
    }
}

/// Content of the files, as arrays of bytes.
#[derive(Clone)]
struct Model(Vec<Vec<u8>>);

impl Model {
    fn new() -> Self {
        Model(vec![vec![0; FILE_BLOCKS as usize * BLOCK_BYTES]; FILES as usize])
    }

    fn apply(&mut self, op: Op, written: usize) {
        match op {
            Op::Write { file, offset, byte, .. } => {
                self.0[file as usize][offset as usize..][..written].fill(byte);
            }
            Op::Remove { file, first, end } => {
                let end = end.min(FILE_BLOCKS);
                self.0[file as usize][first as usize * BLOCK_BYTES..end as usize * BLOCK_BYTES].fill(0);
            }
            Op::Read { .. } | Op::Settle => {}
        }
    }
}

fn ino(file: u32) -> Ino {
    Ino(2 + file)
}

/// Creates a store with empty files.
fn fresh<N: Nvram, S: Ssd>(nvram: N, ssd: Arc<S>, format: &Format, options: &Options) -> Store<N, S> {
    let mut store = Store::format(nvram, ssd, format, options.clone()).unwrap();
    for file in 0..FILES {
        let size_bytes = FILE_BLOCKS * BLOCK_BYTES as u64;
        let inode = Inode { mode: kind_bits(Kind::File) | 0o644, links: 1, size_bytes, ..Inode::default() };
        let at = store.region.inode_at(ino(file)).unwrap();
        store.region.store(at, &inode.encode());
    }
    store.region.fence();
    store
}

fn content<N: Nvram, S: Ssd>(store: &mut Store<N, S>, file: u32) -> Vec<u8> {
    let mut out = vec![0xee; FILE_BLOCKS as usize * BLOCK_BYTES];
    store.read(ino(file), 0, &mut out).unwrap();
    out
}

/// Runs an operation; returns the number of bytes written.
fn apply_op<N: Nvram, S: Ssd>(store: &mut Store<N, S>, op: Op, model: Option<&Model>) -> usize {
    match op {
        Op::Write { file, offset, length, byte } => {
            match store.write(ino(file), offset, &vec![byte; length]) {
                Ok(written) => written,
                Err(Error::NoSpace(_)) => 0,
                Err(error) => panic!("{error}"),
            }
        }
        Op::Read { file, offset, length } => {
            let mut out = vec![0xee; length];
            store.read(ino(file), offset, &mut out).unwrap();
            if let Some(model) = model {
                assert!(out == model.0[file as usize][offset as usize..][..length], "{op:?}");
            }
            0
        }
        Op::Remove { file, first, end } => {
            store.remove_blocks(ino(file), first, end).unwrap();
            0
        }
        Op::Settle => {
            store.flush_and_recycle().unwrap();
            0
        }
    }
}

/// Returns the lengths of the clean list, of its part on probation, and of the dirty list.
fn lists<N: Nvram, S: Ssd>(store: &Store<N, S>) -> (u32, u32, u32) {
    (store.pages_in(State::Clean), store.probation_pages(), store.pages_in(State::Dirty))
}

/// Writes all files from beginning to end.
fn fill<N: Nvram, S: Ssd>(store: &mut Store<N, S>, model: &mut Model) {
    for file in 0..FILES {
        let op = Op::Write { file, offset: 0, length: FILE_BLOCKS as usize * BLOCK_BYTES, byte: 1 };
        let written = apply_op(store, op, None);
        model.apply(op, written);
        store.flush_and_recycle().unwrap();
    }
}

fn compare<N: Nvram, S: Ssd>(store: &mut Store<N, S>, model: &Model, when: &str) {
    for file in 0..FILES {
        let found = content(store, file);
        let wrong = found.iter().zip(&model.0[file as usize]).position(|(one, other)| one != other);
        assert_eq!(wrong, None, "first wrong byte of file {file} {when}");
    }
    store.check().unwrap();
}

fn compare_with_model(
    placement: PlacementKind,
    grouping: Grouping,
    seed: u64,
) -> wearwell_nvmfs::stats::Counts {
    let (format, options) = (format(placement), options(grouping));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    let mut store = fresh(PlainNvram::new(NVRAM_BYTES), Arc::clone(&ssd), &format, &options);
    let mut model = Model::new();
    fill(&mut store, &mut model);
    let mut counts = store.counts;
    for round in 0..4 {
        for _ in 0..1200 {
            let op = draw(&mut random);
            let written = apply_op(&mut store, op, Some(&model));
            model.apply(op, written);
        }
        store.check().unwrap();
        counts.recycled_extents += store.counts.recycled_extents;
        let lists = lists(&store);
        let (reopened, found) = Store::open(store.close(), Arc::clone(&ssd), options.clone()).unwrap();
        store = reopened;
        assert!(found.was_closed && found.scan.problems.is_empty());
        assert_eq!(self::lists(&store), lists, "lists after {round}");
        compare(&mut store, &model, "after closing");
    }
    counts
}

#[test]
fn blocks_match_model() {
    for seed in 0..3 {
        for grouping in [Grouping::Lru, Grouping::UpdateLikelihood] {
            let counts = compare_with_model(PlacementKind::Nvmfs, grouping, seed);
            assert!(counts.recycled_extents > 0 && counts.evicted_pages > 0, "{counts:?}");
        }
    }
}

#[test]
fn blocks_with_fixed_places_match_model() {
    for (seed, grouping) in [Grouping::Lru, Grouping::UpdateLikelihood, Grouping::Lru].into_iter().enumerate()
    {
        let counts = compare_with_model(PlacementKind::Conquest, grouping, seed as u64);
        assert!(counts.ssd_writes > 0 && counts.recycled_extents == 0, "{counts:?}");
    }
}

#[test]
fn full_store_refuses_writes_and_loses_nothing() {
    let (format, options) = (format(PlacementKind::Nvmfs), options(Grouping::UpdateLikelihood));
    let ssd = Arc::new(MemorySsd::new(20 * 128));
    let mut store = fresh(PlainNvram::new(NVRAM_BYTES), ssd, &format, &options);
    let mut model = Model::new();
    let mut refused = 0;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    for _ in 0..6000 {
        let file = random.random_range(0..FILES);
        let offset = random.random_range(0..FILE_BLOCKS) * BLOCK_BYTES as u64;
        let op = Op::Write { file, offset, length: BLOCK_BYTES, byte: random.random() };
        let written = apply_op(&mut store, op, Some(&model));
        refused += usize::from(written == 0);
        model.apply(op, written);
    }
    assert!(refused > 100, "{refused}");
    assert!(store.used_blocks() <= store.capacity_blocks());
    compare(&mut store, &model, "when full");
    // Existing data can be overwritten, and truncation frees space.
    for file in 0..FILES {
        let op = Op::Remove { file, first: 0, end: FILE_BLOCKS / 2 };
        apply_op(&mut store, op, None);
        model.apply(op, 0);
    }
    let op = Op::Write { file: 0, offset: 0, length: 500_000, byte: 3 };
    assert_eq!(apply_op(&mut store, op, None), 500_000);
    model.apply(op, 500_000);
    compare(&mut store, &model, "after cutting");
}

/// Returns a file system full of old data, from which each cut starts: NVRAM, SSD and model.
fn filled(placement: PlacementKind) -> (Vec<u8>, MemorySsd, Model) {
    let options = options(Grouping::UpdateLikelihood);
    let power = PowerSource::new();
    let ssd = Arc::new(SimulatedSsd::new(SSD_BLOCKS, power.clone()));
    let nvram = SimulatedNvram::new(NVRAM_BYTES, power);
    let mut store = fresh(nvram, Arc::clone(&ssd), &format(placement), &options);
    let mut model = Model::new();
    fill(&mut store, &mut model);
    (store.close().crash_images().crash_keeping_all(), ssd.crash_keeping_all(), model)
}

/// Runs operations until the power is cut at an event, and compares the result. Returns true if the cut
/// happened.
fn cut_once(start: &(Vec<u8>, MemorySsd, Model), seed: u64, event: u64) -> bool {
    let options = options(Grouping::UpdateLikelihood);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let power = PowerSource::new();
    let ssd = Arc::new(SimulatedSsd::from_image(start.1.clone(), power.clone()));
    let nvram = SimulatedNvram::from_image(start.0.clone(), power.clone());
    let (mut store, _) = Store::open(nvram, Arc::clone(&ssd), options.clone()).unwrap();
    let mut model = start.2.clone();
    power.cut_at(power.events() + event);
    let mut last = None;
    for _ in 0..400 {
        let op = draw(&mut random);
        let written = apply_op(&mut store, op, None);
        if power.is_off() {
            last = Some(op);
            break;
        }
        model.apply(op, written);
    }
    let Some(op) = last else { return false };
    let power = PowerSource::new();
    let nvram = SimulatedNvram::from_image(
        store.region.into_nvram().crash_images().crash(&mut random),
        power.clone(),
    );
    let ssd = Arc::new(SimulatedSsd::from_image(ssd.crash(&mut random), power));
    let (mut store, found) = Store::open(nvram, ssd, options).unwrap();
    assert!(!found.was_closed);
    store.check().unwrap();
    let mut after = model.clone();
    if let Op::Write { length, .. } = op {
        after.apply(op, length);
    } else {
        after.apply(op, 0);
    }
    for file in 0..FILES as usize {
        let found = content(&mut store, file as u32);
        let (words, before, after) =
            (found.as_chunks::<8>().0, model.0[file].as_chunks::<8>().0, after.0[file].as_chunks::<8>().0);
        let wrong = (0..words.len()).find(|&at| words[at] != before[at] && words[at] != after[at]);
        assert_eq!(wrong, None, "first wrong word of file {file}, cut in {op:?}: {seed}:{event}");
    }
    true
}

#[test]
fn written_data_survives_power_cut() {
    let more = crate::common::more_cases();
    let mut cuts = 0;
    for placement in PlacementKind::ALL {
        let start = filled(placement);
        for seed in 0..2 * more {
            // The step is a prime, so that all types of events occur.
            let events = (0..15).map(|step| step * 1499 + seed * 31);
            cuts += events.filter(|&event| cut_once(&start, seed, event)).count() as u64;
        }
    }
    assert!(cuts >= 50 * more, "{cuts}");
}

#[test]
fn flush_is_due_before_write_must_wait() {
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    // The NVRAM is so small that the pages which must stay clean exceed the fraction set by the thresholds.
    let options = Options { flush_above: 1.0, flush_below: 1.0, ..Options::default() };
    let mut store = fresh(PlainNvram::new(NVRAM_BYTES), ssd, &format(PlacementKind::Nvmfs), &options);
    let mut blocks = (0..FILES).flat_map(|file| (0..FILE_BLOCKS).map(move |block| (file, block)));
    while !store.should_flush() {
        let (file, block) = blocks.next().expect("not all fits on NVRAM");
        store.write(ino(file), block * BLOCK_BYTES as u64, &[1; BLOCK_BYTES]).unwrap();
        assert_eq!(store.counts.ssd_writes, 0, "a write had to wait");
    }
    store.flush_and_recycle().unwrap();
    assert!(store.counts.ssd_writes > 0 && !store.should_continue_flush());
}

#[test]
fn full_file_system_is_usable_after_power_cut() {
    let (format, mut options) = (format(PlacementKind::Nvmfs), options(Grouping::UpdateLikelihood));
    // Only flushing triggers cleaning, so that the number of free extents is minimal.
    options.recycle_free = 0.0;
    let ssd = Arc::new(MemorySsd::new(20 * 128));
    let mut store = fresh(PlainNvram::new(NVRAM_BYTES), Arc::clone(&ssd), &format, &options);
    let mut model = Model::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
    let somewhere = |random: &mut Xoshiro256PlusPlus| {
        let offset = random.random_range(0..FILE_BLOCKS) * BLOCK_BYTES as u64;
        (random.random_range(0..FILES), offset)
    };
    let mut written_over = Vec::new();
    for step in 0..9000 {
        let (file, offset) = somewhere(&mut random);
        let read = step >= 6000;
        let length = BLOCK_BYTES;
        let op = match read {
            true => Op::Read { file, offset, length },
            false => Op::Write { file, offset, length, byte: random.random_range(1..=255) },
        };
        let written = apply_op(&mut store, op, Some(&model));
        model.apply(op, written);
        if written > 0 {
            written_over.push((file, offset));
        }
    }
    let nvram = store.region.into_nvram();
    let (mut store, found) = Store::open(nvram, ssd, options).unwrap();
    assert!(!found.was_closed && store.pages_in(State::Clean) == 0);
    assert!(store.free_extents() <= 2 && store.pages_in(State::Free) < 128, "cleaning would have room");
    for (file, offset) in written_over.into_iter().rev().take(1000) {
        let op = Op::Write { file, offset, length: BLOCK_BYTES, byte: 9 };
        assert_eq!(apply_op(&mut store, op, None), BLOCK_BYTES);
        model.apply(op, BLOCK_BYTES);
    }
    compare(&mut store, &model, "after a cut");
}
