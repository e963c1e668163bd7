//! Tests of link, unlink and symlink, and of valid names.

use crate::common::list;
use crate::posix::{at, bytes, directory, expect_error, expect_missing, file, links};
use wearwell_nvmfs::api::{FileSystem, Kind, MAX_LINK_TARGET_BYTES, MAX_LINKS, ROOT, Rename};

crate::posix::cases![
    names_of_any_bytes,
    invalid_names_are_rejected,
    names_at_the_limit,
    dots_cannot_be_created,
    link_gives_another_name,
    link_refuses_directories,
    hard_links_have_a_limit,
    unlink_frees_the_name,
    creation_refuses_names_in_use,
    symlinks_keep_their_target,
    symlink_targets_have_limits,
    file_as_parent_is_rejected,
    similar_names_are_distinct,
];

fn names_of_any_bytes(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let all: Vec<u8> = (1..=255).filter(|byte| *byte != b'/').collect();
    let single = all.chunks(1).filter(|name| !matches!(*name, b"." | b"a"));
    let names: Vec<&[u8]> = single.chain([all.as_slice(), b"...", b"\xff\xfe"]).collect();
    for name in &names {
        fs.link(ino, ROOT, name, &at(2)).unwrap();
    }
    let listed = list(fs, ROOT).unwrap();
    for name in &names {
        assert_eq!(fs.lookup(ROOT, name).unwrap().ino, ino);
        assert_eq!(listed[*name].0, ino);
    }
    assert_eq!(links(fs, ino) as usize, names.len() + 1);
}

fn invalid_names_are_rejected(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    for name in [b"".as_slice(), b"/", b"x/y", b"x\0", b"\0"] {
        expect_error("Invalid", fs.lookup(ROOT, name));
        expect_error("Invalid", fs.create(ROOT, name, Kind::File, 0o644, 0, &at(2)));
        expect_error("Invalid", fs.make_directory(ROOT, name, 0o755, &at(2)));
        expect_error("Invalid", fs.symlink(ROOT, name, b"x", &at(2)));
        expect_error("Invalid", fs.link(ino, ROOT, name, &at(2)));
        expect_error("Invalid", fs.unlink(ROOT, name, &at(2)));
        expect_error("Invalid", fs.remove_directory(ROOT, name, &at(2)));
        expect_error("Invalid", fs.rename((ROOT, b"a"), (ROOT, name), Rename::Replace, &at(2)));
        expect_error("Invalid", fs.rename((ROOT, name), (ROOT, b"a"), Rename::Replace, &at(2)));
    }
    assert_eq!(list(fs, ROOT).unwrap().len(), 3);
}

fn names_at_the_limit(fs: &mut dyn FileSystem) {
    let (fits, long) = ([b'n'; 255], [b'n'; 256]);
    let ino = fs.create(ROOT, &fits, Kind::File, 0o644, 0, &at(2)).unwrap().ino;
    assert_eq!(list(fs, ROOT).unwrap()[fits.as_slice()].0, ino);
    expect_error("NameTooLong", fs.lookup(ROOT, &long));
    expect_error("NameTooLong", fs.create(ROOT, &long, Kind::File, 0o644, 0, &at(2)));
    expect_error("NameTooLong", fs.make_directory(ROOT, &long, 0o755, &at(2)));
    expect_error("NameTooLong", fs.symlink(ROOT, &long, b"x", &at(2)));
    expect_error("NameTooLong", fs.link(ino, ROOT, &long, &at(2)));
    expect_error("NameTooLong", fs.unlink(ROOT, &long, &at(2)));
    expect_error("NameTooLong", fs.rename((ROOT, &fits), (ROOT, &long), Rename::Replace, &at(2)));
}

fn dots_cannot_be_created(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    for name in [b".".as_slice(), b".."] {
        expect_error("Exists", fs.create(ROOT, name, Kind::File, 0o644, 0, &at(2)));
        expect_error("Exists", fs.make_directory(ROOT, name, 0o755, &at(2)));
        expect_error("Exists", fs.symlink(ROOT, name, b"x", &at(2)));
        expect_error("Exists", fs.link(ino, ROOT, name, &at(2)));
        expect_error("IsDirectory", fs.unlink(ROOT, name, &at(2)));
        expect_error("Invalid", fs.rename((ROOT, b"a"), (ROOT, name), Rename::Replace, &at(2)));
        expect_error("Invalid", fs.rename((ROOT, name), (ROOT, b"b"), Rename::Replace, &at(2)));
    }
}

fn link_gives_another_name(fs: &mut dyn FileSystem) {
    let parent = directory(fs, ROOT, "d");
    let ino = file(fs, ROOT, "a");
    assert_eq!(fs.link(ino, parent, b"b", &at(2)).unwrap().links, 2);
    fs.write(ino, 0, b"both", &at(2)).unwrap();
    let other = fs.lookup(parent, b"b").unwrap();
    assert_eq!((other.ino, other.size_bytes), (ino, 4));
    fs.unlink(ROOT, b"a", &at(2)).unwrap();
    assert_eq!((links(fs, ino), bytes(fs, ino)), (1, b"both".to_vec()));
    for kind in [Kind::Fifo, Kind::Socket, Kind::BlockDevice] {
        let ino = fs.create(ROOT, b"k", kind, 0o600, 1, &at(2)).unwrap().ino;
        assert_eq!(fs.link(ino, ROOT, b"l", &at(2)).unwrap().links, 2);
        fs.unlink(ROOT, b"k", &at(2)).unwrap();
        fs.unlink(ROOT, b"l", &at(2)).unwrap();
    }
    let link = fs.symlink(ROOT, b"s", b"x", &at(2)).unwrap().ino;
    assert_eq!(fs.link(link, ROOT, b"t", &at(2)).unwrap().kind, Kind::Symlink);
}

