//! Format of the page that holds a file's extended attributes.
//!
//! The page begins with the number of attributes in 8 bytes. An attribute is stored as the length of its value in 4
//! bytes, the length of its name in 2 bytes, 2 zero bytes, its name and its value.

use crate::api::{BLOCK_BYTES, Error, MAX_XATTR_NAME_BYTES, MAX_XATTRS_BYTES, Result, XATTR_HEAD_BYTES};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

/// Extended attributes by name.
pub type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Checks that a name is valid for an extended attribute.
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

/// Checks that the attributes fit on a page.
///
/// # Errors
/// [`Error::NoSpace`].
pub fn check_xattr_bytes(xattrs: &Xattrs) -> Result<()> {
    let bytes = |(name, value): (&Vec<u8>, &Vec<u8>)| XATTR_HEAD_BYTES + name.len() + value.len();
    if xattrs.iter().map(bytes).sum::<usize>() > MAX_XATTRS_BYTES {
        return Err(Error::NoSpace("the extended attributes of a file take 4080 bytes at most"));
    }
    Ok(())
}

/// Encodes attributes, which must fit on a page.
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

/// Calls `each` with every attribute on a page and the range of its value, until `each` breaks. Returns `None` if the
/// page is malformed before that point.
fn walk<T>(
    page: &[u8; BLOCK_BYTES],
    mut each: impl FnMut(&[u8], Range<usize>) -> ControlFlow<T>,
) -> Option<ControlFlow<T>> {
    let (count, mut rest) = page.split_first_chunk::<8>()?;
    for _ in 0..u64::from_le_bytes(*count) {
        let (head, after) = rest.split_first_chunk::<XATTR_HEAD_BYTES>()?;
        let value_bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let name_bytes = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let (name, after) = after.split_at_checked(name_bytes)?;
        let start = BLOCK_BYTES - after.len();
        let (_, after) = after.split_at_checked(value_bytes)?;
        check_xattr_name(name).ok()?;
        if let ControlFlow::Break(value) = each(name, start..start + value_bytes) {
            return Some(ControlFlow::Break(value));
        }
        rest = after;
    }
    Some(ControlFlow::Continue(()))
}

/// Decodes the attributes of a page; `None` if it is malformed.
pub fn decode_xattrs(page: &[u8; BLOCK_BYTES]) -> Option<Xattrs> {
    let mut xattrs = Xattrs::new();
    let walked = walk(page, |name, value| match xattrs.insert(name.to_vec(), page[value].to_vec()) {
        None => ControlFlow::Continue(()),
        Some(_) => ControlFlow::Break(()),
    });
    walked?.is_continue().then_some(xattrs)
}

/// Returns the range of an attribute's value on a page, if the attribute exists.
pub fn xattr_value(page: &[u8; BLOCK_BYTES], xattr_name: &[u8]) -> Option<Range<usize>> {
    let found = walk(page, |name, value| match name == xattr_name {
        true => ControlFlow::Break(value),
        false => ControlFlow::Continue(()),
    });
    found?.break_value()
}
