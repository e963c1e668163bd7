//! Times of merges in hybrid FTLs: log blocks kept free, deferral, and merges in idle time.

use super::super::hybrid::{HybridConfig, HybridFtl, HybridKind, HybridSettings};
use super::drives::{count, hybrid_blocks, hybrid_config, power_cut_nand, read, reports, write};
use crate::counters::Counters;
use crate::layer::{Ability, Layer, LayerExt};
use crate::nand::{Faults, PowerSource};
use crate::pool::FreeBlocks;
use crate::seed::{Random, Seed, random_below};
use crate::wear::WearConfig;

type Drive = HybridFtl<super::drives::PowerCutNand>;

const KINDS: [HybridKind; 2] = [HybridKind::Bast, HybridKind::Fast];
const LOGICAL_PAGES: u32 = 48;

/// Creates a drive with this many logs, on flash with space for six.
fn drive(kind: HybridKind, log_blocks: u32, free_blocks: FreeBlocks) -> Drive {
    build(hybrid_config(kind, LOGICAL_PAGES, log_blocks), free_blocks).unwrap()
}

fn build(config: HybridConfig, free_blocks: FreeBlocks) -> Result<Drive, crate::config::ConfigError> {
    let blocks = hybrid_blocks(&hybrid_config(config.kind, config.logical_pages, 6));
    let settings = HybridSettings { config, wear: WearConfig::default(), free_blocks, seed: Seed(3) };
    settings.build(power_cut_nand(blocks, Faults::default(), &PowerSource::new(false)))
}

fn low(low: u32) -> FreeBlocks {
    FreeBlocks { low: Some(low), ..FreeBlocks::default() }
}

fn overwrite(drive: &mut Drive, random: &mut Random, pages: u32) {
    for _ in 0..pages {
        write(drive, [random_below(random, LOGICAL_PAGES.into()) as u32]);
    }
    drive.check().unwrap();
}

/// Returns all counts.
fn counts(drive: &Drive) -> (Counters, Vec<(&'static str, u64)>) {
    let (report, _) = reports(drive);
    (report.counters, report.ftl.unwrap().counts)
}

#[test]
fn free_logs_reserve_equals_fewer_logs() {
    for kind in KINDS {
        let run = |mut drive: Drive| {
            write(&mut drive, 0..LOGICAL_PAGES);
            overwrite(&mut drive, &mut Seed(5).random(), 2000);
            counts(&drive)
        };
        let fewer = run(drive(kind, 3, FreeBlocks::default()));
        assert_eq!(run(drive(kind, 6, low(3))), fewer, "{kind:?}");
        assert_ne!(run(drive(kind, 6, low(0))), fewer, "{kind:?}");
        assert_eq!(run(drive(kind, 6, low(0))), run(drive(kind, 6, FreeBlocks::default())), "{kind:?}");
    }
}

#[test]
fn merges_are_deferred_while_log_above_cleans() {
    for kind in KINDS {
        let thresholds = FreeBlocks { low: Some(3), deferred: Some(0), idle: None };
        let mut deferring = drive(kind, 6, thresholds);
        assert!(deferring.abilities().has(Ability::Deferral));
        assert!(!drive(kind, 6, low(3)).abilities().has(Ability::Deferral));
        let mut immediate = drive(kind, 6, low(3));
        let write_both = |deferring: &mut Drive, immediate: &mut Drive, pages: &[u32]| {
            write(deferring, pages.iter().copied());
            write(immediate, pages.iter().copied());
            (reports(deferring).0.cleanings, reports(immediate).0.cleanings)
        };
        let fill: Vec<u32> = (0..LOGICAL_PAGES).collect();
        write_both(&mut deferring, &mut immediate, &fill);
        // One page of each of five logical blocks: this fills five logs of BAST, and more than one shared log of
        // FAST.
        let updates: Vec<u32> = (0..5).flat_map(|block| [4 * block + 1, 4 * block + 2]).collect();
        deferring.notify_cleaning_above(true);
        let (none, some) = write_both(&mut deferring, &mut immediate, &updates);
        assert!(
            none == Some(0) && some > Some(0) || kind == HybridKind::Fast && none <= some,
            "{kind:?} {none:?} {some:?}"
        );
        assert!(reports(&deferring).0.deferrals > Some(0), "{kind:?}");
        deferring.notify_cleaning_above(false);
        let more: Vec<u32> = (5..9).flat_map(|block| [4 * block + 1, 4 * block + 2]).collect();
        assert!(write_both(&mut deferring, &mut immediate, &more).0 > Some(0), "{kind:?}");
        assert_eq!(read(&mut deferring, 0..LOGICAL_PAGES), read(&mut immediate, 0..LOGICAL_PAGES));
    }
}

#[test]
fn idle_merges_free_logs_up_to_watermark() {
    for kind in KINDS {
        let thresholds = FreeBlocks { idle: Some(4), ..FreeBlocks::default() };
        let mut idle = drive(kind, 6, thresholds);
        assert!(idle.abilities().has(Ability::IdleCleaning) && !idle.clean_while_idle().unwrap());
        write(&mut idle, 0..LOGICAL_PAGES);
        let random = &mut Seed(6).random();
        let mut merged = 0;
        for _ in 0..40 {
            overwrite(&mut idle, random, 30);
            let before = count(&reports(&idle).0, "full merges");
            while idle.clean_while_idle().unwrap() {
                merged += 1;
            }
            idle.check().unwrap();
            // At least four logs can now be opened without a merge.
            let after = count(&reports(&idle).0, "full merges");
            assert!(after >= before);
            assert!(!idle.clean_while_idle().unwrap());
        }
        assert!(merged > 40, "{kind:?}: {merged}");
        let expected: Vec<u64> = (0..LOGICAL_PAGES).map(|page| u64::from(page) + 100).collect();
        assert_eq!(read(&mut idle, 0..LOGICAL_PAGES), expected);
    }
}

#[test]
fn too_many_free_logs_are_rejected() {
    for kind in KINDS {
        let key = |free_blocks| {
            build(hybrid_config(kind, LOGICAL_PAGES, 4), free_blocks).err().map(|error| error.key)
        };
        let max_free = if kind == HybridKind::Bast { 4 } else { 3 };
        assert_eq!(key(low(max_free - 1)), None);
        assert_eq!(key(low(max_free)).as_deref(), Some("free_blocks_low"));
        let with = |low, deferred, idle| FreeBlocks { low, deferred, idle };
        assert_eq!(key(with(Some(1), None, Some(max_free))), None);
        assert_eq!(key(with(Some(1), None, Some(max_free + 1))).as_deref(), Some("free_blocks_idle"));
        assert_eq!(key(with(Some(1), None, Some(1))).as_deref(), Some("free_blocks_idle"));
        assert_eq!(key(with(Some(1), Some(1), None)).as_deref(), Some("free_blocks_deferred"));
        assert_eq!(key(with(None, Some(0), None)).as_deref(), Some("free_blocks_deferred"));
    }
}
