//! Areas of the NVRAM, in address order.

use crate::api::{BLOCK_BYTES, Ino};

/// Blocks of an SSD extent, 512 KiB: the unit of writing and recycling (section III-C).
pub const EXTENT_BLOCKS: u64 = 128;
/// Bytes of an inode (section III-E).
pub const INODE_BYTES: usize = 128;
/// Inodes per page.
pub const INODES_PER_PAGE: u32 = (BLOCK_BYTES / INODE_BYTES) as u32;
/// Internal file that holds the inode pages, for inodes beyond the table. It is in no directory and invisible to
/// users.
pub const INODES: Ino = Ino(0);
/// First number of the inodes that snapshots keep; such a number encodes the position of the inode on the NVRAM.
pub const FIRST_KEPT_INODE: u32 = 1 << 31;
/// Maximum number of NVRAM pages in a file system with snapshots (256 GiB), limited by the range of the snapshots'
/// inode numbers.
pub const MAX_SNAPSHOT_PAGES: u32 = FIRST_KEPT_INODE / INODES_PER_PAGE;
/// Bytes of the undo log.
const LOG_BYTES: usize = 64 << 10;
/// Bytes of a page table entry: the block that an NVRAM page holds, its links in its list, and the location of its
/// copy on the SSD.
pub(crate) const PAGE_INFO_BYTES: usize = 32;
/// Offset of the checksum of a metadata page within its page table entry.
pub(crate) const PAGE_SUM_AT: usize = 28;
/// Bytes of an owner entry; each block of the SSD has an entry, which names the file and the block that it holds.
const OWNER_BYTES: usize = 8;
/// Bytes of the checksum of an SSD block.
pub const SUM_BYTES: usize = 4;
/// Minimum number of data pages: several extents, so that flushing and cleaning have free pages to work with.
pub const MIN_PAGES: u32 = 6 * EXTENT_BLOCKS as u32;
/// Minimum number of SSD extents, including the extent of the label.
const MIN_EXTENTS: u64 = 16;
/// NVRAM addresses have 47 bits (section III-E).
const MAX_NVRAM_BYTES: u64 = 1 << 47;

/// Page of the NVRAM for data, directories or pointers; the number counts from the first such page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

/// Reason why a file system cannot have the requested sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The NVRAM is too small for the tables and the minimum number of data pages.
    #[error(
        "{nvram_bytes} bytes of NVRAM are too few: the tables for {inodes} inodes and {ssd_blocks} blocks of SSD take {tables}, and at least {MIN_PAGES} pages of 4 KiB must remain"
    )]
    TooLittleNvram {
        /// Size of the NVRAM.
        nvram_bytes: u64,
        /// Requested number of inodes.
        inodes: u32,
        /// Number of blocks of the SSD.
        ssd_blocks: u64,
        /// Bytes that the superblock, the undo log and the tables take.
        tables: u64,
    },
    /// The NVRAM is larger than the address space of pointers.
    #[error("{0} bytes of NVRAM are more than the 128 TiB that can be addressed")]
    TooMuchNvram(u64),
    /// The SSD has too few extents.
    #[error("{0} blocks of SSD are too few: at least {min} (8 MiB) are needed", min = MIN_EXTENTS * EXTENT_BLOCKS)]
    TooSmallSsd(u64),
    /// The SSD has more extents than 32-bit numbers can address.
    #[error("{0} blocks of SSD are more than the 2 PiB that can be addressed")]
    TooLargeSsd(u64),
    /// The number of inodes exceeds the limit; larger inode numbers are reserved for inodes kept by snapshots.
    #[error("{0} inodes are more than the {FIRST_KEPT_INODE} that there can be")]
    TooManyInodes(u32),
    /// The number of inodes is too small for the root directory.
    #[error("{0} inodes are too few: at least 16 are needed")]
    TooFewInodes(u32),
}

/// Start offsets of the areas of the NVRAM in bytes, and sizes.
///
/// ```text
/// superblock | undo log | inode table | block bitmap | page table | owners of SSD blocks | their checksums | pages
/// ```
///
/// The superblock, the inodes, everything that inodes point to, and the checksums are authoritative. All other areas
/// are recomputed from them after a power cut: the bitmap, the page table (`page_info` and both LRU lists) without
/// its checksums, and the owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Areas {
    /// Bytes of the NVRAM region.
    pub nvram_bytes: u64,
    /// Number of blocks of the SSD.
    pub ssd_blocks: u64,
    /// Number of inodes in the table, including [`INODES`].
    pub inodes: u32,
    /// Start of the undo log.
    pub log: usize,
    /// Start of the inode table.
    pub inode_table: usize,
    /// Start of the bitmap: one bit per page, then one bit per SSD block; each part is padded to whole words.
    pub bitmap: usize,
    /// Start of the page table.
    pub page_table: usize,
    /// Start of the owners of SSD blocks.
    pub owners: usize,
    /// Start of the checksums of SSD blocks; equal to the start of the pages if there are no such checksums.
    pub sums: usize,
    /// Start of the pages.
    pub data: usize,
    /// Number of pages.
    pub pages: u32,
}

