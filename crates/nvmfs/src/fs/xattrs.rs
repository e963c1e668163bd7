//! Extended attributes: all attributes of a file are on one page of NVRAM, which is replaced when an attribute
//! changes.

use super::Nvmfs;
use super::acls::{ACL_PERMISSIONS, set_acl};
use crate::api::{ACCESS_ACL, Caller, DEFAULT_ACL, Error, Ino, Result, SetXattr};
use crate::layout::{
    BlockLocation, Field, PageId, Xattrs, check_xattr_bytes, check_xattr_name, decode_xattrs, encode_xattrs,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    pub(super) fn read_xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.store.region.inode(ino)?;
        let at = self.store.region.field(ino, Field::Xattrs)?;
        match self.store.region.pointer_page(at)? {
            None => Ok(Xattrs::new()),
            Some(page) => decode_xattrs(self.store.region.verified_page(page)?).ok_or_else(|| {
                Error::Damaged(format!("the extended attributes of inode {} make no sense", ino.0))
            }),
        }
    }

    /// Allocates a page for the attributes and stores them durably; returns `None` if there are no attributes.
    pub(super) fn xattrs_page(&mut self, ino: Ino, xattrs: &Xattrs) -> Result<Option<PageId>> {
        if xattrs.is_empty() {
            return Ok(None);
        }
        let page = self.store.new_metadata_page(ino)?;
        self.store.region.store_page(page, &encode_xattrs(xattrs));
        self.store.region.fence();
        Ok(Some(page))
    }

    /// Replaces all extended attributes of a file atomically, together with the permission bits if an ACL changes
    /// these.
    fn write_xattrs(
        &mut self,
        ino: Ino,
        xattrs: &Xattrs,
        permissions: Option<u32>,
        caller: &Caller,
    ) -> Result<()> {
        self.store.prepare_to_keep()?;
        // For a snapshot, the inode is copied before the file gets a page that did not exist at the time of the
        // snapshot.
        self.store.keep_inode(ino)?;
        let page = self.xattrs_page(ino, xattrs)?;
        let pointer = page.map_or(0, |page| BlockLocation::Nvram(page).encode(&self.store.region.areas));
        let at = self.store.region.field(ino, Field::Xattrs)?;
        let old = self.store.region.pointer_page(at)?;
        let mut changes = Changes::default();
        let inode = changes.inode(&self.store.region, ino)?;
        inode.xattrs = pointer;
        inode.mode =
            permissions.map_or(inode.mode, |permissions| inode.mode & !ACL_PERMISSIONS | permissions);
        inode.changed_ns = caller.now_ns;
        self.store.commit(changes)?;
        old.map_or(Ok(()), |page| self.store.release_xattrs(ino, page))
    }

    pub(super) fn xattr_value(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        let mut xattrs = self.read_xattrs(ino)?;
        check_xattr_name(name)?;
        xattrs.remove(name).ok_or(Error::NoAttribute)
    }

    pub(super) fn xattr_names(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(self.read_xattrs(ino)?.into_keys().collect())
    }

    pub(super) fn put_xattr(
        &mut self,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
        caller: &Caller,
    ) -> Result<()> {
        let mut xattrs = self.read_xattrs(ino)?;
        check_xattr_name(name)?;
        match (how, xattrs.contains_key(name)) {
            (SetXattr::Create, true) => return Err(Error::Exists),
            (SetXattr::Replace, false) => return Err(Error::NoAttribute),
            _ => {}
        }
        let permissions = if name == ACCESS_ACL || name == DEFAULT_ACL {
            set_acl(&mut xattrs, &self.store.region.inode(ino)?, name, value)?
        } else {
            xattrs.insert(name.to_vec(), value.to_vec());
            None
        };
        check_xattr_bytes(&xattrs)?;
        self.write_xattrs(ino, &xattrs, permissions, caller)
    }

    pub(super) fn delete_xattr(&mut self, ino: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        let mut xattrs = self.read_xattrs(ino)?;
        check_xattr_name(name)?;
        xattrs.remove(name).ok_or(Error::NoAttribute)?;
        self.write_xattrs(ino, &xattrs, None, caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::BLOCK_BYTES;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn attributes_round_trip_and_malformed_pages_are_rejected(
            some in prop::collection::btree_map(prop::collection::vec(1u8.., 1..50), any::<Vec<u8>>(), 0..8),
            at in 0..200usize,
            byte: u8,
        ) {
            let mut page = [0; BLOCK_BYTES];
            let bytes = encode_xattrs(&some);
            page[..bytes.len()].copy_from_slice(&bytes);
            prop_assert_eq!(decode_xattrs(&page), Some(some));
            page[at] = byte;
            if let Some(decoded) = decode_xattrs(&page) {
                prop_assert!(check_xattr_bytes(&decoded).is_ok() || encode_xattrs(&decoded).len() <= BLOCK_BYTES);
            }
        }
    }
}
