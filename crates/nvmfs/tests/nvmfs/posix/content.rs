//! Tests of open, read, write, truncate, fallocate and lseek: the content of files.

use crate::posix::{at, bytes, directory, expect_error, file, resize};
use wearwell_nvmfs::api::{Allocate, BLOCK_BYTES, FileSystem, Ino, MAX_FILE_BYTES, ROOT, Seek};

crate::posix::cases![
    written_data_is_read_back,
    reading_at_the_end,
    gaps_read_as_zeros,
    truncated_data_reads_as_zeros,
    files_end_at_the_limit,
    directories_have_no_content,
    unlinked_files_exist_while_open,
    release_needs_an_open,
    blocks_exist_where_written,
    punching_makes_holes,
    zeroing_extends_unless_keep_size,
    reserving_fills_holes,
    reserving_beyond_end_keeps_the_size,
    allocation_checks_its_range,
    every_depth_of_pointers,
];

const BLOCK: u64 = BLOCK_BYTES as u64;

/// Returns the start and the end of each range whose blocks exist.
fn parts(fs: &mut dyn FileSystem, ino: Ino) -> Vec<(u64, u64)> {
    let mut parts = Vec::new();
    let mut end = 0;
    while let Ok(start) = fs.seek(ino, end, Seek::Data) {
        end = fs.seek(ino, start, Seek::Hole).unwrap();
        parts.push((start, end));
    }
    expect_error("NoDataOrHole", fs.seek(ino, end, Seek::Data));
    parts
}

fn written_data_is_read_back(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let data: Vec<u8> = (0..20_000).map(|byte| (byte % 253) as u8).collect();
    assert_eq!(fs.write(ino, 0, &data, &at(2)).unwrap(), 20_000);
    assert_eq!(fs.write(ino, 4090, b"across the edge", &at(2)).unwrap(), 15);
    let mut expected = data;
    expected[4090..4105].copy_from_slice(b"across the edge");
    assert_eq!(bytes(fs, ino), expected);
}

fn reading_at_the_end(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, b"12345", &at(2)).unwrap();
    let mut out = [9; 4];
    assert_eq!(fs.read(ino, 3, &mut out, &at(2)).unwrap(), 2);
    assert_eq!(out[..2], *b"45");
    assert_eq!(fs.read(ino, 5, &mut out, &at(2)).unwrap(), 0);
    assert_eq!(fs.read(ino, u64::MAX, &mut out, &at(2)).unwrap(), 0);
}

fn gaps_read_as_zeros(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 10_000, b"x", &at(2)).unwrap();
    let mut expected = vec![0; 10_001];
    expected[10_000] = b'x';
    assert_eq!(bytes(fs, ino), expected);
}

fn truncated_data_reads_as_zeros(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, &[7; 9000], &at(2)).unwrap();
    resize(fs, ino, 5000, 2).unwrap();
    resize(fs, ino, 9000, 2).unwrap();
    let mut expected = vec![7; 5000];
    expected.resize(9000, 0);
    assert_eq!(bytes(fs, ino), expected);
    resize(fs, ino, 100, 2).unwrap();
    fs.write(ino, 200, b"y", &at(2)).unwrap();
    let mut expected = vec![7; 100];
    expected.resize(200, 0);
    expected.push(b'y');
    assert_eq!(bytes(fs, ino), expected);
}

fn files_end_at_the_limit(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    expect_error("TooLarge", fs.write(ino, MAX_FILE_BYTES, b"x", &at(2)));
    expect_error("TooLarge", fs.write(ino, u64::MAX, b"x", &at(2)));
    assert_eq!(fs.write(ino, MAX_FILE_BYTES, b"", &at(2)).unwrap(), 0);
    assert_eq!(fs.attributes(ino).unwrap().size_bytes, 0);
    assert_eq!(fs.write(ino, MAX_FILE_BYTES - 3, b"12345", &at(2)).unwrap(), 3);
    assert_eq!(fs.attributes(ino).unwrap().size_bytes, MAX_FILE_BYTES);
    let mut out = [0; 8];
    assert_eq!(fs.read(ino, MAX_FILE_BYTES - 5, &mut out, &at(2)).unwrap(), 5);
    assert_eq!(out[..5], *b"\0\x00123");
    expect_error("TooLarge", resize(fs, ino, MAX_FILE_BYTES + 1, 2));
    resize(fs, ino, 0, 2).unwrap();
    resize(fs, ino, MAX_FILE_BYTES, 2).unwrap();
    assert_eq!(parts(fs, ino), []);
}

