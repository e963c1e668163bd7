//! ACLs and their relation to the permission bits.
//!
//! An ACL equivalent to the permission bits is not stored. A stored ACL always agrees with the permission bits:
//! both are changed atomically.

use super::Nvmfs;
use super::create::NewFile;
use crate::api::{ACCESS_ACL, DEFAULT_ACL, Error, Ino, Kind, Result};
use crate::layout::{
    Acl, Field, Inode, Xattrs, check_xattr_bytes, encode_xattrs, repaired_acls, xattr_value,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::{Changes, Region};
use std::ops::Range;

/// Permission bits that an ACL determines.
pub(super) const ACL_PERMISSIONS: u32 = 0o777;

fn damaged(ino: Ino) -> Error {
    Error::Damaged(format!("an access control list of inode {} makes no sense", ino.0))
}

/// Returns an ACL of a file and the range of its bytes in the NVRAM.
fn acl_of<N: Nvram>(
    region: &Region<N>,
    ino: Ino,
    inode: &Inode,
    name: &[u8],
) -> Result<Option<(Acl, Range<usize>)>> {
    if inode.xattrs == 0 {
        return Ok(None);
    }
    let Some(page) = region.pointer_page(region.field(ino, Field::Xattrs)?)? else { return Ok(None) };
    let bytes = region.verified_page(page)?;
    let Some(value) = xattr_value(bytes, name) else { return Ok(None) };
    let acl = Acl::decode(&bytes[value.clone()]).ok_or_else(|| damaged(ino))?;
    let at = region.areas.page(page);
    Ok(Some((acl, at + value.start..at + value.end)))
}

/// Sets an ACL attribute in `xattrs`; returns the resulting permission bits, if the ACL determines them.
///
/// # Errors
/// The ACL is malformed, or the file type has no ACLs.
pub(super) fn set_acl(xattrs: &mut Xattrs, inode: &Inode, name: &[u8], value: &[u8]) -> Result<Option<u32>> {
    let acl = Acl::decode(value).ok_or(Error::Invalid("an access control list makes no sense"))?;
    match inode.kind() {
        Some(Kind::Symlink) => Err(Error::Unsupported("access control lists of symbolic links")),
        Some(Kind::Directory) if name == DEFAULT_ACL => {
            xattrs.insert(name.to_vec(), acl.encode());
            Ok(None)
        }
        _ if name == DEFAULT_ACL => Err(Error::NotPermitted("only a directory has a list for new files")),
        _ => {
            if acl.equals_permissions() {
                xattrs.remove(name);
            } else {
                xattrs.insert(name.to_vec(), acl.encode());
            }
            Ok(Some(acl.permissions()))
        }
    }
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// Adds to `changes` the update of the ACL that a change of the permission bits implies.
    pub(super) fn change_acl(&self, changes: &mut Changes, ino: Ino, permissions: u32) -> Result<()> {
        let inode = self.store.region.inode(ino)?;
        let Some((mut acl, location)) = acl_of(&self.store.region, ino, &inode, ACCESS_ACL)? else {
            return Ok(());
        };
        if acl.permissions() != permissions & ACL_PERMISSIONS {
            acl.set_permissions(permissions);
            changes.put(location.start, acl.encode());
            changes.touch_xattrs(ino);
        }
        Ok(())
    }

    /// Applies the default ACL of a directory to a new file: limits its permissions and returns its ACLs.
    pub(super) fn inherit<'a>(
        &self,
        parent: Ino,
        directory: &Inode,
        new: NewFile<'a>,
    ) -> Result<(NewFile<'a>, Xattrs)> {
        let (mut new, mut xattrs) = (new, Xattrs::new());
        let is_directory = new.kind() == Kind::Directory;
        let Some(permissions) = new.permissions() else { return Ok((new, xattrs)) };
        let Some((default, _)) = acl_of(&self.store.region, parent, directory, DEFAULT_ACL)? else {
            return Ok((new, xattrs));
        };
        let mut access = default.clone();
        *permissions = *permissions & !ACL_PERMISSIONS | access.limit(*permissions);
        if !access.equals_permissions() {
            xattrs.insert(ACCESS_ACL.to_vec(), access.encode());
        }
        if is_directory {
            xattrs.insert(DEFAULT_ACL.to_vec(), default.encode());
        }
        check_xattr_bytes(&xattrs)?;
        Ok((new, xattrs))
    }

    /// Repairs the ACLs of a file.
    pub(super) fn repair_acls(&mut self, ino: Ino) -> Result<()> {
        let inode = self.store.region.inode(ino)?;
        let Some(xattrs) = repaired_acls(&self.read_xattrs(ino)?, &inode) else { return Ok(()) };
        let at = self.store.region.field(ino, Field::Xattrs)?;
        let Some(page) = self.store.region.pointer_page(at)? else { return Ok(()) };
        if xattrs.is_empty() {
            self.store.region.store_word(at, 0);
            self.store.region.fence();
            return self.store.free_metadata_page(ino, page);
        }
        // The new attributes are not longer than the old ones, so they fit on the page.
        self.store.region.store_page(page, &encode_xattrs(&xattrs));
        self.store.region.fence();
        Ok(())
    }
}
