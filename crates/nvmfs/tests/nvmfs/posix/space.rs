//! Tests that a full file system loses nothing.

use crate::posix::{at, bytes, expect_error, file, resize};
use wearwell_nvmfs::api::{Allocate, Error, FileSystem, Ino, Kind, ROOT};

crate::posix::cases![
    writing_until_full_loses_nothing,
    removal_frees_space,
    reserving_too_much_changes_nothing,
    creating_until_full_loses_nothing,
    statistics_change_with_use,
];

const CHUNK: usize = 64 << 10;

/// Writes files until the file system is full; returns the inode, content seed and length of each.
fn fill(fs: &mut dyn FileSystem) -> Vec<(Ino, u8, usize)> {
    let mut files = Vec::new();
    loop {
        let seed = files.len() as u8 + 1;
        let Ok(created) = fs.create(ROOT, format!("fill{seed}").as_bytes(), Kind::File, 0o644, 0, &at(1))
        else {
            return files;
        };
        let mut length = 0;
        for _ in 0..64 {
            match fs.write(created.ino, length as u64, &[seed; CHUNK], &at(2)) {
                Ok(count) => length += count,
                Err(Error::NoSpace(_)) => {
                    files.push((created.ino, seed, length));
                    return files;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(files.len() < 64, "it does not get full");
        files.push((created.ino, seed, length));
    }
}

fn check(fs: &mut dyn FileSystem, files: &[(Ino, u8, usize)]) {
    for (ino, seed, length) in files {
        let content = bytes(fs, *ino);
        assert_eq!(content.len(), *length);
        assert!(content.iter().all(|byte| byte == seed), "file {seed} is changed");
    }
}

fn writing_until_full_loses_nothing(fs: &mut dyn FileSystem) {
    let files = fill(fs);
    check(fs, &files);
    let written: usize = files.iter().map(|(.., length)| length).sum();
    assert!(written > 1 << 20, "only {written} bytes went in");
    // Existing data can be read and, if it has blocks, truncated.
    let (ino, seed, length) = files[0];
    resize(fs, ino, length as u64 / 2, 3).unwrap();
    check(fs, &[(ino, seed, length / 2)]);
    check(fs, &files[1..]);
}

fn removal_frees_space(fs: &mut dyn FileSystem) {
    let mut written = Vec::new();
    for _ in 0..3 {
        let files = fill(fs);
        check(fs, &files);
        written.push(files.iter().map(|(.., length)| *length).sum::<usize>());
        for (_, seed, _) in files {
            fs.unlink(ROOT, format!("fill{seed}").as_bytes(), &at(3)).unwrap();
        }
    }
    let (least, most) = (written.iter().min().unwrap(), written.iter().max().unwrap());
    assert!(least * 10 >= most * 9, "room is lost: {written:?}");
}

fn reserving_too_much_changes_nothing(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 10_000, b"kept", &at(2)).unwrap();
    let before = (fs.attributes(ino).unwrap(), bytes(fs, ino));
    let too_much = fs.statistics().unwrap().blocks * 4096 + (1 << 30);
    expect_error("NoSpace", fs.allocate(ino, Allocate::Reserve { keep_size: false }, 0, too_much, &at(3)));
    assert_eq!((fs.attributes(ino).unwrap(), bytes(fs, ino)), before);
    assert_eq!(fs.write(ino, 0, &[1; CHUNK], &at(4)).unwrap(), CHUNK);
}

fn creating_until_full_loses_nothing(fs: &mut dyn FileSystem) {
    let name = |number: usize| format!("{number:0>100}").into_bytes();
    let mut made = Vec::new();
    let refused = loop {
        match fs.create(ROOT, &name(made.len()), Kind::File, 0o644, 0, &at(2)) {
            Ok(attributes) => made.push(attributes.ino),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::NoSpace(_)), "{refused}");
    assert!(made.len() >= 100, "only {} files went in", made.len());
    expect_error("NotFound", fs.lookup(ROOT, &name(made.len())));
    for (number, ino) in made.iter().enumerate() {
        assert_eq!(fs.lookup(ROOT, &name(number)).unwrap().ino, *ino);
    }
    for number in 0..made.len() {
        fs.unlink(ROOT, &name(number), &at(3)).unwrap();
    }
    for number in 0..made.len() {
        fs.create(ROOT, &name(number), Kind::File, 0o644, 0, &at(4)).unwrap();
    }
}

fn statistics_change_with_use(fs: &mut dyn FileSystem) {
    let before = fs.statistics().unwrap();
    assert!(before.free_blocks <= before.blocks && before.free_inodes < before.inodes);
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, &[1; 16 * 4096], &at(2)).unwrap();
    let used = fs.statistics().unwrap();
    // The name of a file uses space that other names could have, too.
    assert!(used.free_inodes < before.free_inodes);
    assert_eq!(used.inodes - used.free_inodes, before.inodes - before.free_inodes + 1);
    assert!(used.free_blocks <= before.free_blocks - 16);
    fs.unlink(ROOT, b"a", &at(3)).unwrap();
    let after = fs.statistics().unwrap();
    assert_eq!(after.free_inodes, before.free_inodes);
    assert!(after.free_blocks > used.free_blocks);
}
