//! Tests beyond the comparison with the model: mounts, free space, flushing and power cuts.

#[path = "../../tests/nvmfs/common/simulated/mod.rs"]
#[expect(unused_imports, reason = "the integration tests use the rest")]
mod simulated;

use super::{Nvmfs, Work};
use crate::api::{Allocate, Caller, Change, Error, FileSystem, Ino, Kind, ROOT, Rename, SetXattr};
use crate::names::check::check;
use crate::nvram::{Nvram, PlainNvram};
use crate::options::{Format, Options};
use crate::ssd::MemorySsd;
use simulated::{PowerSource, SimulatedNvram};
use std::sync::Arc;

const NVRAM_BYTES: usize = 8 << 20;
const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 100 };

type Fs = Nvmfs<PlainNvram, MemorySsd>;

fn fresh() -> Fs {
    fresh_on(&Arc::new(MemorySsd::new(4096)))
}

fn fresh_on(ssd: &Arc<MemorySsd>) -> Fs {
    let format = Format { inodes: Some(64), ..Format::default() };
    Nvmfs::format(PlainNvram::new(NVRAM_BYTES), Arc::clone(ssd), &format, Options::default()).unwrap()
}

fn content<N: Nvram>(fs: &mut Nvmfs<N, MemorySsd>, ino: Ino) -> Vec<u8> {
    let mut out = vec![0; fs.attributes(ino).unwrap().size_bytes as usize];
    assert_eq!(fs.read(ino, 0, &mut out, &CALLER).unwrap(), out.len());
    out
}

#[test]
fn removal_frees_all_resources() {
    let mut fs = fresh();
    let before = (fs.stats().metadata_pages, fs.stats().used_blocks, fs.stats().inodes);
    for round in 0..100 {
        let file = fs.create(ROOT, b"f", Kind::File, 0o644, 0, &CALLER).unwrap();
        assert!(file.generation >= u32::from(round >= 64), "numbers are given anew");
        fs.write(file.ino, 3_000_000, &[round; 70_000], &CALLER).unwrap();
        fs.set_xattr(file.ino, b"user.a", &[1; 4000], SetXattr::Either, &CALLER).unwrap();
        fs.set_xattr(file.ino, b"user.a", &[2; 4000], SetXattr::Either, &CALLER).unwrap();
        fs.symlink(ROOT, b"short", b"target", &CALLER).unwrap();
        fs.symlink(ROOT, b"long", &[b'x'; 4095], &CALLER).unwrap();
        // The bytes from 3,000,000 to 3,070,000 are in 18 blocks, below two levels of pointers.
        assert_eq!(fs.attributes(file.ino).unwrap().blocks, 18 + 2 + 1);
        for name in [&b"f"[..], b"short", b"long"] {
            fs.unlink(ROOT, name, &CALLER).unwrap();
        }
    }
    assert_eq!((fs.stats().metadata_pages, fs.stats().used_blocks, fs.stats().inodes), before);
    fs.store.check().unwrap();
}

#[test]
fn unnamed_open_file_exists_until_release_or_mount() {
    let ssd = Arc::new(MemorySsd::new(4096));
    let mut fs = fresh_on(&ssd);
    let [one, two] =
        [b"1", b"2"].map(|name| fs.create(ROOT, name, Kind::File, 0o644, 0, &CALLER).unwrap().ino);
    for ino in [one, two] {
        fs.open(ino).unwrap();
        fs.write(ino, 0, b"still here", &CALLER).unwrap();
    }
    fs.unlink(ROOT, b"1", &CALLER).unwrap();
    fs.unlink(ROOT, b"2", &CALLER).unwrap();
    assert_eq!(content(&mut fs, one), b"still here");
    assert!(matches!(fs.link(one, ROOT, b"again", &CALLER), Err(Error::NotFound)));
    fs.release(one).unwrap();
    assert!(matches!(fs.attributes(one), Err(Error::NotFound)));
    let (mut fs, found) = Fs::mount(fs.close(), ssd, Options::default()).unwrap();
    assert!(found.was_closed);
    assert_eq!(found.scan.orphans, [two]);
    assert!(matches!(fs.attributes(two), Err(Error::NotFound)));
    let statistics = fs.statistics().unwrap();
    assert_eq!(statistics.inodes - statistics.free_inodes, 1);
}

