//! ACLs and permission bits.

use crate::posix::{at, directory, expect_error, file};
use wearwell_nvmfs::api::{ACCESS_ACL, Change, DEFAULT_ACL, FileSystem, Ino, Kind, ROOT, Result, SetXattr};

crate::posix::cases![
    access_acl_sets_permissions,
    permissions_update_acl,
    acl_equivalent_to_permissions_is_not_stored,
    invalid_acl_is_rejected,
    new_files_inherit_default_acl,
    new_files_are_limited_to_requested_permissions,
    default_acl_too_long_to_store_twice_prevents_mkdir,
];

const NOBODY: u32 = u32::MAX;

/// Encodes an ACL with entries of tag, permissions and number.
fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let bytes = |(tag, rights, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2, 0, 0, 0].into_iter().chain(entries.iter().flat_map(bytes)).collect()
}

/// Returns an ACL with entries for the owner, a user, the owning group, a group, the mask and other users.
fn full([owner, user, owning_group, group, mask, other]: [u16; 6]) -> Vec<u8> {
    acl(&[
        (1, owner, NOBODY),
        (2, user, 1000),
        (4, owning_group, NOBODY),
        (8, group, 77),
        (16, mask, NOBODY),
        (32, other, NOBODY),
    ])
}

/// Returns an ACL with entries for the owner, the owning group and other users.
fn plain([owner, group, other]: [u16; 3]) -> Vec<u8> {
    acl(&[(1, owner, NOBODY), (4, group, NOBODY), (32, other, NOBODY)])
}

fn set(fs: &mut dyn FileSystem, ino: Ino, name: &[u8], value: &[u8]) -> Result<()> {
    fs.set_xattr(ino, name, value, SetXattr::Either, &at(5))
}

fn permissions(fs: &mut dyn FileSystem, ino: Ino) -> u32 {
    fs.attributes(ino).unwrap().permissions
}

fn chmod(fs: &mut dyn FileSystem, ino: Ino, permissions: u32) {
    let change = Change { permissions: Some(permissions), ..Change::default() };
    assert_eq!(fs.set_attributes(ino, &change, &at(6)).unwrap().permissions, permissions);
}

fn access_acl_sets_permissions(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    chmod(fs, ino, 0o4600);
    set(fs, ino, b"user.other", b"stays").unwrap();
    set(fs, ino, ACCESS_ACL, &full([7, 6, 5, 1, 6, 4])).unwrap();
    assert_eq!(permissions(fs, ino), 0o4764);
    assert_eq!(fs.xattr(ino, ACCESS_ACL).unwrap(), full([7, 6, 5, 1, 6, 4]));
    assert_eq!(fs.attributes(ino).unwrap().changed_ns, at(5).now_ns);
    expect_error("Exists", fs.set_xattr(ino, ACCESS_ACL, &plain([7, 7, 7]), SetXattr::Create, &at(7)));
    assert_eq!(permissions(fs, ino), 0o4764);
    // Removing the ACL does not change the permission bits.
    fs.remove_xattr(ino, ACCESS_ACL, &at(8)).unwrap();
    assert_eq!(permissions(fs, ino), 0o4764);
    expect_error("NoAttribute", fs.xattr(ino, ACCESS_ACL));
    assert_eq!(fs.xattrs(ino).unwrap(), [b"user.other".to_vec()]);
}

