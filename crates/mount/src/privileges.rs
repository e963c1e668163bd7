//! Removal of set-user-id, set-group-id and file capabilities when the owner or the content of a file changes.
//!
//! The kernel leaves this removal to the file system (FUSE_HANDLE_KILLPRIV_V2), so that it need not query
//! `security.capability` before every write.

use wearwell_nvmfs::api::{Attributes, Caller, Change, Error, FileSystem, Ino, Kind, Result};

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTE: u32 = 0o010;
/// Extended attribute with the capabilities of a program file.
const CAPABILITY: &[u8] = b"security.capability";

/// Returns the permissions without privileges. A set-group-id bit without group execute permission has another
/// meaning and is kept.
fn unprivileged_permissions(attributes: &Attributes) -> u32 {
    let with_group = attributes.permissions & GROUP_EXECUTE != 0;
    attributes.permissions & !SET_USER_ID & if with_group { !SET_GROUP_ID } else { !0 }
}

/// Removes the privileges of a file. Directories are not changed, because the bits have another meaning there.
pub fn drop_privileges<F: FileSystem>(fs: &mut F, ino: Ino, caller: &Caller) -> Result<()> {
    let attributes = fs.attributes(ino)?;
    if attributes.kind == Kind::Directory {
        return Ok(());
    }
    let permissions = unprivileged_permissions(&attributes);
    if permissions != attributes.permissions {
        let change = Change { permissions: Some(permissions), ..Change::default() };
        fs.set_attributes(ino, &change, caller)?;
    }
    if attributes.kind != Kind::File {
        return Ok(());
    }
    match fs.remove_xattr(ino, CAPABILITY, caller) {
        Ok(()) | Err(Error::NoAttribute | Error::Unsupported(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
