//! Extended attributes for the kernel, including virtual ones.

use super::Mountable;
use super::acls::is_acl;
use super::convert::RequestResult;
use super::trees::{live_ino, with_file};
use wearwell_fuse::fuser::{Errno, INodeNo, ReplyXattr};
use wearwell_nvmfs::api::{Error, ROOT, Result};
use wearwell_nvmfs::stats::{SNAPSHOT_XATTR, STATS_XATTR};

/// Extended attributes that are not stored with a file.
enum VirtualXattr {
    Report,
    /// Unsupported attribute. Storing it would suggest that the kernel honours it: old kernels do not enforce access control
    /// lists.
    Unsupported,
}

fn virtual_xattr(node_id: INodeNo, name: &[u8], enforces_acls: bool) -> Option<VirtualXattr> {
    if is_root(node_id) && name == STATS_XATTR.as_bytes() {
        Some(VirtualXattr::Report)
    } else if name.starts_with(b"system.") && !(enforces_acls && is_acl(name)) {
        Some(VirtualXattr::Unsupported)
    } else {
        None
    }
}

/// True if the file is the root of the live file system.
fn is_root(node_id: INodeNo) -> bool {
    live_ino(node_id).is_ok_and(|ino| ino == ROOT)
}

/// True if setting this attribute is a command for the file system. Only root and the user that mounted the file
/// system may give commands.
///
/// # Errors
/// [`Error::NotPermitted`] for other users.
pub fn is_snapshot_order(node_id: INodeNo, name: &[u8], uid: u32) -> Result<bool> {
    let is_order = is_root(node_id) && name == SNAPSHOT_XATTR.as_bytes();
    if is_order && uid != 0 && uid != rustix::process::geteuid().as_raw() {
        return Err(Error::NotPermitted("snapshots are made by root and by who mounted the file system"));
    }
    Ok(is_order)
}

/// Refuses changes of attributes that are not stored with files.
pub fn check_changeable(node_id: INodeNo, name: &[u8], enforces_acls: bool) -> Result<()> {
    match virtual_xattr(node_id, name, enforces_acls) {
        Some(VirtualXattr::Report) => Err(Error::NotPermitted("it is a report")),
        Some(VirtualXattr::Unsupported) => Err(Error::Unsupported("access control lists")),
        None => Ok(()),
    }
}

/// Returns the value of an extended attribute. For the virtual attribute of the report, the value is the report.
pub fn get<F: Mountable>(fs: &mut F, node_id: INodeNo, name: &[u8], enforces_acls: bool) -> Result<Vec<u8>> {
    match virtual_xattr(node_id, name, enforces_acls) {
        Some(VirtualXattr::Report) => fs.report().map(String::into_bytes).ok_or(Error::NoAttribute),
        Some(VirtualXattr::Unsupported) => Err(Error::Unsupported("access control lists")),
        None => with_file(fs, node_id, |fs, ino| fs.xattr(ino, name)),
    }
}

/// Returns the names of a file's extended attributes, each followed by a zero byte.
///
/// # Errors
/// The errors of [`with_file`].
pub fn list<F: Mountable>(fs: &mut F, node_id: INodeNo) -> Result<Vec<u8>> {
    let names = match with_file(fs, node_id, |fs, ino| fs.xattrs(ino)) {
        // The snapshot directory has no attributes.
        Err(Error::NoAttribute) => Vec::new(),
        names => names?,
    };
    Ok(names.iter().flat_map(|name| [name, &b"\0"[..]].concat()).collect())
}

/// Sends `value` if it fits into `buffer_bytes`; if `buffer_bytes` is 0, sends the length of the value.
pub fn reply_sized(reply: ReplyXattr, buffer_bytes: u32, answer: RequestResult<Vec<u8>>) {
    match answer {
        Ok(value) if buffer_bytes == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > buffer_bytes as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(error),
    }
}