fn permissions_update_acl(fs: &mut dyn FileSystem) {
    let ino = directory(fs, ROOT, "d");
    set(fs, ino, DEFAULT_ACL, &full([7, 7, 7, 7, 7, 7])).unwrap();
    set(fs, ino, ACCESS_ACL, &full([7, 6, 5, 1, 6, 4])).unwrap();
    chmod(fs, ino, 0o1531);
    assert_eq!(fs.xattr(ino, ACCESS_ACL).unwrap(), full([5, 6, 5, 1, 3, 1]));
    assert_eq!(fs.xattr(ino, DEFAULT_ACL).unwrap(), full([7, 7, 7, 7, 7, 7]));
    // A change of the owner changes no ACL.
    let change = Change { uid: Some(3), gid: Some(4), ..Change::default() };
    fs.set_attributes(ino, &change, &at(7)).unwrap();
    assert_eq!(fs.xattr(ino, ACCESS_ACL).unwrap(), full([5, 6, 5, 1, 3, 1]));
    // A mask without users or groups is valid, too.
    let masked =
        |group, mask| acl(&[(1, 7, NOBODY), (4, group, NOBODY), (16, mask, NOBODY), (32, 0, NOBODY)]);
    set(fs, ino, ACCESS_ACL, &masked(5, 4)).unwrap();
    assert_eq!(permissions(fs, ino), 0o1740);
    chmod(fs, ino, 0o720);
    assert_eq!(fs.xattr(ino, ACCESS_ACL).unwrap(), masked(5, 2));
}

fn acl_equivalent_to_permissions_is_not_stored(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    set(fs, ino, ACCESS_ACL, &plain([6, 4, 0])).unwrap();
    assert_eq!(permissions(fs, ino), 0o640);
    expect_error("NoAttribute", fs.xattr(ino, ACCESS_ACL));
    set(fs, ino, ACCESS_ACL, &full([7, 6, 5, 1, 6, 4])).unwrap();
    set(fs, ino, ACCESS_ACL, &plain([7, 5, 1])).unwrap();
    assert_eq!((permissions(fs, ino), fs.xattrs(ino).unwrap().len()), (0o751, 0));
    // A default ACL is stored even if it is equivalent to permission bits: otherwise, the directory would have no
    // default ACL.
    let dir = directory(fs, ROOT, "d");
    set(fs, dir, DEFAULT_ACL, &plain([6, 0, 0])).unwrap();
    assert_eq!(fs.xattr(dir, DEFAULT_ACL).unwrap(), plain([6, 0, 0]));
    assert_eq!(permissions(fs, dir), 0o755);
}

fn invalid_acl_is_rejected(fs: &mut dyn FileSystem) {
    let (ino, dir) = (file(fs, ROOT, "a"), directory(fs, ROOT, "d"));
    let good = full([7, 6, 5, 1, 6, 4]);
    let mut values = vec![Vec::new(), b"hello".to_vec(), acl(&[]), vec![7; 44]];
    values.extend((1..good.len()).map(|length| good[..length].to_vec()));
    values.push([&good[..], &[0]].concat());
    // Invalid ACLs: without a mask, unsorted, with an invalid permission bit, with a user entry without a number.
    values.push(acl(&[(1, 7, NOBODY), (2, 7, 5), (4, 7, NOBODY), (32, 7, NOBODY)]));
    values.push(acl(&[(4, 7, NOBODY), (1, 7, NOBODY), (32, 7, NOBODY)]));
    values.push(full([7, 6, 8, 1, 6, 4]));
    values.push(acl(&[(1, 7, NOBODY), (2, 7, NOBODY), (4, 7, NOBODY), (16, 7, NOBODY), (32, 7, NOBODY)]));
    for value in values {
        expect_error("Invalid", set(fs, ino, ACCESS_ACL, &value));
        expect_error("Invalid", set(fs, dir, DEFAULT_ACL, &value));
    }
    expect_error("NotPermitted", set(fs, ino, DEFAULT_ACL, &good));
    let link = fs.symlink(ROOT, b"l", b"a", &at(1)).unwrap().ino;
    expect_error("Unsupported", set(fs, link, ACCESS_ACL, &good));
    for ino in [ino, dir, link] {
        assert_eq!(fs.xattrs(ino).unwrap().len(), 0);
        assert_eq!(fs.attributes(ino).unwrap().changed_ns, at(1).now_ns);
    }
    assert_eq!(permissions(fs, ino), 0o644);
}