fn directories_have_no_content(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    expect_error("IsDirectory", fs.read(ino, 0, &mut [0], &at(2)));
    expect_error("IsDirectory", fs.write(ino, 0, b"x", &at(2)));
    expect_error("IsDirectory", resize(fs, ino, 0, 2));
    expect_error("IsDirectory", fs.allocate(ino, Allocate::Reserve { keep_size: false }, 0, 1, &at(2)));
    expect_error("Invalid", fs.read_link(ino));
}

fn unlinked_files_exist_while_open(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, b"kept", &at(2)).unwrap();
    fs.open(ino).unwrap();
    fs.open(ino).unwrap();
    fs.unlink(ROOT, b"a", &at(2)).unwrap();
    expect_error("NotFound", fs.lookup(ROOT, b"a"));
    expect_error("NotFound", fs.link(ino, ROOT, b"b", &at(2)));
    fs.release(ino).unwrap();
    assert_eq!(fs.attributes(ino).unwrap().links, 0);
    fs.write(ino, 4, b" more", &at(2)).unwrap();
    assert_eq!(bytes(fs, ino), b"kept more");
    fs.release(ino).unwrap();
    expect_error("NotFound", fs.attributes(ino));
}

fn release_needs_an_open(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    expect_error("Invalid", fs.release(ino));
    fs.open(ino).unwrap();
    fs.release(ino).unwrap();
    expect_error("Invalid", fs.release(ino));
}

fn blocks_exist_where_written(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    assert_eq!(parts(fs, ino), []);
    fs.write(ino, 3 * BLOCK - 1, &[0, 0], &at(2)).unwrap();
    assert_eq!(parts(fs, ino), [(2 * BLOCK, 3 * BLOCK + 1)]);
    resize(fs, ino, 10 * BLOCK, 2).unwrap();
    assert_eq!(parts(fs, ino), [(2 * BLOCK, 4 * BLOCK)]);
    assert_eq!(fs.seek(ino, 5, Seek::Hole).unwrap(), 5);
    assert_eq!(fs.seek(ino, 2 * BLOCK + 5, Seek::Data).unwrap(), 2 * BLOCK + 5);
    assert_eq!(fs.seek(ino, 2 * BLOCK + 5, Seek::Hole).unwrap(), 4 * BLOCK);
    expect_error("NoDataOrHole", fs.seek(ino, 10 * BLOCK, Seek::Hole));
    expect_error("NoDataOrHole", fs.seek(ino, u64::MAX, Seek::Data));
    resize(fs, ino, 3 * BLOCK, 2).unwrap();
    resize(fs, ino, 4 * BLOCK, 2).unwrap();
    assert_eq!(parts(fs, ino), [(2 * BLOCK, 3 * BLOCK)]);
}

fn punching_makes_holes(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, &[7; 5 * BLOCK_BYTES], &at(2)).unwrap();
    fs.allocate(ino, Allocate::Punch, BLOCK - 10, 2 * BLOCK + 20, &at(2)).unwrap();
    assert_eq!(parts(fs, ino), [(0, BLOCK), (3 * BLOCK, 5 * BLOCK)]);
    let mut expected = vec![7; 5 * BLOCK_BYTES];
    expected[BLOCK_BYTES - 10..3 * BLOCK_BYTES + 10].fill(0);
    assert_eq!(bytes(fs, ino), expected);
    fs.allocate(ino, Allocate::Punch, 4 * BLOCK, 100 * BLOCK, &at(2)).unwrap();
    assert_eq!(parts(fs, ino), [(0, BLOCK), (3 * BLOCK, 4 * BLOCK)]);
    assert_eq!(fs.attributes(ino).unwrap().size_bytes, 5 * BLOCK, "punching keeps the size");
    fs.allocate(ino, Allocate::Punch, 5, 10, &at(2)).unwrap();
    assert_eq!(bytes(fs, ino)[..20], [7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7]);
}

fn zeroing_extends_unless_keep_size(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, &[7; 6000], &at(2)).unwrap();
    fs.allocate(ino, Allocate::Zero { keep_size: true }, 5000, 10_000, &at(2)).unwrap();
    let mut expected = vec![7; 5000];
    expected.resize(6000, 0);
    assert_eq!(bytes(fs, ino), expected);
    fs.allocate(ino, Allocate::Zero { keep_size: false }, 4096, 10_000, &at(2)).unwrap();
    let mut expected = vec![7; 4096];
    expected.resize(14_096, 0);
    assert_eq!(bytes(fs, ino), expected);
    assert_eq!(parts(fs, ino), [(0, BLOCK)]);
}

