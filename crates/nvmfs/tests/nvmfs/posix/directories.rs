//! Tests of mkdir, rmdir and readdir: directories and listings.

use crate::common::list;
use crate::posix::{at, directory, expect_error, expect_missing, file, links};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use wearwell_nvmfs::api::{Error, FileSystem, Ino, Kind, MAX_LINKS, ROOT, Rename};

crate::posix::cases![
    mkdir_counts_links,
    rmdir_removes_empty_directories_only,
    dots_are_listed_and_looked_up,
    dot_dot_changes_with_move,
    removed_directory_rejects_operations,
    listing_resumes_where_it_stopped,
    listing_survives_removal,
    listing_survives_creation_and_renames,
    ten_thousand_entries,
    deep_paths,
    subdirectories_are_limited_by_link_count,
];

/// Lists up to `max` entries from a position, except `.` and `..`; returns the names and the next position.
fn list_some(fs: &mut dyn FileSystem, ino: Ino, from: u64, max: usize) -> (Vec<Vec<u8>>, u64) {
    let (mut names, mut next) = (Vec::new(), from);
    fs.read_directory(ino, from, &mut |entry| {
        next = entry.next;
        assert_ne!(next, 0);
        if !matches!(entry.name, b"." | b"..") {
            names.push(entry.name.to_vec());
        }
        if names.len() == max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    (names, next)
}

fn mkdir_counts_links(fs: &mut dyn FileSystem) {
    let before = links(fs, ROOT);
    let created = fs.make_directory(ROOT, b"d", 0o1750, &at(2)).unwrap();
    assert_eq!((created.kind, created.permissions, created.links), (Kind::Directory, 0o1750, 2));
    assert_eq!(links(fs, ROOT), before + 1);
    directory(fs, created.ino, "e");
    file(fs, created.ino, "f");
    assert_eq!(links(fs, created.ino), 3);
    fs.remove_directory(created.ino, b"e", &at(2)).unwrap();
    assert_eq!(links(fs, created.ino), 2);
    expect_error("Exists", fs.make_directory(created.ino, b"f", 0o755, &at(2)));
    expect_error("NotDirectory", fs.remove_directory(created.ino, b"f", &at(2)));
}

fn rmdir_removes_empty_directories_only(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    file(fs, ino, "a");
    expect_error("NotEmpty", fs.remove_directory(ROOT, b"d", &at(2)));
    expect_error("IsDirectory", fs.unlink(ROOT, b"d", &at(2)));
    fs.unlink(ino, b"a", &at(2)).unwrap();
    fs.remove_directory(ROOT, b"d", &at(2)).unwrap();
    expect_missing(fs, ROOT, "d");
    expect_error("NotFound", fs.attributes(ino));
    expect_error("NotFound", fs.remove_directory(ROOT, b"d", &at(2)));
    expect_error("Invalid", fs.remove_directory(ROOT, b".", &at(2)));
    expect_error("NotEmpty", fs.remove_directory(ROOT, b"..", &at(2)));
}

fn dots_are_listed_and_looked_up(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    let below = directory(fs, ino, "e");
    for (at, parent) in [(ROOT, ROOT), (ino, ROOT), (below, ino)] {
        let entries = list(fs, at).unwrap();
        assert_eq!(entries[b".".as_slice()], (at, Kind::Directory));
        assert_eq!(entries[b"..".as_slice()], (parent, Kind::Directory));
        assert_eq!(fs.lookup(at, b".").unwrap().ino, at);
        assert_eq!(fs.lookup(at, b"..").unwrap().ino, parent);
    }
}

fn dot_dot_changes_with_move(fs: &mut dyn FileSystem) {
    let (a, b) = (directory(fs, ROOT, "a"), directory(fs, ROOT, "b"));
    let moved = directory(fs, a, "m");
    fs.rename((a, b"m"), (b, b"n"), Rename::Replace, &at(2)).unwrap();
    assert_eq!(fs.lookup(moved, b"..").unwrap().ino, b);
    assert_eq!(list(fs, moved).unwrap()[b"..".as_slice()].0, b);
    assert_eq!((links(fs, a), links(fs, b), links(fs, moved)), (2, 3, 2));
}

fn removed_directory_rejects_operations(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    let other = file(fs, ROOT, "a");
    fs.open(ino).unwrap();
    fs.remove_directory(ROOT, b"d", &at(2)).unwrap();
    assert_eq!(links(fs, ino), 0);
    expect_error("NotFound", fs.create(ino, b"x", Kind::File, 0o644, 0, &at(2)));
    expect_error("NotFound", fs.make_directory(ino, b"x", 0o755, &at(2)));
    expect_error("NotFound", fs.symlink(ino, b"x", b"y", &at(2)));
    expect_error("NotFound", fs.link(other, ino, b"x", &at(2)));
    expect_error("NotFound", fs.rename((ROOT, b"a"), (ino, b"x"), Rename::Replace, &at(2)));
    expect_error("NotFound", fs.lookup(ino, b"x"));
    fs.release(ino).unwrap();
    expect_error("NotFound", fs.attributes(ino));
}

fn listing_resumes_where_it_stopped(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    for number in 0..50 {
        file(fs, ino, &format!("{number}"));
    }
    for most in [1, 7, 50, 51] {
        let (mut seen, mut from) = (BTreeSet::new(), 0);
        loop {
            let (names, next) = list_some(fs, ino, from, most);
            if names.is_empty() {
                break;
            }
            from = next;
            for name in names {
                assert!(seen.insert(name), "an entry is listed twice");
            }
        }
        assert_eq!(seen.len(), 50);
    }
}

fn listing_survives_removal(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    for number in 0..300 {
        file(fs, ino, &format!("{number}"));
    }
    // As with `rm -r`, listed entries are removed before the next part is listed.
    let (mut from, mut removed) = (0, 0);
    loop {
        let (names, next) = list_some(fs, ino, from, 10);
        if names.is_empty() {
            break;
        }
        from = next;
        for name in names {
            fs.unlink(ino, &name, &at(2)).unwrap();
            removed += 1;
        }
    }
    assert_eq!(removed, 300);
    fs.remove_directory(ROOT, b"d", &at(2)).unwrap();
}

fn listing_survives_creation_and_renames(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    for number in 0..200 {
        file(fs, ino, &format!("stays{number}"));
        file(fs, ino, &format!("goes{number}"));
    }
    let (mut from, mut seen, mut round) = (0, Vec::new(), 0);
    loop {
        let (names, next) = list_some(fs, ino, from, 20);
        if names.is_empty() {
            break;
        }
        seen.extend(names.into_iter().filter(|name| name.starts_with(b"stays")));
        from = next;
        // Space is freed and used before and after the position of the listing.
        if round < 200 {
            fs.unlink(ino, format!("goes{round}").as_bytes(), &at(2)).unwrap();
            let (old, new) = (format!("goes{}", round + 1), format!("{}{round}", "long".repeat(40)));
            fs.rename((ino, old.as_bytes()), (ino, new.as_bytes()), Rename::Replace, &at(2)).unwrap();
            file(fs, ino, &format!("{round}"));
            round += 2;
        }
    }
    let count = seen.len();
    let seen: BTreeSet<_> = seen.into_iter().collect();
    assert_eq!((count, seen.len()), (200, 200), "each entry that stays is listed once");
}

fn ten_thousand_entries(fs: &mut dyn FileSystem) {
    const MANY: usize = 10_000;
    let ino = directory(fs, ROOT, "d");
    let first = file(fs, ino, "entry number 0");
    for number in 1..MANY {
        fs.link(first, ino, format!("entry number {number}").as_bytes(), &at(2)).unwrap();
    }
    assert_eq!(links(fs, first), MANY as u32);
    assert_eq!(list_some(fs, ino, 0, usize::MAX).0.len(), MANY);
    assert_eq!(fs.lookup(ino, b"entry number 9999").unwrap().ino, first);
    expect_missing(fs, ino, "entry number 10000");
    for number in (0..MANY).filter(|number| number % 100 != 0) {
        fs.unlink(ino, format!("entry number {number}").as_bytes(), &at(2)).unwrap();
    }
    let left: BTreeSet<_> = list_some(fs, ino, 0, usize::MAX).0.into_iter().collect();
    let expected = (0..MANY / 100).map(|number| format!("entry number {}", number * 100).into_bytes());
    assert_eq!(left, expected.collect());
}

fn deep_paths(fs: &mut dyn FileSystem) {
    const DEPTH: usize = 200;
    let mut path = vec![ROOT];
    for _ in 0..DEPTH {
        path.push(directory(fs, path[path.len() - 1], "d"));
    }
    let bottom = path[DEPTH];
    let mut at_ino = bottom;
    for expected in path.iter().rev().skip(1) {
        at_ino = fs.lookup(at_ino, b"..").unwrap().ino;
        assert_eq!(at_ino, *expected);
    }
    expect_error("Invalid", fs.rename((ROOT, b"d"), (bottom, b"x"), Rename::Replace, &at(2)));
    for parent in path[..DEPTH].iter().rev() {
        fs.remove_directory(*parent, b"d", &at(2)).unwrap();
    }
}

fn subdirectories_are_limited_by_link_count(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    let mut made = 0;
    let refused = loop {
        match fs.make_directory(ino, format!("{made}").as_bytes(), 0o755, &at(1)) {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    match refused {
        Error::TooManyLinks => {
            assert_eq!(made + 2, MAX_LINKS);
            let other = directory(fs, ROOT, "e");
            let empty = directory(fs, other, "f");
            let how = Rename::Replace;
            expect_error("TooManyLinks", fs.rename((other, b"f"), (ino, b"f"), how, &at(2)));
            fs.rename((other, b"f"), (ino, b"0"), Rename::Replace, &at(2)).unwrap();
            assert_eq!(fs.lookup(ino, b"0").unwrap().ino, empty);
        }
        Error::NoSpace(_) => assert!(made < MAX_LINKS - 2),
        other => panic!("{other}"),
    }
    assert_eq!(links(fs, ino), (made + 2).min(MAX_LINKS));
}
