//! Times of merges in hybrid FTLs: log blocks kept free, deferral, and merges in idle time.

use super::super::hybrid::{Hybrid, HybridConfig, HybridKind, HybridSettings};
use super::drives::{chips, count, hybrid_blocks, hybrid_config, read, reports, write};
use crate::counters::Counters;
use crate::layer::{Ability, Layer, LayerExt};
use crate::nand::{Faults, Supply};
use crate::pool::FreeBlocks;
use crate::seed::{Random, Seed, below};
use crate::wear::WearConfig;

type Drive = Hybrid<super::drives::Chips>;

const KINDS: [HybridKind; 2] = [HybridKind::Bast, HybridKind::Fast];
const LOGICAL_PAGES: u32 = 48;

/// Creates a drive with this many logs, on flash with room for six.
fn drive(kind: HybridKind, log_blocks: u32, free_blocks: FreeBlocks) -> Drive {
    build(hybrid_config(kind, LOGICAL_PAGES, log_blocks), free_blocks).unwrap()
}

fn build(config: HybridConfig, free_blocks: FreeBlocks) -> Result<Drive, crate::config::ConfigError> {
    let blocks = hybrid_blocks(&hybrid_config(config.kind, config.logical_pages, 6));
    let settings = HybridSettings { config, wear: WearConfig::default(), free_blocks, seed: Seed(3) };
    settings.build(chips(blocks, Faults::default(), &Supply::new(false)))
}

fn low(low: u32) -> FreeBlocks {
    FreeBlocks { low: Some(low), ..FreeBlocks::default() }
}

fn overwrite(drive: &mut Drive, random: &mut Random, pages: u32) {
    for _ in 0..pages {
        write(drive, [below(random, LOGICAL_PAGES.into()) as u32]);
    }
    drive.check().unwrap();
}

/// Returns all counts.
fn counted(drive: &Drive) -> (Counters, Vec<(&'static str, u64)>) {
    let (report, _) = reports(drive);
    (report.counters, report.ftl.unwrap().counts)
}

#[test]
fn logs_kept_free_act_as_missing_logs() {
    for kind in KINDS {
        let run = |mut drive: Drive| {
            write(&mut drive, 0..LOGICAL_PAGES);
            overwrite(&mut drive, &mut Seed(5).random(), 2000);
            counted(&drive)
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
        let wanted = FreeBlocks { low: Some(3), deferred: Some(0), idle: None };
        let mut waiting = drive(kind, 6, wanted);
        assert!(waiting.abilities().has(Ability::Deferral));
        assert!(!drive(kind, 6, low(3)).abilities().has(Ability::Deferral));
        let mut hasty = drive(kind, 6, low(3));
        let both = |waiting: &mut Drive, hasty: &mut Drive, pages: &[u32]| {
            write(waiting, pages.iter().copied());
            write(hasty, pages.iter().copied());
            (reports(waiting).0.cleanings, reports(hasty).0.cleanings)
        };
        let fill: Vec<u32> = (0..LOGICAL_PAGES).collect();
        both(&mut waiting, &mut hasty, &fill);
        // One page of each of five logical blocks: this fills five logs of BAST, and more than one shared log of
        // FAST.
        let updates: Vec<u32> = (0..5).flat_map(|block| [4 * block + 1, 4 * block + 2]).collect();
        waiting.cleaning_above(true);
        let (none, some) = both(&mut waiting, &mut hasty, &updates);
        assert!(
            none == Some(0) && some > Some(0) || kind == HybridKind::Fast && none <= some,
            "{kind:?} {none:?} {some:?}"
        );
        assert!(reports(&waiting).0.deferrals > Some(0), "{kind:?}");
        waiting.cleaning_above(false);
        let more: Vec<u32> = (5..9).flat_map(|block| [4 * block + 1, 4 * block + 2]).collect();
        assert!(both(&mut waiting, &mut hasty, &more).0 > Some(0), "{kind:?}");
        assert_eq!(read(&mut waiting, 0..LOGICAL_PAGES), read(&mut hasty, 0..LOGICAL_PAGES));
    }
}

#[test]
fn idle_merges_free_logs_up_to_the_mark() {
    for kind in KINDS {
        let wanted = FreeBlocks { idle: Some(4), ..FreeBlocks::default() };
        let mut idle = drive(kind, 6, wanted);
        assert!(idle.abilities().has(Ability::IdleCleaning) && !idle.clean_ahead().unwrap());
        write(&mut idle, 0..LOGICAL_PAGES);
        let random = &mut Seed(6).random();
        let mut merged = 0;
        for _ in 0..40 {
            overwrite(&mut idle, random, 30);
            let before = count(&reports(&idle).0, "full merges");
            while idle.clean_ahead().unwrap() {
                merged += 1;
            }
            idle.check().unwrap();
            // At least four logs can now be opened without a merge.
            let after = count(&reports(&idle).0, "full merges");
            assert!(after >= before);
            assert!(!idle.clean_ahead().unwrap());
        }
        assert!(merged > 40, "{kind:?}: {merged}");
        let held: Vec<u64> = (0..LOGICAL_PAGES).map(|page| u64::from(page) + 100).collect();
        assert_eq!(read(&mut idle, 0..LOGICAL_PAGES), held);
    }
}

#[test]
fn too_many_free_logs_are_rejected() {
    for kind in KINDS {
        let key = |free_blocks| {
            build(hybrid_config(kind, LOGICAL_PAGES, 4), free_blocks).err().map(|error| error.key)
        };
        let most = if kind == HybridKind::Bast { 4 } else { 3 };
        assert_eq!(key(low(most - 1)), None);
        assert_eq!(key(low(most)).as_deref(), Some("free_blocks_low"));
        let with = |low, deferred, idle| FreeBlocks { low, deferred, idle };
        assert_eq!(key(with(Some(1), None, Some(most))), None);
        assert_eq!(key(with(Some(1), None, Some(most + 1))).as_deref(), Some("free_blocks_idle"));
        assert_eq!(key(with(Some(1), None, Some(1))).as_deref(), Some("free_blocks_idle"));
        assert_eq!(key(with(Some(1), Some(1), None)).as_deref(), Some("free_blocks_deferred"));
        assert_eq!(key(with(None, Some(0), None)).as_deref(), Some("free_blocks_deferred"));
    }
}
