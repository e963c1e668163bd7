//! The superblock: what a file system is, in its first page of NVRAM, and the label of the SSD that belongs to it.

use super::areas::{Areas, LayoutError};
use crate::placement::PlacementKind;

/// Bytes of the superblock, checksum included. Behind it in the page stands what changes.
pub const SUPERBLOCK_BYTES: usize = 64;
/// What a file system without checksums begins with, as those made before there were any.
const MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS1");
/// What one with checksums begins with. A word, so that one changes to the other untorn.
const CHECKED_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS2");
/// What one begins with that may have reserved blocks besides. Not a bit away from the others.
const RESERVING_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS4");
/// What one begins with that may have pages of inodes besides. Not a bit away from the others.
const GROWING_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS7");
/// What one begins with that may have snapshots besides. Not a bit away from the others.
const KEEPING_MAGIC: u64 = u64::from_le_bytes(*b"WWNVMFS8");

/// What a file system that has checksums may have besides: each version all that those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Version {
    /// Nothing.
    Checked,
    /// Reserved blocks.
    Reserving,
    /// Pages of inodes.
    Growing,
    /// Snapshots.
    #[default]
    Keeping,
}

impl Version {
    const MAGICS: [(Version, u64); 4] = [
        (Version::Checked, CHECKED_MAGIC),
        (Version::Reserving, RESERVING_MAGIC),
        (Version::Growing, GROWING_MAGIC),
        (Version::Keeping, KEEPING_MAGIC),
    ];
}

/// What has checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Checksums {
    /// Nothing: for what is never opened again. Mounting it makes those of metadata.
    None,
    /// Metadata.
    Metadata,
    /// Metadata, data on the SSD, and, while the file system is closed, data on NVRAM.
    #[default]
    All,
}

/// Places of metadata that change otherwise than by an update that is whole or not at all: so many words behind the superblock.
///
/// Of what they tell no checksum is known to be right after a power cut; they are worked out anew. All are 0 in a file system
/// that was closed.
pub struct Changing;

impl Changing {
    /// Where the words stand.
    pub const AT: usize = 2048;
    /// How many there are.
    pub const COUNT: usize = 256;
}

/// First and last page of each list, and whether they may be believed; behind the superblock.
///
/// Written when the file system is closed, and only then; opening it clears [`ListEnds::CLEAN`] first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ListEnds {
    /// Most and least recently used page of the clean list.
    pub clean: (u32, u32),
    /// Most and least recently used page of the dirty list.
    pub dirty: (u32, u32),
}

impl ListEnds {
    /// Where the word stands that says whether the file system was closed.
    pub const CLEAN_AT: usize = 512;
    /// Its value if it was.
    pub const CLEAN: u64 = u64::from_le_bytes(*b"closed!\n");
    /// Where the ends stand.
    pub const AT: usize = 520;
    /// Where the checksum of the page table stands, and of the ends.
    pub const SUM_AT: usize = 536;

    /// As bytes.
    pub fn encode(&self) -> [u8; 16] {
        let numbers = [self.clean.0, self.clean.1, self.dirty.0, self.dirty.1];
        let mut bytes = [0; 16];
        for (chunk, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            chunk.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// From bytes; any are some.
    pub fn decode(bytes: &[u8; 16]) -> ListEnds {
        let (chunks, _) = bytes.as_chunks::<4>();
        let number = |at: usize| u32::from_le_bytes(chunks[at]);
        ListEnds { clean: (number(0), number(1)), dirty: (number(2), number(3)) }
    }
}

/// Of which mount NVRAM and SSD are: the same on both, unless one of them is a copy of before.
///
/// All zeros is one too, of what was never mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Epoch {
    /// How often the file system was mounted.
    pub count: u64,
    /// Tells the mount from one of a copy that was mounted as often.
    pub mark: u64,
}

impl Epoch {
    /// Bytes of one, checksum included.
    pub const BYTES: usize = 24;
    /// Where it stands on NVRAM.
    pub const AT: usize = 1024;
    /// Where the one stands that the SSD is being given.
    pub const NEXT_AT: usize = 1088;
    /// Where it stands in the first block of the SSD, behind the label.
    pub const LABEL_AT: usize = 64;

