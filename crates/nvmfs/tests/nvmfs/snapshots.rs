//! Snapshots beside copies of the model: whatever is done afterwards, and whenever power goes, each is what it was.

use crate::common::{Room, Small, Twin, compare, random_ops, small};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Change, Error, FileSystem, Kind, ROOT};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::layout::{KEPT_INODES, PageId, SnapshotPages};
use wearwell_nvmfs::model::ModelFs;
use wearwell_nvmfs::names;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::Options;
use wearwell_nvmfs::store::{State, Store};

const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 1_500_000_000_000_000_000 };

/// The snapshot as it is mounted, from what is on the devices at this moment.
fn view(fs: &Small, name: &str) -> Small {
    let nvram = PlainNvram::from(fs.store().region.bytes().to_vec());
    let ssd = Arc::new((**fs.store().ssd()).clone());
    let mounted = Nvmfs::mount_snapshot(nvram, ssd, Options::default(), name);
    mounted.unwrap_or_else(|error| panic!("{name}: {error}")).0
}

/// Compares a snapshot with the model as it was.
fn check(fs: &Small, name: &str, model: &ModelFs) -> Result<(), String> {
    let mut model = model.clone();
    model.remount();
    let mut view = view(fs, name);
    view.store().check().map_err(|problem| format!("{name}: {problem}"))?;
    let problems = names::check::check(&view.store().region).map_err(|error| error.to_string())?;
    if let Some(problem) = problems.first() {
        return Err(format!("{name}: {problem}"));
    }
    let wrong = view.store().check_all_data().map_err(|error| error.to_string())?;
    if let Some(problem) = wrong.first() {
        return Err(format!("{name}: {problem}"));
    }
    compare(&mut model, &mut view, &[], CALLER).map_err(|difference| format!("{name}: {difference}"))
}

/// Random operations with snapshots that come and go between them; how often a snapshot was compared, and operations had no room.
fn live(seed: u64, steps: usize, every: usize) -> Result<(usize, usize), String> {
    let (fs, remount) = small();
    let mut twin = Twin::new(fs, Room::Scarce, remount);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut kept: BTreeMap<String, ModelFs> = BTreeMap::new();
    let mut compared = 0;
    for (done, op) in random_ops(seed).take(steps).enumerate() {
        twin.step(&op)?;
        if done % every != every - 1 {
            continue;
        }
        if kept.len() < 2 || kept.len() < 5 && random.random_bool(0.6) {
            let name = format!("{done}");
            let model = twin.model.clone();
            match twin.other().create_snapshot(&name, done as i64) {
                Err(Error::NoSpace(_)) => {}
                made => {
                    made.map_err(|error| error.to_string())?;
                    kept.insert(name, model);
                }
            }
        } else {
            let number = random.random_range(0..kept.len());
            let name = kept.keys().nth(number).expect("so many").clone();
            kept.remove(&name);
            twin.other().delete_snapshot(&name).map_err(|error| error.to_string())?;
        }
        twin.other().store().check().map_err(|problem| format!("after {done}: {problem}"))?;
        for (name, model) in &kept {
            check(twin.other(), name, model).map_err(|problem| format!("after {done}: {problem}"))?;
            compared += 1;
        }
    }
    twin.compare()?;
    for name in kept.into_keys() {
        twin.other().delete_snapshot(&name).map_err(|error| error.to_string())?;
    }
    let fs = twin.other();
    if fs.store().snapshot_blocks() != 0 {
        return Err(format!("{} blocks are left", fs.store().snapshot_blocks()));
    }
    fs.store().check()?;
    twin.compare()?;
    Ok((compared, twin.refused))
}

#[test]
fn each_snapshot_is_what_the_file_system_was() {
    for seed in 0..12 {
        let (compared, refused) = live(seed, 2_000, 90).unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        assert!(compared > 30 && refused < 500, "seed {seed}: {compared} compared, {refused} refused");
    }
}

