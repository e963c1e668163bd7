//! Set-user-id, set-group-id and file capabilities end when a file changes hands or content.
//!
//! The kernel leaves this to the file system (FUSE_HANDLE_KILLPRIV_V2), and need not ask for `security.capability` before every
//! write then.

use wearwell_nvmfs::api::{Attributes, Caller, Change, Error, FileSystem, Ino, Kind, Result};

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTES: u32 = 0o010;
/// Where the kernel keeps the capabilities of a program.
const CAPABILITY: &[u8] = b"security.capability";

/// The permissions that remain; a set-group-id bit without the group's right to execute is a mark of another kind and stays.
fn remaining(of: &Attributes) -> u32 {
    let with_group = of.permissions & GROUP_EXECUTES != 0;
    of.permissions & !SET_USER_ID & if with_group { !SET_GROUP_ID } else { !0 }
}

/// Takes the privileges of a file, whatever it is; on a directory these bits mean something else.
pub fn drop_privileges<F: FileSystem>(fs: &mut F, ino: Ino, caller: &Caller) -> Result<()> {
    let attributes = fs.attributes(ino)?;
    if attributes.kind == Kind::Directory {
        return Ok(());
    }
    let permissions = remaining(&attributes);
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
