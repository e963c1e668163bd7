//! Organisation of a drive's flash.

use serde::{Deserialize, Serialize};

/// The shape of a drive's flash, from channels down to pages.
///
/// The unit of erase, called a block everywhere else, is one erase block of a plane or a superblock: erase blocks of
/// several planes that are filled and erased together. The location of blocks and pages matters only to
/// [`crate::timing::Layout`], not to counting runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Buses to the controller.
    pub channels: u32,
    /// Chips (packages' chip enables) on each channel.
    pub ways: u32,
    /// Dies (LUNs) in each chip.
    pub dies: u32,
    /// Planes of each die.
    pub planes: u32,
    /// Erase blocks of each plane, including unused ones.
    pub blocks_per_plane: u32,
    /// Number of unused erase blocks: the last one of this many planes. Must be whole superblocks, and fewer than
    /// there are planes.
    #[serde(default)]
    pub unused_blocks: u32,
    /// Erase blocks of different planes that form a block; 1 unless there are superblocks.
    pub superblock_blocks: u32,
    /// Pages of each block.
    pub pages_per_block: u32,
    /// User bytes of each page.
    pub page_bytes: u32,
    /// Spare (out-of-band) bytes of each page.
    pub spare_bytes: u32,
}

/// Error in a geometry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// A dimension of zero.
    #[error("{dimension} is 0; at least 1 is needed")]
    Zero {
        /// The field's name.
        dimension: &'static str,
    },
    /// More pages than 32-bit page numbers can name.
    #[error(
        "{pages} physical pages; at most {} can be numbered: use larger pages or a smaller drive",
        u32::MAX
    )]
    TooManyPages {
        /// Requested pages.
        pages: u128,
    },
    /// More unused blocks than the last row has, or parts of superblocks.
    #[error(
        "{unused_blocks} erase blocks are not used; it must be a multiple of the {superblock_blocks} of a superblock below the \
         {planes} planes of the drive"
    )]
    Unused {
        /// Erase blocks that are not used.
        unused_blocks: u32,
        /// Erase blocks of a superblock.
        superblock_blocks: u32,
        /// Planes of the drive.
        planes: u32,
    },
    /// Superblocks that cannot be distributed over the planes.
    #[error(
        "superblocks of {superblock_blocks} erase blocks; they must be of one, of a divisor of the {planes} planes of a \
         die, or of all planes of a number of dies that divides the {dies} of the drive"
    )]
    Superblock {
        /// Erase blocks per superblock.
        superblock_blocks: u32,
        /// Planes of a die.
        planes: u32,
        /// Dies of the drive.
        dies: u32,
    },
}

/// True if superblocks of this many erase blocks, at least 1, fit the drive: they span some planes of a die, or all
/// planes of some dies.
pub(crate) fn superblocks_fit(superblock_blocks: u32, planes_per_die: u32, all_planes: u32) -> bool {
    let within_die = planes_per_die.is_multiple_of(superblock_blocks);
    let whole_dies =
        superblock_blocks.is_multiple_of(planes_per_die) && all_planes.is_multiple_of(superblock_blocks);
    within_die || whole_dies
}

impl Geometry {
    /// Creates one die with the given blocks and pages, which is enough for counting runs.
    pub fn flat(blocks: u32, pages_per_block: u32, page_bytes: u32) -> Self {
        Geometry {
            channels: 1,
            ways: 1,
            dies: 1,
            planes: 1,
            blocks_per_plane: blocks,
            unused_blocks: 0,
            superblock_blocks: 1,
            pages_per_block,
            page_bytes,
            spare_bytes: 0,
        }
    }

    /// Rejects dimensions of zero and drives with more pages than can be numbered.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let dimensions = [
            ("channels", self.channels),
            ("ways", self.ways),
            ("dies", self.dies),
            ("planes", self.planes),
            ("blocks_per_plane", self.blocks_per_plane),
            ("pages_per_block", self.pages_per_block),
            ("page_bytes", self.page_bytes),
            ("superblock_blocks", self.superblock_blocks),
        ];
        if let Some((dimension, _)) = dimensions.iter().find(|(_, size)| *size == 0) {
            return Err(GeometryError::Zero { dimension });
        }
        let (planes, superblock_blocks) = (self.planes, self.superblock_blocks);
        if !superblocks_fit(superblock_blocks, planes, self.total_planes()) {
            let dies = self.total_planes() / planes;
            return Err(GeometryError::Superblock { superblock_blocks, planes, dies });
        }
        let (unused_blocks, all_planes) = (self.unused_blocks, self.total_planes());
        let is_whole = unused_blocks.is_multiple_of(superblock_blocks) && unused_blocks < all_planes;
        if !is_whole {
            return Err(GeometryError::Unused { unused_blocks, superblock_blocks, planes: all_planes });
        }
        let pages = dimensions[..6].iter().map(|(_, size)| u128::from(*size)).product::<u128>()
            / u128::from(self.superblock_blocks);
        if pages >= u128::from(u32::MAX) {
            return Err(GeometryError::TooManyPages { pages });
        }
        Ok(())
    }

    /// Returns the number of planes of the drive.
    pub fn total_planes(&self) -> u32 {
        self.channels * self.ways * self.dies * self.planes
    }

    /// Returns the number of blocks of the drive.
    pub fn blocks(&self) -> u32 {
        let erase_blocks =
            u64::from(self.total_planes()) * u64::from(self.blocks_per_plane) - u64::from(self.unused_blocks);
        (erase_blocks / u64::from(self.superblock_blocks)) as u32
    }

    /// Returns the number of physical pages of the drive.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.pages_per_block)
    }

    /// Returns the physical bytes of the drive.
    pub fn bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }
}