    /// As bytes.
    pub fn encode(&self) -> [u8; Epoch::BYTES] {
        let mut bytes = [0; Epoch::BYTES];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.mark.to_le_bytes());
        let sum = Epoch::sum(&bytes);
        bytes[16..20].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The one that stands at `at`; `None` if it is damaged.
    pub fn decode(bytes: &[u8], at: usize) -> Option<Epoch> {
        let bytes: &[u8; Epoch::BYTES] = bytes.get(at..at + Epoch::BYTES)?.try_into().ok()?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        (word(16) == u64::from(Epoch::sum(bytes))).then(|| Epoch { count: word(0), mark: word(8) })
    }

    /// A checksum that is 0 where all is 0.
    fn sum(bytes: &[u8; Epoch::BYTES]) -> u32 {
        crc32fast::hash(&bytes[..16]) ^ crc32fast::hash(&[0; 16])
    }
}

/// What a file system is. It never changes after it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Tells file systems apart: the same on NVRAM and SSD.
    pub id: u128,
    /// Bytes of NVRAM.
    pub nvram_bytes: u64,
    /// Blocks of the SSD.
    pub ssd_blocks: u64,
    /// Inodes of the table.
    pub inodes: u32,
    /// Parts of a thousand of the SSD's extents that are kept free for cleaning.
    pub reserve_permille: u16,
    /// Where data goes.
    pub placement: PlacementKind,
    /// What has checksums.
    pub checksums: Checksums,
    /// Of one that has checksums: what it may have besides.
    pub version: Version,
}

impl Superblock {
    /// As bytes, with a checksum at the end.
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
        // As if there were no checksums, so that it stays right when there are some later.
        let sum = crc32fast::hash(&bytes[..SUPERBLOCK_BYTES - 4]);
        bytes[SUPERBLOCK_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes[..8].copy_from_slice(&self.first_word().to_le_bytes());
        bytes
    }

    /// What it begins with: all that changes of it when a later program mounts it first.
    pub fn first_word(&self) -> u64 {
        let is_mine = |(version, _): &&(Version, u64)| *version == self.version;
        match self.checksums {
            Checksums::None => MAGIC,
            _ => Version::MAGICS.iter().find(is_mine).expect("each version has one").1,
        }
    }

    /// From bytes; `None` if it is no superblock, or damaged.
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
            placement: PlacementKind::of_code(bytes[46])?,
            checksums,
            version: version.unwrap_or_default(),
        })
    }

    /// The areas of its NVRAM.
    ///
    /// # Errors
    /// Sizes that no file system has.
    pub fn areas(&self) -> Result<Areas, LayoutError> {
        let has_sums = self.checksums == Checksums::All;
        Areas::with_sums(self.nvram_bytes, self.ssd_blocks, self.inodes, has_sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_comes_back_and_a_damaged_one_does_not() {
        assert_eq!(Epoch::decode(&[0; Epoch::BYTES], 0), Some(Epoch::default()));
        let epoch = Epoch { count: 7, mark: 0x1234_5678_9abc_def0 };
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
    fn a_superblock_comes_back_and_a_damaged_one_does_not() {
        for checksums in [Checksums::None, Checksums::Metadata, Checksums::All] {
            let versions = [Version::Checked, Version::Reserving, Version::Growing, Version::Keeping];
            // One without checksums has no version.
            let first = if checksums == Checksums::None { 3 } else { 0 };
            versions[first..].iter().for_each(|version| superblock_comes_back(checksums, *version));
        }
    }

    fn superblock_comes_back(checksums: Checksums, version: Version) {
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
