//! A zoned drive compared with lists, and under a log compared with flash whose blocks are as large as zones.

use crate::naive::observe::reports;
use crate::naive::rig::{Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Bytes, Layer, LayerError, Medium, MediumError, Payload};
use wearwell_engine::log::{Reclaim, Segments, TrimRule, ZonedDrive, ZonedDriveConfig};
use wearwell_engine::nand::{Faults, Geometry, Nand, Wear};

const PAGES_PER_BLOCK: u32 = 4;

fn nand<P: Payload>(blocks: u32, wear: Wear, seed: u64) -> Nand<P> {
    Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, 4096), wear, Seed(seed))
}

/// Contents of the zones; `None` for an offline zone.
struct Naive {
    zones: Vec<Option<Vec<u64>>>,
    zone_pages: u32,
    limit: u32,
    endurance: Option<u32>,
    /// Erase counts of each block of each zone.
    erases: Vec<Vec<u32>>,
    written: u64,
}

impl Naive {
    fn write(&mut self, page: u32, version: u64) -> Result<(), LayerError> {
        let (zone, at) = (page / self.zone_pages, page % self.zone_pages);
        let is_open = |zone: &&Vec<u64>| !zone.is_empty() && zone.len() < self.zone_pages as usize;
        let open = self.zones.iter().flatten().filter(is_open).count();
        let Some(content) = &mut self.zones[zone as usize] else {
            return Err(LayerError::ZoneOffline { zone });
        };
        if content.len() as u32 != at {
            return Err(LayerError::NotSequential { zone, page: at, expected: content.len() as u32 });
        }
        if at == 0 && open as u32 == self.limit {
            return Err(LayerError::TooManyOpenZones { zone, limit: self.limit });
        }
        content.push(version);
        self.written += 1;
        Ok(())
    }

    fn read(&self, page: u32) -> u64 {
        let zone = self.zones[(page / self.zone_pages) as usize].as_ref();
        zone.and_then(|zone| zone.get((page % self.zone_pages) as usize).copied()).unwrap_or(0)
    }

