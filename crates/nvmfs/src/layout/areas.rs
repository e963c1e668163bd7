//! The areas of the NVRAM, one after the other.

use crate::api::{BLOCK_BYTES, Ino};

/// Blocks of an extent of the SSD, 512 KiB: the unit in which it is written and recycled (section III-C).
pub const EXTENT_BLOCKS: u64 = 128;
/// Bytes of an inode (section III-E).
pub const SIZE_OF_INODE: usize = 128;
/// Inodes of a page of them.
pub const INODES_PER_PAGE: u32 = (BLOCK_BYTES / SIZE_OF_INODE) as u32;
/// The file whose blocks are pages of inodes: those that the table has no room for. It is in no directory, and no user's.
pub const INODES: Ino = Ino(0);
/// Numbers from here on are of inodes as snapshots keep them: each says where on the NVRAM it stands.
pub const KEPT_INODES: u32 = 1 << 31;
/// Most pages of the NVRAM if there are to be snapshots, 256 GiB: as far as their numbers reach.
pub const MOST_PAGES_OF_SNAPSHOTS: u32 = KEPT_INODES / INODES_PER_PAGE;
/// Bytes of the undo log.
const LOG_BYTES: usize = 64 << 10;
/// Bytes kept of each page of NVRAM: whose it is, its place in its list, its second copy on the SSD.
pub(crate) const PAGE_INFO_BYTES: usize = 32;
/// Where the checksum of a page of metadata stands in what is kept of it.
pub(crate) const PAGE_SUM_AT: usize = 28;
/// Bytes kept of each block of the SSD: whose it is.
const OWNER_BYTES: usize = 8;
/// Bytes of the checksum of a block of the SSD.
pub const SUM_BYTES: usize = 4;
/// Fewest pages for data: several extents' worth, so that flushing and cleaning have room to work in.
pub const MIN_PAGES: u32 = 6 * EXTENT_BLOCKS as u32;
/// Fewest extents of the SSD, the label's among them.
const MIN_EXTENTS: u64 = 16;
/// NVRAM addresses have 47 bits (section III-E).
const MAX_NVRAM_BYTES: u64 = 1 << 47;

/// A page of the NVRAM that holds data, directories or pointers; counted from the first such page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

/// Why a file system cannot have these sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Too little NVRAM for the tables and some data.
    #[error(
        "{nvram_bytes} bytes of NVRAM are too few: the tables for {inodes} inodes and {ssd_blocks} blocks of SSD take {tables}, and at least {MIN_PAGES} pages of 4 KiB must remain"
    )]
    TooLittleNvram {
        /// What there is.
        nvram_bytes: u64,
        /// Inodes wanted.
        inodes: u32,
        /// Blocks of the SSD.
        ssd_blocks: u64,
        /// Bytes of superblock, log and tables.
        tables: u64,
    },
    /// The address space is smaller.
    #[error("{0} bytes of NVRAM are more than the 128 TiB that can be addressed")]
    TooMuchNvram(u64),
    /// Too few extents.
    #[error("{0} blocks of SSD are too few: at least {min} (8 MiB) are needed", min = MIN_EXTENTS * EXTENT_BLOCKS)]
    TooSmallSsd(u64),
    /// Extents are counted with 32 bits.
    #[error("{0} blocks of SSD are more than the 2 PiB that can be addressed")]
    TooLargeSsd(u64),
    /// Larger numbers are of what snapshots keep.
    #[error("{0} inodes are more than the {KEPT_INODES} that there can be")]
    TooManyInodes(u32),
    /// No room for the root directory.
    #[error("{0} inodes are too few: at least 16 are needed")]
    TooFewInodes(u32),
}

