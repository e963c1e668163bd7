//! Tests of file content: length, mapping, direct I/O, appending, holes.

use crate::fixture::{Fixture, bytes, errno, new_file, shell};
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use wearwell_mount::Options;
use wearwell_nvmfs::api::MAX_FILE_BYTES;

const MIB: u64 = 1 << 20;

#[test]
fn truncated_bytes_read_as_zeros_after_growth() {
    let Some(fixture) = Fixture::new() else { return };
    let path = fixture.at("file");
    let content = bytes(1, 10_000);
    fs::write(&path, &content).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    file.set_len(5000).unwrap();
    file.set_len(3 * MIB).unwrap();
    let mut expected = content[..5000].to_vec();
    expected.resize(3 << 20, 0);
    assert_eq!(fs::read(&path).unwrap(), expected);
    assert!(file.metadata().unwrap().blocks() * 512 < MIB, "what was added takes no space");
    OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
    assert_eq!((file.metadata().unwrap().len(), file.metadata().unwrap().blocks()), (0, 0));
}

#[test]
fn random_writes_read_back_before_and_after_remount() {
    let Some(mut fixture) = Fixture::new() else { return };
    let path = fixture.at("file");
    let mut model = vec![0_u8; 3 << 20];
    let file = new_file(&path);
    file.set_len(model.len() as u64).unwrap();
    for step in 0..500_u64 {
        let draw = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let length = 1 + (draw >> 50) as usize;
        let at = (draw >> 20) as usize % (model.len() - length);
        let data = bytes(step, length);
        file.write_all_at(&data, at as u64).unwrap();
        model[at..at + length].copy_from_slice(&data);
        let mut back = vec![0; length];
        file.read_exact_at(&mut back, at as u64).unwrap();
        assert_eq!(back, data, "step {step}");
    }
    drop(file);
    assert!(fs::read(&path).unwrap() == model, "before");
    fixture.remount();
    assert!(fs::read(&path).unwrap() == model, "after");
}

fn check_mapped_writes(options: Options) {
    let Some(mut fixture) = Fixture::with(options) else { return };
    let path = fixture.at("mapped");
    let content = bytes(7, 100_000);
    let file = new_file(&path);
    file.set_len(content.len() as u64).unwrap();
    // SAFETY: nothing else has the file open, so its content changes only through this mapping.
    let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
    map.copy_from_slice(&content);
    map.flush().unwrap();
    let mut back = Vec::new();
    (&file).read_to_end(&mut back).unwrap();
    assert!(back == content, "read sees what was mapped");
    file.write_all_at(b"written", 5000).unwrap();
    assert_eq!(&map[5000..5007], b"written");
    drop((map, file));
    fixture.remount();
    assert_eq!(
        &fs::read(&path).unwrap()[4990..5010],
        [&content[4990..5000], b"written", &content[5007..5010]].concat()
    );
}

#[test]
fn mapped_writes_persist() {
    check_mapped_writes(Options::default());
}

#[test]
fn mapped_writes_persist_with_direct_io() {
    check_mapped_writes(Options { direct_io: true, ..Options::default() });
}

#[test]
fn mapped_writes_persist_with_writeback_cache() {
    check_mapped_writes(Options { writeback_cache: true, ..Options::default() });
}

/// Buffer aligned to 4096 bytes, as direct I/O needs.
#[repr(align(4096))]
struct Page([u8; 8192]);

#[test]
fn direct_io_agrees_with_page_cache() {
    let Some(fixture) = Fixture::new() else { return };
    let path = fixture.at("direct");
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).custom_flags(direct).open(&path).unwrap();
    let mut page = Box::new(Page([0; 8192]));
    page.0.copy_from_slice(&bytes(3, 8192));
    file.write_all_at(&page.0, 4096).unwrap();
    let cached = fs::read(&path).unwrap();
    assert!(cached[..4096].iter().all(|&byte| byte == 0) && cached[4096..] == page.0);
    fs::write(&path, bytes(4, 8192)).unwrap();
    file.read_exact_at(&mut page.0, 0).unwrap();
    assert!(page.0 == bytes(4, 8192)[..], "what others wrote through the cache");
}

#[test]
fn concurrent_appends_never_overwrite() {
    let Some(fixture) = Fixture::new() else { return };
    let path = fixture.at("log");
    std::thread::scope(|scope| {
        for writer in 0..4_u8 {
            let path = &path;
            scope.spawn(move || {
                let mut log = OpenOptions::new().append(true).create(true).open(path).unwrap();
                for _ in 0..200 {
                    log.write_all(&[b'a' + writer; 61]).unwrap();
                }
            });
        }
    });
    let log = fs::read(&path).unwrap();
    assert_eq!(log.len(), 4 * 200 * 61);
    for line in log.chunks(61) {
        assert!(line.iter().all(|byte| *byte == line[0]), "a torn record");
    }
    for writer in 0..4_u8 {
        assert_eq!(log.iter().filter(|&&byte| byte == b'a' + writer).count(), 200 * 61);
    }
}

