//! POSIX ACLs in the format of Linux: the values of two extended attributes.
//!
//! A value is the version (2) in 4 bytes, followed by entries of 8 bytes: tag, permissions, and the number of the
//! user or group.

use super::inode::Inode;
use super::xattrs::Xattrs;
use crate::api::{ACCESS_ACL, DEFAULT_ACL, Kind};

const VERSION: u32 = 2;
const HEAD_BYTES: usize = 4;
const ENTRY_BYTES: usize = 8;
/// User or group number of an entry without a specific user or group.
const NO_ID: u32 = u32::MAX;
/// Permission bits of an entry: read, write, execute.
const RIGHTS: u16 = 7;

/// Tag of an entry; entries are sorted in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
enum Tag {
    Owner = 0x01,
    User = 0x02,
    OwningGroup = 0x04,
    Group = 0x08,
    /// Upper limit of the permissions that all entries grant, except those of the owner and of other users.
    Mask = 0x10,
    Other = 0x20,
}

impl Tag {
    fn from_code(code: u16) -> Option<Tag> {
        let all = [Tag::Owner, Tag::User, Tag::OwningGroup, Tag::Group, Tag::Mask, Tag::Other];
        all.into_iter().find(|tag| *tag as u16 == code)
    }

    /// True if an ACL may have any number of entries with this tag, each with a user or group number.
    fn is_named(self) -> bool {
        matches!(self, Tag::User | Tag::Group)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    tag: Tag,
    rights: u16,
    id: u32,
}

/// Valid ACL. Its entries are the owner, users, owning group, groups, mask and other users, in this order; the mask
/// is required if there are entries of users or groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    entries: Vec<Entry>,
}

impl Acl {
    /// Decodes an ACL; returns `None` for a malformed value.
    pub fn decode(value: &[u8]) -> Option<Acl> {
        let (version, rest) = value.split_first_chunk::<HEAD_BYTES>()?;
        let (chunks, remainder) = rest.as_chunks::<ENTRY_BYTES>();
        if u32::from_le_bytes(*version) != VERSION || !remainder.is_empty() {
            return None;
        }
        let entries = chunks.iter().map(|[t0, t1, r0, r1, id @ ..]| {
            let (tag, rights) =
                (Tag::from_code(u16::from_le_bytes([*t0, *t1]))?, u16::from_le_bytes([*r0, *r1]));
            // Linux ignores the number in entries without a user or group.
            let id = if tag.is_named() { u32::from_le_bytes(*id) } else { NO_ID };
            (rights <= RIGHTS && tag.is_named() == (id != NO_ID)).then_some(Entry { tag, rights, id })
        });
        let acl = Acl { entries: entries.collect::<Option<_>>()? };
        acl.is_valid().then_some(acl)
    }

    fn is_valid(&self) -> bool {
        let count = |tag| self.entries.iter().filter(|entry| entry.tag == tag).count();
        let is_ordered = self.entries.is_sorted_by_key(|entry| entry.tag);
        let has_each = [Tag::Owner, Tag::OwningGroup, Tag::Other].into_iter().all(|tag| count(tag) == 1);
        let masks = count(Tag::Mask);
        let needs_mask = self.entries.iter().any(|entry| entry.tag.is_named());
        is_ordered && has_each && masks <= 1 && (masks == 1 || !needs_mask)
    }

    /// Returns the ACL in the format of Linux.
    pub fn encode(&self) -> Vec<u8> {
        let mut value = VERSION.to_le_bytes().to_vec();
        for Entry { tag, rights, id } in &self.entries {
            value.extend((*tag as u16).to_le_bytes());
            value.extend(rights.to_le_bytes());
            value.extend(id.to_le_bytes());
        }
        value
    }

    /// Returns the indexes of the entries that the permission bits mirror, each with the position of its bits in the
    /// mode. The group bits mirror the mask, if there is one.
    fn mirrored_entries(&self) -> [(usize, u32); 3] {
        let at = |tag| self.entries.iter().position(|entry| entry.tag == tag);
        let group = at(Tag::Mask).or(at(Tag::OwningGroup));
        let found = [(at(Tag::Owner), 6), (group, 3), (at(Tag::Other), 0)];
        found.map(|(at, shift)| (at.expect("it has each"), shift))
    }

    /// Returns the permission bits of a file with this ACL.
    pub fn permissions(&self) -> u32 {
        self.mirrored_entries().iter().map(|(at, shift)| u32::from(self.entries[*at].rights) << shift).sum()
    }

    /// True if the ACL is equivalent to its permission bits, so that it need not be stored.
    pub fn equals_permissions(&self) -> bool {
        self.entries.len() == 3
    }

    /// Updates the ACL after a change of the file's permission bits.
    pub fn set_permissions(&mut self, permissions: u32) {
        for (at, shift) in self.mirrored_entries() {
            self.entries[at].rights = (permissions >> shift) as u16 & RIGHTS;
        }
    }

    /// Limits the ACL of a new file to the requested permissions; returns the resulting permission bits.
    pub fn limit(&mut self, permissions: u32) -> u32 {
        for (at, shift) in self.mirrored_entries() {
            self.entries[at].rights &= (permissions >> shift) as u16;
        }
        self.permissions()
    }
}