/// Where the areas of the NVRAM begin, bytes, and how much fits.
///
/// ```text
/// superblock | undo log | inode table | block bitmap | page table | owners of SSD blocks | their checksums | pages
/// ```
///
/// The superblock, inodes and what they point to are the truth, and the checksums. The bitmap, the page table (`page_info` and
/// both LRU lists) but for the checksums in it, and the owners can be worked out from them, and are after a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Areas {
    /// Bytes of the region.
    pub nvram_bytes: u64,
    /// Blocks of the SSD.
    pub ssd_blocks: u64,
    /// Inodes of the table, [`INODES`] among them.
    pub inodes: u32,
    /// Start of the undo log.
    pub log: usize,
    /// Start of the inode table.
    pub inode_table: usize,
    /// Start of the bitmap: a bit for each page, then one for each block of the SSD; each part in whole words.
    pub bitmap: usize,
    /// Start of the page table.
    pub page_table: usize,
    /// Start of the owners.
    pub owners: usize,
    /// Start of the checksums of the SSD's blocks: where the pages start if there are none.
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
    /// Lays out a region without checksums of the SSD's blocks.
    ///
    /// # Errors
    /// Sizes that are too small, or larger than addresses reach.
    pub fn new(nvram_bytes: u64, ssd_blocks: u64, inodes: u32) -> Result<Self, LayoutError> {
        Areas::with_sums(nvram_bytes, ssd_blocks, inodes, false)
    }

    /// Lays out a region, with or without checksums of the SSD's blocks.
    ///
    /// # Errors
    /// Sizes that are too small, or larger than addresses reach.
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
        if inodes > KEPT_INODES {
            return Err(LayoutError::TooManyInodes(inodes));
        }
        let block = BLOCK_BYTES as u64;
        let align = |at: u64| at.next_multiple_of(block);
        let log = block;
        let inode_table = log + LOG_BYTES as u64;
        let bitmap = align(inode_table + u64::from(inodes) * SIZE_OF_INODE as u64);
        // For tables that grow with the number of pages, count every page of the region: a little too many.
        let most_pages = nvram_bytes / block;
        let page_table = align(bitmap + 8 * (words(most_pages) + words(ssd_blocks)));
        let owners = align(page_table + most_pages * PAGE_INFO_BYTES as u64);
        let sums = align(owners + ssd_blocks * OWNER_BYTES as u64);
        let data = if has_sums { align(sums + ssd_blocks * SUM_BYTES as u64) } else { sums };
        let pages = nvram_bytes.saturating_sub(data) / block;
        // Places in lists are numbers of 32 bits, the last of which means nowhere.
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

    /// End of the undo log.
    pub fn log_end(&self) -> usize {
        self.log + LOG_BYTES
    }

    /// First byte of an inode, if it is one of the table.
    pub fn inode(&self, ino: Ino) -> Option<usize> {
        (ino.0 < self.inodes).then(|| self.inode_table + ino.0 as usize * SIZE_OF_INODE)
    }

    /// Where an inode stands that is none of the table: the number of its page, and which of those there it is.
    pub fn paged_inode(&self, ino: Ino) -> Option<(u32, usize)> {
        let number = ino.0.checked_sub(self.inodes)?;
        Some((number / INODES_PER_PAGE, (number % INODES_PER_PAGE) as usize))
    }

    /// The first inode of a page of them.
    pub fn first_of_page(&self, number: u32) -> Ino {
        Ino(self.inodes + number * INODES_PER_PAGE)
    }

    /// Most pages of inodes that there can be: one is never behind more than all others, and the numbers end where those of snapshots begin.
    pub fn most_inode_pages(&self) -> u32 {
        self.pages.min((KEPT_INODES - self.inodes) / INODES_PER_PAGE)
    }

    /// Numbers of inodes are below this, however many there are.
    pub fn most_inodes(&self) -> u32 {
        self.inodes + self.most_inode_pages() * INODES_PER_PAGE
    }

    /// The number of what snapshots keep at a place.
    pub fn kept_inode(&self, at: usize) -> Ino {
        Ino(KEPT_INODES + ((at - self.data) / SIZE_OF_INODE) as u32)
    }

    /// First byte of what snapshots keep, if it is a number of theirs.
    pub fn kept_at(&self, ino: Ino) -> Option<usize> {
        let number = ino.0.checked_sub(KEPT_INODES)?;
        (number / INODES_PER_PAGE < self.pages).then(|| self.data + number as usize * SIZE_OF_INODE)
    }

    /// First byte of a page.
    pub fn page(&self, page: PageId) -> usize {
        debug_assert!(page.0 < self.pages);
        self.data + page.0 as usize * BLOCK_BYTES
    }

    /// First byte of what is kept of a page.
    pub fn page_info(&self, page: PageId) -> usize {
        debug_assert!(page.0 < self.pages);
        self.page_table + page.0 as usize * PAGE_INFO_BYTES
    }

    /// First byte of the checksum of a page of metadata.
    pub fn page_sum(&self, page: PageId) -> usize {
        self.page_info(page) + PAGE_SUM_AT
    }

    /// Whether the blocks of the SSD have checksums.
    pub fn has_sums(&self) -> bool {
        self.sums < self.data
    }

    /// First byte of the checksum of a block of the SSD.
    pub fn ssd_sum(&self, block: u64) -> usize {
        debug_assert!(self.has_sums() && block < self.ssd_blocks);
        self.sums + block as usize * SUM_BYTES
    }

    /// First byte of the owner of a block of the SSD.
    pub fn owner(&self, block: u64) -> usize {
        debug_assert!(block < self.ssd_blocks);
        self.owners + block as usize * OWNER_BYTES
    }

    /// First byte of the part of the bitmap that is about the SSD.
    pub fn ssd_bitmap(&self) -> usize {
        self.bitmap + 8 * words(self.nvram_bytes / BLOCK_BYTES as u64) as usize
    }

    /// Extents of the SSD, the first of which holds the label.
    pub fn extents(&self) -> u32 {
        (self.ssd_blocks / EXTENT_BLOCKS) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_follow_one_another_and_fit() {
        for (megabytes, blocks, inodes) in [(8, 8192, 256), (64, 1 << 20, 4096), (4096, 16 << 20, 1 << 20)] {
            let areas = Areas::with_sums(megabytes << 20, blocks, inodes, true).unwrap();
            let plain = Areas::new(megabytes << 20, blocks, inodes).unwrap();
            assert!(plain.sums == plain.data && plain.sums == areas.sums && areas.pages < plain.pages);
            let inodes_end = areas.inode(Ino(inodes - 1)).unwrap() + SIZE_OF_INODE;
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