    fn reset(&mut self, zone: usize) {
        let Some(content) = &mut self.zones[zone] else { return };
        let touched = content.len().div_ceil(PAGES_PER_BLOCK as usize);
        content.clear();
        for erases in &mut self.erases[zone][..touched] {
            if Some(*erases) == self.endurance {
                self.zones[zone] = None;
            } else {
                *erases += 1;
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Action {
    /// Zone, number of pages to write, and distance of the last page from its correct position.
    Append(u32, u32, u32),
    /// First zone, number of zones to trim, and number of pages missing at the end.
    Reset(u32, u32, u32),
    Read(u32),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        6 => (any::<u32>(), 1..14u32, prop_oneof![5 => Just(0u32), 1 => 1..3u32])
            .prop_map(|(zone, pages, gap)| Action::Append(zone, pages, gap)),
        3 => (any::<u32>(), 1..4u32, prop_oneof![5 => Just(0u32), 1 => 1..3u32])
            .prop_map(|(zone, zones, less)| Action::Reset(zone, zones, less)),
        1 => any::<u32>().prop_map(Action::Read),
    ];
    prop::collection::vec(action, 0..60)
}

fn apply<P: Stamp>(drive: &mut ZonedDrive<Nand<P>>, naive: &mut Naive, action: &Action, version: &mut u64) {
    let (zones, zone_pages) = (naive.zones.len() as u32, naive.zone_pages);
    match *action {
        Action::Append(zone, pages, gap) => {
            let first = zone % zones * zone_pages + drive.write_pointer(zone % zones);
            let mut list: Vec<Lpn> = (first..first + pages).map(Lpn).collect();
            list.last_mut().unwrap().0 += gap;
            list.retain(|page| page.0 < zones * zone_pages);
            let data: Vec<P> = (*version + 1..).take(list.len()).map(P::stamp).collect();
            let expected = list.iter().try_for_each(|page| {
                *version += 1;
                naive.write(page.0, *version)
            });
            assert_eq!(drive.write(&list, &data, 0), expected);
            // Versions of rejected pages are not reused.
            *version += list.len() as u64;
        }
        Action::Reset(zone, count, less) => {
            let first = zone % zones;
            let end = (first + count).min(zones);
            let list: Vec<Lpn> =
                (first * zone_pages..end * zone_pages - less % zone_pages).map(Lpn).collect();
            let done = drive.trim(&list);
            if less % zone_pages > 0 {
                assert_eq!(done, Err(LayerError::PartialReset { zone: end - 1 }));
            } else {
                assert_eq!(done, Ok(()));
                (first..end).for_each(|zone| naive.reset(zone as usize));
            }
        }
        Action::Read(page) => {
            let mut data = Vec::new();
            drive.read(&[Lpn(page % (zones * zone_pages))], &mut data).unwrap();
            assert_eq!(data, [P::stamp(naive.read(page % (zones * zone_pages)))]);
        }
    }
}

fn compare<P: Stamp>(drive: &mut ZonedDrive<Nand<P>>, naive: &Naive) {
    drive.check().unwrap();
    let all: Vec<Lpn> = (0..drive.logical_pages()).map(Lpn).collect();
    let mut data = Vec::new();
    drive.read(&all, &mut data).unwrap();
    assert_eq!(data, all.iter().map(|page| P::stamp(naive.read(page.0))).collect::<Vec<P>>());
    let reports = reports(drive);
    let (report, flash) = (&reports.layers[0], reports.nand.as_ref().unwrap());
    let erases: u64 = naive.erases.iter().flatten().map(|&erases| u64::from(erases)).sum();
    assert_eq!(report.counters.incoming(Operation::Write), naive.written);
    assert_eq!(report.counters.outgoing(Cause::Host, Operation::Write), naive.written);
    assert_eq!(report.counters.outgoing(Cause::Host, Operation::Erase), erases);
    assert_eq!((flash.programs, flash.erases), (naive.written, erases));
    assert_eq!(report.counters.outgoing_total(Operation::Read), flash.reads);
    assert_eq!(report.mapped_pages as usize, naive.zones.iter().flatten().map(Vec::len).sum::<usize>());
    assert_eq!(drive.offline_zones() as usize, naive.zones.iter().filter(|zone| zone.is_none()).count());
}

fn run_and_compare<P: Stamp>(
    blocks: u32,
    config: ZonedDriveConfig,
    wear: Wear,
    seed: u64,
    actions: &[Action],
) {
    let nand = nand::<P>(blocks, wear, seed);
    let zones = blocks / config.zone_blocks;
    let bad = |zone: u32| {
        let mut blocks = zone * config.zone_blocks..(zone + 1) * config.zone_blocks;
        blocks.any(|block| nand.is_bad(BlockId(block)))
    };
    let mut naive = Naive {
        zones: (0..zones).map(|zone| (!bad(zone)).then(Vec::new)).collect(),
        zone_pages: config.zone_blocks * PAGES_PER_BLOCK,
        limit: config.max_open_zones,
        endurance: wear.endurance_cycles,
        erases: vec![vec![0; config.zone_blocks as usize]; zones as usize],
        written: 0,
    };
    let mut drive = ZonedDrive::new(nand, config).unwrap();
    let mut version = 0;
    compare(&mut drive, &naive);
    for action in actions {
        apply(&mut drive, &mut naive, action, &mut version);
        compare(&mut drive, &naive);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn zones_agree_with_a_list_of_lists(
        (zones, zone_blocks, rest) in (1..7u32, 1..4u32, 0..3u32),
        max_open_zones in 1..5u32,
        endurance_cycles in prop::option::of(1..4u32),
        factory_bad_blocks in 0..3u32,
        seed: u64,
        acts in actions(),
    ) {
        let blocks = zones * zone_blocks + rest % zone_blocks;
        let config = ZonedDriveConfig { zone_blocks, max_open_zones };
        let wear = Wear { endurance_cycles, endurance_spread: 0.0, factory_bad_blocks };
        run_and_compare::<Bytes<8>>(blocks, config, wear, seed, &acts);
        run_and_compare::<()>(blocks, config, wear, seed, &acts);
    }
}

/// A log whose segments are zones, or several zones, behaves like a log on flash with blocks of that size.
#[test]
fn log_on_zones_behaves_like_a_log_on_large_blocks() {
    for (zone_blocks, zones_per_segment) in [(1, 1), (3, 1), (3, 2)] {
        let segment_blocks = zone_blocks * zones_per_segment;
        let setup = Setup {
            blocks: 20,
            pages_per_block: segment_blocks * PAGES_PER_BLOCK,
            logical_pages: 15 * segment_blocks * PAGES_PER_BLOCK,
            streams: Streams::Double,
            reclaim: Reclaim::FreePool { low: 1, high: 2 },
            ..Setup::default()
        };
        let flash = nand::<Bytes<8>>(20 * segment_blocks, Wear::default(), 1);
        // Cleaning fills its own block next to the host's.
        let zones = ZonedDrive::new(flash, ZonedDriveConfig { zone_blocks, max_open_zones: 2 }).unwrap();
        let segments = Segments::new(Box::new(zones), setup.pages_per_block, Some(TrimRule::default()));
        let mut on_zones = setup.engine_on(segments).unwrap();
        let mut on_flash = setup.engine_on(setup.nand::<Bytes<8>>()).unwrap();
        let mut random = Seed(5).random();
        let draw = |_| Lpn(random_below(&mut random, setup.logical_pages.into()) as u32);
        let pages: Vec<Lpn> = (0..setup.logical_pages * 12).map(draw).collect();
        let data: Vec<Bytes<8>> = (0..pages.len() as u64).map(Bytes::stamp).collect();
        on_zones.write(&pages, &data, 0).unwrap();
        on_flash.write(&pages, &data, 0).unwrap();
        let (zoned, plain) = (reports(&on_zones), reports(&on_flash));
        assert_eq!(zoned.layers[0].counters, plain.layers[0].counters);
        assert_eq!(zoned.layers[0].victim_valid_pages, plain.layers[0].victim_valid_pages);
        assert!(plain.layers[0].counters.write_amplification().unwrap() > 1.0);
        assert_eq!(zoned.layers[1].counters.write_amplification(), Some(1.0));
        let (zoned, plain) = (zoned.nand.unwrap(), plain.nand.unwrap());
        assert_eq!((zoned.programs, zoned.reads), (plain.programs, plain.reads));
        assert_eq!(zoned.erases, plain.erases * u64::from(segment_blocks));
        on_zones.check().unwrap();
    }
}

#[test]
fn log_ends_when_a_zone_goes_offline() {
    let setup = Setup {
        blocks: 12,
        pages_per_block: 8,
        logical_pages: 60,
        streams: Streams::Double,
        reclaim: Reclaim::FreePool { low: 1, high: 2 },
        ..Setup::default()
    };
    let wear = Wear { endurance_cycles: Some(3), ..Wear::default() };
    let zones =
        ZonedDrive::new(nand::<()>(24, wear, 1), ZonedDriveConfig { zone_blocks: 2, max_open_zones: 2 })
            .unwrap();
    let mut log = setup.engine_on(Segments::new(Box::new(zones), 8, Some(TrimRule::default()))).unwrap();
    let error = (0..).find_map(|at| log.write(&[Lpn(at * 17 % 60)], &[()], 0).err()).unwrap();
    assert!(error.is_end_of_life(), "{error}");
    let LayerError::Medium(MediumError::Lower(below)) = &error else { panic!("{error:?}") };
    assert!(matches!(**below, LayerError::ZoneOffline { .. }), "{below}");
}

#[test]
fn zone_with_a_failed_program_is_read_only() {
    let faults = Faults { program_failure_rate: 0.05, read_disturb_limit: None };
    let flash = nand::<Bytes<8>>(12, Wear::default(), 1).with_faults(faults, Seed(1));
    let config = ZonedDriveConfig { zone_blocks: 2, max_open_zones: 3 };
    let mut drive = ZonedDrive::new(flash, config).unwrap();
    let (size, mut offline) = (drive.zone_pages(), 0);
    for zone in 0..6 {
        let pages: Vec<Lpn> = (zone * size..(zone + 1) * size).map(Lpn).collect();
        let data: Vec<Bytes<8>> =
            pages.iter().map(|page| Bytes(u64::from(page.0 + 1).to_le_bytes())).collect();
        let done = drive.write(&pages, &data, 0);
        let written = drive.write_pointer(zone) as usize;
        match done {
            Ok(()) => assert_eq!(written, pages.len()),
            Err(error) => {
                assert_eq!(error, LayerError::ZoneOffline { zone });
                assert!(error.is_end_of_life() && written < pages.len());
                offline += 1;
                assert_eq!(drive.write(&pages[written..=written], &data[..1], 0), Err(error));
            }
        }
        let mut read = Vec::new();
        drive.read(&pages[..written], &mut read).unwrap();
        assert_eq!(read, data[..written]);
        drive.check().unwrap();
    }
    assert!((1..6).contains(&offline), "{offline} zones");
    assert_eq!(drive.offline_zones(), offline);
    let reports = reports(&drive);
    let sent = reports.layers[0].counters.outgoing(Cause::Host, Operation::Write);
    assert_eq!(sent, reports.nand.unwrap().programs);
    // A reset frees only pages that can be rewritten.
    drive.trim(&(0..6 * size).map(Lpn).collect::<Vec<_>>()).unwrap();
    assert_eq!((0..6).map(|zone| drive.write_pointer(zone)).sum::<u32>(), 0);
    assert_eq!(drive.offline_zones(), offline);
    drive.check().unwrap();
}

#[test]
fn invalid_sizes_are_refused() {
    for (zone_blocks, max_open_zones, key) in
        [(0, 1, "zone_blocks"), (9, 1, "zone_blocks"), (1, 0, "max_open_zones")]
    {
        let config = ZonedDriveConfig { zone_blocks, max_open_zones };
        assert_eq!(ZonedDrive::new(nand::<()>(8, Wear::default(), 1), config).err().unwrap().key, key);
    }
}
