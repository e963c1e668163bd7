//! How a drive's flash is organised.

use serde::{Deserialize, Serialize};

/// The shape of a drive's flash, from channels down to pages.
///
/// Blocks are numbered plane by plane; counting runs do not care about the order.
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
    /// Erase blocks of each plane.
    pub blocks_per_plane: u32,
    /// Pages of each block.
    pub pages_per_block: u32,
    /// User bytes of each page.
    pub page_bytes: u32,
    /// Spare (out-of-band) bytes of each page.
    pub spare_bytes: u32,
}

/// What is wrong with a geometry.
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
        /// Pages asked for.
        pages: u128,
    },
}

impl Geometry {
    /// One die with the given blocks and pages: enough where only counts matter.
    pub fn flat(blocks: u32, pages_per_block: u32, page_bytes: u32) -> Self {
        Geometry {
            channels: 1,
            ways: 1,
            dies: 1,
            planes: 1,
            blocks_per_plane: blocks,
            pages_per_block,
            page_bytes,
            spare_bytes: 0,
        }
    }

    /// Refuses dimensions of zero and drives with more pages than can be numbered.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let dimensions = [
            ("channels", self.channels),
            ("ways", self.ways),
            ("dies", self.dies),
            ("planes", self.planes),
            ("blocks_per_plane", self.blocks_per_plane),
            ("pages_per_block", self.pages_per_block),
            ("page_bytes", self.page_bytes),
        ];
        if let Some((dimension, _)) = dimensions.iter().find(|(_, size)| *size == 0) {
            return Err(GeometryError::Zero { dimension });
        }
        let pages: u128 = dimensions[..6].iter().map(|(_, size)| u128::from(*size)).product();
        if pages >= u128::from(u32::MAX) {
            return Err(GeometryError::TooManyPages { pages });
        }
        Ok(())
    }

    /// Planes of the whole drive.
    pub fn total_planes(&self) -> u32 {
        self.channels * self.ways * self.dies * self.planes
    }

    /// Erase blocks of the whole drive.
    pub fn blocks(&self) -> u32 {
        self.total_planes() * self.blocks_per_plane
    }

    /// Physical pages of the whole drive.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.pages_per_block)
    }

    /// Physical bytes of the whole drive.
    pub fn bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }
}
