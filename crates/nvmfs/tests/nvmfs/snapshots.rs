//! Comparison of snapshots with copies of the model: snapshots do not change, despite later operations and power
//! cuts.

use crate::common::model::ModelFs;
use crate::common::{
    ModelPair, NVRAM_BYTES, Remount, SmallFs, SpaceMode, compare, more_cases, random_ops, small, small_on,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Change, Error, FileSystem, Ino, Kind, ROOT, Seek};
use wearwell_nvmfs::backing::Existing;
use wearwell_nvmfs::fs::{Nvmfs, check_snapshots};
use wearwell_nvmfs::layout::{FIRST_KEPT_INODE, PageId, SnapshotPages};
use wearwell_nvmfs::names;
use wearwell_nvmfs::nvram::{MappedNvram, Nvram, Persistence, PlainNvram};
use wearwell_nvmfs::options::{Lists, Options};
use wearwell_nvmfs::ssd::MemorySsd;
use wearwell_nvmfs::store::{State, Store};

const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 1_500_000_000_000_000_000 };

/// Mounts a snapshot from the current content of the devices.
fn view<N: Nvram>(fs: &Nvmfs<N, MemorySsd>, name: &str) -> SmallFs {
    let nvram = PlainNvram::from(fs.store().region.bytes().to_vec());
    let ssd = Arc::new((**fs.store().ssd()).clone());
    let mounted = Nvmfs::mount_snapshot(nvram, ssd, Options::default(), name);
    mounted.unwrap_or_else(|error| panic!("{name}: {error}")).0
}

/// Returns the view number of a snapshot.
fn number_of<N: Nvram>(fs: &Nvmfs<N, MemorySsd>, name: &str) -> u32 {
    fs.store().views().find(|(_, record)| record.name == name).expect("it is there").0
}

/// Compares a snapshot with a copy of the model: once as a view of the live file system, and once mounted.
fn check<N: Nvram>(fs: &mut Nvmfs<N, MemorySsd>, name: &str, model: &ModelFs) -> Result<(), String> {
    let mut model = model.clone();
    model.remount();
    let number = number_of(fs, name);
    let result = compare(&mut model.clone(), &mut fs.snapshot_view(number), &[], CALLER);
    result.map_err(|difference| format!("{name}, beside: {difference}"))?;
    let mut view = view(fs, name);
    view.store().check().map_err(|problem| format!("{name}: {problem}"))?;
    let problems = names::check::check(&view.store().region).map_err(|error| error.to_string())?;
    if let Some(problem) = problems.first() {
        return Err(format!("{name}: {problem}"));
    }
    let data_problems = view.store().check_all_data().map_err(|error| error.to_string())?;
    if let Some(problem) = data_problems.first() {
        return Err(format!("{name}: {problem}"));
    }
    compare(&mut model, &mut view, &[], CALLER).map_err(|difference| format!("{name}: {difference}"))
}

/// Schedule of creating and deleting snapshots between operations.
#[derive(Clone, Copy)]
struct SnapshotSchedule {
    seed: u64,
    steps: usize,
    /// Number of operations between two actions on snapshots.
    every: usize,
    /// Number of blocks freed between two operations; `None` frees all blocks at once.
    blocks_per_step: Option<u64>,
}

