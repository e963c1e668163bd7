//! Tests that directories free unused blocks, and that reported free space is right.

use super::{Nvmfs, Work};
use crate::api::{Allocate, Caller, Error, FileSystem, Ino, Kind, MAX_LINKS, ROOT, Rename};
use crate::layout::MAX_FILE_BLOCKS;
use crate::names::check::check;
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::MemorySsd;
use std::sync::Arc;
use wearwell_base::seed::random_below;

const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 100 };
const SSD_BLOCKS: u64 = 16 << 10;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

fn fresh(nvram_mib: usize) -> Fs {
    let format = Format { inodes: Some(64), ..Format::default() };
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    Nvmfs::format(PlainNvram::new(nvram_mib << 20), ssd, &format, Options::default()).unwrap()
}

fn file(fs: &mut Fs, name: &[u8]) -> Ino {
    fs.create(ROOT, name, Kind::File, 0o644, 0, &CALLER).unwrap().ino
}

fn name(number: usize) -> Vec<u8> {
    format!("{number:0>246}").into_bytes()
}

/// Adds names of one file to a directory until there is no free space, or up to `max_names`; returns the number of
/// names.
fn link_many(fs: &mut Fs, dir: Ino, max_names: usize) -> usize {
    let ino = file(fs, b"linked");
    for number in 0..max_names.min(MAX_LINKS as usize - 1) {
        match fs.link(ino, dir, &name(number), &CALLER) {
            Ok(_) => {}
            Err(Error::NoSpace(reason)) => {
                assert!(reason.contains("NVRAM"), "{reason}");
                return number;
            }
            Err(error) => panic!("{error}"),
        }
    }
    max_names
}

fn assert_consistent(fs: &Fs) {
    fs.store.check().unwrap();
    assert_eq!(check(&fs.store.region).unwrap(), []);
}

/// Returns the numbers below `count` in ascending, descending and random order.
fn orders(count: usize) -> [Vec<usize>; 3] {
    let forwards: Vec<usize> = (0..count).collect();
    let backwards = forwards.iter().rev().copied().collect();
    let mut mixed = forwards.clone();
    let mut random = wearwell_base::seed::Seed(3).random();
    for at in (1..count).rev() {
        mixed.swap(at, random_below(&mut random, at as u64 + 1) as usize);
    }
    [forwards, backwards, mixed]
}