fn new_files_inherit_default_acl(fs: &mut dyn FileSystem) {
    let dir = directory(fs, ROOT, "d");
    let default = full([7, 6, 5, 1, 7, 4]);
    set(fs, dir, DEFAULT_ACL, &default).unwrap();
    for (name, kind) in [(&b"f"[..], Kind::File), (b"p", Kind::Fifo)] {
        let created = fs.create(dir, name, kind, 0o7777, 0, &at(2)).unwrap();
        assert_eq!(created.permissions, 0o7774);
        assert_eq!(fs.xattr(created.ino, ACCESS_ACL).unwrap(), full([7, 6, 5, 1, 7, 4]));
        expect_error("NoAttribute", fs.xattr(created.ino, DEFAULT_ACL));
    }
    let below = fs.make_directory(dir, b"below", 0o1750, &at(2)).unwrap();
    assert_eq!(below.permissions, 0o1750);
    assert_eq!(fs.xattr(below.ino, ACCESS_ACL).unwrap(), full([7, 6, 5, 1, 5, 0]));
    assert_eq!(fs.xattr(below.ino, DEFAULT_ACL).unwrap(), default);
    let link = fs.symlink(dir, b"link", &[b'x'; 200], &at(2)).unwrap();
    assert_eq!((link.permissions, fs.xattrs(link.ino).unwrap().len()), (0o777, 0));
    // Adding a link to a file that was created in another directory does not change the ACLs of the file.
    let ino = file(fs, ROOT, "a");
    fs.link(ino, dir, b"a", &at(3)).unwrap();
    assert_eq!(fs.xattrs(ino).unwrap().len(), 0);
    // Removing files with ACLs frees all their space.
    fs.unlink(dir, b"f", &at(4)).unwrap();
    fs.remove_directory(dir, b"below", &at(4)).unwrap();
}

fn new_files_are_limited_to_requested_permissions(fs: &mut dyn FileSystem) {
    let dir = directory(fs, ROOT, "d");
    for (default, asked, given, kept) in [
        (full([7, 7, 7, 7, 7, 7]), 0o640, 0o640, Some(full([6, 7, 7, 7, 4, 0]))),
        (full([4, 6, 0, 5, 1, 2]), 0o777, 0o412, Some(full([4, 6, 0, 5, 1, 2]))),
        (full([7, 7, 7, 7, 7, 7]), 0o4000, 0o4000, Some(full([0, 7, 7, 7, 0, 0]))),
        (plain([6, 5, 4]), 0o2753, 0o2650, None),
        (plain([7, 7, 7]), 0o600, 0o600, None),
    ] {
        set(fs, dir, DEFAULT_ACL, &default).unwrap();
        let created = fs.create(dir, b"f", Kind::File, asked, 0, &at(2)).unwrap();
        assert_eq!(created.permissions, given, "{asked:o}");
        assert_eq!(fs.xattr(created.ino, ACCESS_ACL).ok(), kept);
        fs.unlink(dir, b"f", &at(4)).unwrap();
    }
}

fn default_acl_too_long_to_store_twice_prevents_mkdir(fs: &mut dyn FileSystem) {
    let dir = directory(fs, ROOT, "d");
    let mut entries = vec![(1, 7, NOBODY)];
    entries.extend((0..300).map(|id| (2, 6, id)));
    entries.extend([(4, 7, NOBODY), (16, 7, NOBODY), (32, 7, NOBODY)]);
    set(fs, dir, DEFAULT_ACL, &acl(&entries)).unwrap();
    expect_error("NoSpace", fs.make_directory(dir, b"below", 0o777, &at(2)));
    expect_error("NotFound", fs.lookup(dir, b"below"));
    let created = fs.create(dir, b"file", Kind::File, 0o777, 0, &at(2)).unwrap();
    assert_eq!(fs.xattr(created.ino, ACCESS_ACL).unwrap(), acl(&entries));
}
