//! Extended attributes: those of a file in one page of NVRAM, which is replaced when one changes.

use super::Nvmfs;
use crate::api::{Caller, Error, Ino, MAX_XATTRS_BYTES, Result, SetXattr};
use crate::layout::{Field, Place, Xattrs, check_xattr_name, decode_xattrs, encode_xattrs, xattr_bytes};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    fn read_xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.store.region.inode(ino)?;
        let at = self.store.region.field(ino, Field::Xattrs)?;
        match self.store.region.pointer_page(at)? {
            None => Ok(Xattrs::new()),
            Some(page) => decode_xattrs(self.store.region.sound_page(page)?).ok_or_else(|| {
                Error::Damaged(format!("the extended attributes of inode {} make no sense", ino.0))
            }),
        }
    }

    /// Replaces all attributes of a file, in one step.
    fn write_xattrs(&mut self, ino: Ino, xattrs: &Xattrs, caller: &Caller) -> Result<()> {
        let mut pointer = 0;
        if !xattrs.is_empty() {
            let page = self.store.new_metadata_page(ino)?;
            let region = &mut self.store.region;
            region.store_page(page, &encode_xattrs(xattrs));
            region.fence();
            pointer = Place::Nvram(page).pointer(&region.areas);
        }
        let at = self.store.region.field(ino, Field::Xattrs)?;
        let old = self.store.region.pointer_page(at)?;
        let mut changes = Changes::default();
        let inode = changes.inode(&self.store.region, ino)?;
        inode.xattrs = pointer;
        inode.changed_ns = caller.now_ns;
        self.store.region.apply(changes);
        old.map_or(Ok(()), |page| self.store.free_metadata_page(ino, page))
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
        xattrs.insert(name.to_vec(), value.to_vec());
        if xattr_bytes(&xattrs) > MAX_XATTRS_BYTES {
            return Err(Error::NoSpace("the extended attributes of a file take 4080 bytes at most"));
        }
        self.write_xattrs(ino, &xattrs, caller)
    }

    pub(super) fn delete_xattr(&mut self, ino: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        let mut xattrs = self.read_xattrs(ino)?;
        check_xattr_name(name)?;
        xattrs.remove(name).ok_or(Error::NoAttribute)?;
        self.write_xattrs(ino, &xattrs, caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::BLOCK_BYTES;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn attributes_come_back_and_hostile_pages_are_refused(
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
                prop_assert!(xattr_bytes(&decoded) <= BLOCK_BYTES);
            }
        }
    }
}
