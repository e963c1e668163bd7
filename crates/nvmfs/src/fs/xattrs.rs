//! Extended attributes: those of a file in one page of NVRAM, which is replaced when one changes.
//!
//! The page begins with their number in 8 bytes; each has 4 bytes for the length of its value, 2 for that of its name, 2
//! that are 0, its name and its value.

use super::Nvmfs;
use crate::api::{
    BLOCK_BYTES, Caller, Error, Ino, MAX_XATTR_NAME_BYTES, MAX_XATTRS_BYTES, Result, SetXattr,
    XATTR_HEAD_BYTES,
};
use crate::layout::{Field, Place};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;
use std::collections::BTreeMap;

type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

fn check_name(name: &[u8]) -> Result<()> {
    if name.is_empty() || name.contains(&0) {
        return Err(Error::Invalid("a name is empty or has a 0 in it"));
    }
    if name.len() > MAX_XATTR_NAME_BYTES {
        return Err(Error::NameTooLong);
    }
    Ok(())
}

/// Bytes that attributes take together.
fn bytes_of(xattrs: &Xattrs) -> usize {
    xattrs.iter().map(|(name, value)| XATTR_HEAD_BYTES + name.len() + value.len()).sum()
}

fn encode(xattrs: &Xattrs) -> Vec<u8> {
    let mut page = Vec::with_capacity(BLOCK_BYTES);
    page.extend((xattrs.len() as u64).to_le_bytes());
    for (name, value) in xattrs {
        page.extend((value.len() as u32).to_le_bytes());
        page.extend((name.len() as u16).to_le_bytes());
        page.extend([0; 2]);
        page.extend(name);
        page.extend(value);
    }
    page
}

/// `None` if the page makes no sense.
fn decode(page: &[u8; BLOCK_BYTES]) -> Option<Xattrs> {
    let (count, mut rest) = page.split_first_chunk::<8>()?;
    let mut xattrs = Xattrs::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (head, after) = rest.split_first_chunk::<XATTR_HEAD_BYTES>()?;
        let value_bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let name_bytes = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let (name, after) = after.split_at_checked(name_bytes)?;
        let (value, after) = after.split_at_checked(value_bytes)?;
        check_name(name).ok()?;
        if xattrs.insert(name.to_vec(), value.to_vec()).is_some() {
            return None;
        }
        rest = after;
    }
    Some(xattrs)
}

/// Whether a page holds extended attributes.
pub(crate) fn xattrs_make_sense(page: &[u8; BLOCK_BYTES]) -> bool {
    decode(page).is_some()
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    fn read_xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.store.region.inode(ino)?;
        let at = self.store.region.field(ino, Field::Xattrs)?;
        match self.store.region.pointer_page(at)? {
            None => Ok(Xattrs::new()),
            Some(page) => decode(self.store.region.page(page)).ok_or_else(|| {
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
            region.store(region.areas.page(page), &encode(xattrs));
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
        check_name(name)?;
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
        check_name(name)?;
        match (how, xattrs.contains_key(name)) {
            (SetXattr::Create, true) => return Err(Error::Exists),
            (SetXattr::Replace, false) => return Err(Error::NoAttribute),
            _ => {}
        }
        xattrs.insert(name.to_vec(), value.to_vec());
        if bytes_of(&xattrs) > MAX_XATTRS_BYTES {
            return Err(Error::NoSpace("the extended attributes of a file take 4080 bytes at most"));
        }
        self.write_xattrs(ino, &xattrs, caller)
    }

    pub(super) fn delete_xattr(&mut self, ino: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        let mut xattrs = self.read_xattrs(ino)?;
        check_name(name)?;
        xattrs.remove(name).ok_or(Error::NoAttribute)?;
        self.write_xattrs(ino, &xattrs, caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn attributes_come_back_and_hostile_pages_are_refused(
            some in prop::collection::btree_map(prop::collection::vec(1u8.., 1..50), any::<Vec<u8>>(), 0..8),
            at in 0..200usize,
            byte: u8,
        ) {
            let mut page = [0; BLOCK_BYTES];
            let bytes = encode(&some);
            page[..bytes.len()].copy_from_slice(&bytes);
            prop_assert_eq!(decode(&page), Some(some));
            page[at] = byte;
            if let Some(decoded) = decode(&page) {
                prop_assert!(bytes_of(&decoded) <= BLOCK_BYTES);
            }
        }
    }
}
