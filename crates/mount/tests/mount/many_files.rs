//! Tests with many files and with concurrent users.

use crate::fixture::{Fixture, bytes, shell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[test]
fn directory_with_20_000_files_is_listed_and_removed() {
    const FILES: usize = 20_000;
    let Some(mut fixture) = Fixture::new() else { return };
    fs::create_dir(fixture.at("d")).unwrap();
    let name = |number: usize| format!("a file with a name of some length, number {number}");
    for number in 0..FILES {
        fs::File::create(fixture.at("d").join(name(number))).unwrap();
    }
    let listed = |fixture: &Fixture| -> Vec<String> {
        let entries = fs::read_dir(fixture.at("d")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let all: BTreeSet<String> = (0..FILES).map(name).collect();
    let found = listed(&fixture);
    assert_eq!(found.len(), FILES);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), all);
    fixture.remount();
    let found = listed(&fixture);
    assert_eq!(found.len(), FILES);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), all);
    for number in (0..FILES).step_by(997) {
        assert!(fixture.at("d").join(name(number)).is_file());
    }
    // `rm` removes entries while it lists them.
    shell(&fixture.root(), "rm -r d; test -z \"$(ls -A)\"");
}

/// Performs the random operations of one thread, which use only names of this thread, in shared directories. Returns
/// the expected files.
fn run_random_operations(root: &Path, thread: u64, steps: u64) -> BTreeMap<String, Vec<u8>> {
    let mut mine = BTreeMap::new();
    let mut state = thread;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..steps {
        let path = format!("{}/{thread}-{}", draw(4), draw(20));
        match draw(5) {
            0 | 1 => {
                let content = bytes(draw(1000), draw(20_000) as usize);
                fs::write(root.join(&path), &content).unwrap();
                mine.insert(path, content);
            }
            2 => {
                let existed = mine.remove(&path).is_some();
                assert_eq!(fs::remove_file(root.join(&path)).is_ok(), existed, "{path}");
            }
            3 => {
                let to = format!("{}/{thread}-{}", draw(4), draw(20));
                let content = mine.remove(&path);
                assert_eq!(fs::rename(root.join(&path), root.join(&to)).is_ok(), content.is_some());
                if let Some(content) = content {
                    mine.insert(to, content);
                }
            }
            _ => assert_eq!(fs::read(root.join(&path)).ok(), mine.get(&path).cloned(), "{path}"),
        }
    }
    mine
}

#[test]
fn concurrent_threads_keep_their_own_files() {
    let Some(mut fixture) = Fixture::new() else { return };
    let root = fixture.root();
    for directory in 0..4 {
        fs::create_dir(root.join(directory.to_string())).unwrap();
    }
    let mut expected = BTreeMap::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                scope.spawn({
                    let root = &root;
                    move || run_random_operations(root, thread, 600)
                })
            })
            .collect();
        for thread in threads {
            expected.append(&mut thread.join().unwrap());
        }
    });
    for _ in 0..2 {
        let mut found = BTreeMap::new();
        for directory in 0..4 {
            for entry in fs::read_dir(root.join(directory.to_string())).unwrap() {
                let entry = entry.unwrap();
                let name = format!("{directory}/{}", entry.file_name().into_string().unwrap());
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        assert!(found == expected, "names are right, contents are not");
        fixture.remount();
    }
}

/// When several threads create the same name or move the same file, exactly one of them succeeds.
#[test]
fn one_of_several_concurrent_operations_succeeds() {
    let Some(fixture) = Fixture::new() else { return };
    let root = fixture.root();
    let wins = |try_it: &(dyn Fn(usize) -> bool + Sync)| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || try_it(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|won| *won).count()
        })
    };
    for round in 0..50 {
        let directory = root.join(format!("d{round}"));
        assert_eq!(wins(&|_| fs::create_dir(&directory).is_ok()), 1);
        let file = root.join(format!("f{round}"));
        assert_eq!(wins(&|_| fs::File::create_new(&file).is_ok()), 1);
        assert_eq!(wins(&|thread| fs::rename(&file, directory.join(thread.to_string())).is_ok()), 1);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }
}
