//! Superblock: the fixed parameters of a file system, in its first page of NVRAM; and the label of the SSD that
//! belongs to the file system.

use super::areas::{Areas, LayoutError};
use crate::placement::PlacementKind;

/// Bytes of the superblock, including its checksum. The rest of its page holds variable state.
pub const SUPERBLOCK_BYTES: usize = 64;
/// First word of a file system without checksums, as created before checksums existed.
const MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS1");
/// First word of a file system with checksums. It is a single word, so upgrading the format is atomic.
const CHECKED_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS2");
/// First word of a format that also supports reserved blocks. It differs from the other first words in more than one
/// bit.
const RESERVED_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS4");
/// First word of a format that also supports inode pages. It differs from the other first words in more than one bit.
const INODE_PAGES_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS7");
/// First word of a format that also supports snapshots. It differs from the other first words in more than one bit.
const SNAPSHOTS_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS8");

/// Format version of a file system with checksums. Each version includes the features of all earlier versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Version {
    /// Checksums only.
    Checked,
    /// Supports reserved blocks.
    Reserved,
    /// Supports inode pages.
    InodePages,
    /// Supports snapshots.
    #[default]
    Snapshots,
}

impl Version {
    const MAGICS: [(Version, u64); 4] = [
        (Version::Checked, CHECKED_MAGIC),
        (Version::Reserved, RESERVED_MAGIC),
        (Version::InodePages, INODE_PAGES_MAGIC),
        (Version::Snapshots, SNAPSHOTS_MAGIC),
    ];
}

/// Scope of checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Checksums {
    /// No checksums, for file systems that are never opened again: mounting adds checksums of metadata.
    None,
    /// Checksums of metadata.
    Metadata,
    /// Checksums of metadata, of data on the SSD and, while the file system is closed, of data on NVRAM.
    #[default]
    All,
}

/// Offsets of metadata that is being changed outside of an atomic update, stored in words after the superblock.
///
/// After a power cut, the checksums of the listed metadata may be wrong, so they are recomputed. All words are 0 in a
/// cleanly closed file system.
pub struct ChangeNoteWords;

impl ChangeNoteWords {
    /// Offset of these words on NVRAM.
    pub const AT: usize = 2048;
    /// Number of these words.
    pub const COUNT: usize = 256;
}

/// First and last page of each list, and a flag that tells if these pages are valid; stored after the superblock.
///
/// The ends are written only when the file system is closed; opening it clears [`ListEnds::CLEAN`] first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ListEnds {
    /// Most and least recently used page of the clean list.
    pub clean: (u32, u32),
    /// Most and least recently used page of the dirty list.
    pub dirty: (u32, u32),
}

impl ListEnds {
    /// Offset of the word that marks the file system as cleanly closed.
    pub const CLEAN_AT: usize = 512;
    /// Value of the word at [`ListEnds::CLEAN_AT`] after a clean close.
    pub const CLEAN: u64 = u64::from_le_bytes(*b"closed!\n");
    /// Offset of the list ends.
    pub const AT: usize = 520;
    /// Offset of the checksum over the page table and the list ends.
    pub const SUM_AT: usize = 536;

    /// Encodes the ends.
    pub fn encode(&self) -> [u8; 16] {
        let numbers = [self.clean.0, self.clean.1, self.dirty.0, self.dirty.1];
        let mut bytes = [0; 16];
        for (chunk, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            chunk.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Decodes the ends; any bytes are valid.
    pub fn decode(bytes: &[u8; 16]) -> ListEnds {
        let (chunks, _) = bytes.as_chunks::<4>();
        let number = |at: usize| u32::from_le_bytes(chunks[at]);
        ListEnds { clean: (number(0), number(1)), dirty: (number(2), number(3)) }
    }
}

/// Identity of a mount. The epochs on NVRAM and SSD are equal unless one of the devices is an earlier copy.
///
/// An epoch of zeros belongs to a file system that was never mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Epoch {
    /// Number of mounts of the file system.
    pub count: u64,
    /// Random number that distinguishes this mount from a mount of a copy with the same count.
    pub nonce: u64,
}

impl Epoch {
    /// Bytes of an epoch, including its checksum.
    pub const BYTES: usize = 24;
    /// Offset of the current epoch on NVRAM.
    pub const AT: usize = 1024;
    /// Offset on NVRAM of the epoch that is being written to the SSD.
    pub const NEXT_AT: usize = 1088;
    /// Offset of the epoch in the first block of the SSD, after the label.
    pub const LABEL_AT: usize = 64;

    /// Encodes the epoch.
    pub fn encode(&self) -> [u8; Epoch::BYTES] {
        let mut bytes = [0; Epoch::BYTES];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.nonce.to_le_bytes());
        let sum = Epoch::sum(&bytes);
        bytes[16..20].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes the epoch at offset `at`; `None` if it is damaged.
    pub fn decode(bytes: &[u8], at: usize) -> Option<Epoch> {
        let bytes: &[u8; Epoch::BYTES] = bytes.get(at..at + Epoch::BYTES)?.try_into().ok()?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        (word(16) == u64::from(Epoch::sum(bytes))).then(|| Epoch { count: word(0), nonce: word(8) })
    }

