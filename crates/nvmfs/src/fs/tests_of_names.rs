//! Tests that damaged trees are reported and repaired, and that indexes do not change results.

use super::{Nvmfs, repair};
use crate::api::{Caller, FileSystem, Ino, Kind, ROOT, Rename};
use crate::layout::Field;
use crate::names::check::{NameProblemKind, check};
use crate::names::{directory, record};
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::MemorySsd;
use std::ops::ControlFlow;
use std::sync::Arc;
use wearwell_base::seed::random_below;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

fn fresh(index_bytes: usize) -> Fs {
    let options = Options { index_bytes, ..Options::default() };
    let format = Format { inodes: Some(4000), ..Format::default() };
    Fs::format(PlainNvram::new(12 << 20), Arc::new(MemorySsd::new(8192)), &format, options).unwrap()
}

fn caller_at(now_ns: i64) -> Caller {
    Caller { uid: 1, gid: 2, now_ns }
}

fn listing(fs: &mut Fs, dir: Ino) -> Vec<(u64, Ino, Kind, Vec<u8>)> {
    let mut all = Vec::new();
    fs.read_directory(dir, 0, &mut |entry| {
        all.push((entry.next, entry.ino, entry.kind, entry.name.to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    all
}

fn problems(fs: &Fs) -> Vec<NameProblemKind> {
    check(&fs.store.region).unwrap().into_iter().map(|problem| problem.kind).collect()
}

/// Adds and removes names in several directories, each of which has several blocks; returns a log of the results.
fn add_and_remove_names(fs: &mut Fs) -> Vec<String> {
    let caller = caller_at(5);
    let dirs: Vec<Ino> = (0..4)
        .map(|n| fs.make_directory(ROOT, format!("d{n}").as_bytes(), 0o755, &caller).unwrap().ino)
        .collect();
    let mut rng = wearwell_base::seed::Seed(7).random();
    let mut results = Vec::new();
    for step in 0..8000 {
        let dir = dirs[random_below(&mut rng, 4) as usize];
        let number = random_below(&mut rng, 600);
        let name = format!("{number:0width$}", width = number as usize % 90 + 3);
        let name = name.as_bytes();
        let result = match random_below(&mut rng, 4) {
            0 | 1 => format!("{:?}", fs.create(dir, name, Kind::Fifo, 0o644, 0, &caller)),
            2 => format!("{:?}", fs.unlink(dir, name, &caller)),
            _ => {
                let to = (dirs[step % 4], format!("moved {step}"));
                format!("{:?}", fs.rename((dir, name), (to.0, to.1.as_bytes()), Rename::Replace, &caller))
            }
        };
        results.push(result);
    }
    results.extend(dirs.into_iter().map(|dir| format!("{:?}", listing(fs, dir))));
    results
}

#[test]
fn indexes_do_not_change_results() {
    let (mut with, mut without, mut tight) = (fresh(64 << 20), fresh(0), fresh(20 << 10));
    let results = add_and_remove_names(&mut with);
    assert!(results == add_and_remove_names(&mut without), "without indexes");
    assert!(results == add_and_remove_names(&mut tight), "with too little memory for all");
    assert!(results.iter().any(|text| text.starts_with("Err(Exists")), "names are met again");
    assert_eq!(with.names.indexes.state().0, 4);
    assert_eq!(without.names.indexes.state().0, 0);
    let (indexes, _, bytes) = tight.names.indexes.state();
    assert!((1..4).contains(&indexes) && bytes <= 20 << 10, "{indexes} indexes of {bytes} bytes");
    for fs in [&with, &without, &tight] {
        assert_eq!(problems(fs), []);
        fs.store.check().unwrap();
    }
}

#[test]
fn listing_cookies_stay_valid_while_names_change() {
    let mut fs = fresh(1 << 20);
    let caller = caller_at(1);
    for number in 0..500 {
        fs.create(ROOT, format!("stays {number}").as_bytes(), Kind::File, 0, 0, &caller).unwrap();
        fs.create(ROOT, format!("goes {number}").as_bytes(), Kind::File, 0, 0, &caller).unwrap();
    }
    let (mut from, mut seen, mut round) = (0, Vec::new(), 0);
    loop {
        let mut expected_left = 7;
        let before = from;
        fs.read_directory(ROOT, from, &mut |entry| {
            from = entry.next;
            if entry.name.starts_with(b"stays") {
                seen.push(entry.name.to_vec());
            }
            expected_left -= 1;
            if expected_left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
        if from == before {
            break;
        }
        if round < 500 {
            fs.unlink(ROOT, format!("goes {round}").as_bytes(), &caller).unwrap();
            fs.create(ROOT, format!("x{round}").as_bytes(), Kind::File, 0, 0, &caller).unwrap();
        }
        round += 1;
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (500, 500));
}

/// Creates `/a/b`, `/a/f` and `/e`, with content in each; returns their inode numbers.
fn tree(fs: &mut Fs) -> [Ino; 4] {
    let caller = caller_at(1);
    let a = fs.make_directory(ROOT, b"a", 0o755, &caller).unwrap().ino;
    let b = fs.make_directory(a, b"b", 0o755, &caller).unwrap().ino;
    let f = fs.create(a, b"f", Kind::File, 0o644, 0, &caller).unwrap().ino;
    let e = fs.create(ROOT, b"e", Kind::File, 0o644, 0, &caller).unwrap().ino;
    fs.create(b, b"deep", Kind::Fifo, 0o644, 0, &caller).unwrap();
    fs.write(f, 0, b"content", &caller).unwrap();
    [a, b, f, e]
}

/// Returns the offset of the record of a name.
fn record_of(fs: &mut Fs, dir: Ino, name: &[u8]) -> usize {
    let found = fs.names.find(&fs.store.region, dir, name).unwrap().unwrap();
    directory::address(&fs.store.region, dir, found.position).unwrap()
}

fn repair_names(fs: &mut Fs) {
    repair(fs, &caller_at(9)).unwrap();
    assert_eq!(problems(fs), []);
    fs.store.check().unwrap();
}

#[test]
fn wrong_counts_are_repaired() {
    let mut fs = fresh(1 << 20);
    let [a, b, f, e] = tree(&mut fs);
    assert_eq!(problems(&fs), []);
    let (ino, inode) = (b, fs.store.region.inode(b).unwrap());
    let at = fs.store.region.inode_at(ino).unwrap();
    let region = &mut fs.store.region;
    region.store_word(at + 56, u64::from(inode.generation) | 3000 << 32);
    for (ino, links) in [(f, 5), (e, 0), (a, 9)] {
        let at = region.field(ino, Field::Mode).unwrap();
        let mode = region.word(at) as u32;
        region.store_word(at, u64::from(mode) | links << 32);
    }
    let found = problems(&fs);
    let all = [
        NameProblemKind::Parent(a),
        NameProblemKind::Links(1),
        NameProblemKind::Links(1),
        NameProblemKind::Links(3),
    ];
    assert!(found.len() == 4 && all.iter().all(|one| found.contains(one)), "{found:?}");
    repair_names(&mut fs);
    assert_eq!(fs.lookup(b, b"..").unwrap().ino, a);
    assert_eq!(fs.attributes(e).unwrap().links, 1);
}

#[test]
fn malformed_entry_is_removed_and_its_file_recovered() {
    let mut fs = fresh(1 << 20);
    let [a, _, f, _] = tree(&mut fs);
    let at_a = record_of(&mut fs, ROOT, b"a");
    // The name contains a slash.
    fs.store.region.store(at_a + 8, b"/");
    assert!(matches!(fs.lookup(ROOT, b"e"), Err(crate::api::Error::Damaged(_))));
    assert!(problems(&fs).contains(&NameProblemKind::Entry));
    repair_names(&mut fs);
    let lost = fs.lookup(ROOT, b"lost+found").unwrap().ino;
    assert_eq!(fs.lookup(lost, format!("#{}", a.0).as_bytes()).unwrap().ino, a);
    assert_eq!(fs.lookup(a, b"..").unwrap().ino, lost);
    assert_eq!(fs.lookup(a, b"f").unwrap().ino, f);
    assert_eq!(fs.lookup(ROOT, b"e").unwrap().size_bytes, 0);
}

#[test]
fn dangling_duplicate_and_cyclic_names_are_removed() {
    let mut fs = fresh(1 << 20);
    let [a, b, f, e] = tree(&mut fs);
    let caller = caller_at(2);
    for name in [b"1", b"2", b"3", b"4"] {
        fs.link(f, a, name, &caller).unwrap();
    }
    let records = [b"1", b"2", b"3", b"4"].map(|name| record_of(&mut fs, a, name));
    let region = &mut fs.store.region;
    region.store(records[0], &3999u32.to_le_bytes());
    region.store(records[1] + 8, b"f");
    region.store_word(records[2], record::head(16, Some((ROOT, Kind::Directory, 1))));
    region.store_word(records[3], record::head(16, Some((e, Kind::Socket, 1))));
    let found = problems(&fs);
    let some = [
        NameProblemKind::Unused(Ino(3999)),
        NameProblemKind::Duplicate(f),
        NameProblemKind::SecondParent(ROOT),
        NameProblemKind::Kind(e),
    ];
    assert!(some.iter().all(|one| found.contains(one)), "{found:?}");
    repair_names(&mut fs);
    let names: Vec<Vec<u8>> = listing(&mut fs, a).into_iter().map(|(.., name)| name).collect();
    assert_eq!(names, [&b"."[..], b"..", b"b", b"f", b"4"]);
    assert_eq!((fs.attributes(f).unwrap().links, fs.attributes(e).unwrap().links), (1, 2));
    // The directory contains itself and has no other parent.
    let at_b = record_of(&mut fs, a, b"b");
    let deep = record_of(&mut fs, b, b"deep");
    fs.store.region.store_word(at_b, record::head(16, None));
    fs.store.region.store_word(deep, record::head(16, Some((b, Kind::Directory, 4))));
    repair_names(&mut fs);
    let lost = fs.lookup(ROOT, b"lost+found").unwrap().ino;
    assert!(fs.lookup(lost, format!("#{}", b.0).as_bytes()).is_ok());
}

#[test]
fn arbitrary_directory_content_is_repaired() {
    let mut rng = wearwell_base::seed::Seed(3).random();
    for round in 0..60 {
        let mut fs = fresh(if round % 2 == 0 { 1 << 20 } else { 0 });
        let [a, b, ..] = tree(&mut fs);
        for number in 0..120 {
            fs.create(
                a,
                format!("a rather long name {number:40}").as_bytes(),
                Kind::File,
                0,
                0,
                &caller_at(1),
            )
            .unwrap();
        }
        let page = record_of(&mut fs, a, b"b") & !4095;
        let inode = fs.store.region.inode_at(b).unwrap();
        // Both ranges are recorded as changing, so that the mount recomputes their checksums for the new content.
        for at in [inode, page] {
            fs.store.region.note_changing(at);
        }
        for _ in 0..20 {
            let byte = random_below(&mut rng, 256) as u8;
            let near = if round % 3 == 0 { inode + 16 + random_below(&mut rng, 8) as usize } else { page };
            let at = if near == page { page + random_below(&mut rng, 4096) as usize } else { near };
            fs.store.region.store(at, &[byte]);
        }
        fs.names.forget(a);
        let caller = caller_at(3);
        for number in 0..120 {
            let name = format!("a rather long name {number:40}");
            let _ = fs.lookup(a, name.as_bytes());
            let _ = fs.rename((a, name.as_bytes()), (b, b"x"), Rename::Replace, &caller);
            let _ = fs.create(b, name.as_bytes(), Kind::File, 0, 0, &caller);
            let _ = fs.unlink(a, name.as_bytes(), &caller);
        }
        let _ = fs.read_directory(a, 0, &mut |_| ControlFlow::Continue(()));
        repair_names(&mut fs);
    }
}
