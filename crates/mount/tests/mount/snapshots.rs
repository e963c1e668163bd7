//! Tests of snapshots that are viewed while their file system is mounted.

use crate::fixture::{Fixture, assert_same, bytes, errno, shell, tree};
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use wearwell_mount::Options;
use wearwell_nvmfs::stats::{SNAPSHOT_XATTR, STATS_XATTR, Stats};

fn order(fixture: &Fixture, order: &str) {
    rustix::fs::setxattr(fixture.root(), SNAPSHOT_XATTR, order.as_bytes(), XattrFlags::empty()).expect(order);
}

fn stats(fixture: &Fixture) -> Stats {
    let mut text = vec![0; 64 << 10];
    let length = rustix::fs::getxattr(fixture.root(), STATS_XATTR, &mut text).unwrap();
    serde_json::from_slice(&text[..length]).unwrap()
}

/// Waits until the blocks of deleted snapshots are free.
fn wait_until_freed(fixture: &Fixture) {
    let is_freed = (0..6000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        stats(fixture).snapshots_being_deleted == 0
    });
    assert!(is_freed);
}

/// Creates files of all types; when they are read, some are only on the SSD.
fn source(at: &Path) {
    fs::create_dir_all(at.join("a/b")).unwrap();
    for (number, length) in [0, 1, 4096, 70_000, 9_000_000, 20_000_000].into_iter().enumerate() {
        fs::write(at.join(format!("a/{length}")), bytes(number as u64, length)).unwrap();
    }
    shell(at, "ln -s a/1 link; ln -s $(printf 'x%.0s' $(seq 300)) long; ln a/4096 hard; mkfifo pipe");
    shell(at, "for i in $(seq 300); do echo $i > a/b/some-name-$i; done; chmod 750 a/1; chown 7:8 a/70000");
}

/// Changes everything that [`source`] created.
fn change(at: &Path) {
    shell(
        at,
        "rm -r a/b link; truncate -s 5000 a/70000; mv a/1 one; rm long; mkdir long; chmod 777 a/0; rm hard",
    );
    let file = OpenOptions::new().write(true).open(at.join("a/20000000")).unwrap();
    (0..100).for_each(|number| file.write_all_at(&bytes(number, 20_000), number * 190_000).unwrap());
    fs::write(at.join("a/4096"), "other").unwrap();
    fs::write(at.join("new"), bytes(9, 3_000_000)).unwrap();
}

fn check_snapshots_during_changes(options: Options) {
    let Some(mut fixture) = Fixture::with(options) else { return };
    fs::create_dir(fixture.at("d")).unwrap();
    source(&fixture.at("d"));
    let first = tree(&fixture.at("d"));
    assert_eq!(errno(fs::metadata(fixture.at(".snapshots"))), Errno::NOENT);
    shell(&fixture.root(), "sync -f .");
    order(&fixture, "create first");
    change(&fixture.at("d"));
    let second = tree(&fixture.at("d"));
    shell(&fixture.root(), "sync -f .");
    order(&fixture, "create second");
    shell(&fixture.root(), "rm -r d; echo new > d");
    for _ in 0..2 {
        assert_same(&tree(&fixture.at(".snapshots/first/d")), &first);
        assert_same(&tree(&fixture.at(".snapshots/second/d")), &second);
        assert_eq!(
            shell(&fixture.root(), "ls -A; ls .snapshots; cd .snapshots/first/d/a; ls -d ../../.."),
            "d\nfirst\nsecond\n../../..\n"
        );
        fixture.remount();
    }
    // The older snapshot keeps the blocks that it shares with the deleted newer one.
    order(&fixture, "delete second");
    wait_until_freed(&fixture);
    assert_eq!(errno(fs::metadata(fixture.at(".snapshots/second"))), Errno::NOENT);
    assert_same(&tree(&fixture.at(".snapshots/first/d")), &first);
    order(&fixture, "delete first");
    wait_until_freed(&fixture);
    assert_eq!(stats(&fixture).snapshot_blocks, 0);
    assert_eq!(fs::read_to_string(fixture.at("d")).unwrap(), "new\n");
    fixture.unmount();
}

#[test]
fn snapshots_keep_contents_while_file_system_changes() {
    check_snapshots_during_changes(Options::default());
}

#[test]
fn snapshots_keep_contents_with_direct_io() {
    check_snapshots_during_changes(Options { direct_io: true, threads: 4, ..Options::default() });
}

#[test]
fn changes_in_snapshot_fail_as_read_only() {
    let Some(fixture) = Fixture::new() else { return };
    fs::write(fixture.at("file"), "first").unwrap();
    order(&fixture, "create then");
    let then = fixture.at(".snapshots/then");
    let open = |path: &str| OpenOptions::new().write(true).open(then.join(path));
    assert_eq!(errno(open("file")), Errno::ROFS);
    assert_eq!(errno(fs::write(then.join("new"), "")), Errno::ROFS);
    assert_eq!(errno(fs::remove_file(then.join("file"))), Errno::ROFS);
    assert_eq!(errno(fs::create_dir(then.join("d"))), Errno::ROFS);
    assert_eq!(errno(fs::create_dir(fixture.at(".snapshots/other"))), Errno::ROFS);
    assert_eq!(errno(fs::rename(then.join("file"), fixture.at("moved"))), Errno::ROFS);
    assert_eq!(errno(fs::rename(fixture.at("file"), then.join("moved"))), Errno::ROFS);
    assert_eq!(errno(fs::hard_link(then.join("file"), fixture.at("linked"))), Errno::ROFS);
    assert_eq!(errno(std::os::unix::fs::chown(then.join("file"), Some(5), None)), Errno::ROFS);
    assert_eq!(errno(fs::remove_dir(&then)), Errno::ROFS);
    let set = rustix::fs::setxattr(then.join("file"), "user.a", b"b", XattrFlags::empty());
    assert_eq!(set, Err(Errno::ROFS));
    // The snapshot's file is not the live file.
    assert_ne!(
        fs::metadata(then.join("file")).unwrap().ino(),
        fs::metadata(fixture.at("file")).unwrap().ino()
    );
    fs::write(fixture.at("file"), "second").unwrap();
    assert_eq!(fs::read_to_string(then.join("file")).unwrap(), "first");
}
