//! Tests of access control lists, which the kernel enforces. They need root, to run commands as another user.

use crate::fixture::{Fixture, run, shell};
use crate::users::{self, mode, nobody, shared_fixture};
use rustix::fs::{XattrFlags, setxattr};
use rustix::io::Errno;
use std::path::Path;
use std::process::Command;

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";
const NOBODY: u32 = u32::MAX;

/// Encodes a list of tags, permissions and IDs.
fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let bytes = |(tag, rights, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2, 0, 0, 0].into_iter().chain(entries.iter().flat_map(bytes)).collect()
}

/// Returns a list with all rights for the owner, `rights` for `user` within `mask`, and none for other users.
fn for_user(user: u32, rights: u16, mask: u16) -> Vec<u8> {
    acl(&[(1, 7, NOBODY), (2, rights, user), (4, 0, NOBODY), (16, mask, NOBODY), (32, 0, NOBODY)])
}

fn set(path: &Path, name: &str, value: &[u8]) {
    setxattr(path, name, value, XattrFlags::empty()).expect("a list");
}

#[test]
fn kernel_enforces_access_lists() {
    let Some(mut fixture) = shared_fixture() else { return };
    shell(
        &fixture.root(),
        "echo secret > file; chmod 600 file; mkdir shut; echo x > shut/in; chmod 700 shut",
    );
    let (file, shut) = (fixture.at("file"), fixture.at("shut"));
    assert!(!nobody(&fixture.root(), "cat file"));
    set(&file, ACCESS, &for_user(users::NOBODY, 4, 7));
    set(&shut, ACCESS, &for_user(users::NOBODY, 5, 5));
    for is_again in [false, true] {
        assert!(nobody(&fixture.root(), "cat file; ls shut; cat shut/in"), "{is_again}");
        assert!(!nobody(&fixture.root(), "echo y > file"), "read alone");
        assert!(!nobody(&fixture.root(), "echo y > shut/new"));
        assert_eq!((mode(&file), mode(&shut)), (0o770, 0o750));
        fixture.remount();
    }
    // The mask removes a right that the list grants, and then restores it.
    shell(&fixture.root(), "chmod g-r file");
    assert!(!nobody(&fixture.root(), "cat file"));
    shell(&fixture.root(), "chmod 640 file");
    assert!(nobody(&fixture.root(), "cat file"));
    rustix::fs::removexattr(&file, ACCESS).expect("it is there");
    assert!(!nobody(&fixture.root(), "cat file"));
    let bad = setxattr(&file, ACCESS, &[2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255], XattrFlags::empty());
    assert_eq!(bad, Err(Errno::INVAL));
    assert_eq!(setxattr(&file, DEFAULT, &for_user(1, 7, 7), XattrFlags::empty()), Err(Errno::ACCESS));
}

/// In a directory with a default list, new files get that list and ignore the umask; elsewhere, the umask applies.
#[test]
fn new_files_get_default_list_or_umask() {
    let Some(mut fixture) = shared_fixture() else { return };
    let make = "umask 027; : > $at/file; mkdir $at/below; mkfifo $at/pipe; ln -s x $at/link; install -m 666 /dev/null $at/set";
    shell(&fixture.root(), &format!("mkdir plain; mkdir -m 700 with; at=plain; {make}"));
    set(&fixture.at("with"), DEFAULT, &for_user(users::NOBODY, 6, 7));
    shell(&fixture.root(), &format!("at=with; {make}"));
    for _ in 0..2 {
        let modes =
            |at: &str| ["file", "below", "pipe"].map(|name| mode(&fixture.at(&format!("{at}/{name}"))));
        assert_eq!(modes("plain"), [0o640, 0o750, 0o640]);
        assert_eq!(modes("with"), [0o660, 0o770, 0o660]);
        assert!(!nobody(&fixture.root(), "cat plain/file"));
        assert!(!nobody(&fixture.root(), "cat with/file"), "not through the directory");
        fixture.remount();
    }
    shell(&fixture.root(), "chmod 711 with; umask 0; mkdir with/below/deep; : > with/below/deep/file");
    assert!(nobody(&fixture.root(), "cat with/file; echo y >> with/file"));
    assert!(!nobody(&fixture.root(), "ls with/below/deep"), "its list lets read and write, not search");
}

