//! An inode: 128 bytes (section III-E).

use super::areas::SIZE_OF_INODE;
use crate::api::{BLOCK_BYTES, Kind};

/// Pointers in an inode: direct ones, then one to a tree of one, of two and of three levels.
pub const POINTERS: usize = 7;
/// Direct pointers among them.
pub const DIRECT: usize = 4;
/// Bytes of a link's target that fit where the pointers would be.
pub const INLINE_BYTES: usize = POINTERS * 8;
/// Blocks that the pointers reach.
pub const MAX_FILE_BLOCKS: u64 = DIRECT as u64 + 512 + 512 * 512 + 512 * 512 * 512;

/// Most blocks of a directory, 32 GiB: as far as positions of 32 bits reach that count 8 bytes.
pub const MAX_DIRECTORY_BLOCKS: u32 = u32::MAX / (BLOCK_BYTES / 8) as u32;

/// What a regular file is related to if blocks behind its end are reserved: they are not what an interrupted operation left.
pub const RESERVED_BEHIND_END: u32 = 1;

/// CRC-32 of an inode that is all zeros.
const SUM_OF_ZEROS: u32 = 0xc2a8_fa9d;

/// Where a field begins within an inode, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Field {
    /// [`Inode::mode`].
    Mode = 0,
    /// [`Inode::size_bytes`].
    Size = 16,
    /// [`Inode::accessed_ns`].
    Accessed = 24,
    /// [`Inode::modified_ns`].
    Modified = 32,
    /// [`Inode::changed_ns`].
    Changed = 40,
    /// [`Inode::blocks`].
    Blocks = 48,
    /// The checksum of all but itself and the blocks.
    Sum = 52,
    /// [`Inode::xattrs`].
    Xattrs = 64,
    /// [`Inode::pointers`].
    Pointers = 72,
}

/// What an inode says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Inode {
    /// Kind and permissions as in `st_mode`; 0 in an inode that is not in use.
    pub mode: u32,
    /// Links to it; one that is in use and has none is to be removed.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes.
    pub size_bytes: u64,
    /// Last access, ns since 1970.
    pub accessed_ns: i64,
    /// Last change of the content, ns since 1970.
    pub modified_ns: i64,
    /// Last change of anything, ns since 1970.
    pub changed_ns: i64,
    /// Blocks on NVRAM and those on the SSD alone, pointers and attributes among them. Worked out anew when it is opened.
    pub blocks: u32,
    /// How often the number was given away. Of the file of inodes: at most, of those that it no longer has.
    pub generation: u32,
    /// Device number of a device file; parent of a directory; [`RESERVED_BEHIND_END`] or 0 of a regular file; else 0.
    pub related: u32,
    /// Pointer to the page of extended attributes, or 0.
    pub xattrs: u64,
    /// Pointers to blocks; the target of a short symbolic link.
    pub pointers: [u64; POINTERS],
}

