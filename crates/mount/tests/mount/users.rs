//! Owners, permissions and privileges. Needs root, to run commands as another user.

use crate::stand::{Stand, shell};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use wearwell_mount::Options;

pub const NOBODY: u32 = 65_534;

/// Creates a mount that other users may access.
pub fn shared_stand() -> Option<Stand> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
        return None;
    }
    let stand = Stand::with(Options { allow_other: true, ..Options::default() })?;
    fs::set_permissions(stand.directory(), fs::Permissions::from_mode(0o755)).unwrap();
    Some(stand)
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
    let Some(stand) = shared_stand() else { return };
    shell(
        &stand.root(),
        "umask 022; echo secret > mine; chmod 600 mine; mkdir open; chmod 1777 open; mkdir shut",
    );
    assert!(!nobody(&stand.root(), "cat mine"));
    assert!(!nobody(&stand.root(), ": > shut/file"));
    assert!(nobody(
        &stand.root(),
        "umask 027; echo theirs > open/file; mkdir open/directory; ln -s x open/link"
    ));
    for name in ["open/file", "open/directory", "open/link"] {
        let of = stand.at(name).symlink_metadata().unwrap();
        assert_eq!((of.uid(), of.gid()), (NOBODY, NOBODY), "{name}");
    }
    assert_eq!((mode(&stand.at("open/file")), mode(&stand.at("open/directory"))), (0o640, 0o750));
    shell(&stand.root(), "echo mine > open/mine");
    assert!(!nobody(&stand.root(), "rm -f open/mine"), "the sticky bit protects files of others");
    assert!(!nobody(&stand.root(), "chown 0 open/file"));
}

#[test]
fn write_or_new_owner_clears_privileges() {
    let Some(stand) = shared_stand() else { return };
    let path = stand.at("program");
    let privileged = || shell(&stand.root(), "echo x > program; chown 0:0 program; chmod 6777 program");
    privileged();
    assert!(nobody(&stand.root(), "echo y >> program"));
    assert_eq!(mode(&path), 0o777, "another user's write");
    privileged();
    assert!(nobody(&stand.root(), ": > program"));
    assert_eq!(mode(&path), 0o777, "another user's truncation");
    privileged();
    shell(&stand.root(), "chown 1 program");
    assert_eq!(mode(&path), 0o777, "a new owner");
    shell(&stand.root(), "chmod 2767 program; chown 2 program");
    assert_eq!(mode(&path), 0o2767, "no privilege without the right to execute");
    privileged();
    shell(&stand.root(), "echo z >> program");
    assert_eq!(mode(&path), 0o6777, "root's own write");
}

#[test]
fn new_owner_clears_privileges_of_pipes_and_devices() {
    let Some(stand) = shared_stand() else { return };
    shell(
        &stand.root(),
        "mkfifo pipe; mknod device c 1 3; python3 -c 'import socket as s; s.socket(s.AF_UNIX).bind(\"socket\")' || mkfifo socket",
    );
    for name in ["pipe", "device", "socket"] {
        shell(&stand.root(), &format!("chown {NOBODY}:{NOBODY} {name}; chmod 6555 {name}"));
        assert!(nobody(&stand.root(), &format!("chown :{NOBODY} {name}")));
        assert_eq!(mode(&stand.at(name)), 0o555, "{name}");
    }
    shell(&stand.root(), "mkdir directory; chmod 6755 directory; chown 5:6 directory");
    assert_eq!(mode(&stand.at("directory")), 0o6755, "on a directory they are no privileges");
}

#[test]
fn set_group_id_directory_passes_on_its_group() {
    let Some(stand) = shared_stand() else { return };
    shell(&stand.root(), "mkdir shared; chgrp 77 shared; chmod 2777 shared; : > shared/a; mkdir shared/b");
    assert_eq!(stand.at("shared/a").metadata().unwrap().gid(), 77);
    let below = stand.at("shared/b").metadata().unwrap();
    assert_eq!((below.gid(), below.mode() & 0o2000), (77, 0o2000));
}

#[test]
fn mount_without_allow_other_is_closed_to_other_users() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: not root");
    }
    let Some(stand) = Stand::new() else { return };
    fs::set_permissions(stand.directory(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!nobody(stand.directory(), "ls mounted"));
}
