//! Tests of rename in all its variants.

use crate::posix::{at, directory, expect_error, expect_missing, file, links, times};
use wearwell_nvmfs::api::{FileSystem, Ino, ROOT, Rename, Result};

crate::posix::cases![
    moves_a_file,
    replaces_a_file,
    replaced_files_exist_while_open,
    does_nothing_between_links_of_one_file,
    replaces_an_empty_directory,
    refuses_a_full_directory,
    rejects_mismatched_file_types,
    refuses_to_move_a_directory_into_itself,
    keeps_existing_target_on_request,
    exchanges_files_and_directories,
    exchange_rejects_ancestors,
    rejects_missing_source,
    counts_links_of_directories,
];

fn rename(fs: &mut dyn FileSystem, from: (Ino, &str), to: (Ino, &str), how: Rename) -> Result<()> {
    fs.rename((from.0, from.1.as_bytes()), (to.0, to.1.as_bytes()), how, &at(2))
}

fn find(fs: &mut dyn FileSystem, parent: Ino, name: &str) -> Ino {
    fs.lookup(parent, name.as_bytes()).unwrap().ino
}

fn moves_a_file(fs: &mut dyn FileSystem) {
    let parent = directory(fs, ROOT, "d");
    let ino = file(fs, ROOT, "a");
    rename(fs, (ROOT, "a"), (ROOT, "b"), Rename::Replace).unwrap();
    expect_missing(fs, ROOT, "a");
    rename(fs, (ROOT, "b"), (parent, "c"), Rename::Keep).unwrap();
    expect_missing(fs, ROOT, "b");
    assert_eq!(find(fs, parent, "c"), ino);
    assert_eq!(links(fs, ino), 1);
}

fn replaces_a_file(fs: &mut dyn FileSystem) {
    let (old, new) = (file(fs, ROOT, "old"), file(fs, ROOT, "new"));
    let linked = file(fs, ROOT, "linked");
    fs.link(linked, ROOT, b"other", &at(1)).unwrap();
    rename(fs, (ROOT, "new"), (ROOT, "old"), Rename::Replace).unwrap();
    assert_eq!(find(fs, ROOT, "old"), new);
    expect_missing(fs, ROOT, "new");
    expect_error("NotFound", fs.attributes(old));
    rename(fs, (ROOT, "old"), (ROOT, "linked"), Rename::Replace).unwrap();
    assert_eq!((links(fs, linked), links(fs, new)), (1, 1));
    assert_eq!(find(fs, ROOT, "other"), linked);
}

fn replaced_files_exist_while_open(fs: &mut dyn FileSystem) {
    let old = file(fs, ROOT, "old");
    file(fs, ROOT, "new");
    fs.write(old, 0, b"kept", &at(1)).unwrap();
    fs.open(old).unwrap();
    rename(fs, (ROOT, "new"), (ROOT, "old"), Rename::Replace).unwrap();
    assert_eq!((links(fs, old), crate::posix::bytes(fs, old)), (0, b"kept".to_vec()));
    fs.release(old).unwrap();
    expect_error("NotFound", fs.attributes(old));
}

fn does_nothing_between_links_of_one_file(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.link(ino, ROOT, b"b", &at(1)).unwrap();
    let before = times(fs, ROOT);
    for how in [Rename::Replace, Rename::Exchange] {
        rename(fs, (ROOT, "a"), (ROOT, "b"), how).unwrap();
        rename(fs, (ROOT, "a"), (ROOT, "a"), how).unwrap();
    }
    expect_error("Exists", rename(fs, (ROOT, "a"), (ROOT, "b"), Rename::Keep));
    assert_eq!((find(fs, ROOT, "a"), find(fs, ROOT, "b"), links(fs, ino)), (ino, ino, 2));
    assert_eq!((times(fs, ROOT), times(fs, ino)), (before, [1, 1, 1]));
}

fn replaces_an_empty_directory(fs: &mut dyn FileSystem) {
    let (a, b) = (directory(fs, ROOT, "a"), directory(fs, ROOT, "b"));
    let inner = file(fs, a, "inner");
    let before = links(fs, ROOT);
    rename(fs, (ROOT, "a"), (ROOT, "b"), Rename::Replace).unwrap();
    assert_eq!((find(fs, ROOT, "b"), find(fs, a, "inner")), (a, inner));
    expect_missing(fs, ROOT, "a");
    expect_error("NotFound", fs.attributes(b));
    assert_eq!(links(fs, ROOT), before - 1);
}

fn refuses_a_full_directory(fs: &mut dyn FileSystem) {
    let (a, b) = (directory(fs, ROOT, "a"), directory(fs, ROOT, "b"));
    file(fs, b, "inner");
    expect_error("NotEmpty", rename(fs, (ROOT, "a"), (ROOT, "b"), Rename::Replace));
    assert_eq!((find(fs, ROOT, "a"), find(fs, ROOT, "b")), (a, b));
}

