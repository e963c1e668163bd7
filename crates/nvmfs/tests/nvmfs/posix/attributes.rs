//! Tests of chmod, chown, utimes, mknod, times and extended attributes.

use crate::posix::{at, bytes, directory, expect_error, file, resize, times};
use wearwell_nvmfs::api::{
    Allocate, Change, FileSystem, Kind, MAX_XATTRS_BYTES, RELATIME_NS, ROOT, SetXattr, XATTR_HEAD_BYTES,
};

crate::posix::cases![
    chmod_keeps_twelve_bits,
    chown_changes_one_and_not_the_other,
    utimes_sets_requested_times,
    empty_change_sets_no_time,
    mknod_keeps_the_device,
    creation_sets_times,
    writing_sets_times,
    truncation_sets_times_even_to_the_same_size,
    allocation_sets_times,
    links_set_times,
    renames_set_times,
    removal_sets_times,
    reading_updates_access_time_if_due,
    set_group_id_is_inherited,
    any_file_type_has_xattrs,
    xattrs_are_created_or_replaced_on_request,
    xattrs_have_a_limit,
    xattr_names_have_limits,
    missing_inodes_are_not_found,
];

fn chmod_keeps_twelve_bits(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let change = Change { permissions: Some(0o107_751), ..Change::default() };
    assert_eq!(fs.set_attributes(ino, &change, &at(2)).unwrap().permissions, 0o7751);
    assert_eq!(fs.lookup(ROOT, b"a").unwrap().permissions, 0o7751);
    assert_eq!(times(fs, ino), [1, 1, 2]);
}

fn chown_changes_one_and_not_the_other(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let owner = Change { uid: Some(7), ..Change::default() };
    let new = fs.set_attributes(ino, &owner, &at(2)).unwrap();
    assert_eq!((new.uid, new.gid), (7, 100));
    let group = Change { gid: Some(8), ..Change::default() };
    let new = fs.set_attributes(ino, &group, &at(3)).unwrap();
    assert_eq!((new.uid, new.gid), (7, 8));
    assert_eq!(times(fs, ino), [1, 1, 3]);
}

fn utimes_sets_requested_times(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let change = Change { accessed_ns: Some(-5_000_000_001), ..Change::default() };
    assert_eq!(fs.set_attributes(ino, &change, &at(2)).unwrap().accessed_ns, -5_000_000_001);
    let change = Change { modified_ns: Some(1 << 62), size_bytes: Some(9), ..Change::default() };
    let new = fs.set_attributes(ino, &change, &at(3)).unwrap();
    assert_eq!((new.modified_ns, new.changed_ns, new.size_bytes), (1 << 62, 3_000_000_000, 9));
}

fn empty_change_sets_no_time(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.set_attributes(ino, &Change::default(), &at(2)).unwrap();
    assert_eq!(times(fs, ino), [1, 1, 1]);
}

fn mknod_keeps_the_device(fs: &mut dyn FileSystem) {
    for (kind, device) in [
        (Kind::CharacterDevice, 0x0801_0203),
        (Kind::BlockDevice, u32::MAX),
        (Kind::Fifo, 0),
        (Kind::Socket, 0),
        (Kind::File, 0),
    ] {
        let created =
            fs.create(ROOT, b"a", kind, 0o600, if device == 0 { 5 } else { device }, &at(2)).unwrap();
        assert_eq!((created.kind, created.device, created.links, created.size_bytes), (kind, device, 1, 0));
        assert_eq!(fs.lookup(ROOT, b"a").unwrap(), created);
        if kind != Kind::File {
            expect_error("Invalid", fs.write(created.ino, 0, b"x", &at(2)));
            expect_error("Invalid", fs.read(created.ino, 0, &mut [0], &at(2)));
            expect_error("Invalid", resize(fs, created.ino, 0, 2));
        }
        fs.unlink(ROOT, b"a", &at(3)).unwrap();
    }
    expect_error("Invalid", fs.create(ROOT, b"a", Kind::Directory, 0o600, 0, &at(2)));
    expect_error("Invalid", fs.create(ROOT, b"a", Kind::Symlink, 0o600, 0, &at(2)));
}

fn creation_sets_times(fs: &mut dyn FileSystem) {
    let parent = directory(fs, ROOT, "d");
    let created = fs.create(parent, b"a", Kind::File, 0o644, 0, &at(2)).unwrap();
    assert_eq!(times(fs, created.ino), [2, 2, 2]);
    assert_eq!((created.uid, created.gid, created.permissions), (1000, 100, 0o644));
    assert_eq!(times(fs, parent), [1, 2, 2]);
    fs.make_directory(parent, b"b", 0o755, &at(3)).unwrap();
    assert_eq!(times(fs, parent), [1, 3, 3]);
    fs.symlink(parent, b"c", b"a", &at(4)).unwrap();
    assert_eq!(times(fs, parent), [1, 4, 4]);
}

