//! Location of a block of a file.

use super::areas::{Areas, EXTENT_BLOCKS, PageId};
use crate::api::BLOCK_BYTES;

/// Pointer value of a reserved block. It is no device address, and differs from every device address in more than one
/// bit.
const RESERVED: u64 = u64::from_le_bytes(*b"reserved");
/// Pointer value by which a snapshot records that a block was a hole. It differs from all other pointer values in
/// more than one bit.
const ABSENT: u64 = u64::from_le_bytes(*b"absent!\n");
/// First address of the NVRAM. SSD addresses (byte offsets) are far below it (section III-E).
pub const NVRAM_BASE: u64 = 0xffff_0000_0000_0000;

/// Location of a block of a file, stored as a 64-bit pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLocation {
    /// No block: reads as zeros. Stored as pointer 0, which is never the address of a data block because the label of
    /// the SSD is there.
    Hole,
    /// Reserved block without a location: reads as zeros, but counts as a data block in use.
    Reserved,
    /// Hole in a snapshot, regardless of the block's current state.
    Absent,
    /// Page of the NVRAM.
    Nvram(PageId),
    /// Block of the SSD.
    Ssd(u64),
}

impl BlockLocation {
    /// Decodes a pointer; `None` if it is invalid.
    pub fn decode(pointer: u64, areas: &Areas) -> Option<BlockLocation> {
        if pointer == 0 {
            return Some(BlockLocation::Hole);
        }
        if pointer == RESERVED {
            return Some(BlockLocation::Reserved);
        }
        if pointer == ABSENT {
            return Some(BlockLocation::Absent);
        }
        let block = BLOCK_BYTES as u64;
        if pointer >= NVRAM_BASE {
            let offset = (pointer - NVRAM_BASE).checked_sub(areas.data as u64)?;
            let is_page = offset.is_multiple_of(block) && offset / block < u64::from(areas.pages);
            return is_page.then(|| BlockLocation::Nvram(PageId((offset / block) as u32)));
        }
        let number = pointer / block;
        let end = u64::from(areas.extents()) * EXTENT_BLOCKS;
        let is_block = pointer.is_multiple_of(block) && (EXTENT_BLOCKS..end).contains(&number);
        is_block.then_some(BlockLocation::Ssd(number))
    }

    /// True if the block has stored content; otherwise it reads as zeros.
    pub fn has_content(self) -> bool {
        matches!(self, BlockLocation::Nvram(_) | BlockLocation::Ssd(_))
    }

    /// Encodes the location as a pointer.
    pub fn encode(self, areas: &Areas) -> u64 {
        match self {
            BlockLocation::Hole => 0,
            BlockLocation::Reserved => RESERVED,
            BlockLocation::Absent => ABSENT,
            BlockLocation::Nvram(page) => NVRAM_BASE + areas.page(page) as u64,
            BlockLocation::Ssd(block) => block * BLOCK_BYTES as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_round_trip_and_invalid_pointers_are_rejected() {
        let areas = Areas::new(8 << 20, 8192 + 5, 256).unwrap();
        let locations = [
            BlockLocation::Hole,
            BlockLocation::Reserved,
            BlockLocation::Absent,
            BlockLocation::Nvram(PageId(0)),
            BlockLocation::Nvram(PageId(areas.pages - 1)),
            BlockLocation::Ssd(128),
            BlockLocation::Ssd(8191),
        ];
        for location in locations {
            assert_eq!(BlockLocation::decode(location.encode(&areas), &areas), Some(location));
        }
        let (first, end) = (NVRAM_BASE + areas.data as u64, NVRAM_BASE + areas.nvram_bytes);
        let nowhere =
            [1, 4096, 127 * 4096, 8192 * 4096, 128 * 4096 + 8, NVRAM_BASE, first - 4096, first + 8, end];
        for pointer in nowhere.into_iter().chain([u64::MAX, NVRAM_BASE - 4096]) {
            assert_eq!(BlockLocation::decode(pointer, &areas), None, "{pointer:x}");
        }
    }
}
