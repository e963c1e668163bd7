//! Tests of requests that wait for the SSD while other requests use the file system.

use super::{Nvmfs, Work};
use crate::api::{Caller, Error, FileSystem, Ino, Kind, ROOT, Result};
use crate::layout::{BlockLocation, Checksums};
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::{MemorySsd, Ssd};
use std::collections::BTreeMap;
use std::sync::Arc;

const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 100 };
const BLOCK: u64 = 4096;
/// Number of blocks of the test file, which is larger than the NVRAM.
const BLOCKS: u64 = 3000;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

/// Creates a file in which each block is filled with its number; its first blocks are only on the SSD.
fn filled() -> (Fs, Ino) {
    // Without data checksums, a block is identified only by its location.
    let format = Format { inodes: Some(64), checksums: Checksums::Metadata, ..Format::default() };
    let ssd = Arc::new(MemorySsd::new(4608));
    let mut fs = Nvmfs::format(PlainNvram::new(8 << 20), ssd, &format, Options::default()).unwrap();
    let ino = fs.create(ROOT, b"f", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    (0..BLOCKS).for_each(|block| put(&mut fs, ino, block, block as u8));
    for block in 0..10 {
        evict(&mut fs, ino, block);
    }
    (fs, ino)
}

fn put(fs: &mut Fs, ino: Ino, block: u64, byte: u8) {
    assert_eq!(fs.write(ino, block * BLOCK, &[byte; 4096], &CALLER).unwrap(), 4096);
}

/// Returns the location of a block on the SSD, if the NVRAM has no copy.
fn location(fs: &Fs, ino: Ino, block: u64) -> Option<u64> {
    match fs.store.region.location_of(ino, block).unwrap() {
        BlockLocation::Ssd(location) => Some(location),
        _ => None,
    }
}

/// Writes and reads other blocks, except the first hundred, until a block is only on the SSD; returns its location.
fn evict(fs: &mut Fs, ino: Ino, block: u64) -> u64 {
    for other in (100..BLOCKS).cycle().take(40_000) {
        if let Some(location) = location(fs, ino, block) {
            return location;
        }
        // Writes move dirty blocks to the SSD; reads evict clean pages from the NVRAM.
        put(fs, ino, other, other as u8);
        read(fs, ino, 100 + (other + 1500) % (BLOCKS - 100)).unwrap();
    }
    panic!("block {block} stays on the NVRAM");
}

/// Runs a request that must wait; returns the work for which it waits.
fn expect_wait<T>(fs: &mut Fs, request: impl FnOnce(&mut Fs) -> Result<T>) -> Work<MemorySsd> {
    fs.allow_waiting(true);
    assert!(matches!(request(fs), Err(Error::Wait)));
    let work = fs.begin_wait();
    fs.allow_waiting(false);
    work
}

/// Starts a read that must wait, and reads its block from the SSD; the read is not repeated yet.
fn begin_read(fs: &mut Fs, ino: Ino, block: u64) -> Work<MemorySsd> {
    let work = expect_wait(fs, |fs| read(fs, ino, block));
    work.run().unwrap();
    work
}

/// Repeats a request after the work for which it waited was run.
fn repeat_after<T>(
    fs: &mut Fs,
    work: Work<MemorySsd>,
    request: impl FnOnce(&mut Fs) -> Result<T>,
) -> Result<T> {
    fs.allow_waiting(true);
    fs.end_background(work, Ok(())).unwrap();
    let answer = request(fs);
    if answer.is_ok() {
        fs.allow_waiting(false);
    }
    answer
}

fn read(fs: &mut Fs, ino: Ino, block: u64) -> Result<u8> {
    let mut out = [0; 4096];
    assert_eq!(fs.read(ino, block * BLOCK, &mut out, &CALLER)?, 4096);
    assert!(out.iter().all(|byte| *byte == out[0]));
    Ok(out[0])
}

#[test]
fn repeated_request_uses_fetched_block() {
    let (mut fs, ino) = filled();
    let work = expect_wait(&mut fs, |fs| read(fs, ino, 0));
    work.run().unwrap();
    // Another read from the SSD would now return different content.
    let old_location = location(&fs, ino, 0).unwrap();
    fs.store.ssd().write(old_location, &[99; 4096], 0).unwrap();
    assert_eq!(repeat_after(&mut fs, work, |fs| read(fs, ino, 0)).unwrap(), 0);
    fs.store.check().unwrap();
}

#[test]
fn write_during_fetch_is_visible() {
    let (mut fs, ino) = filled();
    let work = expect_wait(&mut fs, |fs| read(fs, ino, 1));
    work.run().unwrap();
    put(&mut fs, ino, 1, 77);
    assert_eq!(repeat_after(&mut fs, work, |fs| read(fs, ino, 1)).unwrap(), 77);
}

#[test]
fn block_moved_during_fetch_is_read_from_new_location() {
    let (mut fs, ino) = filled();
    let work = expect_wait(&mut fs, |fs| read(fs, ino, 1));
    work.run().unwrap();
    put(&mut fs, ino, 1, 77);
    evict(&mut fs, ino, 1);
    assert!(matches!(repeat_after(&mut fs, work, |fs| read(fs, ino, 1)), Err(Error::Wait)));
    let work = fs.begin_wait();
    work.run().unwrap();
    assert_eq!(repeat_after(&mut fs, work, |fs| read(fs, ino, 1)).unwrap(), 77);
}

#[test]
fn block_rewritten_at_same_location_is_read_again() {
    let (mut fs, ino) = filled();
    // Extents are used in rotation, so the block eventually has an earlier location again. A read of that location,
    // begun long before, is still pending then.
    let mut works = BTreeMap::from([(location(&fs, ino, 1).unwrap(), begin_read(&mut fs, ino, 1))]);
    let mut byte = 1;
    let came_back = (0..1000).find_map(|_| {
        byte = byte % 200 + 1;
        put(&mut fs, ino, 1, byte);
        let old_location = evict(&mut fs, ino, 1);
        let earlier = works.remove(&old_location);
        if earlier.is_none() {
            works.insert(old_location, begin_read(&mut fs, ino, 1));
        }
        earlier
    });
    let work = came_back.expect("the block comes to a place twice");
    assert!(matches!(repeat_after(&mut fs, work, |fs| read(fs, ino, 1)), Err(Error::Wait)));
    let work = fs.begin_wait();
    work.run().unwrap();
    assert_eq!(repeat_after(&mut fs, work, |fs| read(fs, ino, 1)).unwrap(), byte);
}

#[test]
fn partial_block_write_waits_and_full_write_does_not() {
    let (mut fs, ino) = filled();
    let ends = |fs: &mut Fs| fs.write(ino, 2 * BLOCK + 4000, &[88; 200], &CALLER);
    let work = expect_wait(&mut fs, ends);
    work.run().unwrap();
    assert_eq!(repeat_after(&mut fs, work, ends).unwrap(), 200);
    let mut out = [0; 8192];
    fs.read(ino, 2 * BLOCK, &mut out, &CALLER).unwrap();
    assert_eq!(out[..], [vec![2; 4000], vec![88; 200], vec![3; 3992]].concat());
    fs.allow_waiting(true);
    put(&mut fs, ino, 4, 55);
    fs.allow_waiting(false);
    fs.store.check().unwrap();
}

#[test]
fn read_error_is_ignored_if_location_was_overwritten() {
    let (mut fs, ino) = filled();
    let failed = || Err(std::io::Error::other("the drive failed"));
    let work = expect_wait(&mut fs, |fs| read(fs, ino, 5));
    assert!(matches!(fs.end_background(work, failed()), Err(Error::Ssd(_))));
    let work = expect_wait(&mut fs, |fs| read(fs, ino, 5));
    if let Work::Fetch(fetch) = &work {
        fetch.mark_stale();
    }
    fs.end_background(work, failed()).unwrap();
    assert_eq!(read(&mut fs, ino, 5).unwrap(), 5);
}

#[test]
fn extent_changed_during_read_is_recycled_correctly() {
    let (mut fs, ino) = filled();
    (0..BLOCKS).step_by(3).for_each(|block| put(&mut fs, ino, block, 111));
    let (extent, fetch) = fs.store.begin_recycling().unwrap().expect("extents are fragmented");
    let outcome = fetch.read();
    // Half of the content of the extent is invalidated or moves.
    (1..BLOCKS).step_by(6).for_each(|block| put(&mut fs, ino, block, 222));
    fs.store.end_recycling(extent, fetch, outcome).unwrap();
    fs.store.check().unwrap();
    for block in 0..BLOCKS {
        let expected = match block {
            _ if block % 3 == 0 => 111,
            _ if block % 6 == 1 => 222,
            _ => block as u8,
        };
        assert_eq!(read(&mut fs, ino, block).unwrap(), expected, "block {block}");
    }
}

/// A page written while in flight is flushed again; completing the older batch last has no effect on it.
#[test]
fn batches_complete_in_any_order() {
    let (mut fs, ino) = filled();
    fs.auto_flush = false;
    (0..300).for_each(|block| put(&mut fs, ino, block, 1));
    let mut first = Vec::new();
    while let Some(batch) = fs.store.begin_flush().unwrap() {
        first.push(batch);
    }
    (0..300).for_each(|block| put(&mut fs, ino, block, 2));
    let second = fs.store.begin_flush().unwrap().expect("300 pages are dirty again");
    let (written, results) = (second.write(), first.iter().try_for_each(|batch| batch.write()));
    results.unwrap();
    for batch in first {
        fs.store.end_flush(batch, Ok(())).unwrap();
    }
    fs.store.end_flush(second, written).unwrap();
    fs.store.check().unwrap();
    // Reads from the SSD return the latest content.
    (1000..BLOCKS).for_each(|block| put(&mut fs, ino, block, 3));
    (0..300).for_each(|block| assert_eq!(read(&mut fs, ino, block).unwrap(), 2, "block {block}"));
}

#[test]
fn untrimmed_empty_extents_count_as_free() {
    let (mut fs, ino) = filled();
    fs.use_background_thread();
    let before = fs.stats().free_extents;
    fs.unlink(ROOT, b"f", &CALLER).unwrap();
    assert!(matches!(fs.attributes(ino), Err(Error::NotFound)));
    let (free, trimmed) = (fs.stats().free_extents, fs.stats().counts.trimmed_blocks);
    assert!(free > before + 5);
    let mut pieces = 0;
    while let Some(work) = fs.begin_background().unwrap() {
        assert!(matches!(work, Work::Trim(_)));
        let outcome = work.run();
        fs.end_background(work, outcome).unwrap();
        pieces += 1;
    }
    assert!(pieces > 0 && fs.stats().free_extents == free);
    assert_eq!(fs.stats().counts.trimmed_blocks - trimmed, u64::from(free - before) * 128);
    // Extents that wait for a trim can be written.
    let ino = fs.create(ROOT, b"g", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    (0..BLOCKS).for_each(|block| put(&mut fs, ino, block, 9));
    fs.unlink(ROOT, b"g", &CALLER).unwrap();
    let ino = fs.create(ROOT, b"h", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    (0..BLOCKS).for_each(|block| put(&mut fs, ino, block, 8));
    fs.store.check().unwrap();
}
