//! Inodes of 128 bytes (section III-E).

use super::areas::INODE_BYTES;
use crate::api::{BLOCK_BYTES, Kind};

/// Number of pointers in an inode: the direct pointers, then one pointer each to a tree of one, two and three levels.
pub const POINTERS: usize = 7;
/// Number of direct pointers.
pub const DIRECT: usize = 4;
/// Maximum length in bytes of a link target that is stored in place of the pointers.
pub const INLINE_BYTES: usize = POINTERS * 8;
/// Maximum number of blocks that the pointers can address.
pub const MAX_FILE_BLOCKS: u64 = DIRECT as u64 + 512 + 512 * 512 + 512 * 512 * 512;

/// Maximum number of blocks of a directory (32 GiB), limited by the range of 32-bit positions in units of 8 bytes.
pub const MAX_DIRECTORY_BLOCKS: u32 = u32::MAX / (BLOCK_BYTES / 8) as u32;

/// Value of `related` for a regular file with reserved blocks beyond its end. It distinguishes reserved blocks from
/// blocks that an interrupted operation left.
pub const RESERVED_BEYOND_END: u32 = 1;

/// CRC-32 of an all-zero inode.
const ZERO_INODE_SUM: u32 = 0xc2a8_fa9d;

/// Offset of a field within an inode, bytes.
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
    /// Checksum of the inode without this field and without the block count.
    Sum = 52,
    /// [`Inode::xattrs`].
    Xattrs = 64,
    /// [`Inode::pointers`].
    Pointers = 72,
}

/// Decoded content of an inode.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Inode {
    /// File type and permissions as in `st_mode`; 0 in a free inode.
    pub mode: u32,
    /// Number of hard links. An inode that is in use with 0 links will be removed.
    pub links: u32,
    /// User number of the owner.
    pub uid: u32,
    /// Number of the owning group.
    pub gid: u32,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Last access, ns since 1970.
    pub accessed_ns: i64,
    /// Last change of the content, ns since 1970.
    pub modified_ns: i64,
    /// Last change of content or attributes, ns since 1970.
    pub changed_ns: i64,
    /// Number of blocks of the file, on the NVRAM or only on the SSD, including pointers and attributes. Recomputed
    /// when the file system is opened.
    pub blocks: u32,
    /// Number of times that the inode number was assigned. In the inode [`INODES`](super::INODES): the maximum of
    /// this value over all removed inodes.
    pub generation: u32,
    /// Device number of a device file; parent of a directory; [`RESERVED_BEYOND_END`] or 0 for a regular
    /// file; otherwise 0.
    pub related: u32,
    /// Pointer to the page of extended attributes, or 0.
    pub xattrs: u64,
    /// Pointers to blocks; the target of a short symbolic link.
    pub pointers: [u64; POINTERS],
}

fn word(bytes: &[u8; INODE_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn half(bytes: &[u8; INODE_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

impl Inode {
    /// Decodes an inode; any bytes are valid.
    pub fn decode(bytes: &[u8; INODE_BYTES]) -> Inode {
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

    /// Returns the checksum of an inode's bytes; 0 for zeros. The fields that the checksum excludes can be
    /// recomputed.
    pub fn sum(bytes: &[u8; INODE_BYTES]) -> u32 {
        let mut covered = *bytes;
        covered[Field::Blocks as usize..Field::Sum as usize + 4].fill(0);
        crc32fast::hash(&covered) ^ ZERO_INODE_SUM
    }

    /// Returns the checksum stored in an inode's bytes.
    pub fn sum_in(bytes: &[u8; INODE_BYTES]) -> u32 {
        half(bytes, Field::Sum as usize)
    }

    /// Encodes an inode with its checksum.
    pub fn encode(&self) -> [u8; INODE_BYTES] {
        let mut bytes = [0; INODE_BYTES];
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

    /// Returns the file type; `None` if the mode is invalid.
    pub fn kind(&self) -> Option<Kind> {
        kind_of(self.mode)
    }

    /// True if blocks beyond the end of a regular file are reserved.
    pub fn reserves_beyond_end(&self) -> bool {
        self.kind() == Some(Kind::File) && self.related == RESERVED_BEYOND_END
    }

    /// True for a symbolic link with its target stored in place of the pointers.
    pub fn is_inline_link(&self) -> bool {
        self.kind() == Some(Kind::Symlink) && self.size_bytes <= INLINE_BYTES as u64
    }

    /// Returns the target of a short symbolic link.
    pub fn inline_target(&self) -> Vec<u8> {
        let bytes: Vec<u8> = self.pointers.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes[..(self.size_bytes as usize).min(INLINE_BYTES)].to_vec()
    }

    /// Stores the target of a short symbolic link in place of the pointers.
    pub fn set_inline_target(&mut self, target: &[u8]) {
        let mut bytes = [0; INLINE_BYTES];
        bytes[..target.len()].copy_from_slice(target);
        let (words, _) = bytes.as_chunks::<8>();
        self.pointers = std::array::from_fn(|at| u64::from_le_bytes(words[at]));
    }
}

/// File types and their bits in a mode.
const KINDS: [(Kind, u32); 7] = [
    (Kind::Fifo, 0o010_000),
    (Kind::CharacterDevice, 0o020_000),
    (Kind::Directory, 0o040_000),
    (Kind::BlockDevice, 0o060_000),
    (Kind::File, 0o100_000),
    (Kind::Symlink, 0o120_000),
    (Kind::Socket, 0o140_000),
];

/// Returns the file type in a mode; `None` if the type is invalid.
pub fn kind_of(mode: u32) -> Option<Kind> {
    KINDS.iter().find(|(_, bits)| mode & 0o170_000 == *bits && mode >> 16 == 0).map(|(kind, _)| *kind)
}

/// Returns the bits of a mode for a file type.
pub fn kind_bits(kind: Kind) -> u32 {
    KINDS.iter().find(|(one, _)| *one == kind).expect("all kinds are listed").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_decode_and_encode(bytes: [u8; INODE_BYTES]) {
            let mut expected = bytes;
            expected[Field::Sum as usize..][..4].copy_from_slice(&Inode::sum(&bytes).to_le_bytes());
            prop_assert_eq!(Inode::decode(&bytes).encode(), expected);
        }

        #[test]
        fn checksum_detects_any_flipped_bit(bytes: [u8; INODE_BYTES], bit in 0..INODE_BYTES * 8) {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let is_covered = !(Field::Blocks as usize..Field::Sum as usize + 4).contains(&(bit / 8));
            prop_assert_eq!(Inode::sum(&bytes) != Inode::sum(&damaged), is_covered);
        }

        #[test]
        fn short_link_targets_round_trip(target in prop::collection::vec(1u8.., 1..=INLINE_BYTES)) {
            let size_bytes = target.len() as u64;
            let mut inode = Inode { mode: kind_bits(Kind::Symlink) | 0o777, size_bytes, ..Inode::default() };
            inode.set_inline_target(&target);
            prop_assert!(inode.is_inline_link());
            prop_assert_eq!(inode.inline_target(), target);
        }
    }

    #[test]
    fn zeroed_inode_has_checksum_zero() {
        assert_eq!(Inode::default().encode(), [0; INODE_BYTES]);
    }

    #[test]
    fn file_types_round_trip() {
        for (kind, bits) in KINDS {
            assert_eq!(kind_of(bits | 0o7777), Some(kind));
            assert_eq!(kind_bits(kind), bits);
        }
        assert_eq!(kind_of(0), None);
        assert_eq!(kind_of(0o170_644), None);
    }
}
