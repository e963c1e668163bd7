//! ACLs in the model, as triples of tag, permissions and number.

use super::{Body, Inode};
use wearwell_nvmfs::api::{ACCESS_ACL, DEFAULT_ACL, Error, MAX_XATTRS_BYTES, Result, XATTR_HEAD_BYTES};

type Entries = Vec<(u16, u16, u32)>;

const OWNER: u16 = 1;
const USER: u16 = 2;
const OWNING_GROUP: u16 = 4;
const GROUP: u16 = 8;
const MASK: u16 = 16;
const OTHER: u16 = 32;

/// Decodes an ACL; `None` if it is invalid.
fn read(value: &[u8]) -> Option<Entries> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    if value.len() < 4 || number(&value[..4]) != 2 || value.len() % 8 != 4 {
        return None;
    }
    let mut entries = Vec::new();
    for bytes in value[4..].chunks(8) {
        entries.push((number(&bytes[..2]) as u16, number(&bytes[2..4]) as u16, number(&bytes[4..])));
    }
    let tags: Vec<u16> = entries.iter().map(|entry| entry.0).collect();
    let times = |tag| tags.iter().filter(|one| **one == tag).count();
    let is_known = tags.iter().all(|tag| [OWNER, USER, OWNING_GROUP, GROUP, MASK, OTHER].contains(tag));
    let is_ordered = tags.windows(2).all(|two| two[0] <= two[1]);
    let are_there = times(OWNER) == 1 && times(OWNING_GROUP) == 1 && times(OTHER) == 1;
    let is_masked = times(MASK) == 1 || times(MASK) + times(USER) + times(GROUP) == 0;
    let are_sound = entries
        .iter()
        .all(|(tag, rights, id)| *rights < 8 && (*id != u32::MAX || !matches!(*tag, USER | GROUP)));
    (is_known && is_ordered && are_there && is_masked && are_sound).then_some(entries)
}

fn write(entries: &Entries) -> Vec<u8> {
    let mut value = vec![2, 0, 0, 0];
    for (tag, rights, id) in entries {
        let id = if matches!(*tag, USER | GROUP) { *id } else { u32::MAX };
        value.extend(tag.to_le_bytes());
        value.extend(rights.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}

/// Returns the entries that the permission bits mirror, each with the position of its bits in the mode.
fn mirrored_entries(entries: &mut Entries) -> impl Iterator<Item = (&mut u16, u32)> {
    let has_mask = entries.iter().any(|entry| entry.0 == MASK);
    entries.iter_mut().filter_map(move |(tag, rights, _)| match *tag {
        OWNER => Some((rights, 6)),
        MASK => Some((rights, 3)),
        OWNING_GROUP if !has_mask => Some((rights, 3)),
        OTHER => Some((rights, 0)),
        _ => None,
    })
}

fn permission_bits(entries: &mut Entries) -> u32 {
    mirrored_entries(entries).map(|(rights, shift)| u32::from(*rights) << shift).sum()
}

impl Inode {
    /// Returns the value to store for an ACL attribute (`None` if the ACL is equivalent to permission bits), and the
    /// resulting permission bits.
    pub(super) fn acl_to_store(&self, name: &[u8], value: &[u8]) -> Result<(Option<Vec<u8>>, u32)> {
        let mut entries = read(value).ok_or(Error::Invalid("no access control list"))?;
        if matches!(self.body, Body::Symlink(_)) {
            return Err(Error::Unsupported("access control lists of symbolic links"));
        }
        if name == DEFAULT_ACL {
            return match self.body {
                Body::Directory(_) => Ok((Some(write(&entries)), self.permissions)),
                _ => Err(Error::NotPermitted("only a directory has a list for new files")),
            };
        }
        let permissions = self.permissions & 0o7000 | permission_bits(&mut entries);
        Ok(((entries.len() > 3).then(|| write(&entries)), permissions))
    }

    /// Sets the permission bits, and updates the ACL accordingly.
    pub(super) fn set_permissions(&mut self, permissions: u32) {
        self.permissions = permissions;
        if let Some(value) = self.xattrs.get_mut(ACCESS_ACL) {
            let mut entries = read(value).expect("it was looked at");
            for (rights, shift) in mirrored_entries(&mut entries) {
                *rights = (permissions >> shift & 7) as u16;
            }
            *value = write(&entries);
        }
    }

    /// Applies the default ACL of the directory to a new file.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if the ACL is too long to be stored twice, as access and as default ACL.
    pub(super) fn inherit(&mut self, directory: &Inode) -> Result<()> {
        let Some(value) = directory.xattrs.get(DEFAULT_ACL) else { return Ok(()) };
        if matches!(self.body, Body::Symlink(_)) {
            return Ok(());
        }
        let mut entries = read(value).expect("it was looked at");
        for (rights, shift) in mirrored_entries(&mut entries) {
            *rights &= (self.permissions >> shift & 7) as u16;
        }
        self.permissions = self.permissions & 0o7000 | permission_bits(&mut entries);
        if entries.len() > 3 {
            self.xattrs.insert(ACCESS_ACL.to_vec(), write(&entries));
        }
        if matches!(self.body, Body::Directory(_)) {
            self.xattrs.insert(DEFAULT_ACL.to_vec(), value.clone());
        }
        let bytes = |(name, value): (&Vec<u8>, &Vec<u8>)| XATTR_HEAD_BYTES + name.len() + value.len();
        let bytes: usize = self.xattrs.iter().map(bytes).sum();
        if bytes > MAX_XATTRS_BYTES { Err(Error::NoSpace("both lists are too long")) } else { Ok(()) }
    }
}