#[test]
fn bytes_beyond_end_of_file_are_never_visible() {
    let mut fs = fresh();
    let ino = fs.create(ROOT, b"f", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    let resize = |fs: &mut Fs, size| {
        let change = Change { size_bytes: Some(size), ..Change::default() };
        fs.set_attributes(ino, &change, &CALLER).unwrap()
    };
    fs.write(ino, 0, &[7; 10_000], &CALLER).unwrap();
    resize(&mut fs, 100);
    assert_eq!(resize(&mut fs, 5000).blocks, 1);
    let mut expected = [vec![7; 100], vec![0; 4900]].concat();
    assert_eq!(content(&mut fs, ino), expected);
    resize(&mut fs, 50);
    fs.write(ino, 6000, &[8; 10], &CALLER).unwrap();
    expected = [vec![7; 50], vec![0; 5950], vec![8; 10]].concat();
    assert_eq!(content(&mut fs, ino), expected);
    resize(&mut fs, 6001);
    fs.allocate(ino, Allocate::Reserve { keep_size: false }, 20_000, 10, &CALLER).unwrap();
    expected = [vec![7; 50], vec![0; 5950], vec![8], vec![0; 14_009]].concat();
    assert_eq!(content(&mut fs, ino), expected);
}

#[test]
fn data_larger_than_nvram_goes_to_ssd_intact() {
    let mut fs = fresh();
    fs.auto_flush = false;
    let ino = fs.create(ROOT, b"f", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    let mut batches = 0;
    for block in 0..2500u32 {
        fs.write(ino, u64::from(block) * 4096, &[block as u8; 4096], &CALLER).unwrap();
        while let Some(batch) = fs.begin_background().unwrap() {
            batches += u32::from(matches!(batch, Work::Write(_)));
            let written = batch.run();
            fs.end_background(batch, written).unwrap();
        }
    }
    assert!(batches >= 10, "{batches} extents");
    let stats = fs.stats();
    assert!(stats.ssd_valid_blocks > 1000 && stats.used_blocks == 2500, "{stats:?}");
    let content = content(&mut fs, ino);
    assert!(
        content.chunks(4096).zip(0u32..).all(|(chunk, block)| chunk.iter().all(|byte| *byte == block as u8))
    );
    let all = fs.statistics().unwrap().free_blocks + 1;
    let too_much = fs.allocate(ino, Allocate::Reserve { keep_size: false }, 2500 * 4096, all * 4096, &CALLER);
    assert!(matches!(too_much, Err(Error::NoSpace(_))));
    assert_eq!(fs.attributes(ino).unwrap().size_bytes, 2500 * 4096);
}

#[test]
fn block_on_both_devices_counts_once() {
    let mut fs = fresh();
    let ino = fs.create(ROOT, b"f", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    // Four pointers are in the inode, and 512 are in one pointer block. The remaining pointers are in four more pointer
    // blocks, whose locations are in one pointer block above them.
    let blocks = 2500 + 1 + 4 + 1;
    for part in 0..25 {
        fs.write(ino, part * 100 * 4096, &vec![3; 100 * 4096], &CALLER).unwrap();
    }
    assert!(fs.stats().ssd_valid_blocks > 1000);
    assert_eq!(fs.attributes(ino).unwrap().blocks, blocks);
    for from in [0, 1000, 2000, 0] {
        let mut out = vec![0; 400 * 4096];
        fs.read(ino, from * 4096, &mut out, &CALLER).unwrap();
        assert!(fs.stats().clean_pages > 300, "they are on both");
        assert_eq!(fs.attributes(ino).unwrap().blocks, blocks);
        fs.write(ino, from * 4096, &out[..50 * 4096], &CALLER).unwrap();
        assert_eq!(fs.attributes(ino).unwrap().blocks, blocks);
        fs.store.check().unwrap();
    }
    let ssd = Arc::clone(fs.store.ssd());
    let (fs, _) = Fs::mount(fs.close(), ssd, Options::default()).unwrap();
    assert_eq!(fs.attributes_of(ino).unwrap().blocks, blocks);
    fs.store.check().unwrap();
}

#[test]
fn read_and_write_counts_depend_on_block_location() {
    let mut fs = fresh();
    let ino = fs.create(ROOT, b"f", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    for part in 0..25 {
        fs.write(ino, part * 100 * 4096, &vec![3; 100 * 4096], &CALLER).unwrap();
    }
    let counts = fs.stats().counts;
    assert_eq!((counts.written_blocks, counts.written_holes, counts.write_hits), (2500, 2500, 0));
    let is_on_ssd = |block: &u64| {
        matches!(fs.store.region.location_of(ino, *block).unwrap(), crate::layout::BlockLocation::Ssd(_))
    };
    let first = (0..2500).find(|block| (*block..block + 20).all(|block| is_on_ssd(&block))).unwrap();
    fs.read(ino, first * 4096, &mut vec![0; 10 * 4096], &CALLER).unwrap();
    fs.write(ino, first * 4096, &[4; 4096], &CALLER).unwrap();
    fs.write(ino, (first + 15) * 4096, &[4; 4096], &CALLER).unwrap();
    fs.set_attributes(ino, &Change { size_bytes: Some(3000 * 4096), ..Change::default() }, &CALLER).unwrap();
    fs.read(ino, 2990 * 4096, &mut vec![0; 10 * 4096], &CALLER).unwrap();
    let counts = fs.stats().counts;
    assert_eq!((counts.write_hits, counts.write_misses(), counts.written_holes), (1, 1, 2500));
    assert_eq!((counts.read_hits, counts.read_misses(), counts.read_holes), (0, 10, 10));
}

#[test]
fn root_has_creation_time_of_file_system() {
    let format = Format { inodes: Some(64), now_ns: 77, ..Format::default() };
    let ssd = Arc::new(MemorySsd::new(4096));
    let fs = Fs::format(PlainNvram::new(NVRAM_BYTES), ssd, &format, Options::default()).unwrap();
    let root = fs.attributes_of(ROOT).unwrap();
    assert_eq!((root.accessed_ns, root.modified_ns, root.changed_ns), (77, 77, 77));
}

/// Performs one step of a sequence of name operations that covers all types of operation.
fn play<N: Nvram>(fs: &mut Nvmfs<N, MemorySsd>, step: usize) {
    let caller = &CALLER;
    let dir = |fs: &mut Nvmfs<N, MemorySsd>, name: &[u8]| fs.lookup(ROOT, name).unwrap().ino;
    match step {
        0 => drop(fs.make_directory(ROOT, b"a", 0o755, caller).unwrap()),
        1 => drop(fs.make_directory(ROOT, b"b", 0o755, caller).unwrap()),
        2 => {
            let a = dir(fs, b"a");
            fs.make_directory(a, b"sub", 0o755, caller).unwrap();
        }
        3 => drop(fs.symlink(ROOT, b"long", &[b'x'; 100], caller).unwrap()),
        4 => {
            let (a, b) = (dir(fs, b"a"), dir(fs, b"b"));
            fs.rename((a, b"sub"), (b, b"moved"), Rename::Replace, caller).unwrap();
        }
        5 => {
            let b = dir(fs, b"b");
            fs.rename((b, b"moved"), (ROOT, b"a"), Rename::Replace, caller).unwrap();
        }
        6 => fs.rename((ROOT, b"a"), (ROOT, b"long"), Rename::Exchange, caller).unwrap(),
        7 => {
            let link = dir(fs, b"a");
            fs.set_xattr(link, b"user.x", b"value", SetXattr::Either, caller).unwrap();
        }
        8 => fs.unlink(ROOT, b"a", caller).unwrap(),
        _ => fs.remove_directory(ROOT, b"b", caller).unwrap(),
    }
}

const STEPS: usize = 10;

/// Describes all names and their files, for comparison.
fn tree<N: Nvram>(fs: &mut Nvmfs<N, MemorySsd>, dir: Ino) -> Vec<String> {
    let mut entries = Vec::new();
    fs.read_directory(dir, 2, &mut |entry| {
        entries.push((entry.name.to_vec(), entry.ino, entry.kind));
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let mut lines = vec![format!("{} links", fs.attributes(dir).unwrap().links)];
    for (name, ino, kind) in entries {
        let xattrs = fs.xattrs(ino).unwrap();
        lines.push(format!("{} {kind:?} {xattrs:?}", String::from_utf8_lossy(&name)));
        if kind == Kind::Directory {
            lines.extend(tree(fs, ino));
        }
    }
    lines
}

#[test]
fn power_cut_leaves_each_operation_complete_or_undone() {
    let ssd = Arc::new(MemorySsd::new(4096));
    let mut plain = fresh_on(&ssd);
    let mut states = vec![tree(&mut plain, ROOT)];
    for step in 0..STEPS {
        play(&mut plain, step);
        states.push(tree(&mut plain, ROOT));
    }
    let start = fresh_on(&ssd).close().into_bytes();
    let ssd_at_start = (*ssd).clone();
    let mut random = wearwell_base::seed::Seed(11).random();
    let (mut event, mut cuts, mut done) = (0, 0, 0);
    while done < STEPS {
        let power = PowerSource::new();
        let ssd = Arc::new(ssd_at_start.clone());
        let nvram = SimulatedNvram::from_image(start.clone(), power.clone());
        let (mut fs, _) = Nvmfs::mount(nvram, Arc::clone(&ssd), Options::default()).unwrap();
        power.cut_at(power.events() + event);
        done = 0;
        for step in 0..STEPS {
            play(&mut fs, step);
            done += usize::from(!power.is_off());
        }
        let nvram = fs.into_store().region.into_nvram().crash_images().crash(&mut random);
        let (mut fs, _) =
            Nvmfs::mount(PlainNvram::from(nvram), Arc::clone(&ssd), Options::default()).unwrap();
        let found = tree(&mut fs, ROOT);
        let may = &states[done..=(done + 1).min(STEPS)];
        assert!(may.contains(&found), "event {event}, {done} done: {found:?}");
        assert_eq!(check(&fs.store.region).unwrap(), [], "event {event}");
        fs.store.check().unwrap();
        cuts += 1;
        event += 3;
    }
    assert!(cuts > 100, "{cuts} cuts");
}