/// As with `chmod`, a caller outside the file's group loses the set-group-id bit of the file.
#[test]
fn set_group_id_is_cleared_when_caller_outside_group_sets_list() {
    let Some(fixture) = shared_fixture() else { return };
    let line =
        "import os,sys; os.setxattr(sys.argv[1], 'system.posix_acl_access', bytes.fromhex(sys.argv[2]))";
    let value: String = for_user(1, 7, 7).iter().map(|byte| format!("{byte:02x}")).collect();
    for (group, left) in [(0, 0), (users::NOBODY, 0o2000)] {
        shell(&fixture.root(), &format!(": > file; chown {}:{group} file; chmod 2755 file", users::NOBODY));
        assert!(nobody(&fixture.root(), &format!("python3 -c \"{line}\" file {value}")));
        assert_eq!(mode(&fixture.at("file")), 0o770 | left, "group {group}");
    }
}

fn has_programs() -> bool {
    let is_installed = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let is_there = is_installed("setfacl") && is_installed("getfacl");
    if !is_there {
        println!("skipped: no setfacl and getfacl (package acl)");
    }
    is_there
}

/// Returns the lines of `getfacl` for a file, without effective rights.
fn getfacl(fixture: &Fixture, name: &str) -> Vec<String> {
    let text = run(Command::new("getfacl").args(["-cnpE", name]).current_dir(fixture.root()));
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn setfacl_and_getfacl_work() {
    if !has_programs() {
        return;
    }
    let Some(mut fixture) = shared_fixture() else { return };
    let root = fixture.root();
    shell(&root, "umask 022; : > file; mkdir dir; setfacl -m u:1000:rw,g:77:r file");
    shell(&root, "setfacl -m u:1000:rwx dir; setfacl -d -m u:1000:rwx,g:77:rx dir");
    fixture.remount();
    let of_file = ["user::rw-", "user:1000:rw-", "group::r--", "group:77:r--", "mask::rw-", "other::r--"];
    assert_eq!(getfacl(&fixture, "file"), of_file);
    let default = [
        "default:user::rwx",
        "default:user:1000:rwx",
        "default:group::r-x",
        "default:group:77:r-x",
        "default:mask::rwx",
        "default:other::r-x",
    ];
    let access = ["user::rwx", "user:1000:rwx", "group::r-x", "mask::rwx", "other::r-x"];
    assert_eq!(getfacl(&fixture, "dir"), [&access[..], &default[..]].concat());
    shell(&root, "umask 077; : > dir/file; chmod 640 file");
    let of_new = ["user::rw-", "user:1000:rwx", "group::r-x", "group:77:r-x", "mask::rw-", "other::r--"];
    assert_eq!(getfacl(&fixture, "dir/file"), of_new);
    assert_eq!(getfacl(&fixture, "file")[4..], ["mask::r--", "other::---"]);
    // Option -b removes the list, and copies of the file keep it.
    shell(&root, "cp -a file copy; cp -a dir copied; setfacl -b file; setfacl -k dir; setfacl -b dir");
    assert_eq!(getfacl(&fixture, "file"), ["user::rw-", "group::r--", "other::---"]);
    assert_eq!(getfacl(&fixture, "dir"), ["user::rwx", "group::r-x", "other::r-x"]);
    assert_eq!(getfacl(&fixture, "copied")[access.len()..], default);
    assert_eq!(getfacl(&fixture, "copied/file"), of_new);
    assert_eq!(getfacl(&fixture, "copy")[4..], ["mask::r--", "other::---"]);
    shell(&root, "getfacl -R . > ../lists; setfacl -R -b copied; setfacl --restore=../lists");
    assert_eq!(getfacl(&fixture, "copied/file"), of_new);
}
