//! Layout of NVRAM and SSD (section III-E).

mod acl;
mod areas;
mod checked;
mod inode;
mod location;
mod snapshot;
mod superblock;
mod xattrs;

pub use acl::{Acl, repaired_acls};
pub use areas::{
    Areas, EXTENT_BLOCKS, FIRST_KEPT_INODE, INODE_BYTES, INODES, INODES_PER_PAGE, LayoutError,
    MAX_SNAPSHOT_PAGES, MIN_PAGES, PageId, SUM_BYTES,
};
pub(crate) use areas::{PAGE_INFO_BYTES, PAGE_SUM_AT};
pub use checked::{checked_number, checked_word};
pub use inode::{
    DIRECT, Field, INLINE_BYTES, Inode, MAX_DIRECTORY_BLOCKS, MAX_FILE_BLOCKS, POINTERS, RESERVED_BEYOND_END,
    kind_bits, kind_of,
};
pub use location::{BlockLocation, NVRAM_BASE};
pub use snapshot::{
    KeptMode, MAX_SNAPSHOT_NAME_BYTES, SNAPSHOT_BYTES, SNAPSHOTS_PER_PAGE, SnapshotPages, SnapshotRecord,
    check_snapshot_name,
};
pub use superblock::{ChangeNoteWords, Checksums, Epoch, ListEnds, SUPERBLOCK_BYTES, Superblock, Version};
pub use xattrs::{Xattrs, check_xattr_bytes, check_xattr_name, decode_xattrs, encode_xattrs, xattr_value};

/// Number of pointers in a pointer block.
pub const POINTERS_PER_BLOCK: u64 = (crate::api::BLOCK_BYTES / 8) as u64;