    /// Returns a checksum that is 0 for an epoch of zeros.
    fn sum(bytes: &[u8; Epoch::BYTES]) -> u32 {
        crc32fast::hash(&bytes[..16]) ^ crc32fast::hash(&[0; 16])
    }
}

/// Fixed parameters of a file system; set when it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Unique identifier of the file system, equal on NVRAM and SSD.
    pub id: u128,
    /// Size of the NVRAM in bytes.
    pub nvram_bytes: u64,
    /// Number of blocks of the SSD.
    pub ssd_blocks: u64,
    /// Number of inodes in the table.
    pub inodes: u32,
    /// Fraction of the SSD's extents kept free for cleaning, in thousandths.
    pub reserve_permille: u16,
    /// Placement policy for data.
    pub placement: PlacementKind,
    /// Scope of checksums.
    pub checksums: Checksums,
    /// Format version, if there are checksums.
    pub version: Version,
}

impl Superblock {
    /// Encodes the superblock, with a checksum at the end.
    pub fn encode(&self) -> [u8; SUPERBLOCK_BYTES] {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.id.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.nvram_bytes.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.ssd_blocks.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.inodes.to_le_bytes());
        bytes[44..46].copy_from_slice(&self.reserve_permille.to_le_bytes());
        bytes[46] = self.placement.code();
        bytes[47] = u8::from(self.checksums == Checksums::All);
        // The checksum is always computed with the first word of a file system without checksums, so it stays valid
        // when the format is upgraded.
        let sum = crc32fast::hash(&bytes[..SUPERBLOCK_BYTES - 4]);
        bytes[SUPERBLOCK_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes[..8].copy_from_slice(&self.first_word().to_le_bytes());
        bytes
    }

    /// Returns the first word, the only word that changes when a newer version of Wearwell mounts the file system for
    /// the first time.
    pub fn first_word(&self) -> u64 {
        let is_mine = |(version, _): &&(Version, u64)| *version == self.version;
        match self.checksums {
            Checksums::None => MAGIC,
            _ => Version::MAGICS.iter().find(is_mine).expect("each version has one").1,
        }
    }

    /// Decodes a superblock; `None` if the bytes are not a superblock or are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Superblock> {
        let bytes: &[u8; SUPERBLOCK_BYTES] = bytes.get(..SUPERBLOCK_BYTES)?.try_into().ok()?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let mut as_without = *bytes;
        as_without[..8].copy_from_slice(&MAGIC.to_le_bytes());
        if half(SUPERBLOCK_BYTES - 4) != crc32fast::hash(&as_without[..SUPERBLOCK_BYTES - 4]) {
            return None;
        }
        let version =
            Version::MAGICS.iter().find(|(_, magic)| *magic == word(0)).map(|(version, _)| *version);
        let checksums = match (version, bytes[47]) {
            (None, 0) if word(0) == MAGIC => Checksums::None,
            (Some(_), 0) => Checksums::Metadata,
            (Some(_), 1) => Checksums::All,
            _ => return None,
        };
        Some(Superblock {
            id: u128::from(word(8)) | u128::from(word(16)) << 64,
            nvram_bytes: word(24),
            ssd_blocks: word(32),
            inodes: half(40),
            reserve_permille: u16::from_le_bytes([bytes[44], bytes[45]]),
            placement: PlacementKind::from_code(bytes[46])?,
            checksums,
            version: version.unwrap_or_default(),
        })
    }

    /// Returns the areas of the NVRAM.
    ///
    /// # Errors
    /// Invalid sizes.
    pub fn areas(&self) -> Result<Areas, LayoutError> {
        let has_sums = self.checksums == Checksums::All;
        Areas::with_sums(self.nvram_bytes, self.ssd_blocks, self.inodes, has_sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_round_trips_and_damaged_epoch_is_rejected() {
        assert_eq!(Epoch::decode(&[0; Epoch::BYTES], 0), Some(Epoch::default()));
        let epoch = Epoch { count: 7, nonce: 0x1234_5678_9abc_def0 };
        let bytes = epoch.encode();
        assert_eq!(Epoch::decode(&bytes, 0), Some(epoch));
        for at in 0..Epoch::BYTES * 8 {
            let mut damaged = bytes;
            damaged[at / 8] ^= 1 << (at % 8);
            assert_eq!(Epoch::decode(&damaged, 0), None, "bit {at}");
        }
        assert_eq!(Epoch::decode(&bytes, 1), None);
    }

    #[test]
    fn superblock_round_trips_and_damaged_superblock_is_rejected() {
        for checksums in [Checksums::None, Checksums::Metadata, Checksums::All] {
            let versions = [Version::Checked, Version::Reserved, Version::InodePages, Version::Snapshots];
            // A file system without checksums has no version.
            let first = if checksums == Checksums::None { 3 } else { 0 };
            versions[first..].iter().for_each(|version| assert_superblock_round_trips(checksums, *version));
        }
    }

    fn assert_superblock_round_trips(checksums: Checksums, version: Version) {
        let superblock = Superblock {
            id: 0x1234_5678_9abc_def0_1122_3344_5566_7788,
            nvram_bytes: 8 << 20,
            ssd_blocks: 8192,
            inodes: 256,
            reserve_permille: 50,
            placement: PlacementKind::Nvmfs,
            checksums,
            version,
        };
        let bytes = superblock.encode();
        assert_eq!(Superblock::decode(&bytes), Some(superblock));
        for at in 0..SUPERBLOCK_BYTES * 8 {
            let mut damaged = bytes;
            damaged[at / 8] ^= 1 << (at % 8);
            assert_eq!(Superblock::decode(&damaged), None, "bit {at}");
        }
        assert_eq!(Superblock::decode(&bytes[..40]), None);
    }
}