fn rejects_mismatched_file_types(fs: &mut dyn FileSystem) {
    let (f, d) = (file(fs, ROOT, "f"), directory(fs, ROOT, "d"));
    expect_error("IsDirectory", rename(fs, (ROOT, "f"), (ROOT, "d"), Rename::Replace));
    expect_error("NotDirectory", rename(fs, (ROOT, "d"), (ROOT, "f"), Rename::Replace));
    let link = fs.symlink(ROOT, b"s", b"d", &at(1)).unwrap().ino;
    expect_error("NotDirectory", rename(fs, (ROOT, "d"), (ROOT, "s"), Rename::Replace));
    rename(fs, (ROOT, "s"), (ROOT, "f"), Rename::Replace).unwrap();
    assert_eq!((find(fs, ROOT, "f"), find(fs, ROOT, "d")), (link, d));
    expect_error("NotFound", fs.attributes(f));
}

fn refuses_to_move_a_directory_into_itself(fs: &mut dyn FileSystem) {
    let a = directory(fs, ROOT, "a");
    let b = directory(fs, a, "b");
    let c = directory(fs, b, "c");
    for (how, into) in [(Rename::Replace, a), (Rename::Replace, b), (Rename::Keep, c)] {
        expect_error("Invalid", rename(fs, (ROOT, "a"), (into, "x"), how));
    }
    assert_eq!((find(fs, c, ".."), find(fs, b, ".."), find(fs, a, "..")), (b, a, ROOT));
    rename(fs, (b, "c"), (ROOT, "c"), Rename::Replace).unwrap();
    assert_eq!(find(fs, c, ".."), ROOT);
}

fn keeps_existing_target_on_request(fs: &mut dyn FileSystem) {
    let (a, b) = (file(fs, ROOT, "a"), file(fs, ROOT, "b"));
    expect_error("Exists", rename(fs, (ROOT, "a"), (ROOT, "b"), Rename::Keep));
    assert_eq!((find(fs, ROOT, "a"), find(fs, ROOT, "b")), (a, b));
    rename(fs, (ROOT, "a"), (ROOT, "c"), Rename::Keep).unwrap();
    assert_eq!(find(fs, ROOT, "c"), a);
}

fn exchanges_files_and_directories(fs: &mut dyn FileSystem) {
    let (p, q) = (directory(fs, ROOT, "p"), directory(fs, ROOT, "q"));
    let (f, d) = (file(fs, p, "x"), directory(fs, q, "y"));
    file(fs, d, "inner");
    rename(fs, (p, "x"), (q, "y"), Rename::Exchange).unwrap();
    assert_eq!((find(fs, p, "x"), find(fs, q, "y"), find(fs, d, "..")), (d, f, p));
    assert_eq!((links(fs, p), links(fs, q), links(fs, d), links(fs, f)), (3, 2, 2, 1));
    assert_eq!((times(fs, f), times(fs, d)), ([1, 1, 2], [1, 1, 2]));
    expect_error("NotFound", rename(fs, (p, "x"), (q, "z"), Rename::Exchange));
    let e = directory(fs, q, "e");
    rename(fs, (p, "x"), (q, "e"), Rename::Exchange).unwrap();
    assert_eq!((find(fs, d, ".."), find(fs, e, ".."), links(fs, p), links(fs, q)), (q, p, 3, 3));
}

fn exchange_rejects_ancestors(fs: &mut dyn FileSystem) {
    let a = directory(fs, ROOT, "a");
    let b = directory(fs, a, "b");
    let inner = file(fs, b, "f");
    expect_error("Invalid", rename(fs, (ROOT, "a"), (b, "f"), Rename::Exchange));
    expect_error("Invalid", rename(fs, (b, "f"), (ROOT, "a"), Rename::Exchange));
    expect_error("Invalid", rename(fs, (a, "b"), (ROOT, "a"), Rename::Exchange));
    assert_eq!((find(fs, ROOT, "a"), find(fs, a, "b"), find(fs, b, "f")), (a, b, inner));
}

fn rejects_missing_source(fs: &mut dyn FileSystem) {
    let there = file(fs, ROOT, "there");
    for how in [Rename::Replace, Rename::Keep, Rename::Exchange] {
        expect_error("NotFound", rename(fs, (ROOT, "missing"), (ROOT, "there"), how));
    }
    assert_eq!(find(fs, ROOT, "there"), there);
}

fn counts_links_of_directories(fs: &mut dyn FileSystem) {
    let (p, q) = (directory(fs, ROOT, "p"), directory(fs, ROOT, "q"));
    directory(fs, p, "d");
    directory(fs, q, "e");
    rename(fs, (p, "d"), (q, "e"), Rename::Replace).unwrap();
    assert_eq!((links(fs, p), links(fs, q)), (2, 3));
    rename(fs, (q, "e"), (q, "f"), Rename::Replace).unwrap();
    assert_eq!((links(fs, p), links(fs, q)), (2, 3));
}
