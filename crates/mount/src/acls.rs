//! Access control lists. The kernel enforces the lists; the file system applies their effects on new files and on the
//! set-group-id bit.

use super::convert;
use wearwell_nvmfs::api::{ACCESS_ACL, Caller, Change, DEFAULT_ACL, FileSystem, Ino, Result};

const SET_GROUP_ID: u32 = 0o2000;
/// Permission bits that a umask can clear.
const UMASK_BITS: u32 = 0o777;

/// True if an extended attribute is an access control list.
pub fn is_acl(name: &[u8]) -> bool {
    name == ACCESS_ACL || name == DEFAULT_ACL
}

/// Returns the permissions of a new file. If the parent directory has a default ACL, it replaces the umask.
pub fn new_file_permissions<F: FileSystem>(fs: &mut F, parent: Ino, mode: u32, umask: u32) -> u32 {
    let has_list = fs.xattr(parent, DEFAULT_ACL).is_ok();
    convert::permissions(mode) & if has_list { !0 } else { !(umask & UMASK_BITS) }
}

/// Clears the set-group-id bit when a caller outside the file's group sets the access ACL of the file, as `chmod`
/// does. The kernel passes this information in a field of the request that fuser 0.18 does not read.
pub fn drop_set_group_id<F: FileSystem>(
    fs: &mut F,
    ino: Ino,
    name: &[u8],
    (caller, pid): (&Caller, u32),
) -> Result<()> {
    if name != ACCESS_ACL || caller.uid == 0 {
        return Ok(());
    }
    let attributes = fs.attributes(ino)?;
    if attributes.permissions & SET_GROUP_ID == 0
        || caller.gid == attributes.gid
        || is_in_group(pid, attributes.gid)
    {
        return Ok(());
    }
    let change = Change { permissions: Some(attributes.permissions & !SET_GROUP_ID), ..Change::default() };
    fs.set_attributes(ino, &change, caller).map(drop)
}

/// True if a process has `gid` as a supplementary group. False if the groups cannot be read.
fn is_in_group(pid: u32, gid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    groups.split_whitespace().any(|group| group.parse() == Ok(gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_in_group_reads_groups_of_process() {
        let own_groups = rustix::process::getgroups().expect("this process has them");
        assert!(
            own_groups.iter().all(|group| is_in_group(std::process::id(), group.as_raw())),
            "{own_groups:?}"
        );
        assert!(!is_in_group(std::process::id(), 123_456_789));
        assert!(!is_in_group(u32::MAX, 0), "there is no such process");
    }
}