fn reserving_fills_holes(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, BLOCK, b"kept", &at(2)).unwrap();
    fs.allocate(ino, Allocate::Reserve { keep_size: false }, 100, 5 * BLOCK, &at(2)).unwrap();
    assert_eq!(parts(fs, ino), [(0, 5 * BLOCK + 100)]);
    let mut expected = vec![0; 5 * BLOCK_BYTES + 100];
    expected[BLOCK_BYTES..BLOCK_BYTES + 4].copy_from_slice(b"kept");
    assert_eq!(bytes(fs, ino), expected);
    fs.allocate(ino, Allocate::Reserve { keep_size: false }, 0, 1, &at(2)).unwrap();
    assert_eq!(bytes(fs, ino), expected);
}

fn reserving_beyond_end_keeps_the_size(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, &[7; 5000], &at(2)).unwrap();
    let (free, bytes_before) = (fs.statistics().unwrap().free_blocks, bytes(fs, ino));
    let used = |fs: &mut dyn FileSystem| free - fs.statistics().unwrap().free_blocks;
    let blocks = |fs: &mut dyn FileSystem| fs.attributes(ino).unwrap().blocks;
    let before = blocks(fs);
    let keep = Allocate::Reserve { keep_size: true };
    fs.allocate(ino, keep, 100, 4 * BLOCK - 100, &at(3)).unwrap();
    assert_eq!(fs.attributes(ino).unwrap().changed_ns, at(3).now_ns);
    assert_eq!((bytes(fs, ino), parts(fs, ino)), (bytes_before, vec![(0, 5000)]));
    assert_eq!((used(fs), blocks(fs) - before), (2, 2));
    expect_error("NoDataOrHole", fs.seek(ino, 5000, Seek::Data));
    fs.write(ino, 2 * BLOCK + 5, b"written", &at(2)).unwrap();
    assert_eq!((used(fs), blocks(fs) - before), (2, 2), "it is one that was reserved");
    let mut expected = vec![7; 5000];
    expected.resize(2 * BLOCK_BYTES + 5, 0);
    expected.extend(b"written");
    assert_eq!(bytes(fs, ino), expected);
    resize(fs, ino, 6 * BLOCK, 2).unwrap();
    assert_eq!(
        (used(fs), parts(fs, ino)),
        (2, vec![(0, 4 * BLOCK)]),
        "what is reserved stays when a file grows"
    );
    fs.allocate(ino, keep, 10 * BLOCK, BLOCK, &at(2)).unwrap();
    assert_eq!(used(fs), 3);
    resize(fs, ino, 6 * BLOCK, 2).unwrap();
    assert_eq!(used(fs), 2, "what is behind the end goes with the size that it has");
    fs.allocate(ino, keep, 10 * BLOCK, 2 * BLOCK, &at(2)).unwrap();
    fs.allocate(ino, Allocate::Punch, 9 * BLOCK, 2 * BLOCK, &at(2)).unwrap();
    assert_eq!(used(fs), 3);
    resize(fs, ino, 3 * BLOCK, 2).unwrap();
    assert_eq!((used(fs), parts(fs, ino)), (1, vec![(0, 3 * BLOCK)]));
    expect_error("NoSpace", fs.allocate(ino, keep, 0, (free + 9) * BLOCK, &at(2)));
    assert_eq!(used(fs), 1);
}

fn allocation_checks_its_range(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let reserve = [false, true].map(|keep_size| Allocate::Reserve { keep_size });
    for how in [reserve[0], reserve[1], Allocate::Punch, Allocate::Zero { keep_size: false }] {
        expect_error("Invalid", fs.allocate(ino, how, 0, 0, &at(2)));
        expect_error("TooLarge", fs.allocate(ino, how, MAX_FILE_BYTES, 1, &at(2)));
        expect_error("TooLarge", fs.allocate(ino, how, u64::MAX, 2, &at(2)));
    }
    assert_eq!(fs.attributes(ino).unwrap().size_bytes, 0);
}

fn every_depth_of_pointers(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let edges = [4, 4 + 512, 4 + 512 + 512 * 512, 4 + 512 + 512 * 512 + 512 * 300];
    for (at_edge, seed) in edges.iter().zip(1..) {
        fs.write(ino, at_edge * BLOCK - 2, &[seed; 4], &at(2)).unwrap();
    }
    for (at_edge, seed) in edges.iter().zip(1..) {
        let mut out = [9; 6];
        assert_eq!(fs.read(ino, at_edge * BLOCK - 3, &mut out, &at(2)).unwrap().min(5), 5);
        assert_eq!(out[..5], [0, seed, seed, seed, seed]);
    }
    assert_eq!(parts(fs, ino).len(), 4);
    resize(fs, ino, (4 + 512) * BLOCK, 2).unwrap();
    let middle = (4 + 512) * BLOCK;
    assert_eq!(parts(fs, ino), [(3 * BLOCK, 5 * BLOCK), (middle - BLOCK, middle)]);
}
