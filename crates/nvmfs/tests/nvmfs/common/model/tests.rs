//! Tests beyond the comparisons: the capacity limit, and open files after a mount.

use super::ModelFs;
use wearwell_nvmfs::api::{Allocate, Caller, Error, FileSystem, Kind, ROOT};

#[test]
fn capacity_limits_blocks_and_inodes() {
    let mut fs = ModelFs::with_capacity(3, 2);
    let caller = Caller::default();
    let file = fs.create(ROOT, b"a", Kind::File, 0o644, 0, &caller).unwrap().ino;
    let refused = fs.create(ROOT, b"b", Kind::File, 0o644, 0, &caller);
    assert!(matches!(refused, Err(Error::NoSpace(_))));
    assert_eq!(fs.write(file, 4000, &[1; 16384], &caller).unwrap(), 96 + 2 * 4096);
    assert_eq!(fs.statistics().unwrap().free_blocks, 0);
    assert!(matches!(fs.write(file, 3 * 4096, &[1], &caller), Err(Error::NoSpace(_))));
    assert_eq!(fs.write(file, 0, &[1; 100], &caller).unwrap(), 100);
    fs.allocate(file, Allocate::Punch, 4096, 4096, &caller).unwrap();
    assert_eq!(fs.statistics().unwrap().free_blocks, 1);
    let refused = fs.allocate(file, Allocate::Reserve { keep_size: false }, 3 * 4096, 8192, &caller);
    assert!(matches!(refused, Err(Error::NoSpace(_))));
    fs.allocate(file, Allocate::Reserve { keep_size: false }, 4096, 1, &caller).unwrap();
    assert_eq!(fs.statistics().unwrap().free_blocks, 0);
}

#[test]
fn remount_closes_files_and_removes_unnamed_files() {
    let mut fs = ModelFs::new();
    let caller = Caller::default();
    let removed = fs.create(ROOT, b"a", Kind::File, 0o644, 0, &caller).unwrap().ino;
    let kept = fs.create(ROOT, b"b", Kind::File, 0o644, 0, &caller).unwrap().ino;
    fs.open(removed).unwrap();
    fs.open(kept).unwrap();
    fs.unlink(ROOT, b"a", &caller).unwrap();
    assert_eq!(fs.attributes(removed).unwrap().links, 0);
    fs.remount();
    assert!(matches!(fs.attributes(removed), Err(Error::NotFound)));
    assert!(matches!(fs.release(kept), Err(Error::Invalid(_))));
}