fn words(bits: u64) -> u64 {
    bits.div_ceil(64)
}

impl Areas {
    /// Lays out a region without checksums of SSD blocks.
    ///
    /// # Errors
    /// Sizes that are too small, or too large to address.
    pub fn new(nvram_bytes: u64, ssd_blocks: u64, inodes: u32) -> Result<Self, LayoutError> {
        Areas::with_sums(nvram_bytes, ssd_blocks, inodes, false)
    }

    /// Lays out a region, with or without checksums of SSD blocks.
    ///
    /// # Errors
    /// Sizes that are too small, or too large to address.
    pub fn with_sums(
        nvram_bytes: u64,
        ssd_blocks: u64,
        inodes: u32,
        has_sums: bool,
    ) -> Result<Self, LayoutError> {
        if nvram_bytes > MAX_NVRAM_BYTES {
            return Err(LayoutError::TooMuchNvram(nvram_bytes));
        }
        if ssd_blocks < MIN_EXTENTS * EXTENT_BLOCKS {
            return Err(LayoutError::TooSmallSsd(ssd_blocks));
        }
        if ssd_blocks > u64::from(u32::MAX) * EXTENT_BLOCKS {
            return Err(LayoutError::TooLargeSsd(ssd_blocks));
        }
        if inodes < 16 {
            return Err(LayoutError::TooFewInodes(inodes));
        }
        if inodes > FIRST_KEPT_INODE {
            return Err(LayoutError::TooManyInodes(inodes));
        }
        let block = BLOCK_BYTES as u64;
        let align = |at: u64| at.next_multiple_of(block);
        let log = block;
        let inode_table = log + LOG_BYTES as u64;
        let bitmap = align(inode_table + u64::from(inodes) * INODE_BYTES as u64);
        // The size of the tables is computed as if the whole region were pages, which is slightly too large.
        let most_pages = nvram_bytes / block;
        let page_table = align(bitmap + 8 * (words(most_pages) + words(ssd_blocks)));
        let owners = align(page_table + most_pages * PAGE_INFO_BYTES as u64);
        let sums = align(owners + ssd_blocks * OWNER_BYTES as u64);
        let data = if has_sums { align(sums + ssd_blocks * SUM_BYTES as u64) } else { sums };
        let pages = nvram_bytes.saturating_sub(data) / block;
        // Links of lists are 32-bit page numbers; the largest number means "no page".
        let pages = pages.min(u64::from(u32::MAX - 1)) as u32;
        if pages < MIN_PAGES {
            return Err(LayoutError::TooLittleNvram { nvram_bytes, inodes, ssd_blocks, tables: data });
        }
        Ok(Areas {
            nvram_bytes,
            ssd_blocks,
            inodes,
            log: log as usize,
            inode_table: inode_table as usize,
            bitmap: bitmap as usize,
            page_table: page_table as usize,
            owners: owners as usize,
            sums: sums as usize,
            data: data as usize,
            pages,
        })
    }

    /// Returns the end of the undo log.
    pub fn log_end(&self) -> usize {
        self.log + LOG_BYTES
    }

    /// Returns the offset of an inode of the table; `None` for other inodes.
    pub fn inode(&self, ino: Ino) -> Option<usize> {
        (ino.0 < self.inodes).then(|| self.inode_table + ino.0 as usize * INODE_BYTES)
    }

    /// Returns the position of an inode beyond the table: the number of its inode page, and its index within the
    /// page.
    pub fn paged_inode(&self, ino: Ino) -> Option<(u32, usize)> {
        let number = ino.0.checked_sub(self.inodes)?;
        Some((number / INODES_PER_PAGE, (number % INODES_PER_PAGE) as usize))
    }

    /// Returns the first inode of an inode page.
    pub fn first_of_page(&self, number: u32) -> Ino {
        Ino(self.inodes + number * INODES_PER_PAGE)
    }

    /// Returns the maximum number of inode pages. The number of an inode page stays below the number of NVRAM pages,
    /// because a new inode page takes the smallest free number. Inode numbers end where the numbers of inodes kept by
    /// snapshots begin.
    pub fn max_inode_pages(&self) -> u32 {
        self.pages.min((FIRST_KEPT_INODE - self.inodes) / INODES_PER_PAGE)
    }