fn link_refuses_directories(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    expect_error("NotPermitted", fs.link(ino, ROOT, b"e", &at(2)));
    expect_missing(fs, ROOT, "e");
    assert_eq!(links(fs, ino), 2);
}

fn hard_links_have_a_limit(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "0");
    for number in 1..MAX_LINKS {
        fs.link(ino, ROOT, format!("{number}").as_bytes(), &at(2)).unwrap();
    }
    assert_eq!(links(fs, ino), MAX_LINKS);
    expect_error("TooManyLinks", fs.link(ino, ROOT, b"more", &at(3)));
    expect_missing(fs, ROOT, "more");
    fs.unlink(ROOT, b"12345", &at(2)).unwrap();
    fs.link(ino, ROOT, b"more", &at(3)).unwrap();
    assert_eq!(fs.lookup(ROOT, b"64999").unwrap().ino, ino);
}

fn unlink_frees_the_name(fs: &mut dyn FileSystem) {
    let old = file(fs, ROOT, "a");
    fs.write(old, 0, b"old", &at(2)).unwrap();
    fs.unlink(ROOT, b"a", &at(2)).unwrap();
    expect_missing(fs, ROOT, "a");
    expect_error("NotFound", fs.unlink(ROOT, b"a", &at(2)));
    let new = file(fs, ROOT, "a");
    assert_eq!(bytes(fs, new), b"");
}

fn creation_refuses_names_in_use(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    directory(fs, ROOT, "d");
    for name in [b"a", b"d"] {
        expect_error("Exists", fs.create(ROOT, name, Kind::Fifo, 0o644, 0, &at(2)));
        expect_error("Exists", fs.make_directory(ROOT, name, 0o755, &at(2)));
        expect_error("Exists", fs.symlink(ROOT, name, b"x", &at(2)));
        expect_error("Exists", fs.link(ino, ROOT, name, &at(2)));
    }
    assert_eq!(fs.lookup(ROOT, b"a").unwrap().links, 1);
}

fn symlinks_keep_their_target(fs: &mut dyn FileSystem) {
    for length in [1, 31, 59, 60, 100, 2048, MAX_LINK_TARGET_BYTES] {
        let target: Vec<u8> = (0..length).map(|at| (at % 255) as u8 + 1).collect();
        let created = fs.symlink(ROOT, b"s", &target, &at(2)).unwrap();
        let expected = (Kind::Symlink, length as u64, 0o777, 1);
        assert_eq!((created.kind, created.size_bytes, created.permissions, created.links), expected);
        assert_eq!(fs.read_link(created.ino).unwrap(), target);
        expect_error("Invalid", fs.read(created.ino, 0, &mut [0], &at(2)));
        fs.unlink(ROOT, b"s", &at(2)).unwrap();
    }
    let ino = file(fs, ROOT, "a");
    expect_error("Invalid", fs.read_link(ino));
}

fn symlink_targets_have_limits(fs: &mut dyn FileSystem) {
    expect_error("Invalid", fs.symlink(ROOT, b"s", b"", &at(2)));
    expect_error("NameTooLong", fs.symlink(ROOT, b"s", &[b'x'; MAX_LINK_TARGET_BYTES + 1], &at(2)));
    expect_missing(fs, ROOT, "s");
}

fn file_as_parent_is_rejected(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    expect_error("NotDirectory", fs.lookup(ino, b"x"));
    expect_error("NotDirectory", fs.create(ino, b"x", Kind::File, 0o644, 0, &at(2)));
    expect_error("NotDirectory", fs.make_directory(ino, b"x", 0o755, &at(2)));
    expect_error("NotDirectory", fs.symlink(ino, b"x", b"y", &at(2)));
    expect_error("NotDirectory", fs.link(ino, ino, b"x", &at(2)));
    expect_error("NotDirectory", fs.unlink(ino, b"x", &at(2)));
    expect_error("NotDirectory", fs.remove_directory(ino, b"x", &at(2)));
    expect_error("NotDirectory", fs.rename((ROOT, b"a"), (ino, b"x"), Rename::Replace, &at(2)));
    expect_error("NotDirectory", list(fs, ino));
}

fn similar_names_are_distinct(fs: &mut dyn FileSystem) {
    let names = ["a", "A", "aa", "a ", "ab", "a.", "\u{e4}", "a\u{308}"];
    let made: Vec<_> = names.iter().map(|name| file(fs, ROOT, name)).collect();
    for (name, ino) in names.iter().zip(made) {
        assert_eq!(fs.lookup(ROOT, name.as_bytes()).unwrap().ino, ino);
    }
}
