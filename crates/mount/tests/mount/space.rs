//! Tests of a full file system.

use crate::fixture::{Fixture, bytes, errno, new_file};
use rustix::io::Errno;
use std::fs;
use std::io::Write;

#[test]
fn write_to_full_file_system_fails_and_space_returns() {
    let Some(mut fixture) = Fixture::new() else { return };
    fs::write(fixture.at("before"), "kept").unwrap();
    let block = bytes(1, 1 << 20);
    let mut file = new_file(&fixture.at("large"));
    let mut written = 0;
    let error = loop {
        // A short write is continued at its end, so that the content stays periodic.
        match file.write(&block[written as usize % block.len()..]) {
            Ok(length) => written += length as u64,
            Err(error) => break error,
        }
        assert!(written < 4 << 30, "it has an end");
    };
    assert_eq!(errno::<()>(Err(error)), Errno::NOSPC);
    assert_eq!(file.metadata().unwrap().len(), written, "all that was acknowledged is there, and no more");
    drop(file);
    fixture.remount();
    let content = fs::read(fixture.at("large")).unwrap();
    assert_eq!(content.len() as u64, written);
    assert!(content.chunks(1 << 20).all(|chunk| chunk == &block[..chunk.len()]));
    drop(content);
    assert_eq!(fs::read(fixture.at("before")).unwrap(), b"kept");
    fs::remove_file(fixture.at("large")).unwrap();
    fs::write(fixture.at("after"), &block).unwrap();
    assert!(fs::read(fixture.at("after")).unwrap() == block);
}

/// The kernel sends FORGET after `unlink` returns, but a query immediately after `unlink` must report the space of
/// the files as free.
#[test]
fn statfs_after_unlink_includes_freed_space() {
    let Some(fixture) = Fixture::new() else { return };
    let free = || rustix::fs::statvfs(fixture.root()).map(|of| (of.f_bfree, of.f_ffree)).unwrap();
    let before = free();
    for _ in 0..5 {
        let files: Vec<_> = (0..200).map(|number| fixture.at(&format!("file {number}"))).collect();
        files.iter().for_each(|file| fs::write(file, bytes(1, 20_000)).unwrap());
        assert!(files.iter().all(|file| fs::read(file).unwrap() == bytes(1, 20_000)));
        assert!(free().0 < before.0 - 800);
        files.iter().for_each(|file| fs::remove_file(file).unwrap());
        assert_eq!(free().1, before.1);
    }
}
