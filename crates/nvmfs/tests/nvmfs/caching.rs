//! Tests of the caching modes of Conquest's placement: comparisons with simple counts, and power cuts.

use crate::common::simulated::{PowerSource, SimulatedNvram, SimulatedSsd};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wearwell_nvmfs::api::{BLOCK_BYTES, Caller, FileSystem, Ino, Kind, ROOT};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::{Nvram, PlainNvram};
use wearwell_nvmfs::options::{Caching, Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::{MemorySsd, Ssd};
use wearwell_nvmfs::store::State;

const NVRAM_BYTES: usize = 8 << 20;
const SSD_BLOCKS: u64 = 64 * 128;
/// Number of blocks of the test file (16 MiB); half of them fit on NVRAM.
const FILE_BLOCKS: u64 = 4096;

fn format() -> Format {
    Format { id: 9, inodes: Some(64), placement: PlacementKind::Conquest, ..Format::default() }
}

fn options(caching: Caching, write_out_share: Option<f64>) -> Options {
    Options { caching, write_out_share, small_file_bytes: 64 << 10, ..Options::default() }
}

/// Creates a file system with one large file, every block of which was written once.
fn fresh<N: Nvram, S: Ssd>(nvram: N, ssd: Arc<S>, options: Options) -> (Nvmfs<N, S>, Ino) {
    let mut fs = Nvmfs::format(nvram, ssd, &format(), options).unwrap();
    let file = fs.create(ROOT, b"file", Kind::File, 0o644, 0, &Caller::default()).unwrap().ino;
    for block in 0..FILE_BLOCKS {
        write(&mut fs, file, block, 1);
    }
    (fs, file)
}

fn write<N: Nvram, S: Ssd>(fs: &mut Nvmfs<N, S>, file: Ino, block: u64, byte: u8) {
    let offset = block * BLOCK_BYTES as u64;
    assert_eq!(fs.write(file, offset, &[byte; BLOCK_BYTES], &Caller::default()).unwrap(), BLOCK_BYTES);
}

/// Draws a block, mostly from a frequently used tenth of the file.
fn draw(random: &mut impl Rng) -> u64 {
    let blocks = if random.random_bool(0.8) { FILE_BLOCKS / 10 } else { FILE_BLOCKS };
    random.random_range(0..blocks)
}

#[test]
fn write_through_sends_each_write_once_immediately() {
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    let nvram = PlainNvram::new(NVRAM_BYTES);
    let (mut fs, file) = fresh(nvram, Arc::clone(&ssd), options(Caching::WriteThrough, None));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for _ in 0..3000 {
        let block = draw(&mut random);
        write(&mut fs, file, block, 2);
        assert_eq!(fs.store().pages_in(State::Dirty), 0);
    }
    let counts = fs.store().counts;
    // This includes the beginning of the file: while the file was small, it was kept on NVRAM, and it was written to
    // the SSD when the file became large.
    assert_eq!(counts.ssd_written_blocks, counts.written_blocks);
    assert!(counts.write_hits > 1000, "the NVRAM still caches for reading: {counts:?}");
    fs.store().check().unwrap();
}

#[test]
fn periodic_write_out_matches_simple_count() {
    for share in [0.01, 0.1, 0.3] {
        let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
        let nvram = PlainNvram::new(NVRAM_BYTES);
        let (mut fs, file) = fresh(nvram, ssd, options(Caching::Periodic, Some(share)));
        let pages = [State::Free, State::Clean, State::Dirty].map(|state| fs.store().pages_in(state));
        let period = (f64::from(pages.iter().sum::<u32>()) * share).ceil() as u64;
        // This continues until the end of the current period.
        while fs.store().pages_in(State::Dirty) > 0 {
            write(&mut fs, file, 0, 3);
        }
        let before = fs.store().counts;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let (mut dirty, mut sent) = (BTreeSet::new(), 0);
        for step in 1..=20 * period {
            let block = draw(&mut random);
            write(&mut fs, file, block, 4);
            dirty.insert(block);
            if step % period == 0 {
                sent += dirty.len() as u64;
                dirty.clear();
            }
            assert_eq!(u64::from(fs.store().pages_in(State::Dirty)), dirty.len() as u64, "{share}: {step}");
        }
        let counts = fs.store().counts - before;
        assert_eq!(counts.ssd_written_blocks, sent, "{share}");
        assert!(sent < counts.written_blocks, "{share}: what was written twice in a period was sent once");
        fs.store().check().unwrap();
    }
}

#[test]
fn longer_periods_send_fewer_blocks() {
    let sent = |caching, share| {
        let (mut fs, file) = fresh(
            PlainNvram::new(NVRAM_BYTES),
            Arc::new(MemorySsd::new(SSD_BLOCKS)),
            options(caching, share),
        );
        let before = fs.store().counts.ssd_written_blocks;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        for _ in 0..6000 {
            let block = draw(&mut random);
            write(&mut fs, file, block, 5);
        }
        fs.store().counts.ssd_written_blocks - before
    };
    let through = sent(Caching::WriteThrough, None);
    let [often, seldom] = [0.02, 0.2].map(|share| sent(Caching::Periodic, Some(share)));
    let back = sent(Caching::WriteBack, None);
    assert_eq!(through, 6000);
    assert!(through > often && often > seldom && seldom > back, "{through} {often} {seldom} {back}");
    assert_eq!(sent(Caching::Periodic, None), sent(Caching::Periodic, Some(0.1)), "a tenth unless given");
}

#[test]
fn nvmfs_placement_rejects_write_through_and_periodic() {
    let make = |placement, options| {
        let format = Format { placement, ..format() };
        let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
        Nvmfs::format(PlainNvram::new(NVRAM_BYTES), ssd, &format, options)
            .err()
            .map(|error| error.to_string())
    };
    for caching in [Caching::Periodic, Caching::WriteThrough] {
        let problem = make(PlacementKind::Nvmfs, options(caching, None)).unwrap();
        assert!(problem.contains("caching") && problem.contains("conquest"), "{problem}");
        assert_eq!(make(PlacementKind::Conquest, options(caching, None)), None);
    }
    for (share, part) in [(Some(0.1), "periodic"), (Some(f64::NAN), "periodic")] {
        let problem = make(PlacementKind::Conquest, options(Caching::WriteThrough, share)).unwrap();
        assert!(problem.contains(part), "{problem}");
    }
    for share in [0.0, -1.0, f64::INFINITY] {
        let problem = make(PlacementKind::Conquest, options(Caching::Periodic, Some(share))).unwrap();
        assert!(problem.contains("above 0"), "{problem}");
    }
}

#[test]
fn full_ssd_accepts_overwrites_with_periodic_and_write_through() {
    for caching in [Caching::Periodic, Caching::WriteThrough] {
        let ssd = Arc::new(MemorySsd::new(24 * 128));
        let mut fs =
            Nvmfs::format(PlainNvram::new(NVRAM_BYTES), ssd, &format(), options(caching, None)).unwrap();
        let file = fs.create(ROOT, b"file", Kind::File, 0o644, 0, &Caller::default()).unwrap().ino;
        let written = (0..).take_while(|block| {
            let offset = block * BLOCK_BYTES as u64;
            fs.write(file, offset, &[1; BLOCK_BYTES], &Caller::default()).is_ok()
        });
        // The extent of the label and a reserve of four extents hold no data.
        assert_eq!(written.count(), 19 * 128, "{caching:?}");
        for block in 0..19 * 128 {
            write(&mut fs, file, block, 2);
        }
        fs.store().check().unwrap();
    }
}

/// Writes until the power is cut at an event, and checks the result. Returns true if the cut happened.
fn cut_once(caching: Caching, seed: u64, event: u64) -> bool {
    let options = options(caching, (caching == Caching::Periodic).then_some(0.05));
    let power = PowerSource::new();
    let ssd = Arc::new(SimulatedSsd::new(SSD_BLOCKS, power.clone()));
    let nvram = SimulatedNvram::new(NVRAM_BYTES, power.clone());
    let (mut fs, file) = fresh(nvram, Arc::clone(&ssd), options.clone());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    power.cut_at(power.events() + event);
    let mut expected: BTreeMap<u64, u8> = (0..FILE_BLOCKS).map(|block| (block, 1)).collect();
    let mut last = None;
    for _ in 0..400 {
        let (block, byte) = (draw(&mut random), random.random_range(2..=255));
        let _ = fs.write(file, block * BLOCK_BYTES as u64, &[byte; BLOCK_BYTES], &Caller::default());
        if power.is_off() {
            last = Some((block, byte));
            break;
        }
        expected.insert(block, byte);
    }
    let Some((last_block, last_byte)) = last else { return false };
    let power = PowerSource::new();
    let nvram = fs.into_store().region.into_nvram().crash_images().crash(&mut random);
    let ssd = Arc::new(SimulatedSsd::from_image(ssd.crash(&mut random), power.clone()));
    let (mut fs, _) = Nvmfs::mount(SimulatedNvram::from_image(nvram, power), ssd, options).unwrap();
    fs.store().check().unwrap();
    for (block, byte) in expected {
        let mut found = [0; BLOCK_BYTES];
        fs.read(file, block * BLOCK_BYTES as u64, &mut found, &Caller::default()).unwrap();
        let is_right = |at: &u8| *at == byte || (block == last_block && *at == last_byte);
        assert!(found.iter().all(is_right), "block {block} after a cut: {caching:?} {seed}:{event}");
    }
    true
}

#[test]
fn writes_survive_power_cut_in_all_caching_modes() {
    let more = crate::common::more_cases();
    for caching in [Caching::Periodic, Caching::WriteThrough] {
        let events = (0..4 * more).map(|step| step * 613 + 7);
        let cuts = events.filter(|&event| cut_once(caching, event, event)).count() as u64;
        assert!(cuts >= 3 * more, "{cuts}");
    }
}
