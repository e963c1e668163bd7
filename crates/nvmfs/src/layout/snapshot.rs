//! Format of snapshots on NVRAM: pages of snapshot records, and copies of the inodes that changed after a snapshot.

use super::inode::{Inode, POINTERS};
use crate::api::{BLOCK_BYTES, Error, Result};

/// Bytes of a snapshot record. Its pointers have the same offsets as those of an inode.
pub const SNAPSHOT_BYTES: usize = 256;
/// Number of snapshot records per page.
pub const SNAPSHOTS_PER_PAGE: usize = BLOCK_BYTES / SNAPSHOT_BYTES;
/// Maximum length of the name of a snapshot, in bytes.
pub const MAX_SNAPSHOT_NAME_BYTES: usize = 100;

const SEQUENCE: usize = 8;
const CREATED: usize = 24;
const NAME: usize = 128;

/// Words after the superblock that list the pages with snapshot records.
pub struct SnapshotPages;

impl SnapshotPages {
    /// Offset of the words. Each word is 0, or a page number plus 1 together with its checksum.
    pub const AT: usize = 1536;
    /// Number of words.
    pub const COUNT: usize = 8;
}

/// Record of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRecord {
    /// Sequence number: later snapshots have larger numbers.
    pub sequence: u64,
    /// Creation time, ns since 1970.
    pub created_ns: i64,
    /// True while the snapshot is being deleted.
    pub is_being_deleted: bool,
    /// Name of the snapshot.
    pub name: String,
}

/// Error: the bytes are neither a valid snapshot record nor a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRecord;

impl SnapshotRecord {
    /// Encodes the record of a snapshot that holds no blocks yet.
    pub fn encode(&self) -> [u8; SNAPSHOT_BYTES] {
        let mut bytes = [0; SNAPSHOT_BYTES];
        bytes[0] = 1 + u8::from(self.is_being_deleted);
        bytes[SEQUENCE..SEQUENCE + 8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[CREATED..CREATED + 8].copy_from_slice(&self.created_ns.to_le_bytes());
        bytes[NAME] = self.name.len() as u8;
        bytes[NAME + 1..NAME + 1 + self.name.len()].copy_from_slice(self.name.as_bytes());
        bytes
    }

    /// First word of the record of a snapshot that is being deleted.
    pub const BEING_DELETED: u64 = 2;

    /// Decodes a record; `None` if the slot is free.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn decode(bytes: &[u8; SNAPSHOT_BYTES]) -> std::result::Result<Option<Self>, InvalidRecord> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let is_being_deleted = match word(0) {
            0 => return Ok(None),
            1 => false,
            Self::BEING_DELETED => true,
            _ => return Err(InvalidRecord),
        };
        let name = bytes.get(NAME + 1..NAME + 1 + usize::from(bytes[NAME])).ok_or(InvalidRecord)?;
        let name = str::from_utf8(name).map_err(|_| InvalidRecord)?;
        check_snapshot_name(name).map_err(|_| InvalidRecord)?;
        Ok(Some(SnapshotRecord {
            sequence: word(SEQUENCE),
            created_ns: word(CREATED) as i64,
            is_being_deleted,
            name: name.to_owned(),
        }))
    }
}

/// Checks a snapshot name, which must be usable in mount options and file names.
///
/// # Errors
/// [`Error::Invalid`].
pub fn check_snapshot_name(name: &str) -> Result<()> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@+".contains(&byte);
    let is_right = (1..=MAX_SNAPSHOT_NAME_BYTES).contains(&name.len())
        && name.bytes().all(is_allowed)
        && !name.starts_with(['-', '.']);
    match is_right {
        true => Ok(()),
        false => Err(Error::Invalid(
            "a snapshot's name has 1 to 100 letters, digits and `-_.:@+`, and does not begin with `-` or `.`",
        )),
    }
}

/// Mode of an inode that a snapshot keeps, with flags in the upper half. Non-zero pointers of the inode lead to the
/// earlier content of blocks that changed after the snapshot. Where a pointer is zero, the next newer snapshot is
/// consulted, and finally the live file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptMode(pub u32);

impl KeptMode {
    /// Flag: the inode was free at the time of the snapshot.
    pub const FREE: u32 = 1 << 16;
    /// Flag: the copy is complete, because the file was removed from the live file system.
    pub const COMPLETE: u32 = 1 << 17;
    /// Flag: the extended attributes did not change.
    pub const XATTRS_UNCHANGED: u32 = 1 << 18;

    /// True if an inode is kept in this slot.
    pub fn is_present(self) -> bool {
        self.0 != 0
    }

    /// True if the inode was in use at the time of the snapshot.
    pub fn was_used(self) -> bool {
        self.0 != 0 && self.0 & KeptMode::FREE == 0
    }

    /// True if the copy is complete.
    pub fn is_complete(self) -> bool {
        self.0 & KeptMode::COMPLETE != 0
    }

    /// True if the extended attributes did not change.
    pub fn has_unchanged_xattrs(self) -> bool {
        self.0 & KeptMode::XATTRS_UNCHANGED != 0
    }

    /// Returns the mode of the inode at the time of the snapshot.
    pub fn mode(self) -> u32 {
        self.0 & 0xffff
    }

    /// Returns the initial copy of an inode that is about to change for the first time since the snapshot.
    pub fn inode(inode: &Inode) -> Inode {
        if inode.kind().is_none() {
            return Inode { mode: KeptMode::FREE, generation: inode.generation, ..Inode::default() };
        }
        let pointers = if inode.is_inline_link() { inode.pointers } else { [0; POINTERS] };
        Inode { mode: inode.mode | KeptMode::XATTRS_UNCHANGED, xattrs: 0, pointers, ..inode.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_round_trip(
            sequence: u64,
            created_ns: i64,
            is_being_deleted: bool,
            name in "[a-zA-Z0-9_:@+][-a-zA-Z0-9_.:@+]{0,99}",
        ) {
            let record = SnapshotRecord { sequence, created_ns, is_being_deleted, name };
            prop_assert_eq!(SnapshotRecord::decode(&record.encode()), Ok(Some(record)));
        }

        #[test]
        fn arbitrary_records_are_rejected_or_have_a_valid_name(first in 0..4u64, bytes: [u8; 128]) {
            let mut record = [0; SNAPSHOT_BYTES];
            record[..8].copy_from_slice(&first.to_le_bytes());
            record[NAME..].copy_from_slice(&bytes);
            if let Ok(Some(record)) = SnapshotRecord::decode(&record) {
                prop_assert!(check_snapshot_name(&record.name).is_ok());
            }
        }
    }

    #[test]
    fn names_unusable_in_options_or_files_are_rejected() {
        for name in ["", ".", "..", ".a", "-a", "a/b", "a,b", "a b", "a\0", "ä", &"x".repeat(101)] {
            assert!(check_snapshot_name(name).is_err(), "{name}");
        }
        for name in ["a", "2026-11-24T00:24", "daily.1", &"x".repeat(100)] {
            assert!(check_snapshot_name(name).is_ok(), "{name}");
        }
    }
}