fn word(bytes: &[u8; SIZE_OF_INODE], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn half(bytes: &[u8; SIZE_OF_INODE], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

impl Inode {
    /// Reads an inode; any bytes are one.
    pub fn decode(bytes: &[u8; SIZE_OF_INODE]) -> Inode {
        Inode {
            mode: half(bytes, 0),
            links: half(bytes, 4),
            uid: half(bytes, 8),
            gid: half(bytes, 12),
            size_bytes: word(bytes, Field::Size as usize),
            accessed_ns: word(bytes, Field::Accessed as usize) as i64,
            modified_ns: word(bytes, Field::Modified as usize) as i64,
            changed_ns: word(bytes, Field::Changed as usize) as i64,
            blocks: half(bytes, Field::Blocks as usize),
            generation: half(bytes, 56),
            related: half(bytes, 60),
            xattrs: word(bytes, Field::Xattrs as usize),
            pointers: std::array::from_fn(|at| word(bytes, Field::Pointers as usize + 8 * at)),
        }
    }

    /// The checksum of an inode's bytes, 0 of zeros. What it does not cover is worked out from what it does.
    pub fn sum(bytes: &[u8; SIZE_OF_INODE]) -> u32 {
        let mut covered = *bytes;
        covered[Field::Blocks as usize..Field::Sum as usize + 4].fill(0);
        crc32fast::hash(&covered) ^ SUM_OF_ZEROS
    }

    /// The checksum that an inode's bytes say they have.
    pub fn sum_in(bytes: &[u8; SIZE_OF_INODE]) -> u32 {
        half(bytes, Field::Sum as usize)
    }

    /// Writes an inode, with its checksum.
    pub fn encode(&self) -> [u8; SIZE_OF_INODE] {
        let mut bytes = [0; SIZE_OF_INODE];
        let halves = [
            (0, self.mode),
            (4, self.links),
            (8, self.uid),
            (12, self.gid),
            (Field::Blocks as usize, self.blocks),
            (56, self.generation),
            (60, self.related),
        ];
        for (at, value) in halves {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let words = [
            (Field::Size as usize, self.size_bytes),
            (Field::Accessed as usize, self.accessed_ns as u64),
            (Field::Modified as usize, self.modified_ns as u64),
            (Field::Changed as usize, self.changed_ns as u64),
            (Field::Xattrs as usize, self.xattrs),
        ];
        let pointers = self.pointers.iter().enumerate();
        let pointers = pointers.map(|(at, &pointer)| (Field::Pointers as usize + 8 * at, pointer));
        for (at, value) in words.into_iter().chain(pointers) {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let sum = Inode::sum(&bytes);
        bytes[Field::Sum as usize..Field::Sum as usize + 4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What kind of file it is; `None` if its mode says nothing sensible.
    pub fn kind(&self) -> Option<Kind> {
        kind_of(self.mode)
    }

    /// Whether blocks behind the end of a regular file are reserved.
    pub fn reserves_behind_end(&self) -> bool {
        self.kind() == Some(Kind::File) && self.related == RESERVED_BEHIND_END
    }

    /// Whether it is a symbolic link whose target stands in place of the pointers.
    pub fn is_inline_link(&self) -> bool {
        self.kind() == Some(Kind::Symlink) && self.size_bytes <= INLINE_BYTES as u64
    }

    /// Target of a short symbolic link.
    pub fn inline_target(&self) -> Vec<u8> {
        let bytes: Vec<u8> = self.pointers.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes[..(self.size_bytes as usize).min(INLINE_BYTES)].to_vec()
    }

    /// Puts the target of a short symbolic link where the pointers would be.
    pub fn set_inline_target(&mut self, target: &[u8]) {
        let mut bytes = [0; INLINE_BYTES];
        bytes[..target.len()].copy_from_slice(target);
        let (words, _) = bytes.as_chunks::<8>();
        self.pointers = std::array::from_fn(|at| u64::from_le_bytes(words[at]));
    }
}

/// Kinds and their bits in a mode.
const KINDS: [(Kind, u32); 7] = [
    (Kind::Fifo, 0o010_000),
    (Kind::CharacterDevice, 0o020_000),
    (Kind::Directory, 0o040_000),
    (Kind::BlockDevice, 0o060_000),
    (Kind::File, 0o100_000),
    (Kind::Symlink, 0o120_000),
    (Kind::Socket, 0o140_000),
];

/// The kind that a mode tells; `None` if it tells none.
pub fn kind_of(mode: u32) -> Option<Kind> {
    KINDS.iter().find(|(_, bits)| mode & 0o170_000 == *bits && mode >> 16 == 0).map(|(kind, _)| *kind)
}

/// The bits of a mode that tell the kind.
pub fn kind_bits(kind: Kind) -> u32 {
    KINDS.iter().find(|(one, _)| *one == kind).expect("all kinds are listed").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_an_inode(bytes: [u8; SIZE_OF_INODE]) {
            let mut expected = bytes;
            expected[Field::Sum as usize..][..4].copy_from_slice(&Inode::sum(&bytes).to_le_bytes());
            prop_assert_eq!(Inode::decode(&bytes).encode(), expected);
        }

        #[test]
        fn any_bit_of_an_inode_counts(bytes: [u8; SIZE_OF_INODE], bit in 0..SIZE_OF_INODE * 8) {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let is_covered = !(Field::Blocks as usize..Field::Sum as usize + 4).contains(&(bit / 8));
            prop_assert_eq!(Inode::sum(&bytes) != Inode::sum(&damaged), is_covered);
        }

        #[test]
        fn short_targets_come_back(target in prop::collection::vec(1u8.., 1..=INLINE_BYTES)) {
            let size_bytes = target.len() as u64;
            let mut inode = Inode { mode: kind_bits(Kind::Symlink) | 0o777, size_bytes, ..Inode::default() };
            inode.set_inline_target(&target);
            prop_assert!(inode.is_inline_link());
            prop_assert_eq!(inode.inline_target(), target);
        }
    }

    #[test]
    fn an_inode_of_zeros_has_a_checksum_of_zero() {
        assert_eq!(Inode::default().encode(), [0; SIZE_OF_INODE]);
    }

    #[test]
    fn kinds_come_back() {
        for (kind, bits) in KINDS {
            assert_eq!(kind_of(bits | 0o7777), Some(kind));
            assert_eq!(kind_bits(kind), bits);
        }
        assert_eq!(kind_of(0), None);
        assert_eq!(kind_of(0o170_644), None);
    }
}