fn writing_sets_times(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.write(ino, 0, b"", &at(2)).unwrap();
    assert_eq!(times(fs, ino), [1, 1, 1]);
    fs.write(ino, 0, b"x", &at(3)).unwrap();
    assert_eq!(times(fs, ino), [1, 3, 3]);
}

fn truncation_sets_times_even_to_the_same_size(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    resize(fs, ino, 100, 2).unwrap();
    assert_eq!(times(fs, ino), [1, 2, 2]);
    resize(fs, ino, 100, 3).unwrap();
    assert_eq!(times(fs, ino), [1, 3, 3]);
    expect_error("TooLarge", resize(fs, ino, u64::MAX, 4));
    assert_eq!(times(fs, ino), [1, 3, 3]);
}

fn allocation_sets_times(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.allocate(ino, Allocate::Reserve { keep_size: false }, 0, 10, &at(2)).unwrap();
    assert_eq!(times(fs, ino), [1, 2, 2]);
    fs.allocate(ino, Allocate::Punch, 0, 10, &at(3)).unwrap();
    assert_eq!(times(fs, ino), [1, 3, 3]);
}

fn links_set_times(fs: &mut dyn FileSystem) {
    let parent = directory(fs, ROOT, "d");
    let ino = file(fs, ROOT, "a");
    fs.link(ino, parent, b"b", &at(2)).unwrap();
    assert_eq!((times(fs, ino), times(fs, parent)), ([1, 1, 2], [1, 2, 2]));
    fs.unlink(parent, b"b", &at(3)).unwrap();
    assert_eq!((times(fs, ino), times(fs, parent)), ([1, 1, 3], [1, 3, 3]));
}

fn renames_set_times(fs: &mut dyn FileSystem) {
    let (from, to) = (directory(fs, ROOT, "d"), directory(fs, ROOT, "e"));
    let (moved, replaced) = (file(fs, from, "a"), file(fs, to, "b"));
    fs.link(replaced, ROOT, b"c", &at(1)).unwrap();
    fs.rename((from, b"a"), (to, b"b"), wearwell_nvmfs::api::Rename::Replace, &at(2)).unwrap();
    assert_eq!((times(fs, from), times(fs, to)), ([1, 2, 2], [1, 2, 2]));
    assert_eq!((times(fs, moved), times(fs, replaced)), ([1, 1, 2], [1, 1, 2]));
}

fn removal_sets_times(fs: &mut dyn FileSystem) {
    let parent = directory(fs, ROOT, "d");
    let ino = directory(fs, parent, "e");
    fs.open(ino).unwrap();
    fs.remove_directory(parent, b"e", &at(2)).unwrap();
    assert_eq!((times(fs, parent), times(fs, ino)), ([1, 2, 2], [1, 1, 2]));
    fs.release(ino).unwrap();
}

fn reading_updates_access_time_if_due(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let read = |fs: &mut dyn FileSystem, seconds| fs.read(ino, 0, &mut [0], &at(seconds)).map(drop).unwrap();
    read(fs, 2);
    assert_eq!(times(fs, ino), [2, 1, 1]);
    read(fs, 3);
    assert_eq!(times(fs, ino), [2, 1, 1], "it was later than both");
    let day = RELATIME_NS / 1_000_000_000;
    read(fs, 1 + day);
    assert_eq!(times(fs, ino), [2, 1, 1], "not a day yet");
    read(fs, 2 + day);
    assert_eq!(times(fs, ino), [2 + day, 1, 1]);
    let permissions = Some(0o600);
    fs.set_attributes(ino, &Change { permissions, ..Change::default() }, &at(4 + day)).unwrap();
    fs.read(ino, 0, &mut [], &at(5 + day)).unwrap();
    assert_eq!(times(fs, ino), [2 + day, 1, 4 + day], "nothing was read");
    read(fs, 5 + day);
    assert_eq!(times(fs, ino), [5 + day, 1, 4 + day]);
}

fn set_group_id_is_inherited(fs: &mut dyn FileSystem) {
    let parent = fs.make_directory(ROOT, b"d", 0o2755, &at(1)).unwrap().ino;
    fs.set_attributes(parent, &Change { gid: Some(55), ..Change::default() }, &at(1)).unwrap();
    let ino = file(fs, parent, "a");
    assert_eq!(fs.attributes(ino).unwrap().gid, 55);
    let below = fs.make_directory(parent, b"e", 0o700, &at(1)).unwrap();
    assert_eq!((below.gid, below.permissions), (55, 0o2700));
    let link = fs.symlink(parent, b"l", b"a", &at(1)).unwrap();
    assert_eq!((link.gid, link.permissions), (55, 0o777));
}

