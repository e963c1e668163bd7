//! What stands on the NVRAM of snapshots: pages with a record of each, and, of what changed since, inodes as they were.

use super::inode::{Inode, POINTERS};
use crate::api::{BLOCK_BYTES, Error, Result};

/// Bytes of the record of a snapshot. The pointers stand where an inode has them.
pub const SNAPSHOT_BYTES: usize = 256;
/// Records of a page.
pub const SNAPSHOTS_PER_PAGE: usize = BLOCK_BYTES / SNAPSHOT_BYTES;
/// Longest name of a snapshot, bytes.
pub const MAX_SNAPSHOT_NAME_BYTES: usize = 100;

const SEQUENCE: usize = 8;
const CREATED: usize = 24;
const NAME: usize = 128;

/// The words that say on which pages snapshots are recorded; behind the superblock.
pub struct SnapshotPages;

impl SnapshotPages {
    /// Where the words stand: each a page's number and 1, with a checksum, or 0.
    pub const AT: usize = 1536;
    /// How many there are.
    pub const COUNT: usize = 8;
}

/// The record of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRecord {
    /// Counts snapshots: a later one has a larger number.
    pub sequence: u64,
    /// When it was made, ns since 1970.
    pub created_ns: i64,
    /// It is being deleted.
    pub is_going: bool,
    /// What it is called.
    pub name: String,
}

/// Bytes that are neither the record of a snapshot nor free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRecord;

impl SnapshotRecord {
    /// As bytes, those of one that keeps nothing yet.
    pub fn encode(&self) -> [u8; SNAPSHOT_BYTES] {
        let mut bytes = [0; SNAPSHOT_BYTES];
        bytes[0] = 1 + u8::from(self.is_going);
        bytes[SEQUENCE..SEQUENCE + 8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[CREATED..CREATED + 8].copy_from_slice(&self.created_ns.to_le_bytes());
        bytes[NAME] = self.name.len() as u8;
        bytes[NAME + 1..NAME + 1 + self.name.len()].copy_from_slice(self.name.as_bytes());
        bytes
    }

    /// The first word of one that is being deleted.
    pub const GOING: u64 = 2;

    /// From bytes; `None` if there is none.
    ///
    /// # Errors
    /// They make no sense.
    pub fn decode(bytes: &[u8; SNAPSHOT_BYTES]) -> std::result::Result<Option<Self>, NoRecord> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let is_going = match word(0) {
            0 => return Ok(None),
            1 => false,
            Self::GOING => true,
            _ => return Err(NoRecord),
        };
        let name = bytes.get(NAME + 1..NAME + 1 + usize::from(bytes[NAME])).ok_or(NoRecord)?;
        let name = str::from_utf8(name).map_err(|_| NoRecord)?;
        check_snapshot_name(name).map_err(|_| NoRecord)?;
        Ok(Some(SnapshotRecord {
            sequence: word(SEQUENCE),
            created_ns: word(CREATED) as i64,
            is_going,
            name: name.to_owned(),
        }))
    }
}

/// Refuses a name that no snapshot has: it stands in options of a mount and in names of files.
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

/// An inode as a snapshot keeps it: the inode, and in the upper half of its mode what is known besides. Of its pointers those
/// lead somewhere that changed since; for others a later snapshot is asked, and in the end the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept(pub u32);

impl Kept {
    /// It was not in use.
    pub const FREE: u32 = 1 << 16;
    /// All that it had is here: the file is gone.
    pub const WHOLE: u32 = 1 << 17;
    /// Its extended attributes did not change.
    pub const XATTRS_ELSEWHERE: u32 = 1 << 18;

    /// Whether anything is kept here.
    pub fn is_there(self) -> bool {
        self.0 != 0
    }

    /// Whether it is an inode that was in use.
    pub fn was_used(self) -> bool {
        self.0 != 0 && self.0 & Kept::FREE == 0
    }

    /// Whether all that it had is here.
    pub fn is_whole(self) -> bool {
        self.0 & Kept::WHOLE != 0
    }

    /// Whether its extended attributes did not change.
    pub fn are_xattrs_elsewhere(self) -> bool {
        self.0 & Kept::XATTRS_ELSEWHERE != 0
    }

    /// The mode that it had.
    pub fn mode(self) -> u32 {
        self.0 & 0xffff
    }

    /// What is kept of an inode that is going to change for the first time.
    pub fn inode(inode: &Inode) -> Inode {
        if inode.kind().is_none() {
            return Inode { mode: Kept::FREE, generation: inode.generation, ..Inode::default() };
        }
        let pointers = if inode.is_inline_link() { inode.pointers } else { [0; POINTERS] };
        Inode { mode: inode.mode | Kept::XATTRS_ELSEWHERE, xattrs: 0, pointers, ..inode.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back(
            sequence: u64,
            created_ns: i64,
            is_going: bool,
            name in "[a-zA-Z0-9_:@+][-a-zA-Z0-9_.:@+]{0,99}",
        ) {
            let record = SnapshotRecord { sequence, created_ns, is_going, name };
            prop_assert_eq!(SnapshotRecord::decode(&record.encode()), Ok(Some(record)));
        }

        #[test]
        fn hostile_records_are_refused_or_have_a_right_name(first in 0..4u64, bytes: [u8; 128]) {
            let mut record = [0; SNAPSHOT_BYTES];
            record[..8].copy_from_slice(&first.to_le_bytes());
            record[NAME..].copy_from_slice(&bytes);
            if let Ok(Some(record)) = SnapshotRecord::decode(&record) {
                prop_assert!(check_snapshot_name(&record.name).is_ok());
            }
        }
    }

    #[test]
    fn names_that_options_or_files_could_not_have_are_refused() {
        for name in ["", ".", "..", ".a", "-a", "a/b", "a,b", "a b", "a\0", "ä", &"x".repeat(101)] {
            assert!(check_snapshot_name(name).is_err(), "{name}");
        }
        for name in ["a", "2026-11-24T00:24", "daily.1", &"x".repeat(100)] {
            assert!(check_snapshot_name(name).is_ok(), "{name}");
        }
    }
}
