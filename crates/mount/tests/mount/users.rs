//! Tests of owners, permissions and privileges. They need root, to run commands as another user.

use crate::fixture::{Fixture, shell};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use wearwell_mount::Options;

pub const NOBODY: u32 = 65_534;

/// Creates a mount that other users may access.
pub fn shared_fixture() -> Option<Fixture> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
        return None;
    }
    let fixture = Fixture::with(Options { allow_other: true, ..Options::default() })?;
    fs::set_permissions(fixture.directory(), fs::Permissions::from_mode(0o755)).unwrap();
    Some(fixture)
}

/// Runs a shell command as another user. Returns true if it succeeded.
pub fn nobody(directory: &Path, line: &str) -> bool {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("sh");
    command.args(["-euc", line]).current_dir(directory).uid(NOBODY).gid(NOBODY);
    command.output().expect("a shell").status.success()
}

/// Returns the permission bits of a file.
pub fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

#[test]
fn kernel_checks_permissions() {
    let Some(fixture) = shared_fixture() else { return };
    shell(
        &fixture.root(),
        "umask 022; echo secret > mine; chmod 600 mine; mkdir open; chmod 1777 open; mkdir shut",
    );
    assert!(!nobody(&fixture.root(), "cat mine"));
    assert!(!nobody(&fixture.root(), ": > shut/file"));
    assert!(nobody(
        &fixture.root(),
        "umask 027; echo theirs > open/file; mkdir open/directory; ln -s x open/link"
    ));
    for name in ["open/file", "open/directory", "open/link"] {
        let metadata = fixture.at(name).symlink_metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (NOBODY, NOBODY), "{name}");
    }
    assert_eq!((mode(&fixture.at("open/file")), mode(&fixture.at("open/directory"))), (0o640, 0o750));
    shell(&fixture.root(), "echo mine > open/mine");
    assert!(!nobody(&fixture.root(), "rm -f open/mine"), "the sticky bit protects files of others");
    assert!(!nobody(&fixture.root(), "chown 0 open/file"));
}

#[test]
fn write_or_new_owner_clears_privileges() {
    let Some(fixture) = shared_fixture() else { return };
    let path = fixture.at("program");
    let privileged = || shell(&fixture.root(), "echo x > program; chown 0:0 program; chmod 6777 program");
    privileged();
    assert!(nobody(&fixture.root(), "echo y >> program"));
    assert_eq!(mode(&path), 0o777, "another user's write");
    privileged();
    assert!(nobody(&fixture.root(), ": > program"));
    assert_eq!(mode(&path), 0o777, "another user's truncation");
    privileged();
    shell(&fixture.root(), "chown 1 program");
    assert_eq!(mode(&path), 0o777, "a new owner");
    shell(&fixture.root(), "chmod 2767 program; chown 2 program");
    assert_eq!(mode(&path), 0o2767, "no privilege without the right to execute");
    privileged();
    shell(&fixture.root(), "echo z >> program");
    assert_eq!(mode(&path), 0o6777, "root's own write");
}

#[test]
fn new_owner_clears_privileges_of_pipes_and_devices() {
    let Some(fixture) = shared_fixture() else { return };
    shell(
        &fixture.root(),
        "mkfifo pipe; mknod device c 1 3; python3 -c 'import socket as s; s.socket(s.AF_UNIX).bind(\"socket\")' || mkfifo socket",
    );
    for name in ["pipe", "device", "socket"] {
        shell(&fixture.root(), &format!("chown {NOBODY}:{NOBODY} {name}; chmod 6555 {name}"));
        assert!(nobody(&fixture.root(), &format!("chown :{NOBODY} {name}")));
        assert_eq!(mode(&fixture.at(name)), 0o555, "{name}");
    }
    shell(&fixture.root(), "mkdir directory; chmod 6755 directory; chown 5:6 directory");
    assert_eq!(mode(&fixture.at("directory")), 0o6755, "on a directory they are no privileges");
}

#[test]
fn set_group_id_directory_passes_on_its_group() {
    let Some(fixture) = shared_fixture() else { return };
    shell(&fixture.root(), "mkdir shared; chgrp 77 shared; chmod 2777 shared; : > shared/a; mkdir shared/b");
    assert_eq!(fixture.at("shared/a").metadata().unwrap().gid(), 77);
    let below = fixture.at("shared/b").metadata().unwrap();
    assert_eq!((below.gid(), below.mode() & 0o2000), (77, 0o2000));
}

#[test]
fn mount_without_allow_other_is_closed_to_other_users() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: not root");
    }
    let Some(fixture) = Fixture::new() else { return };
    fs::set_permissions(fixture.directory(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!nobody(fixture.directory(), "ls mounted"));
}