fn any_file_type_has_xattrs(fs: &mut dyn FileSystem) {
    let fifo = fs.create(ROOT, b"f", Kind::Fifo, 0o600, 0, &at(1)).unwrap().ino;
    let link = fs.symlink(ROOT, b"l", b"target", &at(1)).unwrap().ino;
    for ino in [file(fs, ROOT, "a"), directory(fs, ROOT, "d"), fifo, link] {
        fs.set_xattr(ino, b"user.x", b"", SetXattr::Either, &at(2)).unwrap();
        fs.set_xattr(ino, b"security.y", &[0, 255], SetXattr::Either, &at(3)).unwrap();
        assert_eq!(times(fs, ino), [1, 1, 3]);
        assert_eq!(fs.xattr(ino, b"user.x").unwrap(), b"");
        assert_eq!(fs.xattr(ino, b"security.y").unwrap(), [0, 255]);
        let mut names = fs.xattrs(ino).unwrap();
        names.sort();
        assert_eq!(names, [b"security.y".to_vec(), b"user.x".to_vec()]);
        fs.remove_xattr(ino, b"user.x", &at(4)).unwrap();
        assert_eq!(times(fs, ino), [1, 1, 4]);
        expect_error("NoAttribute", fs.xattr(ino, b"user.x"));
        expect_error("NoAttribute", fs.remove_xattr(ino, b"user.x", &at(5)));
        assert_eq!(fs.xattrs(ino).unwrap(), [b"security.y".to_vec()]);
    }
    assert_eq!(fs.read_link(link).unwrap(), b"target");
}

fn xattrs_are_created_or_replaced_on_request(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    expect_error("NoAttribute", fs.set_xattr(ino, b"n", b"1", SetXattr::Replace, &at(2)));
    fs.set_xattr(ino, b"n", b"1", SetXattr::Create, &at(2)).unwrap();
    expect_error("Exists", fs.set_xattr(ino, b"n", b"2", SetXattr::Create, &at(2)));
    assert_eq!(fs.xattr(ino, b"n").unwrap(), b"1");
    fs.set_xattr(ino, b"n", b"longer", SetXattr::Replace, &at(2)).unwrap();
    assert_eq!(fs.xattr(ino, b"n").unwrap(), b"longer");
}

fn xattrs_have_a_limit(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    let most = MAX_XATTRS_BYTES - 2 * (XATTR_HEAD_BYTES + 1) - 100;
    fs.set_xattr(ino, b"n", &[1; 100], SetXattr::Either, &at(2)).unwrap();
    expect_error("NoSpace", fs.set_xattr(ino, b"m", &vec![2; most + 1], SetXattr::Either, &at(2)));
    expect_error("NoAttribute", fs.xattr(ino, b"m"));
    fs.set_xattr(ino, b"m", &vec![2; most], SetXattr::Either, &at(2)).unwrap();
    fs.set_xattr(ino, b"m", &vec![3; most], SetXattr::Either, &at(2)).unwrap();
    expect_error("NoSpace", fs.set_xattr(ino, b"n", &[1; 101], SetXattr::Either, &at(2)));
    assert_eq!(fs.xattr(ino, b"n").unwrap(), [1; 100]);
    assert_eq!(fs.xattr(ino, b"m").unwrap(), vec![3; most]);
    fs.write(ino, 0, b"content", &at(2)).unwrap();
    assert_eq!(bytes(fs, ino), b"content");
}

fn xattr_names_have_limits(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    expect_error("Invalid", fs.set_xattr(ino, b"", b"1", SetXattr::Either, &at(2)));
    expect_error("NameTooLong", fs.set_xattr(ino, &[b'n'; 256], b"1", SetXattr::Either, &at(2)));
    fs.set_xattr(ino, &[b'n'; 255], b"1", SetXattr::Either, &at(2)).unwrap();
    assert_eq!(fs.xattr(ino, &[b'n'; 255]).unwrap(), b"1");
}

fn missing_inodes_are_not_found(fs: &mut dyn FileSystem) {
    let ino = file(fs, ROOT, "a");
    fs.unlink(ROOT, b"a", &at(2)).unwrap();
    expect_error("NotFound", fs.attributes(ino));
    expect_error("NotFound", fs.open(ino));
    expect_error("NotFound", fs.release(ino));
    expect_error("NotFound", fs.read(ino, 0, &mut [0], &at(2)));
    expect_error("NotFound", fs.xattrs(ino));
    expect_error("NotFound", fs.link(ino, ROOT, b"b", &at(2)));
}