    /// Returns the upper bound (exclusive) of inode numbers.
    pub fn inode_number_limit(&self) -> u32 {
        self.inodes + self.max_inode_pages() * INODES_PER_PAGE
    }

    /// Returns the number of an inode that a snapshot keeps at offset `at`.
    pub fn kept_inode(&self, at: usize) -> Ino {
        Ino(FIRST_KEPT_INODE + ((at - self.data) / INODE_BYTES) as u32)
    }

    /// Returns the offset of an inode kept by a snapshot; `None` for any other inode number.
    pub fn kept_offset(&self, ino: Ino) -> Option<usize> {
        let number = ino.0.checked_sub(FIRST_KEPT_INODE)?;
        (number / INODES_PER_PAGE < self.pages).then(|| self.data + number as usize * INODE_BYTES)
    }

    /// Returns the offset of a page.
    pub fn page(&self, page: PageId) -> usize {
        debug_assert!(page.0 < self.pages);
        self.data + page.0 as usize * BLOCK_BYTES
    }

    /// Returns the offset of the page table entry of a page.
    pub fn page_info(&self, page: PageId) -> usize {
        debug_assert!(page.0 < self.pages);
        self.page_table + page.0 as usize * PAGE_INFO_BYTES
    }

    /// Returns the offset of the checksum of a metadata page.
    pub fn page_sum(&self, page: PageId) -> usize {
        self.page_info(page) + PAGE_SUM_AT
    }

    /// True if the blocks of the SSD have checksums.
    pub fn has_sums(&self) -> bool {
        self.sums < self.data
    }

    /// Returns the offset of the checksum of an SSD block.
    pub fn ssd_sum(&self, block: u64) -> usize {
        debug_assert!(self.has_sums() && block < self.ssd_blocks);
        self.sums + block as usize * SUM_BYTES
    }

    /// Returns the offset of the owner entry of an SSD block.
    pub fn owner(&self, block: u64) -> usize {
        debug_assert!(block < self.ssd_blocks);
        self.owners + block as usize * OWNER_BYTES
    }

    /// Returns the offset of the part of the bitmap for the SSD.
    pub fn ssd_bitmap(&self) -> usize {
        self.bitmap + 8 * words(self.nvram_bytes / BLOCK_BYTES as u64) as usize
    }

    /// Returns the number of SSD extents; the first one holds the label.
    pub fn extents(&self) -> u32 {
        (self.ssd_blocks / EXTENT_BLOCKS) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_in_order_and_fit() {
        for (megabytes, blocks, inodes) in [(8, 8192, 256), (64, 1 << 20, 4096), (4096, 16 << 20, 1 << 20)] {
            let areas = Areas::with_sums(megabytes << 20, blocks, inodes, true).unwrap();
            let plain = Areas::new(megabytes << 20, blocks, inodes).unwrap();
            assert!(plain.sums == plain.data && plain.sums == areas.sums && areas.pages < plain.pages);
            let inodes_end = areas.inode(Ino(inodes - 1)).unwrap() + INODE_BYTES;
            assert!(areas.log_end() <= areas.inode_table && inodes_end <= areas.bitmap);
            assert!(areas.ssd_bitmap() + 8 * words(blocks) as usize <= areas.page_table);
            assert!(areas.page_info(PageId(areas.pages - 1)) + PAGE_INFO_BYTES <= areas.owners);
            assert!(areas.owner(blocks - 1) + OWNER_BYTES <= areas.sums);
            assert!(areas.ssd_sum(blocks - 1) + SUM_BYTES <= areas.data);
            let end = areas.page(PageId(areas.pages - 1)) + BLOCK_BYTES;
            assert!(end as u64 <= areas.nvram_bytes);
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(matches!(Areas::new(1 << 20, 4096, 64), Err(LayoutError::TooLittleNvram { .. })));
        assert!(matches!(Areas::new(1 << 50, 4096, 64), Err(LayoutError::TooMuchNvram(_))));
        assert!(matches!(Areas::new(8 << 20, 100, 64), Err(LayoutError::TooSmallSsd(100))));
        assert!(matches!(Areas::new(8 << 20, 4096, 3), Err(LayoutError::TooFewInodes(3))));
        assert!(matches!(Areas::new(8 << 20, u64::MAX / 2, 64), Err(LayoutError::TooLargeSsd(_))));
        assert!(matches!(Areas::new(8 << 20, 1 << 30, 64), Err(LayoutError::TooLittleNvram { .. })));
    }
}
