//! Access control lists: the kernel decides by them, and leaves to the file system what they do to new files and to set-group-id.

use super::convert;
use wearwell_nvmfs::api::{ACCESS_ACL, Caller, Change, DEFAULT_ACL, FileSystem, Ino, Result};

const SET_GROUP_ID: u32 = 0o2000;
/// What a umask takes.
const RIGHTS: u32 = 0o777;

/// Whether an extended attribute is a list.
pub fn is_list(name: &[u8]) -> bool {
    name == ACCESS_ACL || name == DEFAULT_ACL
}

/// The permissions that a new file asks for. A directory's list for new files takes the place of the umask.
pub fn asked<F: FileSystem>(fs: &mut F, parent: Ino, mode: u32, umask: u32) -> u32 {
    let has_list = fs.xattr(parent, DEFAULT_ACL).is_ok();
    convert::permissions(mode) & if has_list { !0 } else { !(umask & RIGHTS) }
}

/// As `chmod` does, setting a list of access takes set-group-id from a file of a group in which the caller is not. The kernel says so in a
/// field of the request that fuser 0.18 does not read.
pub fn drop_set_group_id<F: FileSystem>(
    fs: &mut F,
    ino: Ino,
    name: &[u8],
    (caller, pid): (&Caller, u32),
) -> Result<()> {
    if name != ACCESS_ACL || caller.uid == 0 {
        return Ok(());
    }
    let of = fs.attributes(ino)?;
    if of.permissions & SET_GROUP_ID == 0 || caller.gid == of.gid || is_in_group(pid, of.gid) {
        return Ok(());
    }
    let change = Change { permissions: Some(of.permissions & !SET_GROUP_ID), ..Change::default() };
    fs.set_attributes(ino, &change, caller).map(drop)
}

/// Whether a process has a group besides its first; not if nobody knows.
fn is_in_group(pid: u32, gid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    groups.split_whitespace().any(|group| group.parse() == Ok(gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_process_are_read() {
        let own = rustix::process::getgroups().expect("this process has them");
        assert!(own.iter().all(|group| is_in_group(std::process::id(), group.as_raw())), "{own:?}");
        assert!(!is_in_group(std::process::id(), 123_456_789));
        assert!(!is_in_group(u32::MAX, 0), "there is no such process");
    }
}
