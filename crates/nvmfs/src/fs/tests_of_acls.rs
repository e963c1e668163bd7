//! Damaged ACLs: repair, and behaviour before repair.

use super::{Nvmfs, repair};
use crate::api::{ACCESS_ACL, Caller, Change, DEFAULT_ACL, Error, FileSystem, Ino, Kind, ROOT, SetXattr};
use crate::layout::{Field, Xattrs, encode_xattrs};
use crate::names::check::{NameProblemKind, check};
use crate::nvram::PlainNvram;
use crate::options::{Format, Options};
use crate::ssd::MemorySsd;
use std::sync::Arc;

const CALLER: Caller = Caller { uid: 1, gid: 2, now_ns: 100 };

type Fs = Nvmfs<PlainNvram, MemorySsd>;
type Xattr = (Vec<u8>, Vec<u8>);

fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut value = vec![2, 0, 0, 0];
    for (tag, rights, id) in entries {
        value.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        value.extend(id.to_le_bytes());
    }
    value
}

/// Returns the ACL of mode 0o6x4, where x is the mask.
fn masked(mask: u16) -> Vec<u8> {
    let nobody = u32::MAX;
    acl(&[(1, 6, nobody), (2, 7, 5), (4, 0, nobody), (16, mask, nobody), (32, 4, nobody)])
}

/// Creates a file system with a regular file, a directory and a symbolic link, each with an additional attribute.
fn files() -> (Fs, [Ino; 3]) {
    let ssd = Arc::new(MemorySsd::new(8192));
    let mut fs: Fs =
        Nvmfs::format(PlainNvram::new(5 << 20), ssd, &Format::default(), Options::default()).unwrap();
    let file = fs.create(ROOT, b"file", Kind::File, 0o644, 0, &CALLER).unwrap().ino;
    let dir = fs.make_directory(ROOT, b"dir", 0o755, &CALLER).unwrap().ino;
    let link = fs.symlink(ROOT, b"link", b"to", &CALLER).unwrap().ino;
    let all = [file, dir, link];
    all.into_iter().for_each(|ino| fs.set_xattr(ino, b"user.x", b"x", SetXattr::Either, &CALLER).unwrap());
    (fs, all)
}

/// Overwrites the extended attributes of a file without any check.
fn set_raw_xattrs(fs: &mut Fs, ino: Ino, xattrs: &[(&[u8], &[u8])]) {
    let all: Xattrs = xattrs.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    let at = fs.store.region.field(ino, Field::Xattrs).unwrap();
    let page = fs.store.region.pointer_page(at).unwrap().unwrap();
    fs.store.region.store_page(page, &encode_xattrs(&all));
    fs.store.region.fence();
}

/// Runs the repair; returns the number of problems found in a file, and the file's extended attributes afterwards.
fn repair_file(fs: &mut Fs, ino: Ino) -> (usize, Vec<Xattr>) {
    let problems = repair(fs, &CALLER).unwrap();
    assert!(
        problems.iter().all(|problem| problem.ino == ino && problem.kind == NameProblemKind::Acl),
        "{problems:?}"
    );
    assert_eq!(check(&fs.store.region).unwrap(), []);
    fs.store.check().unwrap();
    let names = fs.xattrs(ino).unwrap();
    let xattrs = names.into_iter().map(|name| (name.clone(), fs.xattr(ino, &name).unwrap()));
    (problems.len(), xattrs.collect())
}

#[test]
fn repair_removes_malformed_acls_and_updates_others_to_permissions() {
    let x: (&[u8], &[u8]) = (b"user.x", b"x");
    let (bad, good): (&[u8], &[u8]) = (&[7; 20], &masked(4));
    let has_x = (b"user.x".to_vec(), b"x".to_vec());
    let access = |mask| (ACCESS_ACL.to_vec(), masked(mask));
    let (mut fs, [file, dir, link]) = files();
    // The ACL is valid: the mode is 0o644.
    set_raw_xattrs(&mut fs, file, &[x, (ACCESS_ACL, good)]);
    assert_eq!(repair_file(&mut fs, file), (0, vec![access(4), has_x.clone()]));
    set_raw_xattrs(&mut fs, file, &[x, (ACCESS_ACL, &masked(7))]);
    assert_eq!(
        repair_file(&mut fs, file),
        (1, vec![access(4), has_x.clone()]),
        "another mask than the mode's"
    );
    set_raw_xattrs(&mut fs, file, &[x, (ACCESS_ACL, bad)]);
    assert_eq!(repair_file(&mut fs, file), (1, vec![has_x.clone()]), "no list");
    set_raw_xattrs(&mut fs, file, &[x, (DEFAULT_ACL, good)]);
    assert_eq!(repair_file(&mut fs, file), (1, vec![has_x.clone()]), "one for new files, of a file");
    set_raw_xattrs(&mut fs, file, &[x, (ACCESS_ACL, &acl(&[(1, 6, 0), (4, 4, 0), (32, 4, 0)]))]);
    assert_eq!(repair_file(&mut fs, file), (1, vec![has_x.clone()]), "one that the mode says");
    set_raw_xattrs(&mut fs, link, &[x, (ACCESS_ACL, good)]);
    assert_eq!(repair_file(&mut fs, link), (1, vec![has_x]), "one of a link");
    let before = fs.stats().metadata_pages;
    set_raw_xattrs(&mut fs, dir, &[(ACCESS_ACL, bad), (DEFAULT_ACL, bad)]);
    assert_eq!(repair_file(&mut fs, dir), (1, vec![]));
    assert_eq!(fs.stats().metadata_pages, before - 1, "its page is free");
}

/// An operation that depends on a malformed ACL fails without any change.
#[test]
fn damaged_acl_fails_dependent_operations() {
    let (mut fs, [file, dir, _]) = files();
    set_raw_xattrs(&mut fs, file, &[(ACCESS_ACL, b"nonsense")]);
    set_raw_xattrs(&mut fs, dir, &[(DEFAULT_ACL, b"nonsense")]);
    let change = Change { permissions: Some(0o600), size_bytes: Some(9), ..Change::default() };
    assert!(matches!(fs.set_attributes(file, &change, &CALLER), Err(Error::Damaged(_))));
    let created = fs.create(dir, b"new", Kind::File, 0o644, 0, &CALLER);
    assert!(matches!(created, Err(Error::Damaged(_))));
    assert!(matches!(fs.lookup(dir, b"new"), Err(Error::NotFound)));
    let of = fs.attributes(file).unwrap();
    assert_eq!((of.permissions, of.size_bytes), (0o644, 0));
    // A new ACL replaces the damaged one.
    fs.set_xattr(file, ACCESS_ACL, &masked(2), SetXattr::Either, &CALLER).unwrap();
    assert_eq!(fs.set_attributes(file, &change, &CALLER).unwrap().permissions, 0o600);
    fs.remove_xattr(dir, DEFAULT_ACL, &CALLER).unwrap();
    fs.create(dir, b"new", Kind::File, 0o644, 0, &CALLER).unwrap();
    fs.store.check().unwrap();
}
