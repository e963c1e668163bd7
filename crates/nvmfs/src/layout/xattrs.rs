//! The page of a file's extended attributes.
//!
//! It begins with their number in 8 bytes; each has 4 bytes for the length of its value, 2 for that of its name, 2 that are 0,
//! its name and its value.

use crate::api::{BLOCK_BYTES, Error, MAX_XATTR_NAME_BYTES, Result, XATTR_HEAD_BYTES};
use std::collections::BTreeMap;

/// Extended attributes by name.
pub type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Refuses a name that no attribute has.
///
/// # Errors
/// [`Error::Invalid`], [`Error::NameTooLong`].
pub fn check_xattr_name(name: &[u8]) -> Result<()> {
    if name.is_empty() || name.contains(&0) {
        return Err(Error::Invalid("a name is empty or has a 0 in it"));
    }
    if name.len() > MAX_XATTR_NAME_BYTES {
        return Err(Error::NameTooLong);
    }
    Ok(())
}

/// Bytes that attributes take together.
pub fn xattr_bytes(xattrs: &Xattrs) -> usize {
    xattrs.iter().map(|(name, value)| XATTR_HEAD_BYTES + name.len() + value.len()).sum()
}

/// The page of attributes that take no more than fits.
pub fn encode_xattrs(xattrs: &Xattrs) -> Vec<u8> {
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

/// The attributes on a page; `None` if it makes no sense.
pub fn decode_xattrs(page: &[u8; BLOCK_BYTES]) -> Option<Xattrs> {
    let (count, mut rest) = page.split_first_chunk::<8>()?;
    let mut xattrs = Xattrs::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (head, after) = rest.split_first_chunk::<XATTR_HEAD_BYTES>()?;
        let value_bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let name_bytes = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let (name, after) = after.split_at_checked(name_bytes)?;
        let (value, after) = after.split_at_checked(value_bytes)?;
        check_xattr_name(name).ok()?;
        if xattrs.insert(name.to_vec(), value.to_vec()).is_some() {
            return None;
        }
        rest = after;
    }
    Some(xattrs)
}
