//! Extended attributes as the kernel asks for them, those among them that no file has.

use super::Mountable;
use super::acls::is_list;
use super::convert::Answer;
use super::trees::{look, now};
use fuser::{Errno, INodeNo, ReplyXattr};
use wearwell_nvmfs::api::{Error, ROOT, Result};
use wearwell_nvmfs::stats::{ORDER_XATTR, REPORT_XATTR};

/// Extended attributes that no file has.
enum Otherwise {
    Report,
    /// The kernel would not honour it, so it must not seem to be kept: access control lists are refused by old ones.
    Nowhere,
}

fn served_otherwise(of: INodeNo, name: &[u8], has_lists: bool) -> Option<Otherwise> {
    if is_root(of) && name == REPORT_XATTR.as_bytes() {
        Some(Otherwise::Report)
    } else if name.starts_with(b"system.") && !(has_lists && is_list(name)) {
        Some(Otherwise::Nowhere)
    } else {
        None
    }
}

/// Whether it is the root as it is now.
fn is_root(of: INodeNo) -> bool {
    now(of).is_ok_and(|ino| ino == ROOT)
}

/// Whether setting an attribute is an order to the file system. Who served it may give one, and root.
///
/// # Errors
/// [`Error::NotPermitted`] to others.
pub fn is_order(of: INodeNo, name: &[u8], uid: u32) -> Result<bool> {
    let is_order = is_root(of) && name == ORDER_XATTR.as_bytes();
    if is_order && uid != 0 && uid != rustix::process::geteuid().as_raw() {
        return Err(Error::NotPermitted("snapshots are made by root and by who mounted the file system"));
    }
    Ok(is_order)
}

/// Refuses to change attributes that no file has.
pub fn changeable(of: INodeNo, name: &[u8], has_lists: bool) -> Result<()> {
    match served_otherwise(of, name, has_lists) {
        Some(Otherwise::Report) => Err(Error::NotPermitted("it is a report")),
        Some(Otherwise::Nowhere) => Err(Error::Unsupported("access control lists")),
        None => Ok(()),
    }
}

/// An extended attribute, or the report that looks like one.
pub fn get<F: Mountable>(fs: &mut F, of: INodeNo, name: &[u8], has_lists: bool) -> Result<Vec<u8>> {
    match served_otherwise(of, name, has_lists) {
        Some(Otherwise::Report) => fs.report().map(String::into_bytes).ok_or(Error::NoAttribute),
        Some(Otherwise::Nowhere) => Err(Error::Unsupported("access control lists")),
        None => look(fs, of, |fs, ino| fs.xattr(ino, name)),
    }
}

/// The names of those of a file, each with a 0 behind it.
///
/// # Errors
/// As [`look`].
pub fn list<F: Mountable>(fs: &mut F, of: INodeNo) -> Result<Vec<u8>> {
    let names = match look(fs, of, |fs, ino| fs.xattrs(ino)) {
        // The directory of snapshots has none.
        Err(Error::NoAttribute) => Vec::new(),
        names => names?,
    };
    Ok(names.iter().flat_map(|name| [name, &b"\0"[..]].concat()).collect())
}

/// Sends `value` if there is room, or how much it takes if that was the question.
pub fn sized(reply: ReplyXattr, room: u32, answer: Answer<Vec<u8>>) {
    match answer {
        Ok(value) if room == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > room as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(error),
    }
}