/// Runs random operations while snapshots are created and deleted. Returns the number of comparisons, and the number
/// of operations refused for lack of space.
fn run_with_snapshots<N: Nvram + 'static>(
    (fs, remount): (Nvmfs<N, MemorySsd>, Remount<Nvmfs<N, MemorySsd>>),
    schedule: SnapshotSchedule,
) -> Result<(usize, usize), String> {
    let mut pair = ModelPair::new(fs, SpaceMode::Scarce, remount);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(schedule.seed);
    let mut models: BTreeMap<String, ModelFs> = BTreeMap::new();
    let mut compared = 0;
    for (done, op) in random_ops(schedule.seed).take(schedule.steps).enumerate() {
        pair.step(&op)?;
        if let Some(blocks) = schedule.blocks_per_step {
            pair.other().continue_deleting(blocks).map_err(|error| error.to_string())?;
        }
        if done % schedule.every != schedule.every - 1 {
            continue;
        }
        if models.len() < 2 || models.len() < 5 && random.random_bool(0.6) {
            let name = format!("{done}");
            let model = pair.model.clone();
            match pair.other().create_snapshot(&name, done as i64) {
                Err(Error::NoSpace(_)) => {}
                made => {
                    made.map_err(|error| error.to_string())?;
                    models.insert(name, model);
                }
            }
        } else {
            let number = random.random_range(0..models.len());
            let name = models.keys().nth(number).expect("so many").clone();
            models.remove(&name);
            let deleted = match schedule.blocks_per_step {
                Some(_) => pair.other().begin_deleting_snapshot(&name),
                None => pair.other().delete_snapshot(&name),
            };
            deleted.map_err(|error| error.to_string())?;
        }
        pair.other().store().check().map_err(|problem| format!("after {done}: {problem}"))?;
        for (name, model) in &models {
            check(pair.other(), name, model).map_err(|problem| format!("after {done}: {problem}"))?;
            compared += 1;
        }
    }
    pair.compare()?;
    for name in models.into_keys() {
        pair.other().delete_snapshot(&name).map_err(|error| error.to_string())?;
    }
    let fs = pair.other();
    if fs.store().snapshot_blocks() != 0 {
        return Err(format!("{} blocks are left", fs.store().snapshot_blocks()));
    }
    fs.store().check()?;
    pair.compare()?;
    Ok((compared, pair.refused))
}

#[test]
fn snapshots_match_earlier_states() {
    for seed in 0..4 * more_cases() {
        let load = SnapshotSchedule { seed, steps: 2_000, every: 90, blocks_per_step: None };
        let (compared, refused) =
            run_with_snapshots(small(), load).unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        assert!(compared > 30 && refused < 500, "seed {seed}: {compared} compared, {refused} refused");
    }
}

#[test]
fn snapshots_match_while_others_are_deleted_stepwise() {
    for seed in 20..20 + 2 * more_cases() {
        let load = SnapshotSchedule {
            seed,
            steps: 1_500,
            every: 40,
            blocks_per_step: Some([1, 40][seed as usize % 2]),
        };
        let (compared, _) =
            run_with_snapshots(small(), load).unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        assert!(compared > 60, "seed {seed}: {compared} compared");
    }
}

#[test]
fn snapshots_match_with_adaptive_lists() {
    for seed in 40..40 + more_cases() {
        let options = Options { lists: Lists::Adaptive, ..Options::default() };
        let fs = small_on(PlainNvram::new(NVRAM_BYTES), options, |nvram| nvram);
        let load = SnapshotSchedule { seed, steps: 2_000, every: 90, blocks_per_step: Some(40) };
        let (compared, _) = run_with_snapshots(fs, load).unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        assert!(compared > 30, "seed {seed}: {compared} compared");
    }
}

#[test]
fn snapshots_match_on_nvram_of_several_files() {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = ["a", "b", "c"].map(|name| directory.path().join(name)).into();
    let bytes = Some(NVRAM_BYTES as u64);
    let nvram = MappedNvram::create_set(&paths, bytes, Existing::Refuse, Persistence::CacheLines, 5).unwrap();
    let reopen = move |nvram: MappedNvram| {
        drop(nvram);
        // The order of the files differs from the order at creation.
        let paths: Vec<PathBuf> = paths.iter().rev().cloned().collect();
        MappedNvram::open_set(&paths, Persistence::CacheLines).unwrap()
    };
    let load = SnapshotSchedule { seed: 50, steps: 2_000, every: 90, blocks_per_step: Some(40) };
    let (compared, _) = run_with_snapshots(small_on(nvram, Options::default(), reopen), load).unwrap();
    assert!(compared > 30, "{compared} compared");
}