/// Writes to a file until a write is refused for lack of space; returns the number of bytes written.
fn write_all(fs: &mut Fs, ino: Ino) -> u64 {
    let mut written = 0;
    loop {
        match fs.write(ino, written, &[7; 100_000], &CALLER) {
            Ok(count) => written += count as u64,
            Err(Error::NoSpace(_)) => return written,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn emptied_directory_frees_its_nvram() {
    for order in 0..3 {
        for in_root in [false, true] {
            let mut fs = fresh(6);
            let dir = match in_root {
                true => ROOT,
                false => fs.make_directory(ROOT, b"queue", 0o755, &CALLER).unwrap().ino,
            };
            let before = fs.stats();
            let statistics = fs.statistics().unwrap();
            let count = link_many(&mut fs, dir, usize::MAX);
            assert!(count > 5_000, "{count} names");
            assert_eq!(fs.statistics().unwrap().available_blocks, 0, "what a file needs is not there");
            assert_eq!(fs.stats().free_metadata_pages, 0);
            for (at, number) in orders(count)[order].iter().enumerate() {
                fs.unlink(dir, &name(*number), &CALLER).unwrap();
                if at % 1000 == 0 {
                    assert_consistent(&fs);
                }
            }
            if !in_root {
                assert_eq!(fs.attributes(dir).unwrap().size_bytes, 0);
                assert_eq!(fs.attributes(dir).unwrap().blocks, 0);
            }
            fs.unlink(ROOT, b"linked", &CALLER).unwrap();
            let after = fs.stats();
            let pages = |of: &crate::stats::Stats| (of.metadata_pages, of.free_pages, of.free_metadata_pages);
            assert_eq!(pages(&after), pages(&before));
            assert_eq!(fs.statistics().unwrap(), statistics);
            assert_consistent(&fs);
            let ino = file(&mut fs, b"large");
            let written = write_all(&mut fs, ino);
            // The pointer blocks of the file reduce the maximum number of dirty pages.
            assert!(
                written / 4096 + 40 > statistics.available_blocks,
                "{} of {}",
                written / 4096,
                statistics.available_blocks
            );
        }
    }
}

#[test]
fn mount_frees_empty_blocks_of_old_directories() {
    let mut fs = fresh(6);
    let before = fs.stats().metadata_pages;
    link_many(&mut fs, ROOT, 500);
    let pages = fs.stats().metadata_pages;
    assert!(pages > before + 30);
    // The blocks get free records, as old versions of Wearwell left them.
    let blocks = fs.attributes(ROOT).unwrap().size_bytes / 4096;
    for block in (1..blocks).filter(|block| *block != 7) {
        let at = fs.store.region.pointer_at(ROOT, block).unwrap().unwrap();
        let page = fs.store.region.pointer_page(at).unwrap().unwrap();
        fs.store.region.store_word(fs.store.region.areas.page(page), crate::names::record::head(4096, None));
    }
    let ssd = Arc::clone(fs.store.ssd());
    let (mut fs, _) = Fs::mount(fs.close(), ssd, Options::default()).unwrap();
    // The new pages are two blocks of the directory and one pointer block.
    assert_eq!((fs.stats().metadata_pages, fs.attributes(ROOT).unwrap().size_bytes), (before + 3, 8 * 4096));
    fs.store.check().unwrap();
    let count = check(&fs.store.region).unwrap().len();
    assert_eq!(count, 1, "the file has fewer names than links");
}

#[test]
fn queue_directory_stays_as_small_as_its_entries() {
    let mut fs = fresh(6);
    let dir = fs.make_directory(ROOT, b"queue", 0o755, &CALLER).unwrap().ino;
    let ino = file(&mut fs, b"f");
    let mut max_blocks = 0;
    for number in 0..20_000 {
        fs.link(ino, dir, &name(number), &CALLER).unwrap();
        if number >= 100 {
            fs.unlink(dir, &name(number - 100), &CALLER).unwrap();
        }
        max_blocks = max_blocks.max(fs.attributes(dir).unwrap().size_bytes / 4096);
    }
    // A block holds 16 names.
    assert!(max_blocks <= 9, "{max_blocks} blocks for 100 names");
    assert_consistent(&fs);
}

#[test]
fn renames_to_another_directory_free_blocks() {
    let mut fs = fresh(6);
    let [one, other] =
        [b"one", b"two"].map(|name| fs.make_directory(ROOT, name, 0o755, &CALLER).unwrap().ino);
    link_many(&mut fs, one, 500);
    let pages = fs.stats().metadata_pages;
    for number in 0..500 {
        fs.rename((one, &name(number)), (other, &name(number)), Rename::Replace, &CALLER).unwrap();
        assert!(fs.stats().metadata_pages <= pages + 3);
    }
    assert_eq!(fs.attributes(one).unwrap().size_bytes, 0);
    // Renames each name to a longer name in the same directory; each rename frees space for the next one.
    for number in 0..500 {
        let long = format!("{number:x>255}");
        fs.rename((other, &name(number)), (other, long.as_bytes()), Rename::Replace, &CALLER).unwrap();
    }
    assert!(fs.attributes(other).unwrap().size_bytes / 4096 <= 40);
    assert_consistent(&fs);
}

#[test]
fn nvram_full_of_metadata_allows_remove_rename_and_write() {
    for mib in [5, 6, 8] {
        let mut fs = fresh(mib);
        let ino = file(&mut fs, b"data");
        // The file gets pointer blocks for much more data than the NVRAM holds.
        let end = 3000 * 4096;
        for block in 0..3000 {
            fs.write(ino, block * 4096, &[1; 4096], &CALLER).unwrap();
        }
        let empty = fs.make_directory(ROOT, b"empty", 0o755, &CALLER).unwrap().ino;
        let count = link_many(&mut fs, ROOT, usize::MAX);
        assert!(matches!(fs.link(ino, empty, b"no", &CALLER), Err(Error::NoSpace(_))));
        // A background thread has an extent in flight all the time, and must never take the free space that a write
        // needs.
        fs.auto_flush = false;
        let mut work = None;
        for at in (0..20_000u64).map(|step| step * 7919 * 4096 % end) {
            fs.write(ino, at, &[2; 4096], &CALLER).unwrap();
            if at % 8192 == 0 {
                finish_work(&mut fs, &mut work);
                work = fs.begin_background().unwrap();
            }
        }
        finish_work(&mut fs, &mut work);
        fs.rename((ROOT, &name(1)), (ROOT, &name(2)), Rename::Replace, &CALLER).unwrap();
        fs.remove_directory(ROOT, b"empty", &CALLER).unwrap();
        for number in (0..count).filter(|number| !(1..=2).contains(number)) {
            fs.unlink(ROOT, &name(number), &CALLER).unwrap();
        }
        assert_consistent(&fs);
    }
}

fn finish_work(fs: &mut Fs, work: &mut Option<Work<MemorySsd>>) {
    if let Some(work) = work.take() {
        let outcome = work.run();
        fs.end_background(work, outcome).unwrap();
    }
}

/// Reserved blocks can be written even if the file system is full of data, of names or of both, and after a
/// power cut.
#[test]
fn reserved_blocks_can_always_be_written() {
    const BLOCKS: u64 = 3000;
    for (data_first, is_cut) in [(true, false), (false, false), (true, true)] {
        let ssd = Arc::new(MemorySsd::new(2048));
        let format = Format { inodes: Some(64), ..Format::default() };
        let nvram = PlainNvram::new(6 << 20);
        let mut fs: Fs = Nvmfs::format(nvram, Arc::clone(&ssd), &format, Options::default()).unwrap();
        let [reserved, other] = [b"reserved", b"other..."].map(|name| file(&mut fs, name));
        let max_blocks = fs.statistics().unwrap().free_blocks - 200;
        let blocks = BLOCKS.min(max_blocks);
        // Some of the reserved blocks are written already, and some are within the end of the file.
        fs.write(reserved, 40 * 4096 + 7, &[1; 9000], &CALLER).unwrap();
        let how = Allocate::Reserve { keep_size: true };
        fs.allocate(reserved, how, 0, blocks * 4096, &CALLER).unwrap();
        let dir = fs.make_directory(ROOT, b"d", 0o755, &CALLER).unwrap().ino;
        if data_first {
            write_all(&mut fs, other);
        }
        let refused = (0..60_000).find_map(|number| fs.link(other, dir, &name(number), &CALLER).err());
        assert!(matches!(refused, None | Some(Error::NoSpace(_))), "{refused:?}");
        write_all(&mut fs, other);
        if is_cut {
            let nvram = fs.into_store().region.into_nvram();
            fs = Nvmfs::mount(nvram, Arc::clone(&ssd), Options::default()).unwrap().0;
        }
        assert_eq!(fs.stats().reserved_blocks, blocks - 3);
        for block in 0..blocks {
            let data = [block as u8; 4096];
            assert_eq!(fs.write(reserved, block * 4096, &data, &CALLER).unwrap(), 4096, "block {block}");
        }
        assert_eq!(
            (fs.stats().reserved_blocks, fs.attributes(reserved).unwrap().size_bytes),
            (0, blocks * 4096)
        );
        let mut back = [0; 4096];
        for block in (0..blocks).step_by(7) {
            fs.read(reserved, block * 4096, &mut back, &CALLER).unwrap();
            assert_eq!(back, [block as u8; 4096]);
        }
        assert_consistent(&fs);
    }
}

/// If there is not enough free space for all blocks or for their pointers, no block stays reserved.
#[test]
fn refused_reservation_leaves_nothing() {
    let mut fs = fresh(6);
    let ino = file(&mut fs, b"f");
    fs.write(ino, 0, &[1; 5000], &CALLER).unwrap();
    let before = fs.stats();
    for how in [false, true].map(|keep_size| Allocate::Reserve { keep_size }) {
        let all = before.capacity_blocks - before.used_blocks;
        // The ranges need two levels of pointers, whose pages reduce the space for data.
        for (from, blocks) in [(0, all + 3), (600, all), (1, all), (MAX_FILE_BLOCKS - all, all)] {
            let refused = fs.allocate(ino, how, from * 4096, blocks * 4096, &CALLER);
            assert!(matches!(refused, Err(Error::NoSpace(_))), "{from} {blocks}: {refused:?}");
            assert_eq!(fs.stats(), before);
            assert_eq!(fs.attributes(ino).unwrap().size_bytes, 5000);
        }
    }
    assert_consistent(&fs);
}

/// A block that is in use is not replaced by a reserved one, in any build.
#[test]
fn reserving_a_block_in_use_is_refused() {
    let mut fs = fresh(6);
    let ino = file(&mut fs, b"file");
    fs.write(ino, 4096, &[7; 4096], &CALLER).unwrap();
    let refused = fs.store.reserve(ino, std::slice::from_ref(&(0..2)));
    assert!(matches!(&refused, Err(Error::Damaged(what)) if what.contains("block 1 of")), "{refused:?}");
    let mut back = vec![0; 4096];
    fs.read(ino, 4096, &mut back, &CALLER).unwrap();
    assert_eq!(back, [7; 4096]);
}
