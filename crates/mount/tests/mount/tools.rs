//! Tests with ordinary command-line tools.

use crate::fixture::{Fixture, assert_same, bytes, shell, tree};
use std::fs;
use std::path::Path;

/// Creates a tree with all types of files and attributes.
fn source(at: &Path) {
    fs::create_dir_all(at.join("deep/er/still")).unwrap();
    for (number, length) in [0, 1, 4095, 4096, 4097, 600_000, 5_000_000].into_iter().enumerate() {
        fs::write(at.join(format!("deep/{length}")), bytes(number as u64, length)).unwrap();
    }
    shell(
        at,
        "ln -s ../deep deep/link; ln -s nowhere dangling; ln deep/4096 deep/er/hard; mkfifo pipe
        chmod 4711 deep/4095; chmod 1777 deep/er; chown 12:34 deep/1
        touch -d '1969-07-20 20:17:40.123456789 UTC' deep/4097; touch -d '2100-01-01 UTC' deep/0
        truncate -s 100G deep/er/still/sparse; rm deep/er/still/sparse; truncate -s 3M deep/er/still/sparse",
    );
}

#[test]
fn cp_preserves_everything_in_both_directions() {
    let Some(fixture) = Fixture::new() else { return };
    let plain = fixture.directory().join("plain");
    fs::create_dir(&plain).unwrap();
    source(&plain);
    shell(fixture.directory(), "cp -a plain mounted/copy; cp -a mounted/copy back");
    assert_same(&tree(&plain), &tree(&fixture.at("copy")));
    assert_same(&tree(&plain), &tree(&fixture.directory().join("back")));
}

#[test]
fn tar_packs_and_unpacks() {
    let Some(mut fixture) = Fixture::new() else { return };
    fs::create_dir(fixture.at("a")).unwrap();
    source(&fixture.at("a"));
    shell(
        &fixture.root(),
        "tar --format=posix -cf all.tar a; mkdir b; tar xpf all.tar -C b --strip-components=1; tar df all.tar",
    );
    assert_same(&tree(&fixture.at("a")), &tree(&fixture.at("b")));
    fixture.remount();
    assert_same(&tree(&fixture.at("a")), &tree(&fixture.at("b")));
    shell(&fixture.root(), "rm -r a b; test \"$(ls)\" = all.tar");
}

#[test]
fn mv_works_within_and_out_of_the_mount() {
    let Some(fixture) = Fixture::new() else { return };
    fs::create_dir(fixture.at("a")).unwrap();
    source(&fixture.at("a"));
    let before = tree(&fixture.at("a"));
    shell(&fixture.root(), "mkdir -p b/c; mv a b/c/d; test ! -e a; test $(stat -c %h b/c) = 3");
    assert_same(&before, &tree(&fixture.at("b/c/d")));
    shell(&fixture.root(), "mv b/c/d ../out; test -z \"$(ls b/c)\"; rmdir b/c b; test $(stat -c %h .) = 2");
    assert_same(&before, &tree(&fixture.directory().join("out")));
}

#[test]
fn df_and_find_report_correct_counts() {
    let Some(fixture) = Fixture::new() else { return };
    let used = || shell(&fixture.root(), "df --output=iused . | tail -n 1").trim().parse::<u64>().unwrap();
    let before = used();
    shell(&fixture.root(), "mkdir many; cd many; for i in $(seq 100); do : > file-$i; done");
    assert_eq!(used(), before + 101);
    assert_eq!(shell(&fixture.root(), "find . -type f | wc -l").trim(), "100");
    shell(&fixture.root(), "find . -name 'file-*' -delete; rmdir many");
    assert_eq!(used(), before);
}