/// Writes a file of this size with one byte value.
fn put(fs: &mut SmallFs, name: &[u8], bytes: usize, byte: u8) -> Result<(), Error> {
    let ino = match fs.lookup(ROOT, name) {
        Ok(there) => there.ino,
        Err(_) => fs.create(ROOT, name, Kind::File, 0o644, 0, &CALLER)?.ino,
    };
    let written = fs.write(ino, 0, &vec![byte; bytes], &CALLER)?;
    if written < bytes { Err(Error::NoSpace("a part only")) } else { Ok(()) }
}

fn is_all(fs: &mut SmallFs, name: &[u8], byte: u8) -> bool {
    let of = fs.lookup(ROOT, name).expect("it is there");
    let mut content = vec![!byte; of.size_bytes as usize];
    fs.read(of.ino, 0, &mut content, &CALLER).expect("it can be read");
    content.iter().all(|one| *one == byte)
}

#[test]
fn snapshot_costs_one_record_and_deletion_frees_everything() {
    let (mut fs, _) = small();
    put(&mut fs, b"large", 20 << 20, 1).unwrap();
    let (before, used) = (fs.stats().metadata_pages, fs.store().used_blocks());
    fs.create_snapshot("a", 5).unwrap();
    fs.create_snapshot("b", 6).unwrap();
    assert_eq!((fs.stats().metadata_pages - before, fs.store().used_blocks() - used), (1, 0));
    put(&mut fs, b"large", 1 << 20, 2).unwrap();
    // The overwritten blocks and their pointers are stored twice.
    let held = fs.store().used_blocks() - used;
    assert_eq!(held, 256);
    assert!(is_all(&mut view(&fs, "a"), b"large", 1) && is_all(&mut view(&fs, "b"), b"large", 1));
    fs.delete_snapshot("b").unwrap();
    assert_eq!(fs.store().used_blocks() - used, 256);
    assert!(is_all(&mut view(&fs, "a"), b"large", 1));
    fs.delete_snapshot("a").unwrap();
    assert_eq!((fs.stats().metadata_pages, fs.store().used_blocks()), (before, used));
    assert_eq!(fs.store().snapshot_blocks(), 0);
}

#[test]
fn full_file_system_recovers_after_snapshot_deletion() {
    let (mut fs, _) = small();
    put(&mut fs, b"large", 20 << 20, 1).unwrap();
    fs.create_snapshot("a", 5).unwrap();
    let mut written = 0;
    let refused = loop {
        written += 1;
        if let Err(error) = put(&mut fs, b"large", 20 << 20, written) {
            break error;
        }
    };
    assert!(matches!(refused, Error::NoSpace(_)), "{refused}");
    fs.store().check().unwrap();
    let large = fs.lookup(ROOT, b"large").unwrap();
    // Removal succeeds, and frees the blocks that the snapshot does not use.
    let used = fs.store().used_blocks();
    fs.unlink(ROOT, b"large", &CALLER).unwrap();
    assert!(fs.store().used_blocks() < used && fs.attributes(large.ino).is_err());
    assert!(is_all(&mut view(&fs, "a"), b"large", 1));
    fs.delete_snapshot("a").unwrap();
    assert_eq!(fs.store().used_blocks(), 0);
    fs.store().check().unwrap();
    put(&mut fs, b"large", 20 << 20, 9).unwrap();
}

