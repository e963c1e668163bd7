//! Tests of extended attributes.

use crate::fixture::{Fixture, bytes};
use rustix::fs::{XattrFlags, getxattr, getxattr_query, listxattr, removexattr, setxattr};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wearwell_nvmfs::stats::STATS_XATTR;
use wearwell_nvmfs::stats::Stats;

fn get(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; 64 << 10];
    let length = getxattr(path, name, &mut value)?;
    value.truncate(length);
    Ok(value)
}

fn list(path: &Path) -> BTreeSet<String> {
    let mut names = vec![0; 64 << 10];
    let length = listxattr(path, &mut names).unwrap();
    let names = String::from_utf8(names[..length].to_vec()).unwrap();
    names.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn attributes_survive_remount() {
    let Some(mut fixture) = Fixture::new() else { return };
    let path = fixture.at("file");
    fs::write(&path, "").unwrap();
    let either = XattrFlags::empty();
    setxattr(&path, "user.a", b"one", XattrFlags::CREATE).unwrap();
    assert_eq!(setxattr(&path, "user.a", b"two", XattrFlags::CREATE), Err(Errno::EXIST));
    assert_eq!(setxattr(&path, "user.b", b"two", XattrFlags::REPLACE), Err(Errno::NODATA));
    setxattr(&path, "user.a", b"longer than it was", XattrFlags::REPLACE).unwrap();
    setxattr(&path, "user.empty", b"", either).unwrap();
    setxattr(&path, "user.large", &bytes(1, 2000), either).unwrap();
    setxattr(fixture.root(), "user.of the root", b"x", either).unwrap();
    fixture.remount();
    assert_eq!(get(&path, "user.a").unwrap(), b"longer than it was");
    assert_eq!(get(&path, "user.empty").unwrap(), b"");
    assert_eq!(get(&path, "user.large").unwrap(), bytes(1, 2000));
    assert_eq!(get(&path, "user.none"), Err(Errno::NODATA));
    assert_eq!(list(&path), ["user.a", "user.empty", "user.large"].map(str::to_owned).into());
    assert_eq!(get(&fixture.root(), "user.of the root").unwrap(), b"x");

    assert_eq!(getxattr_query(&path, "user.a"), Ok(18));
    assert_eq!(getxattr(&path, "user.a", &mut [0_u8; 17][..]), Err(Errno::RANGE));
    assert_eq!(listxattr(&path, &mut [0_u8; 5][..]), Err(Errno::RANGE));
    removexattr(&path, "user.a").unwrap();
    assert_eq!(removexattr(&path, "user.a"), Err(Errno::NODATA));
    assert_eq!(list(&path), ["user.empty", "user.large"].map(str::to_owned).into());
}

#[test]
fn set_of_unsupported_system_attribute_fails() {
    let Some(fixture) = Fixture::new() else { return };
    let path = fixture.at("file");
    fs::write(&path, "").unwrap();
    let refused = setxattr(&path, "system.nfs4_acl", b"any", XattrFlags::empty());
    assert_eq!(refused, Err(Errno::OPNOTSUPP));
}

#[test]
fn report_attribute_is_readable_and_not_writable() {
    let Some(fixture) = Fixture::new() else { return };
    let root = fixture.root();
    fs::write(fixture.at("file"), bytes(1, 10 << 12)).unwrap();
    let report: Stats = serde_json::from_slice(&get(&root, STATS_XATTR).unwrap()).unwrap();
    assert_eq!((report.counts.written_blocks, report.inodes), (10, 2));
    assert_eq!(setxattr(&root, STATS_XATTR, b"x", XattrFlags::empty()), Err(Errno::PERM));
    assert_eq!(removexattr(&root, STATS_XATTR), Err(Errno::PERM));
    assert!(!list(&root).contains(STATS_XATTR));
}