/// A file with so many bytes that are the same.
fn put(fs: &mut Small, name: &[u8], bytes: usize, byte: u8) -> Result<(), Error> {
    let ino = match fs.lookup(ROOT, name) {
        Ok(there) => there.ino,
        Err(_) => fs.make(ROOT, name, Kind::File, 0o644, 0, &CALLER)?.ino,
    };
    let written = fs.write(ino, 0, &vec![byte; bytes], &CALLER)?;
    if written < bytes { Err(Error::NoSpace("a part only")) } else { Ok(()) }
}

fn is_all(fs: &mut Small, name: &[u8], byte: u8) -> bool {
    let of = fs.lookup(ROOT, name).expect("it is there");
    let mut content = vec![!byte; of.size_bytes as usize];
    fs.read(of.ino, 0, &mut content, &CALLER).expect("it can be read");
    content.iter().all(|one| *one == byte)
}

#[test]
fn a_snapshot_costs_one_record_whatever_there_is_and_deleting_it_gives_all_back() {
    let (mut fs, _) = small();
    put(&mut fs, b"large", 20 << 20, 1).unwrap();
    let (before, used) = (fs.stats().metadata_pages, fs.store().used_blocks());
    fs.create_snapshot("a", 5).unwrap();
    fs.create_snapshot("b", 6).unwrap();
    assert_eq!((fs.stats().metadata_pages - before, fs.store().used_blocks() - used), (1, 0));
    put(&mut fs, b"large", 1 << 20, 2).unwrap();
    // What was written over is there once more, and what leads to it.
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
fn a_full_file_system_refuses_and_goes_on_when_the_snapshot_is_gone() {
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
    // Removing works, and gives back what the snapshot has not.
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
fn names_are_checked_and_snapshots_end_with_their_records() {
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
fn a_chain_of_truncations_and_holes_is_kept_apart() {
    let (mut fs, _) = small();
    put(&mut fs, b"f", 40_960, 1).unwrap();
    let ino = fs.lookup(ROOT, b"f").unwrap().ino;
    let resize = |fs: &mut Small, bytes| {
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

/// Whether fsck finds anything in this NVRAM; with what is left of snapshots after it was put right.
fn found_in(nvram: Vec<u8>, fs: &Small) -> (bool, usize) {
    let ssd = Arc::new((**fs.store().ssd()).clone());
    let (mut store, found) = Store::open_damaged(PlainNvram::from(nvram), ssd, Options::default()).unwrap();
    let is_found = found.scan.problem_count > 0;
    store.repair_all(found.scan).unwrap();
    (is_found, store.snapshots().count())
}

#[test]
fn flipped_bits_of_what_snapshots_are_recorded_in_are_found() {
    let (mut fs, mut remount) = small();
    put(&mut fs, b"f", 100_000, 1).unwrap();
    fs.create_snapshot("a", 1).unwrap();
    put(&mut fs, b"f", 100_000, 2).unwrap();
    fs.create_snapshot("b", 2).unwrap();
    let fs = remount(fs);
    let nvram = fs.store().region.bytes().to_vec();
    assert_eq!(found_in(nvram.clone(), &fs), (false, 2));
    for bit in 0..64 {
        let mut damaged = nvram.clone();
        damaged[SnapshotPages::AT + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(found_in(damaged, &fs), (true, 2), "bit {bit} of the word");
    }
    // The pages with records, with inodes, and with pointers.
    let areas = &fs.store().region.areas;
    let kept = |page: &u32| {
        let info = areas.page_info(PageId(*page));
        let owner = u32::from_le_bytes(nvram[info..info + 4].try_into().unwrap());
        nvram[info + 24] == State::Metadata as u8 && owner >= KEPT_INODES
    };
    let pages: Vec<u32> = (0..areas.pages).filter(kept).collect();
    assert!(pages.len() >= 3, "{pages:?}");
    for page in pages {
        for bit in (0..4096 * 8).step_by(611) {
            let mut damaged = nvram.clone();
            damaged[areas.page(PageId(page)) + bit / 8] ^= 1 << (bit % 8);
            assert!(found_in(damaged, &fs).0, "bit {bit} of page {page}");
        }
    }
}