/// Returns the attributes of a file with repaired ACLs; `None` if its ACLs are valid. An ACL that is malformed or not
/// allowed for the file type is removed. An ACL that disagrees with the permission bits is updated to match the bits.
pub fn repaired_acls(xattrs: &Xattrs, inode: &Inode) -> Option<Xattrs> {
    let mut right = xattrs.clone();
    for name in [ACCESS_ACL, DEFAULT_ACL] {
        let Some(value) = right.remove(name) else { continue };
        let Some(mut acl) = Acl::decode(&value) else { continue };
        let is_allowed = match inode.kind() {
            Some(Kind::Symlink) | None => false,
            Some(Kind::Directory) => true,
            Some(_) => name == ACCESS_ACL,
        };
        if name == ACCESS_ACL {
            acl.set_permissions(inode.mode);
        }
        if is_allowed && (name == DEFAULT_ACL || !acl.equals_permissions()) {
            right.insert(name.to_vec(), acl.encode());
        }
    }
    (right != *xattrs).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Encodes entries, each with a tag, permissions and a user or group number.
    fn value(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut value = vec![2, 0, 0, 0];
        for (tag, rights, id) in entries {
            value.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
            value.extend(id.to_le_bytes());
        }
        value
    }

    /// Tag, permissions and number of an entry.
    type Words = (u16, u16, u32);

    const NONE: u32 = u32::MAX;
    /// user::rwx user:1000:rw- group::r-x group:7:--x mask::rwx other::r--
    const FULL: [(u16, u16, u32); 6] =
        [(1, 7, NONE), (2, 6, 1000), (4, 5, NONE), (8, 1, 7), (16, 7, NONE), (32, 4, NONE)];

    #[test]
    fn acl_round_trips_and_group_bits_come_from_mask() {
        let acl = Acl::decode(&value(&FULL)).unwrap();
        assert_eq!(acl.encode(), value(&FULL));
        assert_eq!((acl.permissions(), acl.equals_permissions()), (0o774, false));
        let plain = Acl::decode(&value(&[(1, 6, 5), (4, 4, 0), (32, 0, 77)])).unwrap();
        assert_eq!((plain.permissions(), plain.equals_permissions()), (0o640, true));
        assert_eq!(plain.encode(), value(&[(1, 6, NONE), (4, 4, NONE), (32, 0, NONE)]));
    }

    #[test]
    fn chmod_changes_mask_and_new_file_is_limited_to_requested_permissions() {
        let mut acl = Acl::decode(&value(&FULL)).unwrap();
        acl.set_permissions(0o100_640);
        let mut expected = FULL;
        (expected[0].1, expected[4].1, expected[5].1) = (6, 4, 0);
        assert_eq!(acl.encode(), value(&expected));
        let mut acl = Acl::decode(&value(&FULL)).unwrap();
        assert_eq!(acl.limit(0o4653), 0o650);
        (expected[0].1, expected[4].1, expected[5].1) = (6, 5, 0);
        assert_eq!(acl.encode(), value(&expected));
    }

    #[test]
    fn malformed_acls_are_rejected() {
        let good = value(&FULL);
        for length in 0..good.len() {
            assert_eq!(Acl::decode(&good[..length]), None, "{length} bytes");
        }
        let with = |change: &dyn Fn(&mut Vec<Words>)| {
            let mut entries = FULL.to_vec();
            change(&mut entries);
            Acl::decode(&value(&entries))
        };
        for at in [0, 2, 4, 5] {
            assert_eq!(
                with(&|entries| entries.retain(|entry| *entry != FULL[at])),
                None,
                "without entry {at}"
            );
            assert_eq!(with(&|entries| entries.insert(at, FULL[at])), None, "entry {at} twice");
        }
        assert_eq!(with(&|entries| entries.swap(0, 1)), None, "out of order");
        assert_eq!(with(&|entries| entries[3].1 = 8), None, "permissions that there are not");
        assert_eq!(with(&|entries| entries[1].2 = NONE), None, "no user");
        assert_eq!(with(&|entries| entries[1].0 = 3), None, "no tag");
        assert_eq!(with(&|entries| entries.clear()), None, "nothing");
        assert!(with(&|entries| entries.truncate(6)).is_some());
        for version in [0, 1, 3, 0x0200_0000] {
            let mut other = good.clone();
            other[..4].copy_from_slice(&u32::to_le_bytes(version));
            assert_eq!(Acl::decode(&other), None, "version {version}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_values_decode_to_valid_acls_or_none(mut bytes: Vec<u8>, changes: Vec<(u8, u8)>, permissions in 0..0o10000u32) {
            if bytes.first().is_some_and(|first| first % 2 == 0) {
                bytes = value(&FULL);
            }
            for (at, byte) in changes.into_iter().take(4) {
                let length = bytes.len().max(1);
                if let Some(one) = bytes.get_mut(usize::from(at) % length) {
                    *one = byte;
                }
            }
            if let Some(mut acl) = Acl::decode(&bytes) {
                prop_assert_eq!(acl.encode().len(), bytes.len());
                prop_assert_eq!(Acl::decode(&acl.encode()), Some(acl.clone()));
                let before = acl.permissions();
                prop_assert_eq!(acl.clone().limit(permissions), before & permissions & 0o777);
                acl.set_permissions(permissions);
                prop_assert_eq!(acl.permissions(), permissions & 0o777);
            }
        }
    }
}