#[test]
fn holes_are_punched_and_found_by_seek() {
    let Some(fixture) = Fixture::new() else { return };
    let file = new_file(&fixture.at("holes"));
    file.write_all_at(&bytes(1, 64 << 10), MIB).unwrap();
    file.set_len(4 * MIB).unwrap();
    let find = |from| seek(&file, from);
    assert_eq!(find(SeekFrom::Data(0)), Ok(MIB));
    assert_eq!(find(SeekFrom::Hole(MIB)), Ok(MIB + (64 << 10)));
    assert_eq!(find(SeekFrom::Data(2 * MIB)), Err(Errno::NXIO));
    assert_eq!(find(SeekFrom::Hole(4 * MIB)), Err(Errno::NXIO));

    let before = file.metadata().unwrap().blocks();
    let keep_size = FallocateFlags::KEEP_SIZE;
    fallocate(&file, FallocateFlags::PUNCH_HOLE | keep_size, MIB + 4096, 32 << 10).unwrap();
    assert_eq!(file.metadata().unwrap().blocks(), before - 64);
    assert_eq!(find(SeekFrom::Hole(MIB)), Ok(MIB + 4096));
    let mut back = vec![1; 64 << 10];
    file.read_exact_at(&mut back, MIB).unwrap();
    let mut expected = bytes(1, 64 << 10);
    expected[4096..36 << 10].fill(0);
    assert!(back == expected);

    fallocate(&file, FallocateFlags::empty(), 0, 8192).unwrap();
    assert!(file.metadata().unwrap().blocks() > before - 64);
    fallocate(&file, FallocateFlags::empty(), 4 * MIB, 4096).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 4 * MIB + 4096);
    let refused = fallocate(&file, FallocateFlags::COLLAPSE_RANGE, 0, 4096);
    assert_eq!(refused, Err(Errno::OPNOTSUPP));
}

#[test]
fn reserved_blocks_keep_file_size_and_survive_remount() {
    let Some(mut fixture) = Fixture::new() else { return };
    let path = fixture.at("reserved");
    let file = new_file(&path);
    file.write_all_at(&bytes(1, 5000), 0).unwrap();
    let free = |fixture: &Fixture| rustix::fs::statvfs(fixture.root()).unwrap().f_bfree;
    let (before, blocks) = (free(&fixture), file.metadata().unwrap().blocks());
    fallocate(&file, FallocateFlags::KEEP_SIZE, 0, MIB).unwrap();
    let reserved = || {
        let metadata = fs::metadata(&path).unwrap();
        (metadata.len(), metadata.blocks() - blocks)
    };
    // Two of 256 blocks are written; the pointers to all blocks need one more block.
    assert_eq!(reserved(), (5000, (254 + 1) * 8));
    assert!(before - free(&fixture) >= 254);
    drop(file);
    fixture.remount();
    assert_eq!(reserved(), (5000, (254 + 1) * 8));
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&bytes(2, MIB as usize - 5000), 5000).unwrap();
    assert_eq!(reserved(), (MIB, (254 + 1) * 8));
    assert!(fs::read(&path).unwrap() == [bytes(1, 5000), bytes(2, MIB as usize - 5000)].concat());
    fallocate(&file, FallocateFlags::KEEP_SIZE, MIB, MIB).unwrap();
    file.set_len(MIB).unwrap();
    assert_eq!(reserved(), (MIB, (254 + 1) * 8));
}

#[test]
fn zeroed_ranges_read_as_zeros() {
    let Some(fixture) = Fixture::new() else { return };
    let file = new_file(&fixture.at("zeroed"));
    file.write_all_at(&bytes(1, 20_000), 0).unwrap();
    fallocate(&file, FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE, 5000, 10_000).unwrap();
    let mut expected = bytes(1, 20_000);
    expected[5000..15_000].fill(0);
    assert!(fs::read(fixture.at("zeroed")).unwrap() == expected);
    fallocate(&file, FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE, 19_000, 10_000).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 20_000);
    fallocate(&file, FallocateFlags::ZERO_RANGE, 19_000, 10_000).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 29_000);
}

#[test]
fn write_at_largest_offset_succeeds_and_beyond_it_fails() {
    let Some(mut fixture) = Fixture::new() else { return };
    let file = new_file(&fixture.at("far"));
    let at = MAX_FILE_BYTES - 3;
    file.write_all_at(b"far", at).unwrap();
    drop(file);
    fixture.remount();
    let file = File::open(fixture.at("far")).unwrap();
    assert_eq!(file.metadata().unwrap().len(), at + 3);
    assert!(file.metadata().unwrap().blocks() < 1000);
    let mut back = [0; 3];
    file.read_exact_at(&mut back, at).unwrap();
    assert_eq!(&back, b"far");
    let file = OpenOptions::new().write(true).open(fixture.at("far")).unwrap();
    assert_eq!(errno(file.set_len(MAX_FILE_BYTES + 1)), Errno::FBIG);
    assert_eq!(errno(file.write_at(b"x", MAX_FILE_BYTES)), Errno::FBIG);
}

#[test]
fn times_are_kept_to_the_nanosecond() {
    let Some(mut fixture) = Fixture::new() else { return };
    let path = fixture.at("timed");
    fs::write(&path, "x").unwrap();
    let metadata = || path.metadata().unwrap();
    let before = (metadata().mtime(), metadata().mtime_nsec());
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(&path, "y").unwrap();
    assert!((metadata().mtime(), metadata().mtime_nsec()) > before, "writing is a change");
    let modified = (metadata().mtime(), metadata().mtime_nsec());
    shell(&fixture.root(), "chmod 600 timed");
    assert_eq!((metadata().mtime(), metadata().mtime_nsec()), modified, "chmod is no change of content");
    assert!((metadata().ctime(), metadata().ctime_nsec()) >= modified);
    shell(&fixture.root(), "touch -m -d '2001-02-03 04:05:06.700000089 UTC' timed");
    fixture.remount();
    assert_eq!((metadata().mtime(), metadata().mtime_nsec()), (981_173_106, 700_000_089));
}