#[test]
fn available_blocks_can_be_overwritten_under_snapshot() {
    let (mut fs, _) = small();
    put(&mut fs, b"large", 20 << 20, 1).unwrap();
    let ino = fs.lookup(ROOT, b"large").unwrap().ino;
    fs.create_snapshot("a", 5).unwrap();
    let available = fs.stats().available_blocks;
    let mut written = 0;
    let refused = loop {
        match fs.write(ino, written * 4096, &[2; 4096], &CALLER) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    // Pointer blocks need space, too.
    assert!(written <= available && written + 64 >= available, "{written} of {available}: {refused}");
    assert!(refused.to_string().contains("kept for a snapshot"), "{refused}");
    // Blocks that have changed since the snapshot can be overwritten repeatedly.
    assert_eq!(fs.write(ino, 0, &vec![3; 1 << 20], &CALLER).unwrap(), 1 << 20);
    assert!(is_all(&mut view(&fs, "a"), b"large", 1));
    fs.delete_snapshot("a").unwrap();
    assert_eq!(fs.write(ino, written * 4096, &[2; 4096], &CALLER).unwrap(), 4096);
}

#[test]
fn snapshot_names_and_their_number_are_limited() {
    let (mut fs, _) = small();
    assert!(matches!(fs.create_snapshot("a,b", 0), Err(Error::Invalid(_))));
    fs.create_snapshot("a", 0).unwrap();
    assert!(matches!(fs.create_snapshot("a", 0), Err(Error::Exists)));
    assert!(matches!(fs.delete_snapshot("b"), Err(Error::NotFound)));
    let made =
        (1..200).take_while(|number| fs.create_snapshot(&format!("{number}"), *number).is_ok()).count();
    assert_eq!(made, 127);
    let listed = fs.snapshots().unwrap();
    assert!(listed.iter().all(|one| one.blocks == 0) && listed.len() == 128);
    for one in listed {
        fs.delete_snapshot(&one.name).unwrap();
    }
    fs.store().check().unwrap();
    assert_eq!(fs.store().snapshot_blocks(), 0);
}

#[test]
fn snapshots_keep_truncations_and_holes_separate() {
    let (mut fs, _) = small();
    put(&mut fs, b"f", 40_960, 1).unwrap();
    let ino = fs.lookup(ROOT, b"f").unwrap().ino;
    let resize = |fs: &mut SmallFs, bytes| {
        let change = Change { size_bytes: Some(bytes), ..Change::default() };
        fs.set_attributes(ino, &change, &CALLER).unwrap();
    };
    resize(&mut fs, 20_480);
    resize(&mut fs, 40_960);
    fs.create_snapshot("hole", 1).unwrap();
    resize(&mut fs, 20_480);
    fs.create_snapshot("short", 2).unwrap();
    fs.write(ino, 28_672, &[7; 4096], &CALLER).unwrap();
    for gone in [None, Some("short")] {
        gone.into_iter().for_each(|name| fs.delete_snapshot(name).unwrap());
        let mut old = view(&fs, "hole");
        let mut content = vec![9; 50_000];
        assert_eq!(old.read(ino, 0, &mut content, &CALLER).unwrap(), 40_960);
        assert!(
            content[..20_480].iter().all(|byte| *byte == 1)
                && content[20_480..40_960].iter().all(|byte| *byte == 0)
        );
    }
}

#[test]
fn large_file_is_freed_and_passed_down_in_bounded_steps() {
    let (mut fs, _) = small();
    let used = fs.store().used_blocks();
    put(&mut fs, b"large", 10 << 20, 1).unwrap();
    let ino = fs.lookup(ROOT, b"large").unwrap().ino;
    fs.create_snapshot("old", 5).unwrap();
    // Every second group of pointer blocks belongs only to the newer snapshot.
    fs.write(ino, 0, &vec![2; 3 << 20], &CALLER).unwrap();
    fs.create_snapshot("new", 6).unwrap();
    fs.unlink(ROOT, b"large", &CALLER).unwrap();
    fs.begin_deleting_snapshot("new").unwrap();
    let mut steps = 0;
    while fs.continue_deleting(300).unwrap() {
        steps += 1;
        fs.store().check().unwrap();
        let old = number_of(&fs, "old");
        let there = fs.snapshot_view(old).lookup(ROOT, b"large").unwrap();
        let mut content = vec![0; 10 << 20];
        fs.snapshot_view(old).read(there.ino, 0, &mut content, &CALLER).unwrap();
        assert!(content.iter().all(|byte| *byte == 1), "after {steps} steps");
    }
    assert!(steps >= 5, "{steps} steps");
    assert!(is_all(&mut view(&fs, "old"), b"large", 1));
    fs.begin_deleting_snapshot("old").unwrap();
    let mut freed = fs.store().used_blocks();
    while fs.continue_deleting(300).unwrap() {
        let now = fs.store().used_blocks();
        assert!(freed - now <= 600, "{} blocks at once", freed - now);
        freed = now;
        fs.store().check().unwrap();
    }
    assert_eq!((fs.store().used_blocks(), fs.store().snapshot_blocks()), (used, 0));
}

#[test]
fn deletion_with_shortest_steps_terminates() {
    let (mut fs, _) = small();
    let names: Vec<String> = (0..40).map(|number| format!("file {number}")).collect();
    names.iter().for_each(|name| put(&mut fs, name.as_bytes(), 9_000, 1).unwrap());
    for snapshot in ["old", "new"] {
        fs.create_snapshot(snapshot, 5).unwrap();
        names.iter().for_each(|name| put(&mut fs, name.as_bytes(), 5_000, 2).unwrap());
    }
    for snapshot in ["new", "old"] {
        fs.begin_deleting_snapshot(snapshot).unwrap();
        let steps = (1..1000).find(|_| !fs.continue_deleting(1).unwrap());
        assert!(steps.expect("it ends") > 40, "{snapshot}: {steps:?}");
    }
    assert_eq!(fs.store().snapshot_blocks(), 0);
    fs.store().check().unwrap();
}

#[test]
fn deleted_snapshot_is_stale_and_views_are_read_only() {
    let (mut fs, _) = small();
    put(&mut fs, b"f", 9_000, 1).unwrap();
    let ino = fs.lookup(ROOT, b"f").unwrap().ino;
    fs.create_snapshot("a", 5).unwrap();
    let old = number_of(&fs, "a");
    fs.unlink(ROOT, b"f", &CALLER).unwrap();
    assert_eq!(fs.snapshot_view(old).attributes(ino).unwrap().size_bytes, 9_000);
    let view = &mut fs.snapshot_view(old);
    assert!(matches!(view.write(ino, 0, &[1], &CALLER), Err(Error::ReadOnly)));
    assert!(matches!(view.unlink(ROOT, b"f", &CALLER), Err(Error::ReadOnly)));
    assert!(matches!(view.lookup(ROOT, b"g"), Err(Error::NotFound)));
    assert!(matches!(view.attributes(Ino(77)), Err(Error::NotFound)));
    fs.begin_deleting_snapshot("a").unwrap();
    assert!(matches!(fs.snapshot_view(old).attributes(ino), Err(Error::Stale)));
    // A new snapshot with the same name, created before all blocks of the old one are freed, is a different snapshot.
    fs.create_snapshot("a", 6).unwrap();
    assert_ne!(number_of(&fs, "a"), old);
    assert!(matches!(fs.snapshot_view(old).attributes(ino), Err(Error::Stale)));
    let new = number_of(&fs, "a");
    assert!(matches!(fs.snapshot_view(new).lookup(ROOT, b"f"), Err(Error::NotFound)));
}

#[test]
fn wrong_names_in_snapshot_are_detected() {
    let (mut fs, mut remount) = small();
    put(&mut fs, b"first", 100, 1).unwrap();
    put(&mut fs, b"second", 100, 2).unwrap();
    let second = fs.lookup(ROOT, b"second").unwrap().ino;
    fs.create_snapshot("a", 1).unwrap();
    fs.unlink(ROOT, b"second", &CALLER).unwrap();
    fs.create_snapshot("b", 2).unwrap();
    put(&mut fs, b"third", 100, 3).unwrap();
    let fs = remount(fs);
    let nvram = fs.store().region.bytes().to_vec();
    let problems = |nvram: Vec<u8>| {
        let ssd = Arc::new((**fs.store().ssd()).clone());
        let opened = Store::open_damaged(PlainNvram::from(nvram), ssd, Options::default());
        let (mut store, found) = opened.unwrap();
        store.repair_all(found.scan).unwrap();
        let now = names::check::check(&store.region).unwrap().len();
        (now, check_snapshots(store).unwrap())
    };
    assert_eq!(problems(nvram.clone()), (0, vec![]));
    // A name that only the older snapshot contains refers to a wrong inode.
    let ino = second.0.to_le_bytes();
    let is_entry = |at: &usize| nvram[*at..].starts_with(b"second") && nvram[at - 8..at - 4] == ino;
    let at = (fs.store().region.areas.data..nvram.len() - 8).find(is_entry).expect("its page is kept");
    let mut damaged = nvram.clone();
    damaged[at - 8] ^= 64;
    let (now, found) = problems(damaged);
    let in_which: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(now, 0);
    assert!(in_which.contains(&"a") && !in_which.contains(&"b"), "{found:?}");
}

/// Reads all files of all snapshots: damage may be returned or rejected.
fn read_all_snapshots(fs: &mut SmallFs) {
    let views: Vec<u32> = fs.store().views().map(|(view, _)| view).collect();
    for view in views {
        let mut then = fs.snapshot_view(view);
        for ino in (1..40).map(Ino) {
            let _ = then.attributes(ino);
            let _ = then.read_link(ino);
            let _ = then.xattrs(ino);
            let _ = then.read(ino, 0, &mut [0; 100_000], &CALLER);
            let _ = then.seek(ino, 0, Seek::Hole);
            let mut names = 0;
            let _ = then.read_directory(ino, 0, &mut |_| {
                names += 1;
                ControlFlow::Continue(())
            });
            assert!(names < 1000);
        }
    }
}

/// Returns true if fsck finds a problem in this NVRAM, and the number of snapshots that remain after the repair.
fn fsck_result(nvram: Vec<u8>, fs: &SmallFs) -> (bool, usize) {
    let ssd = Arc::new((**fs.store().ssd()).clone());
    let (mut store, found) = Store::open_damaged(PlainNvram::from(nvram), ssd, Options::default()).unwrap();
    let is_found = found.scan.problem_count > 0;
    store.repair_all(found.scan).unwrap();
    let count = store.snapshots().count();
    let mut fs = Nvmfs::open_for_repair(store).unwrap();
    read_all_snapshots(&mut fs);
    let _ = check_snapshots(fs.into_store());
    (is_found, count)
}

#[test]
fn flipped_bits_in_snapshot_metadata_are_detected() {
    let (mut fs, mut remount) = small();
    put(&mut fs, b"f", 100_000, 1).unwrap();
    fs.create_snapshot("a", 1).unwrap();
    put(&mut fs, b"f", 100_000, 2).unwrap();
    fs.create_snapshot("b", 2).unwrap();
    let fs = remount(fs);
    let nvram = fs.store().region.bytes().to_vec();
    assert_eq!(fsck_result(nvram.clone(), &fs), (false, 2));
    for bit in 0..64 {
        let mut damaged = nvram.clone();
        damaged[SnapshotPages::AT + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(fsck_result(damaged, &fs), (true, 2), "bit {bit} of the word");
    }
    // These are the pages with snapshot records, with inodes, and with pointers.
    let areas = &fs.store().region.areas;
    let kept = |page: &u32| {
        let info = areas.page_info(PageId(*page));
        let owner = u32::from_le_bytes(nvram[info..info + 4].try_into().unwrap());
        nvram[info + 24] == State::Metadata as u8 && owner >= FIRST_KEPT_INODE
    };
    let pages: Vec<u32> = (0..areas.pages).filter(kept).collect();
    assert!(pages.len() >= 3, "{pages:?}");
    for page in pages {
        for bit in (0..4096 * 8).step_by(611) {
            let mut damaged = nvram.clone();
            damaged[areas.page(PageId(page)) + bit / 8] ^= 1 << (bit % 8);
            assert!(fsck_result(damaged, &fs).0, "bit {bit} of page {page}");
        }
    }
}
